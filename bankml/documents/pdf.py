"""PDF → its text, page by page."""

import io
import re
from collections.abc import Iterator

from pypdf import PdfReader

from bankml.documents.assembly import Assembly
from bankml.documents.extracted import Extracted
from bankml.documents.titles import of_file, shortened
from bankml.errors import DocumentError

BLANK = re.compile(r"\n[^\S\n]*\n\s*")
HYPHEN = re.compile(r"(?<=[^\W\d_])[-\xad]\n(?=[a-zß-öø-ÿ])")  # of a word in two lines
PAGES = 20_000
NAMES_OF_PROGRAMS = re.compile(
    r"microsoft (?:word|powerpoint) - |untitled|\.(?:docx?|pptx?|tex|dvi|indd)$", re.IGNORECASE
)


def pdf(kind: str, name: str, content: bytes) -> Extracted:
    """Paragraphs with their pages. Raises DocumentError where it is encrypted, damaged or without text."""
    reader = PdfReader(io.BytesIO(content))
    if reader.is_encrypted and not reader.decrypt(""):
        raise DocumentError("is encrypted: take its password off, as `qpdf --decrypt` does")
    assembly, bad = Assembly(), []
    number = 0
    for number, text in _pages(reader):
        if text is None:
            bad.append(number)
        for paragraph in BLANK.split(HYPHEN.sub("", text or "")):
            assembly.add(paragraph, "paragraph", page=number)
    if not assembly.blocks:
        raise DocumentError(f"has no text (pages: {number:,}), pictures perhaps: docling reads those")
    notes = (f"pages that cannot be read: {len(bad):,}, the first is page {bad[0]:,}",) if bad else ()
    return assembly.extracted(kind, _title(reader) or of_file(name), notes)


def _pages(reader: PdfReader) -> Iterator[tuple[int, str | None]]:
    """Number, from 1, and text; None where it cannot be read."""
    for number, page in enumerate(reader.pages, 1):
        if number > PAGES:
            raise DocumentError(f"has more than {PAGES:,} pages: split it")
        try:
            yield number, page.extract_text()
        except MemoryError:
            raise
        except Exception:  # of one page: the others may be sound
            yield number, None


def _title(reader: PdfReader) -> str:
    try:
        title = shortened(str(reader.metadata.title or "")) if reader.metadata else ""
    except Exception:  # damaged metadata
        return ""
    return "" if NAMES_OF_PROGRAMS.search(title) else title
