"""A field of a request for a plan is written once, and the flags, the service and the explorer have it."""

import asyncio
import re
from dataclasses import fields

import pytest
import typer

import diurnal as dn
from diurnal.show.cli import app
from diurnal.show.plan_request import SECTIONS, PlanRequest, WhatIfRequest, asked_fields
from diurnal.show.web.models.decisions import PlanQuestion
from diurnal.show.web.site import custodian
from support import refuses

ONLY_HERE = {
    "panel",
    "open_data",
    "without",
    "out",
    "certificate",
    "engine",
    "master",
    "as_json",
    "quiet",
    "log_level",
}
"""Flags of `diurnal plan` that say where things are, and not what is asked for."""

every_field = pytest.mark.parametrize("field", asked_fields(WhatIfRequest), ids=lambda field: field.name)


@pytest.fixture(scope="module")
def flags():
    """The parameters of `diurnal plan` by name."""
    return {each.name: each for each in typer.main.get_command(app).commands["plan"].params}


def test_the_fields_are_those_of_the_request():
    """Every field says what it is, in the order in which they stand."""
    assert [field.name for field in asked_fields(PlanRequest)] == [each.name for each in fields(PlanRequest)]
    assert all(
        field.help.endswith(".") and field.description.endswith(".") for field in asked_fields(WhatIfRequest)
    )


def test_every_field_is_a_flag(flags):
    """With its help, default and heading; the command line has no other flag about the plan."""
    for field in asked_fields(PlanRequest):
        flag = flags[field.name]
        assert (flag.help, flag.default) == (field.help, field.default)
        assert flag.opts == [f"--{field.name.replace('_', '-')}"]
        assert flag.rich_help_panel == field.panel
    assert set(flags) == {field.name for field in asked_fields(PlanRequest)} | ONLY_HERE


@every_field
def test_every_field_can_be_sent(field):
    """The service describes it with its default, its choices and its limits."""
    told = PlanQuestion.model_json_schema()["properties"][field.name]
    assert told["description"] == field.description
    assert told["default"] == field.default
    assert tuple(told.get("enum", ())) == field.choices
    kinds = {key: value for part in (told, *told.get("anyOf", ())) for key, value in part.items()}
    names = {"ge": "minimum", "le": "maximum", "max_length": "maxLength"}
    for limit, value in field.limits.items():
        assert kinds[names.get(limit, limit)] == value


@every_field
def test_the_explorer_asks_for_what_has_a_control(field):
    """Each control stands once, under one of the sections, with its label, limits and choices."""
    page, control = asyncio.run(custodian()).body.decode(), field.control
    asked = re.findall(rf'data-field="{field.name}".*', page)
    if control is None or control.second_label:
        assert asked == []
        return
    assert control.section in SECTIONS
    (line,) = asked
    assert control.label.replace("'", "&#39;") in line
    assert re.findall(r'<option value="(.*?)"', line) == [each.value for each in field.options]
    for limit, mark in (("ge", "least"), ("le", "most")):
        if limit in field.limits and not field.options:
            assert f'data-{mark}="{field.limits[limit]}"' in line


@pytest.mark.parametrize("asked", [{"query": "share"}, {"query": "histogram"}, {"query": "median"}])
def test_a_query_that_lacks_something_is_refused(asked):
    """A share without a reading to be above, a histogram without edges, a name that there is not."""
    with refuses(dn.errors.PlanError, "cli-query"):
        PlanRequest(**asked).asked_query()
