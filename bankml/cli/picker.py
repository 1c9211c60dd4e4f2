"""Choosing a preset on a terminal."""

from pathlib import Path
from typing import Any

import typer

from bankml.cli.output import note, table
from bankml.errors import Error
from bankml.library.model import profiles
from bankml.library.model.inspection import Kept
from bankml.library.model.profiles import PROFILES, Profile
from bankml.library.model.wanted import asked
from bankml.models import choose, same
from bankml.settings import Settings
from bankml.sizes import human

HEADINGS = ("", "preset", "dims", "languages", "size", "")  # within 80 columns


def pick(path: Path, settings: Settings) -> str | None:
    """The name of the preset that a person chose; None where nothing is to change. Raises StoreError."""
    wanted = asked(path, settings, recorded=Kept.of(path).record.name)
    table(HEADINGS, [_row(number, profile, wanted.name, settings) for number, profile in enumerate(PROFILES, 1)])
    note(f"asked for now: {wanted.name} ({wanted.by}); `bankml config set-model NAME` takes a model of your own")
    while True:
        answer = typer.prompt("preset (number or name; Enter: as it is)", default="", show_default=False, err=True)
        if not answer.strip():
            return None
        found = _found(answer)
        if found and not found.refusal:
            return found.name
        note(found.refusal if found else f"there is no preset {answer!r}: give a number or a name of the list")


def rows(settings: Settings) -> list[dict[str, Any]]:
    """The presets for programs; `refusal` is why one cannot be chosen, or None."""
    return [
        {
            "name": profile.name,
            "model": profile.model,
            "dims": profile.dims,
            "languages": profile.languages,
            "size": profile.size,
            "dtype": profile.dtype,
            "pooling": profile.pooling,
            "query_prefix": profile.prefixes.query,
            "document_prefix": profile.prefixes.document,
            "here": _here(profile, settings),
            "refusal": profile.refusal or None,
        }
        for profile in PROFILES
    ]


def _found(answer: str) -> Profile | None:
    text = answer.strip()
    if text.isascii() and text.isdecimal():
        return PROFILES[int(text) - 1] if 0 < int(text[:3]) <= len(PROFILES) and len(text) < 3 else None
    return profiles.find(text)


def _row(number: int, profile: Profile, wanted: str, settings: Settings) -> list[str]:
    here = "here" if _here(profile, settings) else "not here"
    state = f"{here}, asked for" if same(profile.model, wanted) else here
    return [
        str(number),
        profile.name,
        str(profile.dims),
        profile.languages,
        human(profile.size),
        "needs engine support" if profile.graph else state,
    ]


def _here(profile: Profile, settings: Settings) -> bool:
    """Whether its file is on this machine."""
    try:
        return choose(profile.model, settings).present
    except Error:
        return False
