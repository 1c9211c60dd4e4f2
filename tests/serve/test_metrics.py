"""What is counted, by the rules of Prometheus and in bounded sets of labels."""

import os
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families as open_metrics
from prometheus_client.parser import text_string_to_metric_families as prometheus

from bankml.serve import failures
from bankml.serve.metrics import STAGES, Metrics, resident_bytes

OPEN_METRICS = "application/openmetrics-text; version=1.0.0"


def sample(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(name, labels)


def read(text: str) -> dict[str, float]:
    """Samples by name with their labels."""
    return {
        f"{sample.name}{sorted(sample.labels.items())}": sample.value
        for family in prometheus(text)
        for sample in family.samples
    }


def test_a_pass_is_counted_with_its_texts_and_tokens():
    metrics = Metrics()
    metrics.passed(3, 100)
    metrics.passed(1, 7)
    metrics.truncated(2)
    expected = {"passes": 2, "texts": 4, "tokens": 107, "truncated": 2}
    assert {name: sample(metrics, f"bankml_{name}_total") for name in expected} == expected
    assert sample(metrics, "bankml_pass_tokens_bucket", le="8.0") == 1
    assert {name: value for name, value in metrics.totals().items() if name in expected} == expected


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_is_a_histogram_from_half_a_millisecond_to_a_minute(stage):
    metrics = Metrics()
    metrics.stage(stage, 0.0004)
    metrics.stage(stage, 59)
    metrics.stage(stage, 61)
    counts = [sample(metrics, "bankml_stage_seconds_bucket", stage=stage, le=le) for le in ("0.0005", "60.0", "+Inf")]
    assert counts == [1, 2, 3]


def test_what_clients_send_makes_no_new_series():
    metrics = Metrics()
    for index in range(100):
        metrics.failed(f"a sentence of text {index}")
        metrics.request("other", f"BREW{index}", 404, 0.1)
    assert metrics.failures() == {"other": 100}
    assert sample(metrics, "bankml_requests_total", route="other", method="other", status="404") == 100


def test_failures_are_told_by_kind_the_most_frequent_first():
    metrics = Metrics()
    for kind in ("busy", "not_found", "not_found", "not_finite"):
        metrics.failed(kind)
    assert next(iter(metrics.failures().items())) == ("not_found", 2)
    assert metrics.failures()["not_finite"] == 1


def test_every_error_of_bankml_has_a_kind():
    assert {"busy", "canceled", "too_large", "not_found", "invalid", "unauthorized"} <= failures.KINDS
    assert {"not_finite", "file_changed", "too_long", "input", "model"} <= failures.KINDS
    assert all(kind.replace("_", "").isalpha() for kind in failures.KINDS)


def test_gauges_look_when_they_are_read():
    metrics, now = Metrics(), {"queue": (1, 2), "models": 3}
    metrics.watch(lambda: now["queue"], lambda: now["models"])
    assert [sample(metrics, f"bankml_{name}") for name in ("queue_requests", "queue_tokens", "models_loaded")] == [
        1,
        2,
        3,
    ]
    now |= {"queue": (5, 6), "models": 0}
    assert [sample(metrics, f"bankml_{name}") for name in ("queue_requests", "queue_tokens", "models_loaded")] == [
        5,
        6,
        0,
    ]


def test_memory_and_descriptors_are_those_of_the_process():
    metrics = Metrics()
    before = sample(metrics, "bankml_resident_bytes")
    held = os.urandom(64 * 2**20)
    assert sample(metrics, "bankml_resident_bytes") - before > 60 * 2**20
    assert resident_bytes() > len(held)
    open_files = len(list(Path("/proc/self/fd").iterdir()))
    assert abs(sample(metrics, "process_open_fds") - open_files) <= 2
    assert sample(metrics, "process_start_time_seconds") > 1e9


def test_two_servers_share_nothing():
    one, other = Metrics(), Metrics()
    one.passed(1, 1)
    assert other.totals()["passes"] == 0


def test_metrics_over_http(application):
    before = read(application("GET", "/metrics").text)
    application("POST", "/api/embed", json={"model": "tiny", "input": ["a b", "word " * 1000]})
    application("POST", "/v1/embeddings", json={"model": "nonesuch", "input": "a"})
    application("GET", "/nonesuch")
    after = read(application("GET", "/metrics").text)

    def more(name: str, **labels: str) -> float:
        key = f"bankml_{name}{sorted(labels.items())}"
        return after[key] - before.get(key, 0)

    assert more("requests_total", route="/api/embed", method="POST", status="200") == 1
    assert more("requests_total", route="/v1/embeddings", method="POST", status="404") == 1
    assert more("requests_total", route="other", method="GET", status="404") == 1
    assert more("request_seconds_count", route="/api/embed") == 1
    assert more("failures_total", kind="not_found") == 2
    assert (more("texts_total"), more("truncated_total")) == (2, 1)
    assert more("received_bytes_total") > 5000
    assert more("stage_seconds_count", stage="read") == 2
    assert more("stage_seconds_count", stage="write") == 4  # the two GETs among them, and the first look
    assert [more("stage_seconds_count", stage=stage) for stage in ("tokenize", "queue", "encode")] == [1, 1, 1]
    assert (more("passes_total"), more("pass_tokens_count")) == (1, 1)
    assert after["bankml_stage_seconds_count[('stage', 'load')]"] >= 1
    assert more("models_loaded") in (0, 1)


def test_open_metrics_by_accept(application):
    answer = application("GET", "/metrics", headers={"Accept": OPEN_METRICS})
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert "bankml_tokens" in {family.name for family in open_metrics(answer.text)}
    plain = application("GET", "/metrics")
    assert plain.headers["content-type"].startswith("text/plain; version=0.0.4")


def test_stats_are_those_of_metrics_and_keep_no_model(application):
    application("POST", "/api/embed", json={"model": "tiny", "input": "a", "keep_alive": 0})
    stats = application("GET", "/stats").json()
    assert stats["embeddings"] >= 1
    assert stats["latency"]["p50_ms"] <= stats["latency"]["p95_ms"]
    assert stats["limits"]["max_texts"] == 10_000
    assert application("GET", "/api/ps").json() == {"models": []}  # looking loads nothing
