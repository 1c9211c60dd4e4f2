"""The bytes of a file → its text with structure."""

from collections.abc import Callable

from bankml.documents.code import DECLARED as IN_CODE
from bankml.documents.code import code
from bankml.documents.conversion import conversion
from bankml.documents.decoding import decoded
from bankml.documents.extracted import Extracted
from bankml.documents.html import DECLARED as IN_HTML
from bankml.documents.html import html
from bankml.documents.json_document import json_document
from bankml.documents.kinds import kind
from bankml.documents.markdown import markdown
from bankml.documents.notebook import notebook
from bankml.documents.plain import plain
from bankml.documents.rows import jsonl, separated
from bankml.documents.source import LARGEST
from bankml.errors import DocumentError

EXTRACTOR = 1  # raised when the same file would give another text or other blocks

READERS: dict[str, Callable[[str, str, tuple[str, ...]], Extracted]] = {
    "text": plain,
    "rst": lambda name, text, notes: plain(name, text, notes, "rst"),
    "markdown": markdown,
    "html": html,
    "code": code,
    "json": json_document,
    "jsonl": jsonl,
    "notebook": notebook,
    "csv": separated,
}
DECLARED = {"html": IN_HTML, "code": IN_CODE}


def extract(name: str, content: bytes, converter: str = "", type: str | None = None) -> Extracted:
    """What is in a file called `name`, which is of this `type` of text; None: its bytes and its name tell.

    `converter`: "docling" in place of pypdf and markitdown. Raises DocumentError, a sentence that goes on from the
    file's name, and InputError for an unknown converter.
    """
    if len(content) > LARGEST:
        raise DocumentError(f"has {len(content):,} bytes, more than the {LARGEST >> 20} MiB that are read: split it")
    type = type if type in READERS else kind(name, content)  # which looks into archives before anything else does
    if type not in READERS:
        return conversion.convert(type, name, content, converter)
    text, notes = decoded(content, DECLARED.get(type))
    return READERS[type](name, text, notes)
