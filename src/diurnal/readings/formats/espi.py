"""ESPI: the entries of a Green Button feed (NAESB REQ.21), as they are written.

What stands in the XML, a few megabytes of it at a time; `greenbutton` knows what it means. Elements of ESPI go by
their names, those of Atom by names such as `atom:entry`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from xml.parsers import expat

from diurnal.readings.source import TextFile

ATOM, ESPI = "http://www.w3.org/2005/Atom", "http://naesb.org/espi"
"""The namespaces."""

_PARENTS = frozenset({"atom:entry", "ReadingType", "timePeriod", "IntervalReading"})
_LEAVES = frozenset({("timePeriod", "start"), ("timePeriod", "duration"), ("IntervalReading", "value")})


@dataclass(slots=True)
class IntervalReading:
    """One reading; what is not there is blank."""

    line: int
    """The line where it begins."""
    start: str = ""
    duration: str = ""
    value: str = ""


@dataclass
class Entry:
    """An entry of the feed."""

    line: int
    """The line where it begins."""
    kind: str = ""
    """Which element its content is."""
    id: str = ""
    links: dict[str, list[str]] = field(default_factory=dict)
    """Addresses by relation: self, up, related."""
    fields: dict[str, str] = field(default_factory=dict)
    """What a ReadingType says."""
    readings: list[IntervalReading] = field(default_factory=list)

    def hrefs(self, *relations: str) -> list[str]:
        """Its addresses of these relations."""
        return [href for relation in relations for href in self.links.get(relation, ())]

    def children(self, kind: str) -> list[str]:
        """The addresses by which entries of this kind may call it."""
        own = self.hrefs("self")
        return [*self.hrefs("related"), *own, *(f"{href}/{kind}" for href in own)]


class Feed:
    """A feed on its way through the parser; it is read once.

    Args:
        part: The file.
        with_readings: Whether the readings are wanted, or only what ties entries together.
    """

    def __init__(self, part: TextFile, *, with_readings: bool = True) -> None:
        self.part = part
        self.with_readings = with_readings
        self.path: list[str] = []
        self.text: list[str] | None = None
        self.entry: Entry | None = None
        self.reading: IntervalReading | None = None
        self.done: list[Entry] = []
        self.parser = expat.ParserCreate("UTF-8", " ")
        self.parser.buffer_text = True
        self.parser.StartDoctypeDeclHandler = self._doctype
        self._listen()

    def entries(self) -> Iterator[Entry]:
        """Its entries in their order.

        Raises:
            ReadingsError: It is no whole XML, or declares a document type.
        """
        for _, block in self.part.blocks():
            yield from self._parse(block)
        yield from self._parse(b"", final=True)

    def _parse(self, block: bytes, *, final: bool = False) -> list[Entry]:
        try:
            self.parser.Parse(block, final)
        except expat.ExpatError as cause:
            raise self.part.fault("xml-broken", line=cause.lineno, reason=expat.ErrorString(cause.code)) from None
        done, self.done = self.done, []
        return done

    def _listen(self) -> None:
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._characters

    def _skip(self, full: str) -> None:
        """Take the end of an element in a block whose readings are not wanted."""
        if _short(full) == "IntervalBlock":
            self._listen()
            self._end(full)

    def _start(self, full: str, attributes: dict[str, str]) -> None:
        name, parent = _short(full), self.path[-1] if self.path else ""
        self.path.append(name)
        self.text = [] if parent in _PARENTS else None
        if name == "atom:entry":
            self.entry = Entry(self.parser.CurrentLineNumber)
        elif self.entry is None:
            return
        elif name == "atom:link" and parent == "atom:entry":
            href = attributes.get("href", "").strip().rstrip("/")
            self.entry.links.setdefault(attributes.get("rel", ""), []).append(href)
        elif parent == "atom:content":
            self.entry.kind = self.entry.kind or name
            if name == "IntervalBlock" and not self.with_readings:
                self.parser.StartElementHandler = self.parser.CharacterDataHandler = None
                self.parser.EndElementHandler = self._skip
        elif name == "IntervalReading":
            self.reading = IntervalReading(self.parser.CurrentLineNumber)
            self.entry.readings.append(self.reading)

    def _end(self, full: str) -> None:
        name, parent = self.path.pop(), self.path[-1] if self.path else ""
        if name != _short(full):
            # The end of a skipped block was that of one within it.
            line = self.parser.CurrentLineNumber
            raise self.part.fault("espi-nested-block", line=line)
        text, self.text = "".join(self.text or ()).strip(), None
        if self.entry is None:
            return
        if name == "atom:entry":
            self.done.append(self.entry)
            self.entry = None
        elif name == "IntervalReading":
            self.reading = None
        elif name == "atom:id" and parent == "atom:entry":
            self.entry.id = text
        elif parent == "ReadingType":
            self.entry.fields[name] = text
        elif self.reading is not None and (parent, name) in _LEAVES:
            setattr(self.reading, name, text)

    def _characters(self, text: str) -> None:
        if self.text is not None:
            self.text.append(text)

    def _doctype(self, *_: object) -> None:
        raise self.part.fault("xml-doctype", line=self.parser.CurrentLineNumber)


@lru_cache(maxsize=256)
def _short(full: str) -> str:
    """The name of an ESPI element; those of Atom and of others say so."""
    space, _, name = full.rpartition(" ")
    return name if space == ESPI else f"atom:{name}" if space == ATOM else f"other:{name}"
