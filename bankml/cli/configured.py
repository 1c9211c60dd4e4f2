"""What became of a changed setting: what counts now, what has no effect, and the vectors that are to be made anew."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bankml.cli.output import note, write_facts, write_json
from bankml.settings import Settings

if TYPE_CHECKING:
    from bankml.library.model.configuration import Configuration

WIDTH = 22


def tell(
    path: Path,
    db: Path | None,
    configuration: "Configuration",
    key: str | None,
    facts: dict[str, Any],
    reindex: bool,
    json: bool,
) -> None:
    """What is so now, what has no effect, and the rebuild that is wanted: offered to a person, done if it was said."""
    from bankml.library.model.inspection import Kept
    from bankml.library.model.wanted import asked
    from bankml.library.upkeep.stale import stale

    settings = Settings.read()
    wanted = asked(path, settings, recorded=Kept.of(path).record.name)
    notes = _notes(configuration, key, wanted.by, wanted.name) + _idle_pooling(path, settings, key)
    why = stale(path, settings)
    run = f"bankml reindex --vectors{f' --db {shlex.quote(str(db))}' if db else ''}"
    if json:
        now = {"config": str(configuration.path), **facts, "asked_for": wanted.name, "asked_by": wanted.by}
        write_json({**now, "notes": notes, "stale": why or None, "run": run if why else None})
    else:
        told = {name: value if name == "taken out" else shown(value) for name, value in facts.items()}
        write_facts(
            {"config.yaml": configuration.path, **told, "model asked for": f"{wanted.name} ({wanted.by})"}, WIDTH
        )
        for sentence in [*notes, *([why] if why else [])]:
            note(sentence)
    if why:
        _offer(db, run, reindex, json)


def _offer(db: Path | None, run: str, reindex: bool, json: bool) -> None:
    if not reindex and not json and asking():
        reindex = typer.confirm(f"make the vectors anew now ({run})?", default=True, err=True)
    if reindex:
        from bankml.cli.reindex import reindex as anew

        anew(vectors=True, db=db, json=json)
    elif not json:
        note(f"run `{run}`")


def _notes(configuration: "Configuration", key: str | None, by: str, name: str) -> list[str]:
    """What a person could not see from the value alone."""
    from bankml.library.model.configuration import ENABLED, MODEL, PRESET
    from bankml.library.model.profiles import CUSTOM

    said, choosing = configuration.said, (PRESET, MODEL, "model")
    notes = []
    deciding = "model" if by == "config.yaml" else by
    if key in choosing and said[key] not in (None, CUSTOM) and deciding != key:
        notes.append(f"{key} is saved and has no effect, for {by} decides ({name}): {_remedy(by)}")
    if key in choosing and (own := [one for one in ("query_prefix", "document_prefix") if said[one] is not None]):
        notes.append(f"{' and '.join(own)} of config.yaml stay, in place of the model's own: `bankml config reset KEY`")
    if not configuration.vector_enabled:
        notes.append(f"words alone are searched, and nothing is embedded, as {ENABLED} is false")
    return notes


def _idle_pooling(path: Path, settings: Settings, key: str | None) -> list[str]:
    """What a model's file says of its pooling counts, and another model's is its own."""
    from bankml.library.model.configuration import POOLING
    from bankml.library.model.values import values

    if key != POOLING:
        return []
    found = next(value for value in values(path, settings) if value.key == key)
    says = f"the pooling of the model that is asked for is {found.value}" if found.value else "it is of no model"
    return [f"{key} is saved and has no effect: {says}"] if found.idle else []


def _remedy(by: str) -> str:
    from bankml.library.model.configuration import PRESET
    from bankml.library.model.profiles import CUSTOM

    if by == PRESET:
        return f"run `bankml config set {PRESET} {CUSTOM}`, or `bankml config set-model NAME`, which does both"
    return f"run `bankml config reset {by}`" if by.startswith("search.") else f"unset {by}"


def shown(value: Any) -> str:
    """In one line, as it stands in YAML: `""` is an empty text, `—` nothing."""
    from bankml.library.model.yaml_edit import scalar

    return "—" if value is None else scalar(value)


def asking() -> bool:
    """Whether a person can answer."""
    return bool(sys.stdin and sys.stdin.isatty() and sys.stderr.isatty())
