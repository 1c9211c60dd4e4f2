"""What holds of every extracted document."""

from itertools import pairwise

from bankml.documents.extracted import Extracted


def assert_sound(extracted: Extracted) -> None:
    """Blocks in order within the text, each with its line where the text is the source's, and nothing left out."""
    text, at, line = extracted.text, 0, 1
    text.encode()
    assert "\0" not in text
    for block in extracted.blocks:
        assert at <= block.start < block.end <= len(text)
        assert not text[at : block.start].strip()
        assert (block.level > 0) == (block.kind == "heading")
        if extracted.has_lines:
            line += text.count("\n", at, block.start)
            assert block.line == line
            line += text.count("\n", block.start, block.end)
        at = block.end
    assert not text[at:].strip()
    lines = [block.line for block in extracted.blocks if block.line]
    assert extracted.type == "json" or all(first <= second for first, second in pairwise(lines))


def shown(extracted: Extracted) -> list[tuple[str, int, int | None, str]]:
    """Kind, level, line and text of each block."""
    return [(b.kind, b.level, b.line, extracted.text[b.start : b.end]) for b in extracted.blocks]
