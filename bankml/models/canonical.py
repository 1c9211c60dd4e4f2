"""Which names mean one model. Names alone are compared, no bytes: what two of them hold, their digests say."""

import os

from bankml.errors import Error, InputError
from bankml.models import hub_name, pinned, presets, short_names
from bankml.models.hub_name import HubName
from bankml.models.names import Choice, choose, is_path
from bankml.models.ollama_name import OllamaName


def canonical(name: str | os.PathLike[str]) -> str:
    """One spelling for every name of a model: all-minilm-l6-v2 for all-MiniLM-L6-v2, all-minilm:latest, …

    A path is what `choose` takes for one, and becomes the real, absolute one. Neither case nor `:latest` count in
    other names. Raises nothing: what is no name of a model is its own spelling.
    """
    if isinstance(name, os.PathLike) or is_path(name):
        return _real(os.fspath(name))
    if name.startswith(hub_name.PREFIX):
        return _of_hub(name)
    return _known(name) or _of_ollama(name)


def same(a: str | os.PathLike[str], b: str | os.PathLike[str]) -> bool:
    """Whether both names mean one model."""
    return canonical(a) == canonical(b)


def display(choice: Choice) -> str:
    """The model's name as people write it, by which `choose` finds it again: all-MiniLM-L6-v2, bge-m3, a path, …"""
    if choice.preset:
        return choice.preset.title
    name = choice.name.removesuffix(":latest")
    if choice.kind == "hub" or _finds(name, choice):
        return name
    return "/".join(choice.ollama.name.parts[:3]) + f":{choice.ollama.name.tag}" if choice.ollama else str(choice.path)


def _finds(name: str, choice: Choice) -> bool:
    """Whether a short name is enough: nothing goes before it, and a file lies in bankml's own folder."""
    try:
        return choose(name).path == choice.path
    except Error:
        return False


def _real(path: str) -> str:
    try:
        return os.path.realpath(os.path.expanduser(path))
    except ValueError:  # it holds what no path does
        return os.path.abspath(path)


def _known(name: str) -> str:
    """The name of a model that bankml knows by itself; "" for another."""
    short = name.strip().casefold().removesuffix(":latest")
    known = presets.find(short) or pinned.find(short) or short_names.find(short)
    return known.name.casefold() if known else ""


def _of_hub(name: str) -> str:
    try:
        parsed = HubName.parse(name)
    except InputError:
        return name.casefold()
    if known := short_names.of(parsed):
        return known.name.casefold()
    if str(parsed).casefold() == pinned.BGE_M3.source.casefold():
        return pinned.BGE_M3.name
    return str(HubName(parsed.owner.casefold(), parsed.repo.casefold(), parsed.file, parsed.revision))


def _of_ollama(name: str) -> str:
    try:
        short = str(OllamaName.parse(name)).casefold().removesuffix(":latest")
    except InputError:
        return name.casefold()
    return _known(short) or short
