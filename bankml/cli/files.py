"""`bankml models`, `info`, `pull`, `verify`: the model files themselves."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bankml.cli.model import choose
from bankml.cli.output import AsJson, note, table, write_facts, write_json, write_path
from bankml.errors import ModelError
from bankml.sizes import human

if TYPE_CHECKING:
    from bankml.models import Choice

Name = Annotated[
    str,
    typer.Argument(help="A GGUF file, a name of `bankml models`, hf:owner/repo or an Ollama name.", show_default=False),
]


def models(json: AsJson = False) -> None:
    """List the models that can be used here, and name those that a pull brings."""
    from bankml.models import list_models
    from bankml.models.catalogue import pullable

    rows = [
        {
            "name": entry.choice.name,
            "kind": entry.choice.kind,
            "present": entry.present,
            "size": entry.size,
            "dims": entry.dims,
            "context_length": entry.context_length,
            "pooling": entry.pooling,
            "licence": str(entry.choice.licence),
            "path": str(entry.choice.path),
        }
        for entry in list_models()
    ]
    if json:
        write_json({"models": rows, "pullable": pullable()})
    else:
        shown = ("name", "kind", "present", "size", "dims", "context_length", "pooling", "licence")
        table(shown, [[_cell(row, name) for name in shown] for row in rows])
        note(f"`bankml pull` also knows {', '.join(pullable())}, and repositories as hf:owner/repo")


def info(name: Name, json: AsJson = False) -> None:
    """Show what a model file says of itself; no weights are read."""
    from bankml.models import choose as named
    from bankml.models.description import describe
    from bankml.models.names import not_here

    choice = named(name)
    if not choice.present:
        raise not_here(choice.name, choice.pinned)
    entry = describe(choice)
    facts = {
        "name": choice.name,
        "kind": choice.kind,
        "path": str(choice.path),
        "size": entry.size,
        "licence": str(choice.licence),
        **_origin(choice),
        **{key: entry.details[key] for key in ("family", "parameter_size", "quantization_level")},
        "tensors": len(entry.tensors),
        "metadata": entry.metadata,
    }
    if json:
        write_json(facts)
    else:
        lines = facts | facts.pop("metadata")
        write_facts({key: "(a long array)" if value is None else value for key, value in lines.items()}, 44)


def pull(name: Name, json: AsJson = False) -> None:
    """Download a model once, and make its GGUF file where a hub has none; one that is here is left as it is."""
    from bankml.models import fetch

    with _notes_told():
        choice, fetched = fetch(name)
    note(f"model {choice.name}: {choice.reason}" if fetched else f"{choice.name} is here already: {choice.path}")
    if json:
        size = choice.path.stat().st_size
        write_json({"name": choice.name, "path": str(choice.path), "size": size, "fetched": fetched})
    else:
        write_path(choice.path)


def verify(name: Name, json: AsJson = False) -> None:
    """Check a model: its digest, that every weight is finite, and the vector published for it."""
    from bankml.encoder import Encoder
    from bankml.models import verify as check
    from bankml.models.progress import shown

    choice = choose(name)
    with Encoder(choice.path, name=choice.name) as encoder, shown(None) as progress:
        report = check.verify(choice, encoder, progress)
    if report.problems:
        raise ModelError("; ".join(report.problems))
    facts = {
        "name": report.name,
        "path": str(report.path),
        "digest": report.digest,
        "digest_expected": report.expected,
        "finite": True,
        "cosine_to_published": report.cosine,
    }
    if json:
        write_json(facts)
    else:
        lines = {key.replace("_", " "): "none stated" if value is None else value for key, value in facts.items()}
        write_facts(lines, 20)


@contextmanager
def _notes_told() -> Iterator[None]:
    """An interrupted pull says what it left."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        for sentence in getattr(interrupt, "__notes__", ()):
            note(sentence)
        raise


def _origin(choice: "Choice") -> dict[str, Any]:
    if choice.hub is None:
        return {}
    weights = {f"sha256 of {name}": digest for name, digest in choice.hub.weights}
    return {"source": str(choice.hub.name), "commit": choice.hub.commit, "sha256": choice.hub.sha256, **weights}


def _cell(row: dict[str, Any], name: str) -> str:
    value = row[name]
    if name == "size":
        return human(value) if value else "?"
    return {True: "yes", False: "no"}.get(value, str(value)) if isinstance(value, bool) else str(value)
