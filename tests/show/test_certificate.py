"""What a certificate says beside the sentences of the promise: numbers, errors, and promises in short."""

import numpy as np
import pytest

import diurnal as dn
import support
from diurnal.show.certificate import certificate
from diurnal.study.town import Town

SHAPE = dn.Shape(group_sizes=(40,), grid=dn.Grid(slots=4), n_cycles=12)
FIELDS = {
    "pattern": {"level": "pattern"},
    "strong": {
        "level": "strong",
        "mechanism": "cube",
        "cycle_mechanism": "cube",
        "variation_bound": 5,
        "basis": dn.Basis(size=3),
        "cycle_basis": dn.Basis(size=3),
    },
    "basis": support.BASIS,
    "cycle": {"level": "cycle", "query": dn.Share(above=3), "history": 0},
}


def of(kind, **more):
    """The certificate of a small plan."""
    return certificate(support.plan_for(support.town(), **{**FIELDS[kind], "horizon": 10}), SHAPE, **more)


def test_the_number_for_the_history_has_its_condition():
    """Epsilon for a cycle of the history is for homes of which no reported reading is clipped, missing or moved."""
    rows = [line for line in of("strong").splitlines() if line.startswith("| ")]
    (base,) = [row for row in rows if "one cycle of the history" in row]
    after = rows[rows.index(base) + 1]
    assert "if in neither data set a reported reading of the household is clipped, missing or moved out" in base
    assert "if one is in each of 10 reported cycles" in after


@pytest.mark.parametrize("kind", FIELDS)
def test_no_number_is_for_a_cycle_that_is_not_reported(kind):
    """Sentences and tables say of an epsilon for a cycle that it is for a reported one, of one for the periodic
    component that it is for a shift of it.
    """
    page = of(kind)
    assert "for any one cycle" not in page
    assert "for the periodic component" not in page
    assert "for a household's periodic component" not in page
    cells = [line.split(" | ")[-1] for line in page.splitlines() if "(this plan)" in line]
    assert len(cells) == 1
    assert cells[0].removesuffix(" |") == support.plan_for(support.town(), **FIELDS[kind]).guarantee().brief


@pytest.mark.parametrize(("kind", "see"), [("strong", "see 4 and 5"), ("pattern", "see 4"), ("cycle", "see 4")])
def test_the_mechanism_sends_readers_to_the_neighbours(kind, see):
    """The sentence about the mechanism says where its promise stands, and there it stands."""
    page = of(kind).splitlines()
    (said,) = [line for line in page if line.startswith("2. ")]
    assert f"{see});" in said
    places = see.removeprefix("see ").split(" and ")
    assert [line[0] for line in page if "data sets are neighbours if" in line] == places


def test_predicted_errors_are_no_bound():
    """A W that clips nearly everything is in no predicted error without open data: the certificate says that actual
    errors can be much larger, and no longer that totals are at most so large.
    """
    panel = support.town()
    page = of("strong")
    assert "at most so large" not in page
    assert "No open data was given, so what bounds clip is not in them: actual errors can be much larger." in page
    assert "(noise alone; what bounds clip is not known without open data)" in page
    assert "nothing is dropped" not in page
    assert "as far as open data tells" in of("strong", open_data=panel)
    assert "bounds clip is" not in of("cycle").partition("## Predicted error")[2]
    assert np.abs(np.diff(panel.readings, axis=0)).max() > 5


def test_what_bounds_clip_is_said_by_where_it_is_known_from():
    """A plan from the package's table has what its homes told, with open data or without; others as open data
    tells, or not at all; and where nothing is bounded, nothing is said.
    """
    grid, sizes = dn.Grid(), dn.Shape(grid=dn.Grid(), n_cycles=60, group_sizes=(60,))
    elsewhere = Town(homes=20, days=30, seed=2).panel()
    draft = dn.Plan(level="pattern", epsilon="1", domain=(0, 8000), history=28, grid=grid)
    tabled = dn.choose(dn.with_public_bounds(draft, sizes, mean_reading=400, free=False), sizes)
    told = "by the package's table, as it was on homes of two other regions and of a made-up town"
    for open_data in (None, elsewhere):
        page = certificate(tabled, sizes, open_data=open_data)
        assert told in page
        assert "as far as open data tells" not in page
        assert "what bounds clip is as it was on homes of two other regions and of a made-up town" in page
    own = draft.with_(body=dn.Body(high=2000), mechanism="laplace")
    assert "No open data was given, so what bounds clip is not in them" in certificate(own, sizes)
    assert "as far as open data tells" in certificate(own, sizes, open_data=elsewhere)
    bare = certificate(draft.with_(mechanism="laplace"), sizes)
    assert "bounds clip is" not in bare
    assert "this plan's bounds do not fit" not in bare


def test_a_reference_that_is_partly_the_homes_own_is_not_called_public():
    """A plan that is drawn to a free reference says that sums of variations are in it."""
    sizes = dn.Shape(grid=dn.Grid(), n_cycles=200, group_sizes=(60,))
    draft = dn.Plan(level="pattern", epsilon="0.1", domain=(0, 8000), history=91, grid=dn.Grid())
    plan = dn.choose(dn.with_public_bounds(draft, sizes, mean_reading=400), sizes)
    assert plan.free is not None
    page = certificate(plan, sizes)
    assert "drawn to its reference, which is made of the public one and of these homes' sums of variations" in page
    assert "drawn to the public reference" not in page
