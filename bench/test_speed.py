"""Every case of cases.py, and every model's start, as tests: `-k` chooses among them, one that fails stops no other."""

import statistics
from collections.abc import Iterator

import pytest

from bench import cpu, memory, report
from bench import rounds as speed
from bench.cases import Case, Model
from bench.results import Results
from bench.rounds import Party

STARTS = 5


@pytest.fixture(scope="module")
def party(request: pytest.FixtureRequest, seen: cpu.CPU) -> Iterator[Party]:
    """All engines with the model loaded."""
    with speed.party(request.param, seen) as party:
        yield party


def test_speed(party: Party, case: Case, seen: cpu.CPU, results: Results) -> None:
    figures = speed.measured(party, case, seen)
    results.add("cases", str(case), figures)
    print(report.line(figures), flush=True)


def test_start(model: Model, seen: cpu.CPU, results: Results) -> None:
    """From the import of bankml to the first vector, in fresh processes, the file in the page cache."""
    memory.warm(model.path())
    found = [memory.measure(model.path(), [], 0, cpu.environment(seen, "bankml")) for _ in range(STARTS)]
    median = {name: statistics.median(one[name] for one in found) for name in ("import", "load", "first_vector")}
    results.add("starts", f"{model.name} start", {"model": model.name, "processes": STARTS, **median})
    print(f"{model.name} start: first vector after {median['first_vector']:.2f} s", flush=True)
