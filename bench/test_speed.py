"""Every case of cases.py, and every model's start, as tests: `-k` chooses among them, one that fails stops no other."""

import statistics
from collections.abc import Iterator

import pytest

from bench import cpu, memory, report
from bench import rounds as speed
from bench.cases import Case, Model
from bench.plugin import RUN, Run
from bench.rounds import Party

STARTS = 5


@pytest.fixture(scope="session")
def run(request: pytest.FixtureRequest) -> Run:
    """What `python -m bench` asked for."""
    return request.config.stash[RUN]


@pytest.fixture(scope="module")
def party(request: pytest.FixtureRequest, run: Run) -> Iterator[Party]:
    """All engines with the model loaded."""
    with speed.party(request.param, run.cpu) as party:
        yield party


def test_speed(party: Party, case: Case, run: Run) -> None:
    figures = speed.measured(party, case, run.cpu)
    run.kept.add("cases", str(case), figures)
    print(report.line(figures), flush=True)


def test_start(model: Model, run: Run) -> None:
    """From the import of bankml to the first vector, in fresh processes, the file in the page cache."""
    memory.warm(model.path())
    found = [memory.measure(model.path(), [], 0, cpu.environment(run.cpu, "bankml")) for _ in range(STARTS)]
    median = {name: statistics.median(one[name] for one in found) for name in ("import", "load", "first_vector")}
    run.kept.add("starts", f"{model.name} start", {"model": model.name, "processes": STARTS, **median})
    print(f"{model.name} start: first vector after {median['first_vector']:.2f} s", flush=True)
