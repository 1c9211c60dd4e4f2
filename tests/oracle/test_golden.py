"""The engine against the golden files, which `python -m oracle.make_golden` made without it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bankml._engine import Engine
from oracle import vectors
from oracle.make_golden import DIGITS, FOLDER, Tiny

NAMES = ("tokens", "vectors", "llama")


def golden(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="ascii"))


@pytest.fixture(scope="module")
def built_ins(minilm: Path, e5: Path) -> dict[str, Path]:
    return {"all-minilm-l6-v2": minilm, "multilingual-e5-small": e5}


@pytest.mark.parametrize("kind", ["wordpiece", "unigram"])
def test_ids(built_ins: dict[str, Path], kind: str) -> None:
    name = "all-minilm-l6-v2" if kind == "wordpiece" else "multilingual-e5-small"
    engine = Engine(built_ins[name], threads=1)
    entries = golden("tokens")["content"]
    wrong = [ascii(e["text"]) for e in entries if engine.tokenize(e["text"])[0] != e[kind]]
    assert len(entries) > 200
    assert wrong == []


@pytest.mark.parametrize("name", ["all-minilm-l6-v2", "multilingual-e5-small"])
def test_vectors_of_the_built_in_models(built_ins: dict[str, Path], name: str) -> None:
    entries = golden("vectors")["content"]["models"][name]
    engine = Engine(built_ins[name])
    ours = list(engine.encode([entry["text"] for entry in entries])[0].astype(np.float64))
    found = vectors.distance(ours, [np.array(entry["vector"]) for entry in entries])
    assert vectors.tolerance(built_ins[name]).allows(found), found


@pytest.mark.parametrize("entry", golden("vectors")["content"]["seeded"], ids=lambda e: "-".join(e["recipe"].values()))
def test_vectors_of_seeded_models(entry: dict[str, Any], tmp_path: Path) -> None:
    path = Tiny(**entry["recipe"]).make(tmp_path)
    ours = vectors.encode_ids(path, [text["ids"] for text in entry["texts"]])
    found = vectors.distance(ours, [np.array(text["vector"]) for text in entry["texts"]])
    assert vectors.tolerance(path).allows(found), found


def test_llama_cpps_vectors(minilm: Path) -> None:
    entries = golden("llama")["content"]["models"]["all-minilm-l6-v2"]
    ours = vectors.encode_ids(minilm, [entry["ids"] for entry in entries], "tanh")
    assert vectors.distance(ours, [np.array(entry["vector"]) for entry in entries]).cosine >= vectors.LLAMA


@pytest.mark.parametrize("name", NAMES)
def test_a_golden_file_says_what_made_it(name: str) -> None:
    made = golden(name)
    assert made["made_by"] == "python -m oracle.make_golden"
    assert {"python", "numpy", "gguf", "llama-cpp-python", "tokenizers", "sentencepiece"} <= made["versions"].keys()


def test_the_golden_files_are_small_and_rounded() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < 1_000_000
    vector = golden("vectors")["content"]["models"]["all-minilm-l6-v2"][0]["vector"]
    assert vector == [round(value, DIGITS) for value in vector]
