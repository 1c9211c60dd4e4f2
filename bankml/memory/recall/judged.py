"""What a cosine says of strength, where that was measured for the model."""

from typing import Protocol

LEXICAL_ONLY = "uncalibrated (lexical-only)"
NOT_EMBEDDED = "uncalibrated (not embedded)"
LAYERED = "uncalibrated (layered namespaces)"
NO_CALIBRATION = "uncalibrated (no calibration)"


class Calibration(Protocol):
    """What was measured of one model's cosines."""

    @property
    def floor(self) -> float:
        """A cosine below it is weak."""

    def score(self, cosine: float, coverage: float) -> float:
        """0…1."""


def judged(
    cosine: float | None, coverage: float, by_meaning: bool, calibration: Calibration | None, exact: bool = False
) -> tuple[float | str, bool | None]:
    """The score, or why there is none, and whether it is weak. `by_meaning`: that arm ran at all.

    `exact`: the query names it, whatever its cosine is.
    """
    score, weak = _judged(cosine, coverage, by_meaning, calibration)
    return (1.0 if isinstance(score, float) else score, False) if exact else (score, weak)


def _judged(
    cosine: float | None, coverage: float, by_meaning: bool, calibration: Calibration | None
) -> tuple[float | str, bool | None]:
    if not by_meaning:
        return LEXICAL_ONLY, None
    if cosine is None:
        return NOT_EMBEDDED, None
    if calibration is None:
        return NO_CALIBRATION, None
    return calibration.score(cosine, coverage), cosine < calibration.floor
