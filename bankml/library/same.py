"""Which names mean one model."""

from bankml.models import pinned, presets


def same(a: str, b: str) -> bool:
    """Whether both names mean one model."""
    return _canonical(a) == _canonical(b)


def _canonical(name: str) -> str:
    known = presets.find(name) or pinned.find(name)
    return known.name if known else name.strip().casefold().removesuffix(":latest")
