"""The model: whether it is here, and the one that the record names."""

from bankml.errors import Error
from bankml.library.model import binding
from bankml.library.upkeep.doctor.finding import Finding, ill, well
from bankml.models import choose
from bankml.models.digest import fresh_sha256
from bankml.settings import Settings
from bankml.store import Bound, Store

SHOWN = 12  # hex digits


def model(store: Store, settings: Settings) -> Finding:
    """Every byte of its file is read: a bit that rotted on the disk changes neither size nor time."""
    with store.reading() as db:
        bound = Bound.read(db)
    if bound is None:
        return ill("model", ["none is bound"], "words alone are searched", "`bankml init`")
    try:
        found = binding.embedder(store, settings, anyway=True)
        digest = fresh_sha256(choose(bound.model_name, settings).path) if found.provider == "native" else found.digest
    except Error as error:
        return ill("model", [str(error)], "the model cannot be used", f"see there, or `bankml pull {bound.model_name}`")
    if digest != bound.digest:
        said = f"{bound.model_name} has the sha256 {digest[:SHOWN]}, the record {bound.digest[:SHOWN]}"
        return ill("model", [said], "its file is another", f"`bankml pull {bound.model_name}`, else `bankml reindex`")
    return well("model", f"{bound.model_name} is here, sha256 {digest[:SHOWN]} as recorded")
