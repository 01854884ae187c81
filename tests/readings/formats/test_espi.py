"""The entries of a Green Button feed, as they stand in the XML."""

import pytest

from diurnal.errors import ReadingsError
from diurnal.readings.formats.espi import Entry, Feed, IntervalReading
from diurnal.readings.source import TextFile
from support import refuses

FEED = """<feed xmlns="http://www.w3.org/2005/Atom" xmlns:e="http://naesb.org/espi" xmlns:x="urn:another">
<id>urn:feed</id><entry>
<id> urn:type </id><link rel="self" href=" ReadingType/1/ "/><link rel="related" href="a"/>
<content><e:ReadingType><e:uom>72</e:uom><x:uom>38</x:uom></e:ReadingType></content></entry>
<entry><link rel="up" href="b"/><content><e:IntervalBlock>
<e:interval><e:duration>86400</e:duration><e:start>7</e:start></e:interval>
<e:IntervalReading><e:timePeriod><e:duration>1800</e:duration><e:start>9</e:start></e:timePeriod>
<e:value>250</e:value></e:IntervalReading><e:IntervalReading/>
</e:IntervalBlock></content></entry></feed>
"""


def feed(tmp_path, text=FEED, **options):
    path = tmp_path / "home.xml"
    path.write_text(text)
    return Feed(TextFile(path), **options)


def test_entries_are_as_they_are_written(tmp_path):
    """Names, links, what a type says and readings with their lines; blank where something is not there; elements of
    other languages and of the block's own interval are not taken for ESPI's readings.
    """
    type_, block = feed(tmp_path).entries()
    assert (type_.kind, type_.id, type_.line) == ("ReadingType", "urn:type", 2)
    assert type_.fields == {"uom": "72", "other:uom": "38"}
    assert type_.links == {"self": ["ReadingType/1"], "related": ["a"]}
    assert (block.kind, block.id, block.links) == ("IntervalBlock", "", {"up": ["b"]})
    assert block.readings == [IntervalReading(7, "9", "1800", "250"), IntervalReading(8)]


def test_without_readings_the_entries_are_the_same(tmp_path):
    """Whoever wants only what ties entries together gets all of them, and no reading of any."""
    whole, bare = (list(feed(tmp_path, with_readings=wanted).entries()) for wanted in (True, False))
    assert [(each.kind, each.links, each.line) for each in bare] == [
        (each.kind, each.links, each.line) for each in whole
    ]
    assert [len(each.readings) for each in whole] == [0, 2]
    assert not any(each.readings for each in bare)


def test_an_entry_is_called_by_its_own_and_its_related_addresses():
    """Those of a kind may say its address, that address with the kind behind it, or one it names as related."""
    entry = Entry(1, links={"self": ["p/1"], "related": ["p/1/all"], "up": ["p"]})
    assert entry.children("MeterReading") == ["p/1/all", "p/1", "p/1/MeterReading"]
    assert entry.hrefs("up", "self") == ["p", "p/1"]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (FEED[:-9], "xml-broken"),
        (FEED.replace("<e:value>", "<e:values>"), "xml-broken"),
        (f'<!DOCTYPE feed [<!ENTITY a "b">]>{FEED}', "xml-doctype"),
    ],
    ids=["cut short", "a wrong tag", "a doctype"],
)
def test_what_is_no_plain_feed_is_refused(tmp_path, text, code):
    """XML that is not whole, or that declares a document type, is refused with a line and without its text."""
    with refuses(ReadingsError, code) as caught:
        list(feed(tmp_path, text).entries())
    assert "home.xml, line" in str(caught.value)
    assert "250" not in str(caught.value)
