"""What the server counts, for Prometheus: one registry a server, nothing global."""

import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics import MetricWrapperBase

import bankml
from bankml.serve.failures import KINDS, OTHER
from bankml.serve.recent import Recent

STAGES = ("read", "tokenize", "queue", "encode", "write", "load")
SECONDS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
TOKENS = (8, 32, 128, 512, 1024, 2048, 4096, 8192, 16384, 65536)

METHODS = frozenset(("GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"))
STATM = Path("/proc/self/statm")


class Metrics:
    """Counters, histograms and gauges of one server. Every method may be called from any thread."""

    def __init__(self) -> None:
        self.started = time.time()
        self._began = time.monotonic()  # whatever the clock is set to later
        self.backend = ""
        self.recent = Recent()
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        counter = partial(Counter, registry=self.registry)
        histogram = partial(Histogram, registry=self.registry)
        gauge = partial(Gauge, registry=self.registry)
        self._stages = histogram("bankml_stage_seconds", "Time in a stage", ["stage"], buckets=SECONDS)
        self._requests = counter("bankml_requests", "Requests answered", ["route", "method", "status"])
        self._seconds = histogram("bankml_request_seconds", "Whole requests", ["route"], buckets=SECONDS)
        self._failures = counter("bankml_failures", "Requests that failed", ["kind"])
        self._passes = counter("bankml_passes", "Passes through a model")
        self._texts = counter("bankml_texts", "Texts that went through a model")
        self._tokens = counter("bankml_tokens", "Tokens embedded")
        self._truncated = counter("bankml_truncated", "Texts that were cut")
        self._pass_tokens = histogram("bankml_pass_tokens", "Tokens of a pass", buckets=TOKENS)
        self._received = counter("bankml_received_bytes", "Bytes of bodies that were read")
        self._sent = counter("bankml_sent_bytes", "Bytes of bodies that were sent")
        self._lost = counter("bankml_log_lines_lost", "Lines of the log that could not be written")
        self._queue_requests = gauge("bankml_queue_requests", "Requests that wait or are computed")
        self._queue_tokens = gauge("bankml_queue_tokens", "Tokens that wait or are computed")
        self._models = gauge("bankml_models_loaded", "Models in memory")
        self._info = gauge("bankml_info", "1; its labels tell what runs", ["version", "backend"])
        gauge("bankml_resident_bytes", "Resident memory of the process").set_function(resident_bytes)
        for stage in STAGES:
            self._stages.labels(stage)

    def stage(self, name: str, seconds: float) -> None:
        """One stage of one request took `seconds`; `name` is one of STAGES."""
        self._stages.labels(name).observe(seconds)

    def passed(self, texts: int, tokens: int) -> None:
        """A pass went through a model."""
        self._passes.inc()
        self._texts.inc(texts)
        self._tokens.inc(tokens)
        self._pass_tokens.observe(tokens)

    def truncated(self, count: int) -> None:
        """`count` texts were cut to a limit."""
        self._truncated.inc(count)

    def failed(self, kind: str) -> None:
        """A request failed; a `kind` that is none of failures.KINDS is counted as "other"."""
        self._failures.labels(kind if kind in KINDS else OTHER).inc()

    def request(self, route: str, method: str, status: int, seconds: float) -> None:
        """A request was answered. `route` is the template that matched, "other" where none did."""
        self._requests.labels(route, method if method in METHODS else OTHER, status).inc()
        self._seconds.labels(route).observe(seconds)

    def bodies(self, received: int, sent: int) -> None:
        """Bytes of a request's body that were read and of its answer that were sent."""
        self._received.inc(received)
        self._sent.inc(sent)

    def lost_lines(self, count: int) -> None:
        """`count` lines of the log could not be written."""
        self._lost.inc(count)

    def runs_on(self, backend: str) -> None:
        """The kernels that compute, for `bankml_info`."""
        self.backend = backend
        self._info.labels(bankml.__version__, backend).set(1)

    def watch(self, queue: Callable[[], tuple[int, int]], models: Callable[[], int]) -> None:
        """Where the gauges look when they are read: (requests, tokens) of the queue, and how many models are loaded."""
        self._queue_requests.set_function(lambda: queue()[0])
        self._queue_tokens.set_function(lambda: queue()[1])
        self._models.set_function(models)

    @property
    def uptime(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._began

    def totals(self) -> dict[str, int]:
        """The counters that have no labels, and the queue: what people look at first."""
        named: dict[str, MetricWrapperBase] = {
            "requests": self._requests,
            "passes": self._passes,
            "texts": self._texts,
            "tokens": self._tokens,
            "truncated": self._truncated,
            "received_bytes": self._received,
            "sent_bytes": self._sent,
            "queue_requests": self._queue_requests,
            "queue_tokens": self._queue_tokens,
        }
        return {name: _sum(metric) for name, metric in named.items()}

    def failures(self) -> dict[str, int]:
        """Failed requests by kind, the most frequent first."""
        samples = [sample for metric in self._failures.collect() for sample in metric.samples]
        counts = {sample.labels["kind"]: int(sample.value) for sample in samples if sample.name.endswith("_total")}
        return dict(sorted(counts.items(), key=lambda pair: -pair[1]))

    def text(self, accept: str) -> tuple[bytes, str]:
        """All of it with its content type: OpenMetrics where the Accept header asks for it, else Prometheus's text."""
        encode, content_type = choose_encoder(accept)
        return encode(self.registry), content_type


def resident_bytes() -> int:
    """Memory of this process that is in RAM."""
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _sum(metric: MetricWrapperBase) -> int:
    samples = [sample for family in metric.collect() for sample in family.samples]
    return int(sum(sample.value for sample in samples if not sample.name.endswith("_created")))
