"""The command that prints a knowledge base's figures: its aims and tables."""

import json
from pathlib import Path
from typing import Any

import pytest

from bench import adding, library, results
from bench.library import AIMS


def line(chunks: int, milliseconds: float) -> dict[str, Any]:
    return {
        "chunks": chunks,
        "milliseconds": {name: [milliseconds] for name in ("words", "meaning", "fused", "cold shell")},
    }


def judged(model: str, **ndcg: dict[str, float]) -> dict[str, Any]:
    libraries = {name: {kind: {"ndcg": value} for kind, value in kinds.items()} for name, kinds in ndcg.items()}
    return {"model": model, "language": "en", "questions": 3, "libraries": libraries}


RUN: dict[str, Any] = {
    "searches": [line(10_000, 1.0), line(100_000, 11.0)],
    "adding": [
        {"language": "en", "tokens": 1000, "seconds": 1.0, "wall": 2.0, "engine_seconds": 0.95},
        {"language": "ja", "tokens": 1000, "seconds": 1.0, "wall": 2.0, "engine_seconds": 0.75},
    ],
    "peers": [{"libraries": {"bankml": {"stages": [{"recall": 1.0}]}}}],
    "quality": [
        judged("one", bankml={"fused": 0.8}, chromadb={"meaning": 0.4}, lancedb={"meaning": 0.5, "fused": 0.9}),
        judged("two", bankml={"fused": 0.8}, chromadb={"meaning": 0.6}, lancedb={"meaning": 0.5, "fused": 0.4}),
    ],
}


@pytest.mark.parametrize(
    ("what", "row"),
    [
        ("100,000 passages by words", "≤ 10.00 ms | 11.00 ms | **missed**"),
        ("100,000 passages, fused, with the query's embedding", "≤ 30.00 ms | 11.00 ms | met"),
        ("meaning: time a passage, the largest beside the one before", "≤ 1.25 | 1.10 | met"),
        ("adding the FAQs: of the engine's tokens/s", "≥ 0.90 | 0.85 | **missed**"),
        ("recall@10 of meaning beside an exact search", "≥ 0.99 | 1.00 | met"),
        ("nDCG@10, fused, beside a peer's by meaning", "≥ 1.00 | 1.33 | met"),
        ("nDCG@10, fused, beside a peer's fused", "≥ 1.00 | 0.89 | **missed**"),
    ],
)
def test_an_aim_is_met_or_missed(what: str, row: str) -> None:
    aim = next(aim for aim in AIMS if aim.what == what)
    assert aim.row(RUN) == f"| {what} | {row} |"
    assert (what in library.missed(RUN)) == ("missed" in row)


def test_without_a_part_its_aims_have_no_figures() -> None:
    assert [aim.what for aim in AIMS if aim.figure({}) is not None] == []
    assert [aim.what for aim in AIMS if aim.figure(RUN) is None] == []
    assert [aim.what for aim in AIMS if aim.figure({"searches": [line(1_000, 1.0)]}) is not None] == []


def test_parts_are_measured_kept_and_shown(monkeypatch, tmp_path: Path, capsys) -> None:
    monkeypatch.setattr(results, "FOLDER", tmp_path / "results")
    monkeypatch.setattr(library.upkeep.sections, "sections", lambda language: ["some words of a text"] * 200)
    assert library.main(["upkeep", "--chunks", "60"]) == 0
    (file,) = (tmp_path / "results").glob("library-*.json")
    assert set(json.loads(file.read_text())["upkeep"]) >= {"swap", "status"}
    shown = capsys.readouterr().out
    assert "Upkeep of 60 chunks" in shown
    assert library.main(["--report", str(file)]) == 0
    assert capsys.readouterr().out.strip() == shown.removesuffix(f"\n\n{file}\n")


def test_adding_is_shared_out_by_all_languages() -> None:
    lines = [each | {"added": 17, "chunks": 50} for each in RUN["adding"]]
    assert adding.share(lines, "wall") == pytest.approx(0.425)
    assert adding.table(lines).splitlines()[-1] == "| all 2 | 34 | 100 | 2,000 | 1,000 | 1,176 | 85.0% | 42.5% |"


def test_what_is_typed_is_what_is_added(stocked_home, tmp_path: Path, monkeypatch) -> None:
    page = "<html><body><h1>Apples</h1><p>An apple a day.</p></body></html>"
    monkeypatch.setattr(adding.texts, "pages", lambda language: [page, page.replace("apple", "pear")])
    (line,) = adding.figures(["en"])
    assert (line["added"], line["chunks"], line["tokens"] > 10) == (2, 2, True)
    assert 0 < line["seconds"] < line["wall"]
