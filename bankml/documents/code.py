"""Source code → its definitions, each under its first line; the text stays as it is."""

import re
from collections.abc import Iterable, Iterator, Sequence

from bankml.documents.covering import Span, covering, starts
from bankml.documents.definitions import Definition, by_indentation, in_python
from bankml.documents.extracted import Extracted
from bankml.documents.titles import of_file

PYTHON = (".py", ".pyi", ".pyw")
DECLARED = re.compile(rb"coding[:=][ \t]*([-\w.]+)")  # PEP 263's, which Emacs and Ruby share


def code(name: str, text: str, notes: tuple[str, ...]) -> Extracted:
    """Headings are the lines that begin a definition; in Python methods stand below their class."""
    at = starts(text)
    found: Iterable[Definition] | None = in_python(text, at) if name.endswith(PYTHON) else None
    spans = _spans(by_indentation(text, at) if found is None else found, at)
    return Extracted(text, "code", of_file(name), covering(text, spans, gap="code"), has_lines=True, notes=notes)


def _spans(found: Iterable[Definition], at: Sequence[int]) -> Iterator[Span]:
    for first, last, level in found:
        if first < last:
            yield Span(at[first], at[last] - 1, "heading", level)
        elif first:
            yield Span(at[first] - 1, at[first], "heading", level)  # the newline: a heading that is blank
