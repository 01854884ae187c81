"""The table of predicted errors is one, and every surface draws it."""

import pytest

import diurnal as dn
import support
from diurnal.planning.prediction import COLUMNS
from diurnal.show.certificate import certificate
from diurnal.show.cli.plans import prediction_table
from diurnal.show.predicted import PAGE, predicted_table

SHAPE = dn.Shape(group_sizes=(40,), grid=dn.Grid(slots=4), n_cycles=12)


@pytest.fixture(scope="module", params=["pattern", "strong"])
def predicted(request):
    """A plan, and what is predicted of it."""
    more = {"mechanism": "cube"} if request.param == "pattern" else {"mechanism": "cube", "variation_bound": 5}
    if request.param == "strong":
        more["cycle_mechanism"] = "cube"
    plan = support.plan_for(support.town(), level=request.param, **more)
    return plan, dn.predict(plan, SHAPE)


def test_lines_are_all_rows_and_say_what_each_is(predicted):
    """Mechanisms first, one of them the plan's own, then doing without, then budgets that are split."""
    plan, prediction = predicted
    lines = prediction.lines(plan.mechanisms_text)
    assert tuple(line.row for line in lines) == prediction.rows
    kinds = [line.kind for line in lines]
    assert kinds.count("own") == 1
    assert lines[kinds.index("own")].row is prediction.row(plan.mechanisms_text)
    mechanisms, split = len(prediction.mechanisms), len(prediction.split)
    assert set(kinds[:mechanisms]) <= {"own", "other"}
    assert set(kinds[mechanisms:-split]) == {"beside"}
    assert set(kinds[-split:]) == {"split"}


def test_an_error_of_which_not_all_is_known_is_said_to_be_a_least_one(predicted):
    """Where surfaces are careful, which pages and certificates are; and what is dropped is unknown there."""
    plan, prediction = predicted
    for line in prediction.lines(plan.mechanisms_text):
        (careful,), (bare,) = line.cells(["day"]), line.cells(["day"], careful=False)
        unknown = line.row.bias is None
        assert careful == (f"at least {bare}" if unknown else bare)
        assert (line.cells(["dropped"]) == ["unknown"]) == unknown


def test_every_surface_draws_the_same_lines(predicted):
    """The terminal, Python, the certificate and pages have the same lines with the same texts."""
    plan, prediction = predicted
    own = prediction.row(plan.mechanisms_text)
    lines = prediction.lines(own.name)
    page = predicted_table(lines, "Wh")
    assert page["lines"] == [line.cells(PAGE) for line in lines]
    assert len(page["names"]) == len(PAGE)
    assert all(COLUMNS[PAGE[i]].error or PAGE[i] == "dropped" for i in page["numbers"])
    shown = prediction_table(prediction, own)
    assert [cell[2:] for cell in shown.columns[0].cells] == [line.row.name for line in lines]
    assert list(shown.columns[3].cells) == [line.cells(["day"], careful=False)[0] for line in lines]
    printed = str(prediction).splitlines()[2:]
    signed = certificate(plan, SHAPE)
    for line, text in zip(lines, printed, strict=True):
        name, *errors = line.cells(["name", "report", "peak", "day", "month", "year"], careful=False)
        assert text.startswith(name)
        assert text[18:].split()[:5] == errors
        assert f" | {' | '.join(line.cells(['report', 'day', 'year', 'promise']))} |" in signed
