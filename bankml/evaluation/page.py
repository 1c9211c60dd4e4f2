"""A page of the FAQ, in XHTML as DocBook's stylesheets write it → its sections, each with its own text alone.

Read as XML by expat, in time linear in the page: html.parser of Python 3.11 took minutes for 50 kB of `<a <a <a …`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from xml.parsers import expat

from bankml.errors import InputError

INLINE = frozenset("a abbr acronym b code em i kbd q s small span strong sub sup tt u var".split())
MAX_DEPTH = 200  # elements; the FAQ's pages have 20
NUMBER = re.compile(r"^(\d+\.)+(\s|$)")
ROLES = {
    ("div", "section"): "section",
    ("div", "titlepage"): "title",
    # These quote the titles of other sections, which are the queries.
    ("div", "toc"): "quoting",
    ("a", "xref"): "quoting",
}


@dataclass(frozen=True)
class Section:
    """`text` has no title, and nothing of the sections within this one."""

    id: str
    title: str  # without its number
    text: str


@dataclass
class _Open:
    """A section that is being read."""

    id: str = ""
    title: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)


def sections(content: bytes) -> list[Section]:
    """The sections of the page in their order; one without an id or a title is left out.

    Raises InputError for what is no well-formed XML in UTF-8, declares entities or nests deeper than `MAX_DEPTH`.
    """
    reader = _Reader()
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.EntityDeclHandler = _refuse
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        raise InputError(f"it is no well-formed XHTML ({error})") from None
    return list(_closed(reader.found))


def _refuse(name: str, *_: object) -> None:
    """Entities of a page's own may unfold to any size."""
    raise InputError(f"it declares the entity {name!r}")


def _closed(found: list[_Open]) -> Iterator[Section]:
    for one in found:
        title = NUMBER.sub("", _flat(one.title))
        if one.id and title:
            yield Section(one.id, title, _flat(one.text))


def _flat(parts: list[str]) -> str:
    return " ".join("".join(parts).split())


class _Reader:
    """Keeps the roles of the elements that are open, and the sections among them."""

    def __init__(self) -> None:
        self.found: list[_Open] = []
        self._roles: list[str] = []
        self._sections: list[_Open] = []

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        if len(self._roles) == MAX_DEPTH:
            raise InputError(f"its elements are nested more than {MAX_DEPTH} deep")
        self._part(tag)
        names = attributes.get("class", "").split()
        self._roles.append(next((ROLES[tag, name] for name in names if (tag, name) in ROLES), ""))
        if self._roles[-1] == "section":
            self._sections.append(_Open())
            self.found.append(self._sections[-1])
        elif self._sections and "title" in self._roles and not self._sections[-1].id:
            self._sections[-1].id = attributes.get("id", "")

    def end(self, tag: str) -> None:
        if self._roles.pop() == "section":
            self._sections.pop()
        self._part(tag)

    def text(self, data: str) -> None:
        if self._sections and "quoting" not in self._roles:
            section = self._sections[-1]
            (section.title if "title" in self._roles else section.text).append(data)

    def _part(self, tag: str) -> None:
        """Words of two blocks are two words."""
        if tag not in INLINE:
            self.text(" ")
