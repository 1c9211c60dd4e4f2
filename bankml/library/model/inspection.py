"""What there is of a knowledge base, told whatever state it is in; nothing is changed, loaded or fetched."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bankml.embedders import Embedder
from bankml.errors import Error
from bankml.library.model import binding
from bankml.library.model.binding import Record
from bankml.library.model.configuration import Configuration
from bankml.library.model.converters import converters
from bankml.library.model.counts import Counts
from bankml.library.model.fingerprint import fingerprint
from bankml.library.model.wanted import Wanted, asked
from bankml.models import choose as choose_model
from bankml.settings import Settings
from bankml.store import Bound, Store


@dataclass(frozen=True)
class Kept:
    """What a store holds; `error` is why that is not known."""

    record: Record = field(default_factory=lambda: Record(None, 0, None))
    fingerprint: str | None = None
    counts: Counts = field(default_factory=Counts)
    error: str | None = None

    @classmethod
    def of(cls, path: Path) -> "Kept":
        """Raises nothing: a store that is damaged, another program's or not there says so in `error`."""
        try:
            with Store.open(path, read_only=True) as store, store.reading() as db:
                bound = Bound.read(db)
                return cls(Record.read(db), bound.fingerprint if bound else None, Counts.of(db))
        except (Error, OSError) as error:
            return cls(error=str(error))


def inspect(path: Path, settings: Settings, model: str | None = None) -> dict[str, Any]:
    """Facts by name; those that end in `_error` are None or a sentence with the remedy. Raises nothing."""
    kept = Kept.of(path)
    facts, found = _model(kept.record, path, settings, model)
    recipe, counts = fingerprint(found) if found else kept.fingerprint or "", kept.counts
    embedded = counts.embedded(recipe)
    return {
        "home": str(settings.home),
        "db": str(path),
        "folder_exists": path.parent.is_dir(),
        "database_initialised": kept.error is None,
        "database_error": kept.error,
        **facts,
        "bound": kept.record.digest is not None,
        "documents": counts.documents,
        "chunks": counts.chunks,
        "embedded": embedded,
        "coverage": embedded / counts.chunks if counts.chunks else None,
        "foreign_vectors": counts.foreign(recipe),
        "converters": converters(),
    }


def _model(record: Record, path: Path, settings: Settings, model: str | None) -> tuple[dict[str, Any], Embedder | None]:
    facts = {
        "model": record.name,
        "model_from": None,
        "model_present": False,
        "model_error": None,
        "dims": record.dims or None,
        "digest": record.digest,
        "vector_enabled": True,
    }
    try:
        configuration = Configuration.read(path)
        facts["vector_enabled"] = configuration.vector_enabled
        wanted = asked(path, settings, model, record.name)
        facts |= {"model": wanted.name, "model_from": wanted.by, "model_present": _present(wanted, settings)}
        found = binding.verified(record, wanted, configuration, settings)
    except (Error, OSError) as error:
        return facts | {"model_error": str(error)}, None
    return facts | {"model_present": True, "dims": found.dims, "digest": found.digest}, found


def _present(wanted: Wanted, settings: Settings) -> bool:
    """Whether its file is on this machine, whoever can run it."""
    try:
        return choose_model(wanted.name, settings).present
    except Error:
        return False
