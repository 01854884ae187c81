"""A study put together: the same twice, private, and refused without its data."""

import pytest

import diurnal as dn
from diurnal.errors import InputError
from diurnal.study.reproduction import reproduce
from diurnal.study.reproduction.results import reproduction
from support import refuses


def test_the_report_is_one_noise_vector_repeated(study):
    """What is reported at epsilon 5, less the truth, is the same vector every day."""
    off = (study.reports - study.series.readings.sum(axis=1)).reshape(-1, 48)
    assert (off == off[0]).all()
    assert off.any()


def test_one_data_set_has_one_page(source, study):
    """The same data gives the same numbers: draws and choices of homes have a fixed seed."""
    assert reproduction(source, subsets=3).to_json() == study.to_json()


def test_a_reproduction_is_private(study):
    """It is computed on readings, so nothing of it passes for public, and its repr shows nothing."""
    assert repr(study) == "<Reproduction, private>"
    for value in (study, study.to_json(), study.questions[0]):
        with pytest.raises(dn.errors.PrivateError):
            dn.private.public(value)


def test_wrong_names_and_missing_data_are_said():
    """There is no other experiment, and the paper's need their data."""
    with refuses(InputError, "experiment-unknown"):
        reproduce("paris")
    with refuses(InputError, "experiment-needs-data"):
        reproduce("umass")
