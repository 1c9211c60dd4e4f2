"""`bankml eval --calibrate`: from which cosine on a model's results mean something, and how much."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bankml.cli.output import note, table, write_json
from bankml.cli.progress import counted
from bankml.errors import InputError, StoreError

if TYPE_CHECKING:
    from bankml.encoder import Encoder
    from bankml.evaluation.calibrating import Calibrated
    from bankml.evaluation.faq import Language
    from bankml.memory.calibration import Calibration


def calibrate(
    names: Sequence[str],
    languages: Sequence["Language"],
    every: bool,
    output: Path | None,
    plot: Path | None,
    data: dict[str, Any] | None,
) -> None:
    """Fits each model and keeps what came out: in `output`, else in the file that queries look into.

    `every`: on all the languages, not only on those that a model knows. `data`: which text it was, where JSON is asked
    for.
    """
    from bankml.cli.model import load
    from bankml.evaluation import calibrated

    with ExitStack() as open_models:
        encoders = [open_models.enter_context(load(name)) for name in dict.fromkeys(names)]
        found = [_fitted(encoder, languages, every) for encoder in encoders]
        if plot:
            _draw(plot, found)
        place = _keep([one.calibration for one in found], output)
        if data is not None:
            write_json({"data": data, "models": [calibrated.data(one) for one in found], "written": str(place)})
        else:
            _show(found, place)


def _fitted(encoder: "Encoder", languages: Sequence["Language"], every: bool) -> "Calibrated":
    from bankml.evaluation.calibrating import calibrate
    from bankml.evaluation.model import Model
    from bankml.models import alphas
    from bankml.settings import Settings

    known = languages if every else [one for one in languages if alphas.knows(encoder.name, one.code) is not False]
    unmeasured = not every and any(alphas.knows(encoder.name, one.code) is None for one in known)
    with counted() as progress:
        return calibrate(Model(encoder, Settings.read().home / "eval", progress), known, progress, not unmeasured)


def _keep(found: Sequence["Calibration"], output: Path | None) -> Path:
    """In a file of these alone, or among the user's own, whose others stay."""
    from bankml.memory import calibration
    from bankml.models import atomic
    from bankml.settings import Settings

    place = output or Settings.read().home / calibration.NAME
    new = {one.digest: one for one in found}
    try:
        if output:
            _write(place, calibration.written(new))
        else:
            with atomic.lock(place.with_name(f".{place.name}.lock")):
                _write(place, calibration.written(_others(place) | new))
    except OSError as error:
        remedy = "name another file with --output" if output else "set BANKML_HOME to a folder that you can write"
        raise StoreError(f"{place} cannot be written ({error.strerror}): {remedy}") from None
    return place


def _others(place: Path) -> dict[str, "Calibration"]:
    from bankml.memory import calibration

    try:
        return calibration.read(place)
    except InputError as error:
        note(f"{error}; it is replaced")
        return {}


def _write(place: Path, content: bytes) -> None:
    from bankml.models import atomic

    with atomic.replacement(place) as temporary:
        temporary.write_bytes(content)


def _draw(path: Path, found: Sequence["Calibrated"]) -> None:
    from bankml.evaluation import roc_plot

    try:
        _write(path, roc_plot.drawn(found).encode())
    except OSError as error:
        raise StoreError(f"{path} cannot be written ({error.strerror}): name another file with --plot") from None


def _show(found: Sequence["Calibrated"], place: Path) -> None:
    from bankml.evaluation import calibrated

    names = [one.model.encoder.name for one in found]
    entries = [list(map(str, one.calibration.entry.values())) for one in found]
    table(list(found[0].calibration.entry), entries)
    table(calibrated.HEADINGS, [row for one, name in zip(found, names, strict=True) for row in _rows(name, one)])
    table(calibrated.BINS, [row for one, name in zip(found, names, strict=True) for row in calibrated.bins(name, one)])
    note(f"{place} holds floor and curve now")


def _rows(name: str, one: "Calibrated") -> list[tuple[str, ...]]:
    from bankml.evaluation import calibrated

    return list(calibrated.cells(name, calibrated.lines(one)))
