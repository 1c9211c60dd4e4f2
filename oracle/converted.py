"""Files that the converter makes: their vectors against float64 on the source's own weights, and llama.cpp."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, get_args

from bankml import models
from bankml._engine import Engine
from oracle import folders, texts, tokens, vectors
from oracle.report import Row

Type = Literal["f32", "f16", "q8_0"]
ROUNDED = {"f16": 0.999_99, "q8_0": 0.995}  # of vectors when the file's weights were rounded from the source's
EVERY = 25  # one text of so many, for tokens


def compare() -> list[Row]:
    """all-MiniLM-L6-v2's real folder, and two layers of XLM-RoBERTa with its real vocabulary, in every type."""
    with TemporaryDirectory() as place:
        xlmr = folders.xlm_roberta(Path(place) / "xlm-roberta")
        return [
            *_rows("all-MiniLM-L6-v2", folders.minilm(), "mean", Path(place) / "minilm", exact=("f32",)),
            *_rows("XLM-R, 2 layers", xlmr, "cls", Path(place) / "xlmr", exact=("f32", "f16")),
            _tokens_row(Path(place) / "xlmr-f16.gguf"),
        ]


def _rows(name: str, folder: Path, pooling: str, target: Path, exact: tuple[str, ...]) -> list[Row]:
    reference, rows = folders.FolderReference(folder, pooling), []
    for type in get_args(Type):
        path = models.convert(folder, target.with_name(f"{target.name}-{type}.gguf"), type=type).path
        ids = vectors.real_ids(path)
        what = f"{name} converted to {type}, {len(ids)} texts"
        limit = None if type in exact else ROUNDED[type]
        rows += [_source_row(what, path, ids, reference, limit), vectors.llama_row(what, path, ids)]
    return rows


def _source_row(
    what: str, path: Path, ids: list[list[int]], reference: folders.FolderReference, limit: float | None
) -> Row:
    found = vectors.distance(vectors.encode_ids(path, ids), reference.encode_ids(ids))
    passed = vectors.FLOATS.allows(found) if limit is None else found.cosine >= limit
    allowed = str(vectors.FLOATS) if limit is None else f"cosine ≥ {limit} (rounded weights)"
    return Row(what, "numpy float64, the source's weights", str(found), allowed, passed)


def _tokens_row(path: Path) -> Row:
    from oracle import llama

    every = [text for listed in texts.every().values() for text in listed][::EVERY]
    engine, theirs = Engine(path, threads=1), llama.Tokenizer(path)
    return tokens.row(
        "XLM-R converted", "llama.cpp", every, lambda text: engine.tokenize(text)[0], theirs.ids, tokens.ALL_EQUAL
    )
