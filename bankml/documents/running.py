"""Running heads and page numbers: what stands at the top or the bottom of most pages."""

import re
from collections import Counter
from collections.abc import Sequence

FEWEST = 4  # pages: of three, two may begin alike
LINES = 3  # at each end of a page
DIGITS = re.compile(r"\d+|\b[ivxlc]{1,7}\b", re.IGNORECASE)


def without_running_lines(pages: Sequence[str]) -> list[str]:
    """The pages without them; the first page that has words of a running head keeps them."""
    lines = [page.split("\n") for page in pages]
    for end in (0, -1):
        for _ in range(LINES):
            for page in lines:
                while page and not page[end].strip():
                    page.pop(end)
            if not _dropped(lines, end):
                break
    return ["\n".join(page) for page in lines]


def _dropped(lines: list[list[str]], end: int) -> bool:
    """Whether there was such a line at this end of the pages, which is dropped."""
    found = Counter(_alike(page[end]) for page in lines if page)
    alike, times = max(found.items(), key=lambda pair: pair[1], default=("", 0))
    if times < FEWEST or 2 * times <= found.total():
        return False
    kept = "#" in alike and not re.search(r"[^\W\d_]", alike)  # a number alone says nothing even once
    for page in lines:
        if page and _alike(page[end]) == alike:
            if kept:
                page.pop(end)
            kept = True
    return True


def _alike(line: str) -> str:
    return DIGITS.sub("#", " ".join(line.split()))
