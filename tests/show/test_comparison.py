"""The page of a comparison."""

import dataclasses
import re
import stat

import pytest

from diurnal.show import comparison as page
from diurnal.show import document, rival_charts


def test_the_page_tells_who_does_better_and_under_which_promise(compared):
    """Theorem 1 is beaten under a stronger promise, and that is a sentence; curves are looked at as well."""
    scores, along = compared
    said = page.findings(scores, along)
    (theorem,) = [sentence for sentence in said if "a stronger promise than Theorem 1" in sentence]
    assert "nothing at all" in theorem
    better = {s.name for s in scores.scores if s.relative_error < scores.score("Theorem 1").relative_error}
    stronger = {"nothing at all", "split Laplace", "repair, Laplace", "strong, chosen", "eps_z = 0"}
    assert {name for name in stronger if f"{name} (" in theorem} == better & stronger


def moved(scores, name, **errors):
    """The comparison with other errors of one rival."""
    changed = (dataclasses.replace(each, **errors) if each.name == name else each for each in scores.scores)
    return dataclasses.replace(scores, scores=tuple(changed))


def test_the_page_tells_who_does_better_under_the_same_promise(compared):
    """Cube, say, where it has less error than the pattern plan that is chosen."""
    scores, along = compared
    said = page.findings(moved(scores, "cube", relative_error=1e-6), along)
    (same,) = [each for each in said if each.startswith("Under the same promise as pattern, chosen")]
    assert "cube (1e-06; hides a shift of the pattern; variations exact; continual)" in same


def test_the_page_says_what_delta_a_rival_has(compared):
    """Noise that is Gaussian is a promise that may fail: neither stronger nor weaker than pattern and day."""
    scores, along = compared
    said = page.findings(moved(scores, "split Gaussian", relative_error=1e-6), along)
    (other,) = [each for each in said if "nor weaker than strong, chosen" in each and each.startswith("Under")]
    assert "split Gaussian (1e-06; hides everything, this horizon, delta 1e-06; continual)" in other
    assert page._row(scores.score("split Gaussian"))[1] == "everything, delta 1e-06"


def test_the_page_tells_who_is_best_at_totals_where_that_is_somebody_else(compared):
    """One sentence each for a day's total and the whole one."""
    scores, along = compared
    best = moved(scores, "split Laplace", day_error=1e-6, year_error=1e-7)
    said = page.findings(best, along)
    for words, error in (("a day's total", "1e-06"), ("the whole total", "1e-07")):
        (told,) = [each for each in said if each.startswith(f"In {words} strong, chosen")]
        assert f"under a stronger promise than its own, split Laplace ({error};" in told


def test_errors_that_cannot_be_told_apart_are_about_the_same(compared):
    """An interval that holds our error is no reason to choose either."""
    scores, along = compared
    ours = scores.score("strong, chosen").relative_error
    near = moved(scores, "w-event BD", relative_error=ours, intervals={"relative_error": (ours / 2, 2 * ours)})
    found = [each for each in page.findings(near, along) if not each.startswith("Along")]
    (said,) = [each for each in found if "nor weaker than strong, chosen" in each]
    assert f"w-event BD ({ours:.3g}, about the same;" in said


def test_the_page_tells_where_along_a_curve_others_do_better(compared):
    """At epsilons where doing nothing beats the plans that are chosen, it says so, by name and place."""
    scores, along = compared
    curve = along.curve("epsilon")
    errors = {**curve.errors, "strong, chosen": (0.5, 0.1, 0.1), "nothing at all": (0.2, 0.2, 0.2)}
    errors["split Laplace"] = (0.01, 0.01, 0.01)
    errors["repair, Laplace"] = (0.3, 0.3, 0.05)
    errors["strong, by slot"] = errors["strong, by block"] = (0.9, 0.9, 0.9)
    within = {"nothing at all": (0.0, 0.15, 0.0)}
    others = dataclasses.replace(along, curves=(dataclasses.replace(curve, errors=errors, within=within),))
    (said,) = [
        each for each in page.findings(scores, others) if re.match("Along.* stronger promise than strong", each)
    ]
    (same,) = [each for each in page.findings(scores, others) if re.match("Along.* as strong", each)]
    assert said == (
        "Along epsilon, under a stronger promise than strong, chosen, less error: split Laplace everywhere; "
        "nothing at all at 0.1, about the same at 1."
    )
    assert same == (
        "Along epsilon, under the same promise as strong, chosen, less error: repair, Laplace at 0.1, 10."
    )


def test_the_page_has_every_score_promise_and_winner(compared, tmp_path):
    """Each rival with its promise in full; HTML that asks for nothing; files that are their owner's alone."""
    scores, along = compared
    about = page.about(scores, history=8, open_data="other homes")
    files = page.write(scores, along, tmp_path / "rivals", about=about, numbers={"a": 1})
    assert {path.name for path in files} == {
        *("comparison.md", "comparison.html", "numbers.json"),
        *(f"{name}.svg" for name in rival_charts.CHARTS),
    }
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in files)
    html, markdown = ((tmp_path / "rivals" / f"comparison.{kind}").read_text() for kind in ("html", "md"))
    assert html.count("data:image/svg+xml;base64,") == len(rival_charts.CHARTS)
    assert not re.search(r"(?:src|href|url\()[=\"' ]*(?:https?:)?//", html)
    for score in scores.scores:
        assert f"| {score.name} | {score.promise.hides} |" in markdown
        assert score.promise.sentence.replace("*", "\\*") in markdown
    for text in (html, markdown):
        assert "for the custodian" in text
        assert "30 households" in text
    assert "| hides a shift of the pattern and any one reported day, for ever | strong, chosen" in markdown


def test_errors_say_how_sure_they_are(compared):
    """A drawn error has the wider half of its interval behind it; one from a formula has none."""
    scores, _ = compared
    cells = dict(zip([s.name for s in scores.scores], map(page._row, scores.scores), strict=True))
    value, low, high = page.error_of(scores.score("w-event BD"))
    assert value - low > high - value
    assert cells["w-event BD"][2].endswith(f" ± {page._rough(value - low)}")
    assert " ± " not in cells["Theorem 1"][2]
    assert " ± " in cells["Theorem 1"][4]
    assert " ± " not in cells["nothing at all"][4]


@pytest.mark.parametrize(
    ("value", "shown"), [(0.0493, "0.0493"), (-43_833_135, "-4.4e7"), (8.5e-5, "8.5e-5"), (1, "1"), (0, "0")]
)
def test_numbers_have_three_digits(value, shown):
    """Small and large ones with a power of ten; all are told from words by the table."""
    assert page._digits(value) == shown
    assert document.NUMBER.fullmatch(shown)
    assert document.NUMBER.fullmatch(f"{shown} ± {page._rough(8123.4)}")
    assert page._rough(8123.4) == "8,000"
    assert not document.NUMBER.fullmatch("strong, chosen 0.1")


def test_the_page_says_who_gets_the_whole_domain(compared):
    """Without a range of a profile, Theorem 1 and its kin have the domain's; with one it goes without saying."""
    scores, _ = compared
    assert "--profile-range" in page.about(scores, history=8, open_data="a town", whole_domain=True)
    assert "--profile-range" not in page.about(scores, history=8, open_data="a town")


def test_the_page_says_that_ours_are_left_out(compared):
    """Where no plan can be started, in words about the data and in the findings."""
    scores, along = compared
    few = dataclasses.replace(scores, scores=tuple(each for each in scores.scores if each.name not in page.OURS))
    assert page.LEFT_OUT in page.about(few, history=8, open_data="a town")
    assert page.findings(few, dataclasses.replace(along, curves=())) == [page.LEFT_OUT]
    assert "fewer than 15 households" in page.LEFT_OUT


def test_one_cycle_is_not_cycles(compared):
    """Singular and plural."""
    scores = dataclasses.replace(compared[0], cycles=1)
    assert "each step of 1 cycle of 8; a history of 1 cycle before" in page.about(
        scores, history=1, open_data="a town"
    )
    assert "1 cycle of 8," in str(scores)
