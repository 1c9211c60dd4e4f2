"""A text that is put together block by block, where it is not the source's own."""

from bankml.documents.extracted import Block, Extracted, Kind
from bankml.errors import DocumentError
from bankml.utf8 import whole

BETWEEN = "\n\n"
LARGEST = 1 << 28  # characters: a header repeated in each row, or a few bytes that unpack to more
BLOCKS = 1_000_000  # some 300 bytes each until they are cut


class Assembly:
    """Blocks in order, a blank line between each two; lone surrogates and NULs do not come through."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self.blocks: list[Block] = []

    def add(self, text: str, kind: Kind, level: int = 0, line: int | None = None, page: int | None = None) -> None:
        """One more block, without the blank lines around it; none where there is nothing else."""
        text = _clean(text)
        text = text.strip("\r\n").rstrip() if kind == "code" else text.strip()
        if not text.strip():
            return
        if self._length + len(text) > LARGEST:
            raise DocumentError(f"would become a text of more than {LARGEST >> 20} million characters: split it")
        if len(self.blocks) == BLOCKS:
            raise DocumentError(f"has more than {BLOCKS:,} rows or paragraphs: split it")
        if self._parts:
            self._parts.append(BETWEEN)
            self._length += len(BETWEEN)
        self._parts.append(text)
        self.blocks.append(Block(self._length, self._length + len(text), kind, level, line, page))
        self._length += len(text)

    def extracted(self, type: str, title: str, notes: tuple[str, ...] = ()) -> Extracted:
        """All that was added."""
        return Extracted("".join(self._parts), type, title, tuple(self.blocks), has_lines=False, notes=notes)


def _clean(text: str) -> str:
    if "\0" in text:
        text = text.replace("\0", " ")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = str(whole(text))
    return text
