"""What bankml aims at, beside what a run found. The aims are stated for a CPU with AVX2 and nothing wider."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from bench import cases
from bench.cases import BGE_M3, BGE_M3_Q8_0, E5_SMALL, MINILM, MODELS, SHORT, Model
from bench.engines import BANKML, LLAMA, ONE_THREAD, OPENVINO, ORT, ORT_INT8

Run = dict[str, Any]
Figure = Callable[[Run], float | None]  # None: the run does not have it
F32 = (LLAMA, ORT, OPENVINO)  # peers that multiply F16 and F32 weights in f32


@dataclass(frozen=True)
class Aim:
    """At least or at most so much of a figure."""

    what: str
    figure: Figure
    bound: float
    at_most: bool = False
    unit: str = ""

    def row(self, run: Run) -> str:
        """What is aimed at, what was found, met or missed."""
        found = self.figure(run)
        sign = "≤" if self.at_most else "≥"
        words = "-" if found is None else f"{found:.2f}{self.unit}"
        return f"| {self.what} | {sign} {self.bound:.2f}{self.unit} | {words} | {self._met(found)} |"

    def _met(self, found: float | None) -> str:
        if found is None:
            return "not in this run"
        return "met" if (found <= self.bound if self.at_most else found >= self.bound) else "**missed**"


def table(run: Run, aims: Sequence[Aim] | None = None) -> str:
    """Markdown: a line for each aim (of AIMS) that the run has figures for, and how many it has none for."""
    aims = AIMS if aims is None else aims
    found = [aim for aim in aims if aim.figure(run) is not None]
    rows = ["| aim | bound | found | |", "| --- | --- | --- | --- |", *(aim.row(run) for aim in found)]
    lacking = f"\n\nOf {len(aims)} aims {len(aims) - len(found)} are of cases that this run does not have."
    return "\n".join(rows) + (lacking if len(found) < len(aims) else "")


def _seconds(run: Run, model: Model, case: str, engine: str) -> float | None:
    found = run["cases"].get(f"{model.name} {case}", {"seconds": {}})["seconds"].get(engine)
    return None if found is None else float(found)


def _over(above: float | None, below: float | None) -> float | None:
    return None if above is None or below is None else above / below


def faster(model: Model, case: str, *peers: str) -> Figure:
    """How many times as fast bankml is as the fastest of the peers."""

    def figure(run: Run) -> float | None:
        times = [found for peer in peers if (found := _seconds(run, model, case, peer)) is not None]
        return _over(min(times, default=None), _seconds(run, model, case, BANKML))

    return figure


def of_the_time(model: Model, case: str, peer: str) -> Figure:
    """bankml's time as a share of a peer's."""
    return lambda run: _over(_seconds(run, model, case, BANKML), _seconds(run, model, case, peer))


def of_the_peak(model: Model, case: str) -> Figure:
    """The whole graph's operations per second as a share of the f32 loop's in the same rounds."""

    def figure(run: Run) -> float | None:
        found = run["cases"].get(f"{model.name} {case}")
        if not found or not found["peaks"].get("f32"):
            return None
        return float(found["operations"] / found["seconds"][BANKML] / found["peaks"]["f32"])

    return figure


def beside(above: tuple[Model, str], below: tuple[Model, str]) -> Figure:
    """bankml's tokens per second in one case, beside those in another.

    The two were measured minutes apart: each counts in units of the f32 loop's speed in its own rounds.
    """

    def figure(run: Run) -> float | None:
        cases = [run["cases"].get(f"{model.name} {name}") for model, name in (above, below)]
        return None if None in cases else relative(*cases)

    return figure


def relative(above: dict[str, Any], below: dict[str, Any]) -> float:
    """As `beside`, of two cases' figures."""
    speeds = [case["tokens"] / case["seconds"][BANKML] / (case["peaks"].get("f32") or 1.0) for case in (above, below)]
    return float(speeds[0] / speeds[1])


def resident(model: Model, case: str) -> Figure:
    """GB of bankml's process, the most after any call of the case."""

    def figure(run: Run) -> float | None:
        found = run["cases"].get(f"{model.name} {case}")
        return None if not found else float(found["resident_bytes"][BANKML]) / 1e9

    return figure


def start(model: Model) -> Figure:
    """Seconds from the import to the first vector."""

    def figure(run: Run) -> float | None:
        found = run["starts"].get(f"{model.name} start")
        return None if not found else float(found["first_vector"])

    return figure


def scaling(case: dict[str, Any]) -> tuple[float, float] | None:
    """How many times as fast all threads are as one: bankml, and the f32 loop in the same rounds."""
    if ONE_THREAD not in case["seconds"] or not case["peaks"].get("f32, 1 thread"):
        return None
    own = case["seconds"][ONE_THREAD] / case["seconds"][BANKML]
    return own, case["peaks"]["f32"] / case["peaks"]["f32, 1 thread"]


def threads(model: Model, case: str) -> Figure:
    """bankml's gain from all threads, as a share of the f32 loop's."""

    def figure(run: Run) -> float | None:
        both = scaling(run["cases"].get(f"{model.name} {case}", {"seconds": {}}))
        return None if both is None else both[0] / both[1]

    return figure


LONG, BATCH, LONGEST = "1 x 512", "8 x 483", "1 x 8192"
AIMS = (
    Aim("F16, 1 x 512: times llama.cpp's speed", faster(BGE_M3, LONG, LLAMA), 1.6),
    Aim("F16, 8 x 483: times llama.cpp's speed", faster(BGE_M3, BATCH, LLAMA), 2.0),
    Aim("F16, 1 x 512: times the best f32 peer's speed", faster(BGE_M3, LONG, *F32), 1.2),
    Aim("F16, 8 x 483: times the best f32 peer's speed", faster(BGE_M3, BATCH, *F32), 1.2),
    Aim("F16, 1 x 512: share of the f32 peak, end to end", of_the_peak(BGE_M3, LONG), 0.8),
    Aim("F16, 8 x 483: share of the f32 peak, end to end", of_the_peak(BGE_M3, BATCH), 0.8),
    *(
        aim
        for case in ("1 x 32", "1 x 128")
        for aim in (
            Aim(f"F16, {case}: times llama.cpp's speed", faster(BGE_M3, case, LLAMA), 1.3),
            Aim(f"F16, {case}: times the best f32 peer's speed", faster(BGE_M3, case, *F32), 1.0),
        )
    ),
    Aim("F16, one query of 15 tokens: of llama.cpp's time", of_the_time(BGE_M3, SHORT, LLAMA), 0.65, at_most=True),
    Aim("Q8_0, 1 x 512: times llama.cpp's speed", faster(BGE_M3_Q8_0, LONG, LLAMA), 3.0),
    Aim("Q8_0, 1 x 512: times bankml's own with F16", beside((BGE_M3_Q8_0, LONG), (BGE_M3, LONG)), 1.15),
    Aim("Q8_0, 1 x 512: times ONNX Runtime int8's speed", faster(BGE_M3_Q8_0, LONG, ORT_INT8), 1.0),
    Aim("e5-small Q4_0, 1 x 128: times llama.cpp's speed", faster(E5_SMALL, "1 x 128", LLAMA), 1.5),
    Aim("e5-small Q4_0, one query: of llama.cpp's time", of_the_time(E5_SMALL, SHORT, LLAMA), 0.6, at_most=True),
    *(
        Aim(
            f"{model.name}: a mixed corpus' tokens/s beside equal lengths'",
            beside((model, cases.MIXED), (model, cases.EQUAL)),
            0.9,
        )
        for model in MODELS
    ),
    Aim("F16, 1 x 8192: times llama.cpp's speed", faster(BGE_M3, LONGEST, LLAMA), 2.0),
    Aim("F16, 1 x 8192: resident", resident(BGE_M3, LONGEST), 1.0, at_most=True, unit=" GB"),
    Aim("MiniLM, one query: of llama.cpp's time", of_the_time(MINILM, SHORT, LLAMA), 0.7, at_most=True),
    Aim("MiniLM, 64 x 32: times the best f32 peer's speed", faster(MINILM, "64 x 32", *F32), 1.5),
    Aim("all threads' gain, F16, 1 x 512: of the f32 loop's gain", threads(BGE_M3, LONG), 0.95),
    Aim("bge-m3 F16: load to first vector, warm", start(BGE_M3), 0.3, at_most=True, unit=" s"),
    Aim("bge-m3 Q8_0: load to first vector, warm", start(BGE_M3_Q8_0), 0.3, at_most=True, unit=" s"),
    Aim("F16: resident after 512 tokens", resident(BGE_M3, LONG), 0.75, at_most=True, unit=" GB"),
    Aim("Q8_0: resident after 512 tokens", resident(BGE_M3_Q8_0, LONG), 0.45, at_most=True, unit=" GB"),
)
