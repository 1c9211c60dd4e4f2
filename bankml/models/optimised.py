"""A repository of safetensors becomes a GGUF file in the hub's store: fetched, looked at, converted once."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bankml.errors import ModelError, PoolingError
from bankml.models import atomic, bert_config, conversion, disk, hub_store, notice, presets, short_names
from bankml.models.bert_config import KindError
from bankml.models.digest import sha256
from bankml.models.hub import Hub
from bankml.models.hub_name import HubName
from bankml.models.hub_store import HubModel
from bankml.models.progress import Progress
from bankml.models.repository import Repository, RepositoryFile
from bankml.models.sentence_modules import read as read_modules
from bankml.models.staged import Staged, convertible
from bankml.settings import Settings

RUN = (presets.DEFAULT.name, *short_names.RUN[:1], "multilingual-e5-base", "snowflake-arctic-embed-s")
"""Encoders to name where another was asked for."""


def make(
    hub: Hub, listed: Repository, settings: Settings, progress: Progress, pooling: str | None = None
) -> tuple[HubModel, bool]:
    """The model of the repository `listed`, and whether it had to be made; two processes do it once.

    `pooling`: where the repository does not say it. Raises ModelError (PoolingError where nobody says it): before any
    weights are fetched where the engine does not run its graph; what came of a download that broke is kept, and the
    next call goes on from there.
    """
    if not convertible(listed):
        raise listed.unusable()
    path = hub_store.place(listed.name, settings)
    with disk.errors(settings.models), atomic.lock(_lock(path)):
        if here := hub_store.find(listed.name, settings):
            return here, False
        return _make(Staged(hub, listed, source(path)), path, progress, pooling), True


def source(path: Path) -> Path:
    """The folder of what is fetched to make the file `path`; it is gone once that is there."""
    return path.with_name(f".{path.name}.source")


def sweep(path: Path) -> None:
    """Deletes what a process that was killed at its very end left beside the file `path`."""
    if source(path).is_dir():
        with disk.errors(path.parent), atomic.lock(_lock(path)):
            shutil.rmtree(source(path), ignore_errors=True)


def _lock(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock")


def _make(staged: Staged, path: Path, progress: Progress, pooling: str | None) -> HubModel:
    staged.folder.mkdir(exist_ok=True)
    with _named(staged):
        staged.configs()
    with _refused(staged):
        _check_graph(staged, pooling)
        files = staged.large()
    bound = sum(file.size for file in files)  # of the file that is made: F16, and no weights are stored in fewer bits
    disk.check_space(path.parent, staged.missing(files) + bound, f"pulling {staged.listed.name}")
    staged.fetch(files, progress)
    with _refused(staged):
        model = _convert(staged, files, path, progress, pooling)
    hub_store.write(model)
    shutil.rmtree(staged.folder, ignore_errors=True)
    return model


def _check_graph(staged: Staged, pooling: str | None) -> None:
    name, folder = staged.listed.name, staged.folder
    modules = read_modules(folder)
    try:
        bert_config.read(modules.transformer / "config.json")
    except KindError as error:
        raise ModelError(
            f"{name} is of the architecture {error.kind}, which bankml does not run: it runs encoders of BERT's and "
            f"XLM-RoBERTa's kind, such as {', '.join(RUN)}"
        ) from None
    if modules.pooling is None and pooling is None:
        raise PoolingError(
            f"{name} does not say how token vectors become one (it has no modules.json with a pooling): see its card, "
            f"and run `bankml config set-model {name} --pooling mean`, cls or last, or download it and run `bankml "
            "convert` with --pooling"
        )
    if modules.pooling and pooling and modules.pooling != pooling:
        raise ModelError(f"{name} records the pooling {modules.pooling}, and {pooling} was asked for: leave it out")


def _convert(
    staged: Staged, files: list[RepositoryFile], path: Path, progress: Progress, pooling: str | None
) -> HubModel:
    name, commit, licence = staged.listed.name, staged.listed.commit, staged.listed.licence
    weights = tuple(
        (file.path, sha256(staged.folder / file.path)) for file in files if file.path.endswith(".safetensors")
    )
    notice.optimising(called(name))
    hub_store.forget(path)
    made = conversion.convert(
        staged.folder,
        path,
        pooling=pooling,
        overwrite=True,
        name=name.repo,
        url=f"https://huggingface.co/{name.repository}",
        organization=name.owner,
        licence=licence,
        progress=progress,
    )
    for sentence in made.notes:
        notice.tell(sentence)
    return HubModel(name, path, commit, made.sha256, made.size, licence, chosen=True, weights=weights)


def called(name: HubName) -> str:
    """The repository's short name, else its own."""
    short = short_names.of(name)
    return short.name if short else str(name)


@contextmanager
def _refused(staged: Staged) -> Iterator[None]:
    """What cannot be converted is not kept; a disk that is full says nothing of the model, so what came of it stays."""
    with _named(staged):
        try:
            yield
        except conversion.TargetError:
            raise
        except ModelError:
            shutil.rmtree(staged.folder, ignore_errors=True)
            raise


@contextmanager
def _named(staged: Staged) -> Iterator[None]:
    """An error names the repository, and not the folder that nobody knows."""
    try:
        yield
    except ModelError as error:
        place, name = str(staged.folder), str(staged.listed.name)
        error.args = (str(error).replace(f"{place}/", f"{name}/").replace(place, name), *error.args[1:])
        raise
