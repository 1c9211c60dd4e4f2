"""Lines and pages of places in a text, asked for in ascending order."""

from bankml.documents.extracted import Extracted


class Places:
    """Each place is counted on from the one before it, so all of them together read the text once."""

    def __init__(self, extracted: Extracted) -> None:
        self._extracted = extracted
        self._at = self._newlines = self._block = 0

    def of(self, place: int) -> tuple[int | None, int | None]:
        """Line and page, from 1, where they are known."""
        blocks = self._extracted.blocks
        while self._block + 1 < len(blocks) and blocks[self._block + 1].start <= place:
            self._block += 1
        line, page = (blocks[self._block].line, blocks[self._block].page) if blocks else (None, None)
        return self._line(place) if self._extracted.has_lines else line, page

    def _line(self, place: int) -> int:
        self._newlines += self._extracted.text.count("\n", self._at, place)
        self._at = place
        return 1 + self._newlines
