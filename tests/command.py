"""The command line in this process, for tests of its verbs."""

import json

from typer.testing import CliRunner

from diurnal.show.cli import app


def run(*arguments, code=0):
    """Run a verb in this process; its standard output, and its standard error."""
    done = CliRunner().invoke(app, [str(each) for each in arguments], prog_name="diurnal")
    assert done.exit_code == code, f"{done.exit_code}: {done.output}\n{done.exception!r}"
    return done


def said(*arguments):
    """What a verb prints for programs."""
    return json.loads(run(*arguments, "--json").stdout)
