"""Which names are one model's, and by which it is told."""

import string
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bankml import models
from bankml.models import catalogue, choose, pinned, presets, short_names
from bankml.models.canonical import canonical, display, same
from bankml.settings import Settings

MINILM = (
    "all-MiniLM-L6-v2",
    "all-minilm-l6-v2",
    "sentence-transformers/all-MiniLM-L6-v2",
    "all-minilm",
    "all-minilm:22m",
)
BGE = ("bge-small-en-v1.5", "BAAI/bge-small-en-v1.5", "hf:BAAI/bge-small-en-v1.5", "baai/BGE-small-en-v1.5:latest")
NOMIC = ("nomic-embed-text", "nomic-embed-text:latest", "nomic-embed-text:v1.5", "nomic-ai/nomic-embed-text-v1.5")


@pytest.mark.parametrize(
    "names",
    [
        (
            *MINILM,
            "all-minilm:latest",
            " all-MiniLM-L6-v2:LATEST",
            " ALL-MINILM ",
            "registry.ollama.ai/library/all-minilm:22m",
        ),
        BGE,
        (*NOMIC, "hf:nomic-ai/nomic-embed-text-v1.5"),
        ("bge-m3", "BAAI/bge-m3", "bge-m3:latest", "bge-m3:567m", pinned.BGE_M3.source),
        ("multilingual-e5-small", "e5-small", "intfloat/multilingual-e5-small"),
        ("me/model", "me/model:latest", "ME/Model", "registry.ollama.ai/me/model"),
        ("hf:o/r/a.gguf", "hf:O/R/a.gguf"),
        ("./model.gguf", "model.gguf", Path("model.gguf"), Path.cwd() / "model.gguf"),
    ],
)
def test_aliases_are_one_model(names: tuple[str, ...]) -> None:
    assert {canonical(name) for name in names} == {canonical(names[0])}
    assert all(same(name, names[0]) for name in names)


def test_different_models_are_not_one() -> None:
    names = (
        MINILM[0], BGE[0], NOMIC[0], "bge-small-en", "bge-m3", "all-minilm:33m", "nomic-embed-text-v1", "hf:o/r/a.gguf",
        "hf:o/r/A.gguf", "hf:o/r", "hf:o/r@v1", "hf:BAAI/bge-small-en-v1.5@v1", "o/r", "./o/r", "bge-base-en.gguf",
        "hf:sentence-transformers/all-MiniLM-L6-v2", "hf:intfloat/multilingual-e5-small", "bge-m3:f16",
    )  # fmt: skip
    assert len({canonical(name) for name in names}) == len(names)


def test_a_file_of_that_name_is_not_the_hubs_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert same("BAAI/bge-small-en-v1.5", "bge-small-en-v1.5")
    Path("BAAI").mkdir()
    Path("BAAI/bge-small-en-v1.5").write_bytes(b"GGUF")
    assert canonical("BAAI/bge-small-en-v1.5") == str(tmp_path / "BAAI" / "bge-small-en-v1.5")
    Path("link.gguf").symlink_to("BAAI/bge-small-en-v1.5")
    assert same("link.gguf", "BAAI/bge-small-en-v1.5")


@given(st.text(alphabet=string.printable + "é\0\ud800", max_size=40))
def test_every_text_has_one_spelling_which_is_its_own(text: str) -> None:
    spelled = canonical(text)
    assert canonical(spelled) == spelled
    assert same(text, text)


@given(st.sampled_from([name for known in short_names.SHORT_NAMES for name in known.names]), st.booleans())
def test_every_short_name_leads_to_one_repository(name: str, upper: bool) -> None:
    known = short_names.find(name.upper() if upper else name)
    assert known
    assert name in known.names
    assert short_names.of(known.source) == known
    assert same(name, known.name)


def test_short_names_are_nobody_elses() -> None:
    names = [name for known in short_names.SHORT_NAMES for name in known.names]
    assert len(set(names)) == len(names)
    assert not [name for name in names if presets.find(name) or pinned.find(name)]
    assert all(known.source.invalid_part() is None for known in short_names.SHORT_NAMES)


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("all-minilm", "all-MiniLM-L6-v2"),
        ("e5", "multilingual-e5-small"),
        ("BAAI/bge-m3", "bge-m3"),
        ("hf:baai/bge-small-en-v1.5", "bge-small-en-v1.5"),
        ("nomic-embed-text", "nomic-embed-text-v1.5"),
        ("hf:o/r", "hf:o/r"),
        ("hf:o/r/a.gguf@v1", "hf:o/r/a.gguf@v1"),
    ],
)
def test_a_model_is_told_by_the_name_that_people_write(name: str, told: str) -> None:
    assert models.display(choose(name)) == told


def test_by_what_is_told_it_is_found_again(store, tiny_gguf: Path, tmp_path: Path) -> None:
    own = Settings.read().models
    own.mkdir(parents=True)
    for name in ("mine", "all-minilm", "bge-m3", "two.gguf", "hf:a"):
        (own / f"{name}.gguf").symlink_to(tiny_gguf)
    store.add("registry.ollama.ai/library/bge-m3/latest", tiny_gguf)
    store.add("registry.ollama.ai/me/model/v1", tiny_gguf)
    store.add("registry.ollama.ai/library/all-minilm/22m", tiny_gguf)
    (tmp_path / "else.gguf").symlink_to(tiny_gguf)
    found = [*catalogue.choices(), choose(tmp_path / "else.gguf"), choose("me/model:v1"), choose("bge-small-en")]
    assert {display(choice) for choice in found} >= {"mine", "me/model:v1", str(tmp_path / "else.gguf"), "bge-small-en"}
    for choice in found:
        assert choose(display(choice)).path == choice.path, choice
