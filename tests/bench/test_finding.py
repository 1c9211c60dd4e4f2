"""The bench of what is found of what is remembered, on a few texts."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bankml.embedders import choose
from bankml.encoder import Encoder
from bankml.evaluation.faq import Language
from bankml.evaluation.model import Model
from bankml.models.progress import silent
from bench import agent, aims, finding, found, quotes

DOCUMENTS = {
    "remove": "The command purge deletes the files of an installed program.",
    "kernel": "Linux is at the heart, compiled by its own team.",
    "mail": "The list server forwards letters to subscribers.",
}
QUERIES = {"remove": "How is a program deleted?", "mail": "Where do I subscribe?"}


@pytest.fixture
def model(stocked_home, minilm: Path, tmp_path: Path) -> Iterator[Model]:
    with Encoder(minilm) as encoder:
        yield Model(encoder, tmp_path / "vectors", silent)


def test_each_method_on_records_and_documents(model: Model) -> None:
    language = Language("en", DOCUMENTS, QUERIES, 0, 0)
    lines = list(found.of(language, choose(name="all-minilm-l6-v2"), model))
    by_method = {(line["kind"], line["method"]): line for line in lines}
    assert {method for kind, method in by_method if kind == "records"} == {
        "words", "meaning", "rrf", *(f"convex α={alpha}" for alpha in found.ALPHAS)
    }  # fmt: skip
    assert {method for kind, method in by_method if kind == "documents"} == {"words", "meaning", "rrf", "convex"}
    for kind in ("records", "documents"):
        assert by_method[kind, "meaning"]["MRR"] == by_method[kind, "meaning"]["recall@3"] == 1
        assert by_method[kind, "words"]["queries"] == 2
    assert all(0 < line["p50_ms"] <= line["p95_ms"] for line in lines)
    told = found.table([{"model": "all-minilm-l6-v2", "language": "en", **line} for line in lines])
    assert len(told.splitlines()) == 2 + len(lines)


def test_quotes_of_long_records(model: Model) -> None:
    long = [
        " ".join(f"Team {name} compiles part {n} of the {name} kernel every night." for n in range(60)) for name in "ab"
    ]
    lines = {one["method"]: one for one in quotes.measured(choose(name="all-minilm-l6-v2"), model, long, 5)}
    assert lines["convex"]["records"] == 7
    assert lines["convex"]["first"] == lines["words"]["first"] == 1
    assert "one vector" in quotes.table([{"model": "m", **line} for line in lines.values()])


def test_a_quote_is_of_the_last_third() -> None:
    for name in range(20):
        text = " ".join(f"This is sentence number {number} of the long text {name}." for number in range(90))
        one = quotes.quote(text)
        assert text.index(one) > len(text) * 2 / 3
        assert one == quotes.quote(text)
    assert len(set(quotes.docstrings(20))) == 20


def test_an_agent_is_answered(stocked_home, tmp_path: Path) -> None:
    asked = ["how do I install a package"] * (agent.WARM + 2)
    here, written, over, noted = agent.of(40, asked)
    assert (here["way"], over["way"], over["questions"]) == ("in the process", "over MCP", 2)
    assert [line["way"] for line in (written, noted)] == [line["way"] + agent.AFTER for line in (here, over)]
    assert 0 < here["p50_ms"] <= here["p95_ms"]
    assert all(line["p95_ms"] > 0 for line in (written, over, noted))
    assert "| 40 | over MCP | 2 | not measured | not measured |" in agent.table(
        [over | {"p50_ms": None, "p95_ms": None}]
    )


def test_the_aims() -> None:
    run = {
        "quotes": [{"method": "convex", "first": 0.95}, {"method": "convex", "first": 0.85}],
        "agent": [{"records": 10_000, "way": "over MCP", "p95_ms": 40.0}],
    }
    assert [aim.row(run).split(" | ")[-1] for aim in finding.AIMS] == ["**missed** |", "met |"]
    assert "not in this run" in finding.AIMS[1].row({"agent": [{"records": 10_000, "way": "over MCP", "p95_ms": None}]})
    assert aims.table({}, finding.AIMS).endswith("does not have.")
