"""Changing config.yaml: checked as it will be read, before anything is written; comments and order stay."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from bankml.errors import InputError, StoreError
from bankml.library.model import yaml_edit, yaml_mapping
from bankml.library.model.configuration import CHECKS, ENABLED, MODEL, Configuration, flat, place
from bankml.library.model.yaml_comments import comments
from bankml.library.model.yaml_edit import Value
from bankml.models import atomic
from bankml.models.names import is_path
from bankml.settings import FALSE, TRUE

MODELS = (MODEL, "model")  # keys whose value may be a file's path
NEW = 0o644  # of a file that was not there; narrowed by the umask


def change(store: Path, values: Mapping[str, Value | None]) -> Configuration:
    """Puts `values` by key into the config.yaml of the database at `store`; None takes a key out.

    What it says then. Raises InputError for a key that is none, StoreError, with nothing written, for a value that
    would be refused when it is read, and for a file that cannot be changed without being written anew.
    """
    for key in values:
        known(key)
    path = place(store)
    try:
        with atomic.lock(path.with_name(f".{path.name}.lock")):
            before = yaml_mapping.text(path)
            text = _changed(path, before, values)
            found = Configuration.of(path, yaml_mapping.parse(path, text))
            if text != before:
                _write(path, text)
    except OSError as error:
        raise StoreError(f"{path} cannot be written ({error.strerror}): make it a file that you may write") from None
    return found


def said(store: Path) -> dict[str, Any]:
    """What the file says by whole keys, right or wrong. Raises StoreError."""
    path = place(store)
    return _flat(path, yaml_mapping.text(path))


def known(key: str) -> str:
    """The key. Raises InputError for one that is none."""
    if key not in CHECKS:
        raise InputError(f"{key!r} is no setting of a knowledge base: give one of {', '.join(CHECKS)}")
    return key


def parsed(key: str, text: str) -> Value:
    """A value as it was typed; the path of a model's file is made absolute, which holds wherever it is read.

    What is of another type than the key's stays a text, which `change` refuses.
    """
    if key in MODELS and is_path(text.strip()):
        return os.path.abspath(os.path.expanduser(text.strip()))
    if key == ENABLED and text.strip().casefold() in TRUE | FALSE:
        return text.strip().casefold() in TRUE
    if key.startswith("chunk_") and text.strip().isascii() and text.strip().isdecimal() and len(text) < 10:
        return int(text)
    return text


def _changed(path: Path, before: str, values: Mapping[str, Value | None]) -> str:
    now, text = _flat(path, before), before
    wanted = {key: value for key, value in {**now, **values}.items() if value is not None}
    with suppress(yaml_edit.ShapeError):
        for key, value in values.items():
            if value is None:
                text = yaml_edit.removed(text, key.split("."))
            elif now.get(key) != value or type(now.get(key)) is not type(value):
                text = yaml_edit.put(text, key.split("."), value)
    yaml_mapping.checked(path, text.encode())
    if _understood(path, text) != wanted or sorted(comments(text)) != sorted(comments(before)):
        raise StoreError(f"{path} is written in a way that is not changed here: change it by hand, in an editor")
    return text


def _understood(path: Path, text: str) -> dict[str, Any] | None:
    try:
        return _flat(path, text)
    except StoreError:
        return None


def _flat(path: Path, text: str) -> dict[str, Any]:
    return {key: value for key, value in flat(path, yaml_mapping.parse(path, text)).items() if value is not None}


def _write(path: Path, text: str) -> None:
    mode = os.stat(path).st_mode & 0o777 if path.exists() else NEW
    target = Path(os.path.realpath(path))  # a link stays one
    with atomic.replacement(target, mode=mode) as temporary:
        temporary.write_bytes(text.encode())
