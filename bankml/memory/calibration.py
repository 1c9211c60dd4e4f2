"""What a cosine of a model says of relevance: measured by `bankml eval --calibrate`, model by model.

Cosines of two models cannot be compared: of unrelated texts they are some 0.1 with all-MiniLM and 0.8 with e5.
"""

import json
import math
import warnings
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, Self

from bankml.errors import InputError, ModelWarning
from bankml.models import regular_file
from bankml.settings import Settings

NAME = "calibrations.json"  # in the package, and in the folder of bankml's own files, where it counts more
MAX_BYTES = 1 << 20  # of the file: 5,000 models
DIGEST = 64  # hex digits
LIMIT = 1e6  # of a weight; those that were measured are below 100


@dataclass(frozen=True, slots=True)
class Calibration:
    """Of the model whose file has this sha256, with its own prefixes.

    `floor`: a result of a lower cosine is weak. The weights are those of `score`.
    """

    model: str
    digest: str
    floor: float
    intercept: float
    by_cosine: float
    by_coverage: float

    def score(self, cosine: float, coverage: float) -> float:
        """The probability that a result is about what was asked, where as many are as are not.

        1 / (1 + exp(-(intercept + weights · features))) of the raw cosine, -1 to 1, and the share of the query's terms
        that the result holds, by idf (Platt 1999: a logistic of a score is a probability once it was fitted on labels).
        """
        return logistic(self.intercept + self.by_cosine * cosine + self.by_coverage * coverage)

    @classmethod
    def of(cls, entry: object) -> Self:
        """What JSON holds of one model. Raises InputError for what is none."""
        if not isinstance(entry, dict):
            raise InputError("an entry is no object")
        model, digest = entry.get("model"), entry.get("digest")
        if not isinstance(model, str) or not isinstance(digest, str) or not _is_digest(digest):
            raise InputError("an entry has no model, or no digest of 64 hex digits")
        return cls(model, digest, *(_number(entry, name) for name in NUMBERS))

    @property
    def entry(self) -> dict[str, Any]:
        """As JSON holds it."""
        return {"model": self.model, "digest": self.digest} | {name: getattr(self, name) for name in NUMBERS}


NUMBERS = ("floor", "intercept", "by_cosine", "by_coverage")


def logistic(x: float) -> float:
    """1 / (1 + exp(-x)), for any x."""
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def of(digest: str, settings: Settings) -> Calibration | None:
    """The calibration of the model of this sha256: the user's own, else the one that comes with bankml, else None.

    None too where the user's file is damaged, for nobody knows what it said; a ModelWarning tells it.
    """
    own = settings.home / NAME
    try:
        found = read(own)
    except InputError as error:
        warnings.warn(f"{error}; until then results have no calibrated score", ModelWarning, stacklevel=2)
        return None
    return found.get(digest) or shipped().get(digest)


def read(path: Path) -> dict[str, Calibration]:
    """The calibrations of a file by their digest; none where there is no file. Raises InputError, with the remedy."""
    try:
        content = regular_file.read(path, MAX_BYTES + 1)
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): make it readable, or remove it") from None
    try:
        return parsed(content)
    except InputError as error:
        remedy = "make it anew with `bankml eval --calibrate`, or remove it"
        raise InputError(f"{path} holds no calibrations ({error}): {remedy}") from None


def shipped() -> dict[str, Calibration]:
    """Those that come with bankml, by their digest."""
    return parsed(resources.files(__package__).joinpath(NAME).read_bytes())


def parsed(content: bytes) -> dict[str, Calibration]:
    """Calibrations by their digest; of two of one the last. Raises InputError for bytes that are none."""
    if len(content) > MAX_BYTES:
        raise InputError(f"it has more than {MAX_BYTES:,} bytes")
    try:
        whole = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"it is no JSON: {error}") from None
    entries = whole.get("calibrations") if isinstance(whole, dict) else None
    if not isinstance(entries, list):
        raise InputError("it has no list `calibrations`")
    return {found.digest: found for found in map(Calibration.of, entries)}


def written(calibrations: dict[str, Calibration]) -> bytes:
    """What `parsed` reads, the same bytes for equals."""
    entries = [found.entry for found in sorted(calibrations.values(), key=lambda each: (each.model, each.digest))]
    return (json.dumps({"calibrations": entries}, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "replace")


def _is_digest(text: str) -> bool:
    return len(text) == DIGEST and not set(text) - set("0123456789abcdef")


def _number(entry: dict[str, Any], name: str) -> float:
    value = entry.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= LIMIT:
        raise InputError(f"{name} is {value!r}, no number up to {LIMIT:g}")
    return float(value)
