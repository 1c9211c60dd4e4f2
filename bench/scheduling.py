"""What a query waits beside a job of documents, and what the job loses to queries."""

from pathlib import Path
from typing import Any

from bankml import Encoder
from bench import corpus, servers
from bench.clients import percentile

QUERY, DOCUMENT = 15, 483  # tokens


def measure(path: Path, documents: int) -> dict[str, Any]:
    """Queries once a second while one request of many documents is embedded; before, each alone."""
    with Encoder(path) as encoder:
        query, texts = corpus.of_length(encoder, 1, QUERY), corpus.of_length(encoder, documents, DOCUMENT)
    with servers.bankml(path) as server:
        asked, job = [server.body(query)], server.body(texts, encoding_format="base64")
        limit = 60 + documents * 10.0  # seconds; a document takes 0.7 to 3 on two cores
        server.load(asked, most=3)
        alone = server.load(asked, most=30)
        job_alone = server.load([job], most=1, limit=limit)
        together = server.load(asked, interval=1.0, job=job, limit=limit)
    if together.job is None or not job_alone.seconds:
        raise RuntimeError(f"a job of {documents} documents was not done in {limit:g} s")
    return {
        "documents": documents,
        "query_alone": percentile(alone.seconds, 0.95),
        "query_beside": percentile(together.seconds, 0.95),
        "queries": len(together.seconds),
        "errors": sum(together.refused.values()) + together.unanswered,
        "job_alone": job_alone.seconds[0],
        "job_beside": together.job,
    }
