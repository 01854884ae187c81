"""Arguments that go by another name since."""

import warnings

import pytest

from diurnal.renamed import renamed


@renamed(size="length", colour="hue")
def paint(length, hue="red"):
    """Paint a line."""
    return length, hue


def test_an_old_name_is_understood_and_said_to_be_old():
    """What is given by an old name reaches the new one, with a warning of both names, at the line of who calls."""
    with pytest.warns(DeprecationWarning, match=r"^paint\(size=\.\.\.\) is now length=\.\.\.$") as caught:
        assert paint(size=3, hue="blue") == (3, "blue")
    assert [each.filename for each in caught] == [__file__]


def test_both_names_at_once_are_refused():
    """A value by the old name never takes the place of one by the new name."""
    with pytest.raises(TypeError, match=r"^paint\(\) got both length= and size="):
        paint(length=3, size=4)


def test_a_new_name_brings_no_warning():
    """Whoever uses the names of now hears nothing, and the function keeps its own name and words."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert paint(3, hue="blue") == paint(length=3, hue="blue") == (3, "blue")
    assert (paint.__name__, paint.__doc__) == ("paint", "Paint a line.")


def test_a_class_is_called_by_its_own_name():
    """A warning about what makes a class names the class."""

    class Line:
        @renamed(size="length")
        def __init__(self, length):
            self.length = length

    with pytest.warns(DeprecationWarning, match=r"^Line\(size=\.\.\.\) is now length"):
        assert Line(size=2).length == 2
