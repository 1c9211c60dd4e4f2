"""Libraries of the bench are compiled once, and a compiler that fails is told."""

from pathlib import Path

import pytest

from bench import native


def test_a_library_is_made_once_for_its_content(tmp_path: Path) -> None:
    source = tmp_path / "one.c"
    source.write_text("int one(void) { return 1; }\n")
    first = native.built(source)
    made = first.stat().st_mtime_ns
    assert native.built(source) == first
    assert first.stat().st_mtime_ns == made
    source.write_text("int one(void) { return 2; }\n")
    assert native.built(source) != first


def test_a_compiler_that_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "false")
    source = tmp_path / "one.cpp"
    source.touch()
    with pytest.raises(RuntimeError, match="false -std="):
        native.built(source)
    assert not list(native.cache.folder().rglob("*.so"))
