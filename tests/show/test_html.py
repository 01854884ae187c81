"""Every text in a template is escaped, and every place is filled."""

import json
import re

import jinja2
import pytest

from diurnal.show import html

HOSTILE = "</script><script>alert(1)</script>&"


def test_text_is_never_markup():
    """Whatever is given to a template stands on the page as the text it is."""
    page = html.render(
        "document/document.html", title=HOSTILE, style="", blocks=[{"kind": "text", "text": HOSTILE}]
    )
    assert "<script>" not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;&amp;") == 2


def test_a_place_that_is_not_filled_is_a_mistake():
    """A value that a template needs and nobody gave is no empty place."""
    with pytest.raises(jinja2.UndefinedError):
        html.render("document/document.html", style="", blocks=[])


def test_data_cannot_end_their_element():
    """Data in a script element come back as they were, and have no mark that a browser would act on."""
    told = str(html.data({HOSTILE: [1, None]}, "data"))
    inside = re.fullmatch(r'<script type="application/json" id="data">(.*)</script>\n', told)[1]
    assert not re.search("[<>&]", inside)
    assert json.loads(inside) == {HOSTILE: [1, None]}
