"""A knowledge base is bound to one model: whatever embeds for it is checked against its record first."""

import shlex
import sqlite3
from dataclasses import dataclass

from bankml.embedders import Embedder, choose
from bankml.errors import DisabledError, Error, MismatchError, ModelError, StoreError, UnavailableError
from bankml.library.model.configuration import ENABLED, MODEL, PRESET, Configuration
from bankml.library.model.fingerprint import fingerprint
from bankml.library.model.wanted import RECORD, Wanted, wanted
from bankml.models import canonical, same, short_names
from bankml.models import choose as choose_model
from bankml.models.description import describe
from bankml.settings import Settings
from bankml.store import Bound, Store, config, vectors

SHOWN = 12  # hex digits of a digest


@dataclass(frozen=True, slots=True)
class Record:
    """What a store says of its model; before that was found, at most the name."""

    name: str | None
    dims: int
    digest: str | None

    @classmethod
    def read(cls, db: sqlite3.Connection) -> "Record":
        """Never fails for a store that was made by `Store.create`."""
        bound = Bound.read(db)
        if bound:
            return cls(bound.model_name, bound.dims, bound.digest)
        return cls(config.get(db, "model_name"), 0, None)


def embedder(store: Store, settings: Settings, model: str | None = None, anyway: bool = False) -> Embedder:
    """The embedder of the model that is asked for (`wanted`), checked against the store's record.

    Nothing is loaded, nothing downloaded, nothing written: `check` binds a store that is not bound yet. Raises
    MismatchError for another model than the store's, UnavailableError where its model is not on this machine (words
    work without it), DisabledError where search.vector.enabled is false (unless `anyway`: for who looks whether it
    would work), StoreError for a store or a config.yaml that cannot be read.
    """
    configuration = Configuration.read(store.path)
    if not (configuration.vector_enabled or anyway):
        raise DisabledError(disabled(configuration))
    asked = wanted(store, settings, model)
    with store.reading() as db:
        record = Record.read(db)
    return verified(record, asked, configuration, settings)


def disabled(configuration: Configuration) -> str:
    """Why nothing is embedded and words alone are searched, where that is wanted."""
    return f"{ENABLED} is false in {configuration.path}: `bankml config set {ENABLED} true` searches by meaning again"


def unchecked(store: Store, settings: Settings, model: str | None = None) -> Embedder:
    """As `embedder`, whatever the record says: for `reindex`, which makes it true. Raises UnavailableError."""
    return chosen(wanted(store, settings, model).name, Configuration.read(store.path), settings)


def chosen(name: str, configuration: Configuration, settings: Settings) -> Embedder:
    """The embedder of a model with what config.yaml says of it. Raises UnavailableError."""
    return choose(settings, name, prefixes=configuration.prefixes, pooling=configuration.pooling_of(name))


def verified(record: Record, asked: Wanted, configuration: Configuration, settings: Settings) -> Embedder:
    """The embedder of `asked`, which is the model of `record` by its name or by its bytes. Raises as `embedder`."""
    named = record.name is None or same(record.name, asked.name)
    try:
        found = chosen(asked.name, configuration, settings)
        dims, digest = _identity(found)
    except UnavailableError as error:
        if named:
            raise
        dims = _known_dims(asked.name, settings)
        raise _mismatch(record, asked, dims) if dims else _unknown(record, asked, error) from None
    if record.digest is None:
        if not named:
            raise _mismatch(record, asked, dims)
    elif (record.digest, record.dims) != (digest, dims):
        raise _changed(record, asked, dims, digest) if named else _mismatch(record, asked, dims)
    return found


def check(db: sqlite3.Connection, embedder: Embedder, asked: Wanted | None = None) -> None:
    """Call it in the transaction that inserts vectors: binds a store that is not bound yet to this model.

    Raises MismatchError when the store is bound to another one, whoever bound it meanwhile; UnavailableError where the
    model's file is gone. A difference of prefixes or of the engine is none of the model: such rows tell it themselves.
    """
    record = Record.read(db)
    dims, digest = _identity(embedder)
    asked = asked or Wanted(embedder.reference, "this command")
    named = record.name is None or same(record.name, embedder.reference)
    if record.digest is None:
        if not named and not (record.name and same(record.name, asked.name)):
            raise _mismatch(record, asked, dims)
        bind(db, Bound(storable(embedder.reference), dims, digest, fingerprint(embedder)))
    elif (record.digest, record.dims) != (digest, dims):
        raise _changed(record, asked, dims, digest) if named else _mismatch(record, asked, dims)


def bind(db: sqlite3.Connection, bound: Bound) -> None:
    """Records the model of a store that has none. Raises StoreError where vectors are there all the same.

    They are of a model whose record was lost or damaged, and another table of vectors would lose them, too.
    """
    if db.execute("SELECT 1 FROM chunks_vec LIMIT 1").fetchone():
        raise StoreError(
            "the record of the model is lost or damaged, and its vectors are there, so nothing was changed: put a "
            f"sound copy in its place, or make them anew with `bankml reindex --model {shlex.quote(bound.model_name)}`"
        )
    bound.write(db)
    vectors.create(db, bound.dims)


def promise(db: sqlite3.Connection, name: str, asked: Wanted) -> None:
    """Records the name alone of a model that could not be had yet. Raises MismatchError as `check`."""
    record = Record.read(db)
    if record.name is not None and not same(record.name, name):
        raise _mismatch(record, asked, 0)
    if record.name is None:
        config.put(db, "model_name", storable(name))


def _identity(embedder: Embedder) -> tuple[int, str]:
    """Its dims and digest, for which its file may have to be read."""
    try:
        return embedder.dims, embedder.digest
    except ModelError as error:
        raise UnavailableError(str(error)) from None


def storable(name: str) -> str:
    """A model's name, which a store can hold. Raises UnavailableError for a path that is no UTF-8."""
    try:
        name.encode()
    except UnicodeEncodeError:
        raise UnavailableError(f"the model's path {name!r} is not UTF-8, so no store can name it: rename it") from None
    return name


def _known_dims(name: str, settings: Settings) -> int:
    """Of a model that may not be here; 0 where nobody knows."""
    if known := short_names.find(canonical(name)):
        return known.dims
    try:
        choice = choose_model(name, settings)
        return choice.known.dims if choice.known else describe(choice).dims
    except (Error, OSError):
        return 0


def _mismatch(record: Record, asked: Wanted, dims: int) -> MismatchError:
    return MismatchError(
        f"Model mismatch: DB uses '{record.name}'{_facts(record.dims)} but {asked.source} specifies '{asked.name}'"
        f"{_facts(dims)}. Run bankml reindex --model {shlex.quote(asked.name)} to switch models{_otherwise(asked)}."
    )


def _unknown(record: Record, asked: Wanted, why: UnavailableError) -> MismatchError:
    """Of a model that is not here, so that nobody could switch to it."""
    return MismatchError(
        f"{asked.source} specifies '{asked.name}', which cannot be used: {why}. "
        f"DB uses '{record.name}'{_facts(record.dims)}{_otherwise(asked)}."
    )


def _changed(record: Record, asked: Wanted, dims: int, digest: str) -> MismatchError:
    """Of one name whose file is another than it was."""
    now = f"the '{asked.name}' here is another file" if asked.by == RECORD else f"{asked.source} specifies another"
    return MismatchError(
        f"Model mismatch: DB uses '{record.name}'{_facts(record.dims, record.digest)} but {now}{_facts(dims, digest)}. "
        f"Run bankml reindex --model {shlex.quote(asked.name)} to switch models{_otherwise(asked)}."
    )


def _facts(dims: int, digest: str | None = None) -> str:
    facts = [f"{dims} dim"] if dims else []
    facts += [f"sha256 {digest[:SHOWN]}"] if digest else []
    return f" ({', '.join(facts)})" if facts else ""


def _otherwise(asked: Wanted) -> str:
    """A variable is easily forgotten, and may be meant for something else."""
    if asked.by in (PRESET, MODEL):
        return f", or bankml config reset {asked.by} to keep it"
    return f", or unset {asked.by}" if asked.by.isupper() else ""
