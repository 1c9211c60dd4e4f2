"""What one request, and all requests together, may take."""

from dataclasses import dataclass, field

from bankml.serve import connections
from bankml.serve.connection import HEAD, HEAD_BYTES

MIB = 2**20


@dataclass(frozen=True)
class Limits:
    """Every bound of the server, as /info shows them."""

    max_queue_requests: int = 512  # requests that wait or are worked on; Ollama's OLLAMA_MAX_QUEUE
    max_queue_tokens: int = 8 * MIB  # tokens of their texts: 32 MB of ids
    max_body_bytes: int = 16 * MIB  # one body; 5,000 passages of 3 kB
    max_bodies_bytes: int = 128 * MIB  # the bodies of all requests in flight
    max_texts: int = 10_000  # of one request; of 1,024 dimensions: 41 MB of vectors, some 120 MB of JSON
    max_silence_seconds: float = 60.0  # without a byte of a body that was begun: its client is taken for lost
    max_body_seconds: float = 300.0  # for a whole body: 16 MiB at 56 kB/s
    max_head_bytes: int = HEAD_BYTES
    max_head_seconds: float = HEAD
    max_connections: int = field(default_factory=connections.most)


COUNTED_TOKENS = 64  # what a text counts at least: its vector of 1,024 dimensions takes as much memory as 1,024 ids
MOST_RESULTS = 100  # exchanges or passages of one search
MOST_QUERY = 4000  # characters of what is looked for, as of what is embedded
MOST_FILTERS = 100  # globs or types of one search
MOST_WAIT = 60.0  # seconds that a search may wait for the query's vector, where it says how long
MOST_DOCUMENTS = 10_000  # added by one request
MOST_NAME = 1000  # characters of a document's name
