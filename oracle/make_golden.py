"""Makes the golden files of `make test` from the references; the engine has no part in it. python -m oracle.make_golden

Ids come from Hugging Face's tokenizers and SentencePiece, vectors from the float64 reference and from llama.cpp.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from bankml import models
from oracle import report, seeded, texts, tokens, vocabularies
from oracle.reference import Reference

FOLDER = Path(__file__).parents[1] / "tests" / "oracle" / "golden"
DIGITS = 9  # f32 has 7 to 8
PER_LANGUAGE, RANDOM = 8, 60
LLAMA_TEXTS = 4
TINY_LENGTHS = (2, 15, 65)
TYPES: tuple[seeded.DType, ...] = ("F32", "F16", "Q8_0", "Q4_0")  # the others' weights are compared live
EMBEDDED = [
    "",
    "why is the sky blue?",
    "The Eiffel Tower in Paris was completed in 1889 and stands 330 meters tall.",
    "Příliš žluťoučký kůň úpěl ďábelské ódy!",
    "Debian とは何ですか? 한국어도 됩니다. Что такое Debian?",
    "a" * 600,
]


@dataclass(frozen=True)
class Tiny:
    """The recipe of a seeded model."""

    dtype: seeded.DType
    pooling: seeded.Pooling
    vocabulary: str

    def make(self, folder: Path) -> Path:
        """Writes it; the same bytes wherever numpy's Philox is the same."""
        return seeded.tiny(folder / f"{self.dtype}-{self.pooling}-{self.vocabulary}.gguf", **asdict(self))


def main() -> None:
    """Writes tokens.json, vectors.json and llama.json."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    named = {name: models.pull(name) for name in ("all-minilm-l6-v2", "multilingual-e5-small")}
    _write("tokens", _tokens())
    _write("vectors", {"models": _vectors(named), "seeded": _seeded()})
    _write("llama", {"models": {"all-minilm-l6-v2": _llama_vectors(named["all-minilm-l6-v2"])}})


def _tokens() -> list[dict[str, Any]]:
    """Each text with the ids of both vocabularies."""
    chosen = [*texts.hard(), *texts.random()[:RANDOM]]
    for language in texts.LANGUAGES:
        listed = texts.sentences(language)
        chosen += listed[:: len(listed) // PER_LANGUAGE][:PER_LANGUAGE]
    chosen = [text for text in dict.fromkeys(chosen) if len(text) < 1_000]
    wordpiece, unigram = tokens.hugging_face_ids(), tokens.sentencepiece_ids()
    return [{"text": text, "wordpiece": wordpiece(text), "unigram": unigram(text)} for text in chosen]


def _vectors(named: dict[str, Path]) -> dict[str, list[dict[str, Any]]]:
    found = {}
    ids_of = {"all-minilm-l6-v2": tokens.hugging_face_ids(), "multilingual-e5-small": tokens.sentencepiece_ids()}
    for name, path in named.items():
        ids = [ids_of[name](text) for text in EMBEDDED]
        vectors = Reference(path).encode_ids(ids)
        found[name] = [_entry(one, vector, text) for text, one, vector in zip(EMBEDDED, ids, vectors, strict=True)]
    return found


def _seeded() -> list[dict[str, Any]]:
    with TemporaryDirectory() as folder:
        return [_seeded_entry(recipe, Path(folder)) for recipe in _recipes()]


def _recipes() -> list[Tiny]:
    every = product(TYPES, get_args(seeded.Pooling), ("wordpiece", "unigram"))
    return [Tiny(*recipe) for recipe in every if recipe[1] != "none" or recipe[0] == "F16"]


def _seeded_entry(recipe: Tiny, folder: Path) -> dict[str, Any]:
    lengths = TINY_LENGTHS[:2] if recipe.pooling == "none" else TINY_LENGTHS
    ids = seeded.token_ids(vocabularies.named(recipe.vocabulary), lengths)
    vectors = Reference(recipe.make(folder)).encode_ids(ids)
    return {"recipe": asdict(recipe), "texts": [_entry(*pair) for pair in zip(ids, vectors, strict=True)]}


def _llama_vectors(path: Path) -> list[dict[str, Any]]:
    from oracle import llama  # needs llama-cpp-python, which the tests that read the files do not

    ids = [tokens.hugging_face_ids()(text) for text in EMBEDDED[:LLAMA_TEXTS]]
    return [_entry(*pair) for pair in zip(ids, llama.encode_ids(path, ids), strict=True)]


def _entry(ids: Sequence[int], vector: NDArray[np.float64], text: str | None = None) -> dict[str, Any]:
    entry = {"ids": list(ids), "vector": np.round(vector, DIGITS).tolist()}
    return entry if text is None else {"text": text, **entry}


def _write(name: str, content: Any) -> None:
    made = {"made_by": "python -m oracle.make_golden", "versions": report.versions(), "content": content}
    text = json.dumps(made, ensure_ascii=True, separators=(",", ":"))
    (FOLDER / f"{name}.json").write_text(text.replace('},{"', '},\n{"') + "\n", encoding="ascii")


if __name__ == "__main__":
    main()
