"""`bankml convert`."""

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from bankml.cli.output import AsJson, note, write_facts, write_json


class Type(StrEnum):
    """Types of the weight matrices."""

    F32 = "f32"
    F16 = "f16"
    Q8_0 = "q8_0"


class Pooling(StrEnum):
    """How token vectors become one."""

    MEAN = "mean"
    CLS = "cls"
    LAST = "last"


Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A Hugging Face folder: config.json, model.safetensors, …")]
Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE.gguf", help="The file to write.")]


def convert(
    folder: Folder,
    output: Output,
    type: Annotated[Type, typer.Option(help="Type of the weight matrices.")] = Type.F16,
    pooling: Annotated[
        Pooling | None, typer.Option(help="How token vectors become one, where the folder does not say.")
    ] = None,
    name: Annotated[str, typer.Option(help="The model's name.", show_default="the folder's")] = "",
    force: Annotated[bool, typer.Option("--force", "-f", help="Replace a file that is there.")] = False,
    json: AsJson = False,
) -> None:
    """Make a GGUF file of a BERT or XLM-RoBERTa encoder in a Hugging Face folder."""
    from bankml import models

    if pooling is None and not json and sys.stdin and sys.stdin.isatty() and sys.stderr.isatty():
        pooling = _asked(folder)
    with _terminable():
        made = models.convert(
            folder,
            output,
            type=type.value,
            pooling=pooling.value if pooling else None,
            overwrite=force,
            name=name,
        )
    facts = asdict(made) | {"path": str(made.path)}
    if json:
        write_json(facts)
        return
    for sentence in facts.pop("notes"):
        note(sentence)
    write_facts({key.replace("_", " "): value or "none stated" for key, value in facts.items()}, 20)


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM ends the block as Ctrl-C does, so that the half-written file is removed; the exit status is a shell's."""
    before = signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _asked(folder: Path) -> Pooling | None:
    """The answer of the person at the terminal; None when the folder says it itself, or is none."""
    from bankml.models.conversion import recorded_pooling

    if not folder.is_dir() or recorded_pooling(folder) is not None:
        return None
    note("the folder does not say how token vectors become one; the model's card does")
    answer: Pooling = typer.prompt(f"pooling ({', '.join(Pooling)})", type=Pooling, err=True)
    return answer
