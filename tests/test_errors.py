"""Errors: a code, parameters and a kind; their words are one file, and what they say is public."""

import ast
import pickle
import string
from pathlib import Path

import numpy as np
import pytest

import diurnal as dn
from diurnal import errors
from diurnal.errors import BudgetError, DiurnalError, LimitError, PlanError, ReadingsError, ServiceError, texts
from diurnal.readings.engines.spark.session import refusal, refuse
from diurnal.show.web.problems import of_error

SRC = Path(dn.__file__).parent
KINDS = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, DiurnalError)}
MAKERS = KINDS | {"ProblemError", "fault", "_error", "_expect", "_check_confirmed", "error"}
"""What an error is made with: its code is the first text among the arguments that is one."""

SUPPLIED = {"place", "flag", "why"}
"""Parameters that are added where an error is shown."""


def sites():
    """Every place of the code where an error is made: its codes and its named parameters."""
    for path in sorted(SRC.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if name in MAKERS:
                said = [each.value for arg in node.args for each in ast.walk(arg) if isinstance(each, ast.Constant)]
                codes = [each for each in said if isinstance(each, str) and each in texts()]
                given = {each.arg for each in node.keywords}
                yield f"{path.name}:{node.lineno}", name, codes, given


def needed(words):
    """The parameters that words speak of."""
    return {name for _, name, _, _ in string.Formatter().parse(words) if name is not None}


def words_of(text):
    """All words of a code, on every surface."""
    surfaces = [text, text.get("cli", {}), text.get("http", {})]
    return [each[part] for each in surfaces for part in ("message", "remedy", "why") if part in each]


def test_every_error_that_is_made_has_words_for_its_parameters():
    """Where the code of an error is written out, each parameter that its words speak of is given there."""
    lacking = [
        (where, code, sorted(missing))
        for where, _, codes, given in sites()
        if None not in given
        for code in codes
        if (missing := set().union(*map(needed, words_of(texts()[code]))) - given - SUPPLIED)
    ]
    # A helper of a module adds its own: the file that a certificate is in.
    own = {"tls.py": {"name", "option"}, "custodian.py": {"phrase"}}
    assert [each for each in lacking if not set(each[2]) <= own.get(each[0].partition(":")[0], set())] == []


def test_every_error_is_made_by_a_code_that_has_words():
    """Nothing of the library raises an error in words of its own, but a format of somebody else's."""
    worded = [where for where, name, codes, given in sites() if "hint" in given or "message" in given]
    assert [where.partition(":")[0] for where in worded] == ["source.py"]


def test_every_code_is_used():
    """No words are left of errors that nobody raises."""
    code = "".join(path.read_text() for path in sorted(SRC.rglob("*.py")))
    built = ("http-busy-", "http-many-")
    assert [each for each in texts() if f'"{each}"' not in code and not each.startswith(built)] == []


@pytest.mark.parametrize("code", sorted(texts()))
def test_words_are_sentences(code):
    """A message is a sentence, a remedy is not empty, and a code has no other fields than are known."""
    text = texts()[code]
    assert text["message"][-1] in ".?}"
    assert all(words.strip() == words and words for words in words_of(text))
    assert set(text) <= {"message", "remedy", "why", "only", "cli", "http", "status", "kind"}
    assert ("status" in text) == ("kind" in text) == code.startswith("http-")


def test_an_error_has_a_code_and_parameters():
    """Programs look at the code and its parameters, people at the words made of them."""
    with pytest.raises(PlanError) as caught:
        dn.Plan(query=dn.Mean(), epsilon="1", domain=(5, 5), grid=dn.Grid(), history=0)
    assert caught.value.code == "plan-domain"
    error = BudgetError("budget-cap-lowered", cap="pattern", before=2, after=1, remaining=2, requested=1)
    assert (error.remaining, error.requested) == (2, 1)
    assert str(error) == f"{error.message}\nHint: {error.hint}"
    assert "pattern" in error.message


@pytest.mark.parametrize(
    "error",
    [
        PlanError("plan-fill-range", fill="2"),
        ServiceError("service-refused", status=409, code="budget", message="No.", hint="Ask for less."),
    ],
    ids=["plan", "service"],
)
def test_an_error_goes_from_process_to_process(error):
    """It comes out of a pickle as it went in: kind, code, parameters and words."""
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert (again.code, again.params, str(again)) == (error.code, error.params, str(error))


def test_what_a_service_said_is_said():
    """Its words are the service's own, and so is the word that it goes by."""
    error = ServiceError("service-refused", status=409, code="budget", message="No.", hint="Ask for less.")
    assert (error.message, error.hint, error.code, error.status) == ("No.", "Ask for less.", "budget", 409)
    assert ServiceError("service-hung-up").code == "unreachable"


def test_words_of_one_s_own_are_said():
    """A program that raises one of these errors with a message and a hint, as before there were codes, is heard."""
    error = ReadingsError("Row 3 has {no} end.", hint="End it.")
    assert (error.message, error.hint, error.code) == ("Row 3 has {no} end.", "End it.", "format-own")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    problem = of_error(error)
    assert (problem.message, problem.hint, problem.code) == ("Row 3 has {no} end.", "End it.", "readings")


def test_numbers_that_come_from_a_task_are_numbers():
    """Parameters that went through JSON, as those of an error in a task do, still fit their words."""
    error = LimitError("columns-too-many", columns=np.int64(1_234_567), most=np.int64(100_000))
    with pytest.raises(LimitError, match="1,234,567"):
        refuse(refusal(error))
