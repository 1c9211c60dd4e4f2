"""The first row of a table, for passages that begin further down in it."""

from bisect import bisect_left, bisect_right

from bankml.documents.counting import Count, batched
from bankml.documents.extracted import Block, Extracted

LONGEST = 240  # characters of a row that may be repeated


class Headers:
    """What columns are called in the tables of a document, where that costs at most `most` tokens by `count`."""

    def __init__(self, extracted: Extracted, count: Count, most: int) -> None:
        self._tables = [block for block in extracted.blocks if block.kind == "table"]
        self._starts = [table.start for table in self._tables]
        rows = [_first_row(extracted.text, table) for table in self._tables]
        tokens = list(batched(rows, count))
        self._rows = [row if cost <= most else "" for row, cost in zip(rows, tokens, strict=True)]
        self._tokens = [cost if row else 0 for row, cost in zip(self._rows, tokens, strict=True)]

    def above(self, place: int) -> str:
        """Those of the table that the place is in, below its first row; "" where there are none."""
        number = bisect_left(self._starts, place) - 1
        return self._rows[number] if number >= 0 and place < self._tables[number].end else ""

    def tokens(self, start: int, end: int) -> int:
        """The most that any of them costs in a part of the text."""
        first, last = bisect_left(self._starts, start), bisect_right(self._starts, end)
        return max(self._tokens[first:last], default=0)


def _first_row(text: str, table: Block) -> str:
    end = text.find("\n", table.start, min(table.end, table.start + LONGEST))
    row = text[table.start : end].strip().strip("|").strip() if end >= 0 else ""
    return row if "|" in row else ""
