"""Whether there is memory for one more model: what it needs, told from its file, against what is available."""

from collections.abc import Callable

from bankml._engine import default_threads
from bankml.available import Available, available
from bankml.errors import Error, ShortError
from bankml.models import Choice, header
from bankml.models.ollama_store import ENCODERS
from bankml.need import Need, need

Measure = Callable[[], Available | None]


class Room:
    """`threads` as in Encoder. `stated`: bytes that a model needs whatever its file says (BANKML_EMBED_NEED_GB).

    None asks the file, and 0 asks nothing at all.
    """

    def __init__(self, threads: int | None = None, stated: int | None = None, measure: Measure = available) -> None:
        self._threads = threads or default_threads()
        self._stated = stated
        self._measure = measure

    def need(self, choice: Choice) -> Need:
        """What the model will take; nothing for a file that cannot be read or is no encoder: loading says why."""
        try:
            found = header.read(choice.path)
        except Error:
            return Need()
        return need(found, self._threads) if found.arch in ENCODERS else Need()

    def short(self, choice: Choice, need: Need, held: int = 0) -> ShortError | None:
        """The error where memory does not suffice; `held` bytes that count as available are other models' weights."""
        wanted = need.total if self._stated is None else self._stated
        return short(choice.name, wanted if need.total else 0, self._measure, held)


def short(model: str, wanted: int, measure: Measure = available, held: int = 0) -> ShortError | None:
    """The error where `wanted` bytes are more than is available, less `held`; None where nothing is wanted or told."""
    here = measure() if wanted else None
    if here is None or wanted <= (left := max(0, here.bytes - held)):
        return None
    return ShortError(
        f"model requires more system memory ({wanted / 1e9:.2f} GB) than is available ({left / 1e9:.2f} GB, by "
        f"{here.source}): {model} was not loaded; free memory, or set BANKML_EMBED_NEED_GB to the GB that it "
        "needs (0: no check)"
    )
