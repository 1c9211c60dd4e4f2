"""A Hugging Face folder of a BERT or XLM-RoBERTa encoder (MiniLM, bge, e5, arctic-embed, bge-m3) → GGUF."""

import math
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from bankml.errors import ModelError
from bankml.models import bert_config, sentence_modules, tokenizer_json
from bankml.models.bert_config import BertConfig
from bankml.models.checkpoint import Checkpoint
from bankml.models.gguf_writer import Bert, Origin, Tensor, write
from bankml.models.progress import Progress, silent
from bankml.models.wordpiece import add_wordpiece, read_wordpiece
from bankml.models.xlm_roberta import add_unigram, unigram
from bankml.utf8 import printable

if TYPE_CHECKING:
    from gguf import GGUFWriter

TABLES = {
    "token_embd.weight": "embeddings.word_embeddings.weight",
    "position_embd.weight": "embeddings.position_embeddings.weight",
    "token_types.weight": "embeddings.token_type_embeddings.weight",
    "token_embd_norm.weight": "embeddings.LayerNorm.weight",
    "token_embd_norm.bias": "embeddings.LayerNorm.bias",
}
MODULES = {
    "attn_q": "attention.self.query",
    "attn_k": "attention.self.key",
    "attn_v": "attention.self.value",
    "attn_output": "attention.output.dense",
    "attn_output_norm": "attention.output.LayerNorm",
    "ffn_up": "intermediate.dense",
    "ffn_down": "output.dense",
    "layer_output_norm": "output.LayerNorm",
}
OLD = {"weight": "gamma", "bias": "beta"}  # a LayerNorm's parts in the first BERTs
PREFIXES = ("", "bert.", "roberta.")
# Buffers, and heads that no embedding comes from.
UNUSED = re.compile(r"embeddings\.(position_ids|token_type_ids)|pooler\..*|cls\..*|lm_head\..*")
BLOCK, BLOCK_BYTES = 32, 34  # Q8_0
# Numbers from here on become infinite: F16 rounds 65,520 up; Q8_0 keeps a 127th of a block's largest as F16.
LIMITS = {"F32": math.inf, "F16": 65_520.0, "Q8_0": 127 * 65_520.0}
LISTED = 3  # names in an error message


@dataclass(frozen=True)
class Source:
    """A folder that was read and found right; only the weights' values are unread. `notes` are sentences to tell."""

    bert: Bert
    tokenizer: Callable[["GGUFWriter"], None]
    tensors: list[Tensor]
    notes: tuple[str, ...]


def convert(
    folder: Path,
    path: Path,
    origin: Origin,
    progress: Progress = silent,
    matrices: str = "F16",
    pooling: str | None = None,
) -> None:
    """Writes `folder` as the GGUF file `path`: matrices as asked, norms, biases, positions and types F32.

    Raises ModelError as `opened` does, and for a weight that is not finite or that its type cannot hold.
    """
    with opened(folder, matrices, pooling) as source:
        write(path, origin, source.bert, source.tokenizer, source.tensors, progress)


@contextmanager
def opened(folder: Path, matrices: str = "F16", pooling: str | None = None) -> Iterator[Source]:
    """Everything about `folder` but the values of its weights. `matrices` is F32, F16 or Q8_0.

    `pooling` is needed where the folder does not record one. Raises ModelError when the folder is not of an encoder
    that can be converted, does not fit its config, or is damaged.
    """
    modules = sentence_modules.read(folder)
    config = bert_config.read(modules.transformer / "config.json")
    with Checkpoint(modules.transformer) as weights:
        names = _Names(weights)
        tensors = [_tensor(names, *planned, matrices) for planned in _planned(config)]
        names.check_rest()
        bert = _bert(config, matrices, _pooling(folder, modules.pooling, pooling))
        notes = (*modules.notes, *_fallen_back(tensors, matrices))
        yield Source(bert, _tokenizer(modules.transformer, config.vocabulary_rows), tensors, notes)


def recorded_pooling(folder: Path) -> str | None:
    """ "mean", "cls" or "last" as the folder records it; None where it does not. Raises ModelError for another one."""
    return sentence_modules.read(folder).pooling


def _pooling(folder: Path, recorded: str | None, asked: str | None) -> str:
    if recorded is None and asked is None:
        raise ModelError(
            f"{folder} does not say how token vectors become one (it has no modules.json with a pooling and no "
            "1_Pooling/config.json): see the model's card and give --pooling mean, cls or last"
        )
    if recorded and asked and recorded != asked:
        raise ModelError(f"{folder} records the pooling {recorded}, and {asked} was asked for: leave --pooling out")
    return recorded or asked or ""


def _bert(config: BertConfig, matrices: str, pooling: str) -> Bert:
    return Bert(
        layers=config.layers,
        hidden=config.hidden,
        ffn=config.ffn,
        heads=config.heads,
        context_length=config.context_length,
        epsilon=config.epsilon,
        pooling=pooling,
        type_rows=config.type_rows,
        matrices=matrices,
    )


def _tokenizer(folder: Path, rows: int) -> Callable[["GGUFWriter"], None]:
    """tokenizer.json says which kind it is: BERT encoders with XLM-RoBERTa's vocabulary are common."""
    path = folder / "tokenizer.json"
    if path.exists() and (file := tokenizer_json.read(path)).kind != "WordPiece":
        return partial(add_unigram, unigram(file, rows))
    return partial(add_wordpiece, read_wordpiece(folder, rows))


def _planned(config: BertConfig) -> Iterator[tuple[str, str, tuple[int, ...], int]]:
    """Per tensor ggml's name, Hugging Face's, the shape that the config demands, and the first row that is kept."""
    hidden, ffn = config.hidden, config.ffn
    rows = {
        "token_embd.weight": config.vocabulary_rows,
        "position_embd.weight": config.position_rows,
        "token_types.weight": config.type_rows,
    }
    for name, source in TABLES.items():
        first = config.first_position if name == "position_embd.weight" else 0
        yield name, source, (rows[name], hidden) if name in rows else (hidden,), first
    for layer in range(config.layers):
        for name, module in MODULES.items():
            outputs, inputs = {"ffn_up": (ffn, hidden), "ffn_down": (hidden, ffn)}.get(name, (hidden, hidden))
            weight = (outputs,) if "norm" in name else (outputs, inputs)
            for part, shape in (("weight", weight), ("bias", (outputs,))):
                yield f"blk.{layer}.{name}.{part}", f"encoder.layer.{layer}.{module}.{part}", shape, 0


class _Names:
    """Which of the checkpoint's names were used."""

    def __init__(self, weights: Checkpoint) -> None:
        self.weights = weights
        self._rest = set(weights.names)
        first = TABLES["token_embd.weight"]
        self.prefix = next((prefix for prefix in PREFIXES if prefix + first in self._rest), "")

    def find(self, name: str) -> str:
        """The checkpoint's own name: with a prefix, or with gamma and beta as the first BERTs called them."""
        full = self.prefix + name
        old = re.sub(r"LayerNorm\.(weight|bias)$", lambda part: f"LayerNorm.{OLD[part[1]]}", full)
        found = old if full not in self._rest and old in self._rest else full
        self._rest.discard(found)
        return found

    def check_rest(self) -> None:
        """Raises ModelError when a tensor is left over whose work would be missing."""
        rest = [name for name in sorted(self._rest) if not UNUSED.fullmatch(name.removeprefix(self.prefix))]
        if rest:
            raise ModelError(
                f"{self.weights.folder} has {len(rest)} tensors that an encoder of its config does not use "
                f"({printable(', '.join(rest[:LISTED]))}): their work would be missing in the file; "
                "take a GGUF file of this model"
            )


def _tensor(names: _Names, name: str, wanted: str, shape: tuple[int, ...], first: int, matrices: str) -> Tensor:
    source = names.find(wanted)
    if (found := names.weights.shape(source)) != shape:
        raise ModelError(f"{names.weights.folder}: tensor {source!r} has shape {found}, its config says {shape}")
    names.weights.check_float(source)
    type = _type(name, shape, matrices)
    row = (shape[1] // BLOCK * BLOCK_BYTES,) if type == "Q8_0" else shape[1:]
    return Tensor(name, type, (shape[0] - first, *row), partial(_load, names.weights, source, first, type))


def _type(name: str, shape: tuple[int, ...], matrices: str) -> str:
    """As llama-quantize gives types: F16 for a matrix whose rows Q8_0's blocks do not fill."""
    if len(shape) != 2 or name in ("position_embd.weight", "token_types.weight"):
        return "F32"
    return "F16" if matrices == "Q8_0" and shape[1] % BLOCK else matrices


def _fallen_back(tensors: list[Tensor], matrices: str) -> tuple[str, ...]:
    count = sum(tensor.type == "F16" for tensor in tensors)
    if matrices != "Q8_0" or not count:
        return ()
    return (f"{count} matrices are F16: their rows are no multiple of Q8_0's blocks of {BLOCK}",)


def _load(weights: Checkpoint, source: str, first: int, type: str) -> Iterator[NDArray[Any]]:
    from gguf import GGMLQuantizationType
    from gguf.quants import quantize

    for run in weights.runs(source, first):
        low, high = float(run.min()), float(run.max())  # not a number if any is
        if not (math.isfinite(low) and math.isfinite(high)):
            raise ModelError(
                f"{weights.folder}: tensor {source!r} has a value that is not finite: fetch the weights again"
            )
        if (largest := max(-low, high)) >= LIMITS[type]:
            raise ModelError(
                f"{weights.folder}: tensor {source!r} has the value {largest:g}, too large for {type}: use --type f32"
            )
        yield quantize(run, GGMLQuantizationType.Q8_0) if type == "Q8_0" else run
