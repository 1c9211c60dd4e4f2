"""Who answers for a model: bankml, or the local Ollama, and why."""

import asyncio
from typing import Any

from bankml.errors import Error
from bankml.models import Choice, ollama_store
from bankml.models.catalogue import choices
from bankml.models.description import Description, describe
from bankml.models.ollama_store import ENCODERS
from bankml.serve.errors import RefusedError
from bankml.serve.names import Names, key
from bankml.settings import Settings

NATIVE = "native"
UNKNOWN = "not on this machine as far as bankml can see"


async def elsewhere(names: Names, name: str) -> str | None:
    """Why bankml does not answer for the model of this name; None where it does, be it with an error."""
    if not name:
        return None
    try:
        choice = await names.find(name)
    except RefusedError as refusal:
        return UNKNOWN if refusal.status == 404 else None
    except Error:  # it is here and damaged: using it says how
        return None
    return await asyncio.to_thread(unfit, choice)


def unfit(choice: Choice) -> str | None:
    """Why bankml does not run the model; None where it does, or where only loading can tell."""
    try:
        entry = describe(choice)
    except Error:
        return None
    if entry.family not in ENCODERS:
        return f"architecture {entry.family or 'unknown'} is no encoder that bankml runs"
    return "it gives a vector per token, not per text" if entry.pooling == "none" else None


def table(served: Choice, forward: str | None, theirs: list[str]) -> list[dict[str, Any]]:
    """For each model: its name, who answers (`native`, Ollama's URL, or null for nobody) and, if not bankml, why.

    `theirs`: the names that Ollama lists.
    """
    here = {served.path: served} | {choice.path: choice for choice in choices() if choice.present}
    rows = [_row(_name(choice), unfit(choice), forward) for choice in here.values()]
    rows += [_row(str(model.name), _unfit(model), forward) for model in _others()]
    known = {key(row["name"]) for row in rows}
    return rows + [_row(name, UNKNOWN, forward) for name in theirs if key(name) not in known]


def _others() -> list[ollama_store.OllamaModel]:
    return [model for model in ollama_store.models(Settings.read()) if not model.is_encoder]


def _unfit(model: ollama_store.OllamaModel) -> str:
    return f"architecture {model.family or 'unknown'} is no encoder that bankml runs"


def _name(choice: Choice) -> str:
    return Description(choice, None).name


def _row(name: str, why: str | None, forward: str | None) -> dict[str, Any]:
    return {"name": name, "answers": forward if why else NATIVE, "reason": why}
