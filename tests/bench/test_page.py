"""How figures get into docs/performance.md."""

import json
from pathlib import Path

import pytest

from bench import page
from tests.bench.test_load import run as load_run
from tests.bench.test_report import RUN

TEXT = "a\n<!-- speed: start -->\nold\n<!-- speed: end -->\nb <!-- memory: start --><!-- memory: end -->\n"


def test_only_the_part_between_its_marks_changes() -> None:
    once = page.replaced(TEXT, "speed", "new")
    assert once == TEXT.replace("old", "new")
    assert page.replaced(once, "speed", "old") == TEXT


def test_a_page_without_marks_is_left_alone() -> None:
    with pytest.raises(ValueError, match="unpack"):
        page.replaced("nothing", "speed", "new")


def test_a_knowledge_bases_figures_have_a_page_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page.replaced(page.LIBRARY.read_text(), "library", "")
    monkeypatch.setattr(page, "LIBRARY", tmp_path / "page.md")
    page.LIBRARY.write_text("<!-- library: start -->old<!-- library: end -->\n")
    run = {"datetime": "2026-11-30T12:00:00", "machine": "M", "load": [0.1], "upkeep": {"chunks": 1000, "swap": 2.5}}
    (tmp_path / "run.json").write_text(json.dumps(run))
    page.main([str(tmp_path / "run.json")])
    shown = page.LIBRARY.read_text()
    assert "`python -m bench.library`, 2026-11-30, M; load 0.1 before." in shown
    assert "| swap | 2.5 |" in shown
    assert "old" not in shown


def test_what_is_remembered_has_a_page_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for part in page.OF_RETRIEVAL:
        page.replaced(page.RETRIEVAL.read_text(), part, "")
    monkeypatch.setattr(page, "RETRIEVAL", tmp_path / "page.md")
    page.RETRIEVAL.write_text("<!-- finding: start -->old<!-- finding: end -->\n")
    quoted = {"model": "m", "method": "convex", "quotes": 49, "records": 1049, "first": 0.98}
    run = {"datetime": "2026-11-30T12:00:00", "machine": "M", "load": [0.1], "quotes": [quoted]}
    (tmp_path / "run.json").write_text(json.dumps(run))
    page.main([str(tmp_path / "run.json")])
    shown = page.RETRIEVAL.read_text()
    assert "| m | convex | 49 | 1,049 | 98.0% |" in shown
    assert "old" not in shown


def test_the_page_has_every_mark() -> None:
    text = page.PAGE.read_text()
    for part in (*page.COMMANDS, "memory", "stages", "tokenizers", "load"):
        page.replaced(text, part, "")


def test_a_run_goes_where_it_belongs_and_aims_beside_their_cpu() -> None:
    part, text = page.block(RUN)
    assert part == "speed-full-avx2"
    assert text.startswith("`make bench-full CPU=avx2`, 2026-11-29, a machine")
    assert "| aim | bound | found | |" in text
    assert "aim" not in page.block({**RUN, "part": "speed"})[1]


def test_a_runs_pictures_stand_below_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(page, "PLOTS", tmp_path)
    for name in ("speed", "speed-memory", "speed-full-avx2-bge", "speed-full-memory", "other"):
        (tmp_path / f"{name}.svg").touch()
    assert page.block({**RUN, "part": "speed"})[1].endswith(
        "![speed](plots/speed.svg)\n\n![speed-memory](plots/speed-memory.svg)"
    )
    assert page.block(RUN)[1].endswith("\n\n![speed-full-avx2-bge](plots/speed-full-avx2-bge.svg)")
    assert "plots/" not in page.block({**RUN, "part": "speed-avx2"})[1]


def test_a_memory_run_is_a_list() -> None:
    after = {"anon": 90e6, "file": 620e6, "peak": 730e6}
    figures = {"import": 0.1, "load": 0.2, "first_vector": 0.5, "resident": 710e6, "after_all": after}
    found = {**figures, "texts": 1490, "max_tokens": 64, "tokens": 80_000, "embedding": 400.0}
    about = {"datetime": "2026-11-30T00:00:00", "machine": "m", "load": [0.5, 0, 0], "versions": {"numpy": "2"}}
    part, text = page.block({**about, "figures": found})
    assert part == "memory"
    assert "- resident 710 MB (at most 750): anon 90, file 620; the most at any moment 730" in text


def test_a_load_run_is_its_tables() -> None:
    part, text = page.block(load_run())
    assert part == "load"
    assert text.startswith("`make bench-load`, 2026-11-30, a machine; load 0.5 before; numpy 2.")


def test_a_profile_is_a_table() -> None:
    one = {"model": "m", "case": "1 x 2", "backend": "avx2", "threads": 1, "seconds": 0.01, "marks": 0.001}
    run = {"datetime": "2026-11-30T00:00:00", "machine": "a machine", "load": [0.5, 0, 0]}
    part, text = page.block({**run, "profiles": [{**one, "stages": {"other": 0.25, "tiles": 0.75}}]})
    assert part == "stages"
    assert text.startswith("`make profile`, 2026-11-30, a machine; load 0.5 before.\n\n| model |")
