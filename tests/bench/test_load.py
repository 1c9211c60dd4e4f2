"""bench.load on a small model, and its tables on figures made here."""

import copy
import math
from pathlib import Path
from typing import Any

import pytest

from bankml import Encoder
from bench import corpus, load, load_report, overhead, scheduling, servers
from oracle import seeded

OURS = {"requests_per_second": 30.0, "tokens_per_second": 450.0, "p50": 0.2, "p95": 0.3, "p99": 0.4}
MORE = {"answers": 90, "errors": 0, "refused": [], "client_cpu": 0.03}
CASES = ("8 clients, 15 tokens", "64 clients, 15 tokens", "400 clients, 15 tokens", "8 documents of 483 tokens")


def run() -> dict[str, Any]:
    """A run in which every aim is met."""
    theirs = {**{name: value / 2 for name, value in OURS.items()}, **MORE, "resident": 2.1e9}
    both = {"bankml": {**OURS, **MORE, "resident": 0.69e9}, "llama-server": theirs}
    return {
        "datetime": "2026-11-30T00:00:00",
        "machine": "a machine",
        "load": [0.5, 0, 0],
        "versions": {"numpy": "2"},
        "settings": {"bankml": "as installed", "llama-server": "11434, --parallel 8"},
        "resident_before": {"bankml": 0.66e9, "llama-server": 2.0e9},
        "loads": [{"case": case, "rounds": 3, "servers": copy.deepcopy(both)} for case in CASES],
        "overhead": [
            {"case": "1 x 15", "seconds": {"encode": 0.002, "float": 0.0028, "base64": 0.0026}},
            {"case": "64 x 32", "seconds": {"encode": 0.1, "float": 0.104, "base64": 0.101}},
        ],
        "scheduling": {
            "documents": 200,
            "query_alone": 0.05,
            "query_beside": 0.15,
            "queries": 140,
            "errors": 0,
            "job_alone": 140.0,
            "job_beside": 150.0,
        },
    }


def test_every_part_has_its_table_and_every_aim_is_met() -> None:
    text = load_report.lines(run())
    assert (
        "| 8 clients, 15 tokens | llama-server | 15.00 | 225 | 100.0 ms | 150.0 ms | 200.0 ms | 0 | 2,100 | **2.00** |"
        in text
    )
    assert "| 1 x 15 | 2.0 ms | 2.8 ms | 2.6 ms | 0.80 ms, 40.0 % | 0.60 ms, 30.0 % |" in text
    assert "| a query of 15 tokens, p95 | 50.0 ms | 150.0 ms | 3.0 |" in text
    assert "| a job of 200 documents of 483 | 140.00 s | 150.00 s | 1.07 |" in text
    assert text.count("| met |") == len(load_report.AIMS) == 11
    assert "The clients took at most 3 % of one CPU." in text


@pytest.mark.parametrize(
    ("where", "value", "aim"),
    [
        (("loads", 1, "servers", "bankml", "requests_per_second"), 20.0, "64 clients"),
        (("loads", 3, "servers", "bankml", "tokens_per_second"), 440.0, "8 documents"),
        (("loads", 3, "servers", "bankml", "resident"), 0.8e9, "resident"),
        (("overhead", 0, "seconds", "base64"), 0.0031, "one query, base64"),
        (("overhead", 1, "seconds", "float"), 0.106, "64 x 32, float"),
        (("scheduling", "query_beside"), 0.21, "a query beside a job"),
        (("scheduling", "job_beside"), 160.0, "a job beside queries"),
    ],
)
def test_each_aim_can_be_missed(where: tuple[Any, ...], value: float, aim: str) -> None:
    found = run()
    inner: Any = found
    for key in where[:-1]:
        inner = inner[key]
    inner[where[-1]] = value
    missed = [line for line in load_report.lines(found).splitlines() if "**missed**" in line]
    assert len(missed) == 1
    assert aim in missed[0]


def test_without_llama_server_there_is_a_word() -> None:
    found = run()
    del found["settings"]["llama-server"]
    for case in found["loads"]:
        del case["servers"]["llama-server"]
    text = load_report.lines(found)
    assert "llama-server was not there" in text
    assert text.count("| met |") == 6


def test_a_server_that_answers_nothing_in_time_has_dashes() -> None:
    found = run()
    none = {"requests_per_second": 0.0, "tokens_per_second": 0.0, **dict.fromkeys(("p50", "p95", "p99"), math.inf)}
    found["loads"][3]["servers"]["llama-server"] |= none | {"errors": 3}
    text = load_report.lines(found)
    assert "| 8 documents of 483 tokens | llama-server | 0.00 | 0 | - | - | - | 3 | 2,100 | - |" in text
    assert text.count("| met |") == len(load_report.AIMS) - 1


def test_a_busy_machine_is_told() -> None:
    assert "The machine was busy" in load_report.lines({**run(), "load": [3.0, 0, 0]})
    assert "busy" not in load_report.lines(run())


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No llama-server."""
    monkeypatch.setattr(servers, "found", lambda: None)


@pytest.mark.usefixtures("alone")
def test_figures_of_a_real_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = seeded.tiny(tmp_path / "tiny.gguf")
    with Encoder(path) as encoder:
        texts = [f"text {k}" for k in range(9)]
        tokens = int(encoder.encode_full(texts).tokens.sum())
    case = load.Case("9 texts", 3, [[text] for text in texts], tokens)
    with load.both(path) as pair:
        found = load.loaded(pair, case, seconds=0.3, rounds=2)
    assert "no llama-server" in capsys.readouterr().err
    figures = found["servers"]["bankml"]
    assert (found["rounds"], figures["errors"]) == (2, 0)
    assert figures["tokens_per_second"] == pytest.approx(figures["requests_per_second"] * tokens / 9)
    assert 0 < figures["p50"] <= figures["p95"] <= figures["p99"]
    assert 10e6 < figures["resident"] < 500e6


def test_two_servers_that_disagree_are_an_error(tmp_path: Path) -> None:
    files = [seeded.tiny(tmp_path / f"{seed}.gguf", seed=seed) for seed in (0, 1)]
    with (
        servers.bankml(files[0]) as one,
        servers.bankml(files[1]) as other,
        pytest.raises(RuntimeError, match="cosine"),
    ):
        load.agree([one, other])


def test_overhead_and_scheduling_of_a_real_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minilm: Path
) -> None:
    monkeypatch.setattr(overhead, "QUERIES", 3)
    monkeypatch.setattr(overhead, "BATCHES", 1)
    monkeypatch.setattr(overhead, "TURNS", 1)
    monkeypatch.setattr(scheduling, "DOCUMENT", 64)
    one, batch = overhead.measure(minilm, rounds=1)
    assert (one["case"], set(one["seconds"])) == ("1 x 15", {"encode", "float", "base64"})
    assert batch["seconds"]["encode"] > one["seconds"]["encode"] > 0
    found = scheduling.measure(minilm, documents=3)
    assert found["errors"] == 0
    assert found["job_beside"] > 0 < found["job_alone"]
    assert found["query_alone"] > 0


def test_texts_have_the_tokens_that_are_asked_for(minilm: Path) -> None:
    with Encoder(minilm) as encoder:
        texts = corpus.of_length(encoder, 20, 15)
        assert texts == corpus.of_length(encoder, 20, 15)
        assert len(set(texts)) == 20
        assert {len(encoder.tokenize(text)) for text in texts} == {15}
