"""The committed Unicode tables are what the generator makes of the pinned `tokenizers` today."""

from pathlib import Path

from oracle import make_unicode_tables as generator


def test_the_committed_tables_are_the_generators(tmp_path: Path) -> None:
    made = generator.render(generator.observe())
    assert made == generator.TARGET.read_text(encoding="ascii")
    assert generator.TARGET.stat().st_size < 200_000
