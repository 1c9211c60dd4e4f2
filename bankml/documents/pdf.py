"""PDF → its text, page by page."""

import io
import re
from collections.abc import Iterator

from pypdf import PdfReader

from bankml.documents.assembly import Assembly
from bankml.documents.extracted import Extracted
from bankml.documents.outline import outline, split
from bankml.documents.running import without_running_lines
from bankml.documents.titles import of_file, shortened
from bankml.errors import DocumentError

BLANK = re.compile(r"\n[^\S\n]*\n\s*")
HYPHEN = re.compile(r"(?<=[^\W\d_])[-\xad]\n(?=[a-zß-öø-ÿ])")  # of a word in two lines
PAGES = 20_000
NAMES_OF_PROGRAMS = re.compile(
    r"microsoft (?:word|powerpoint) - |untitled|\.(?:docx?|pptx?|tex|dvi|indd)$", re.IGNORECASE
)


def pdf(kind: str, name: str, content: bytes) -> Extracted:
    """Paragraphs with their pages, under the headings of its outline, without running heads.

    Raises DocumentError where it is encrypted, damaged or without text.
    """
    reader = PdfReader(io.BytesIO(content))
    if reader.is_encrypted and not reader.decrypt(""):
        raise DocumentError("is encrypted: take its password off, as `qpdf --decrypt` does")
    texts = list(_texts(reader))
    bad = [number for number, text in enumerate(texts, 1) if text is None]
    if bad and len(bad) == len(texts):
        raise DocumentError(f"has no page that can be read (pages: {len(bad):,}), damaged perhaps: save it anew")
    assembly, headings = Assembly(), outline(reader)
    for number, text in enumerate(without_running_lines([text or "" for text in texts]), 1):
        for part, level in split(text, headings.get(number, ())):
            for paragraph in [part] if level else BLANK.split(HYPHEN.sub("", part)):
                assembly.add(paragraph, "heading" if level else "paragraph", level, page=number)
    if all(block.kind == "heading" for block in assembly.blocks):
        raise DocumentError(f"has no text (pages: {len(texts):,}), pictures perhaps: docling reads those")
    notes = (f"pages that cannot be read: {len(bad):,}, the first is page {bad[0]:,}",) if bad else ()
    return assembly.extracted(kind, _title(reader) or of_file(name), notes)


def _texts(reader: PdfReader) -> Iterator[str | None]:
    """Of each page; None where it cannot be read."""
    for number, page in enumerate(reader.pages, 1):
        if number > PAGES:
            raise DocumentError(f"has more than {PAGES:,} pages: split it")
        try:
            yield page.extract_text()
        except MemoryError:
            raise
        except Exception:  # of one page: the others may be sound
            yield None


def _title(reader: PdfReader) -> str:
    try:
        title = shortened(str(reader.metadata.title or "")) if reader.metadata else ""
    except Exception:  # damaged metadata
        return ""
    return "" if NAMES_OF_PROGRAMS.search(title) else title
