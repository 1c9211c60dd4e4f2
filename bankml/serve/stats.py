"""What the server is doing, for programs: GET /metrics (Prometheus) and GET /stats (JSON, what /ui shows)."""

import time
from dataclasses import asdict
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

import bankml
from bankml.serve.answers import Answer
from bankml.serve.metrics import Metrics, resident_bytes
from bankml.serve.recent import WINDOW
from bankml.serve.state import state

FRESH = {"Cache-Control": "no-store"}


async def metrics(request: Request) -> Response:
    """Prometheus's text format, or OpenMetrics where the Accept header asks for it."""
    content, content_type = state(request).metrics.text(request.headers.get("accept", ""))
    return Response(content, headers={"Content-Type": content_type, **FRESH})


async def stats(request: Request) -> Response:
    """Totals since the start, latencies of the last minute, memory and limits; it loads nothing and keeps nothing."""
    shared = state(request)
    content = {
        "version": bankml.__version__,
        "backend": shared.metrics.backend,
        "model": shared.names.served.name,
        "uptime_seconds": round(time.time() - shared.metrics.started, 3),
        "resident_bytes": resident_bytes(),
        "embeddings": shared.metrics.recent.total,
        **shared.metrics.totals(),
        "failures": shared.metrics.failures(),
        "latency": _latency(shared.metrics),
        "limits": asdict(shared.ledger.limits),
    }
    return Answer(content, headers=FRESH)


def _latency(metrics: Metrics) -> dict[str, Any]:
    """Milliseconds of whole requests that embedded something; null when there were none in the window."""
    p50, p95 = (None if share is None else round(share * 1000, 3) for share in metrics.recent.quantiles(0.5, 0.95))
    return {"window_seconds": WINDOW, "p50_ms": p50, "p95_ms": p95}
