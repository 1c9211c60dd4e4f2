"""What was measured as plain data, for JSON and for tables."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bankml.evaluation import faq
from bankml.evaluation.bootstrap import CONFIDENCE, RESAMPLES, SEED
from bankml.evaluation.evaluation import Result
from bankml.evaluation.faq import Language
from bankml.evaluation.measurement import METRICS
from bankml.evaluation.methods import DEPTH
from bankml.evaluation.packages import Pages
from bankml.evaluation.summary import CHIEF, SCOPES, Row


def data(languages: Sequence[Language], pages: Mapping[str, Pages]) -> dict[str, Any]:
    """Which text it was."""
    listed = [
        {
            "language": one.code,
            "documents": len(one.documents),
            "queries": len(one.queries),
            "untranslated": one.untranslated,
            "source": pages[one.code].source,
            "verified": pages[one.code].verified,
        }
        for one in languages
    ]
    return {"name": "Debian FAQ", "version": faq.VERSION, "languages": listed}


def method() -> dict[str, Any]:
    """How it was measured."""
    return {"candidates": DEPTH, "resamples": RESAMPLES, "seed": SEED, "confidence": CONFIDENCE}


def model(result: Result, rows: Sequence[Row], differences: Sequence[Row]) -> dict[str, Any]:
    """A model's facts and figures."""
    encoder, prefixes = result.model.encoder, result.model.prefixes
    return {
        "model": encoder.name,
        "digest": encoder.digest,
        "dims": encoder.dims,
        "context_length": encoder.context_length,
        "query_prefix": prefixes.query,
        "document_prefix": prefixes.document,
        "documents": result.documents,
        "cut": result.cut,
        "results": list(map(_row, rows)),
        "differences": list(map(_row, differences)),
    }


def _row(row: Row) -> dict[str, Any]:
    values = {
        name: {"mean": one.mean, "low": one.low, "high": one.high}
        for name, one in zip(METRICS, row.values, strict=True)
    }
    return {"scope": row.scope, "method": row.method, "queries": row.queries, **values}


HEADINGS = ("model", "scope", "method", "queries", *METRICS, f"{METRICS[-1]}, {CONFIDENCE:.0%} of draws")


def cells(name: str, rows: Sequence[Row], signed: bool = False) -> Iterator[tuple[str, ...]]:
    """A line of a table for each row."""
    form = "{:+.3f}" if signed else "{:.3f}"
    for row in rows:
        last = row.values[-1]
        interval = f"{form.format(last.low)} … {form.format(last.high)}"
        means = (form.format(one.mean) for one in row.values)
        yield (name, row.scope, row.method, str(row.queries), *means, interval)


def shown(row: Row) -> bool:
    """Whether a table for people holds it: scopes whole, of a language the chief methods, single pairs not at all."""
    return row.scope in SCOPES or ("→" not in row.scope and row.method in CHIEF)
