"""How soon an agent is answered: `query` over MCP, asked by the official SDK's client, and the ranker in this process.

A part of `python -m bench.finding`. Records are real sentences with random vectors; each question is another one, so
its embedding is part of the time. An agent also writes between its questions, which is not timed, but what the next one
reads anew is. The server is a process of its own, `bankml mcp` on stdin and stdout.
"""

import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from bankml.embedders import choose
from bankml.library.search.searcher import Searcher
from bankml.memory.draft import Draft
from bankml.memory.recall.recaller import Recaller
from bankml.memory.writing import remember
from bankml.settings import Settings
from bankml.store import Store
from bench import remembered
from bench.quality import languages
from bench.report import markdown

MODEL = "all-minilm-l6-v2"
RECORDS = (1_000, 10_000)
WARM = 20  # questions before those that count
AFTER = ", each after a write"
LARGEST, AIM_MS = 10_000, 60.0  # promised: one query of twenty at most takes longer

Line = dict[str, Any]
Ask = Callable[[str], None]
Note = Callable[[str], None]  # remembers it


def figures(counts: Sequence[int]) -> list[Line]:
    """A line for each number of records and way of asking; milliseconds are None where there is no MCP here."""
    (english,) = languages(["en"])
    asked = list(english.queries.values())
    return [line for count in counts for line in of(count, asked)]


def of(count: int, asked: Sequence[str]) -> Iterator[Line]:
    """Of one store."""
    embedder = choose(name=MODEL)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "models").symlink_to(Settings.read().models)
        store = remembered.many(home / "kb.db", embedder, count)
        store.close()
        for way, opened in (("in the process", _in_process), ("over MCP", _over_mcp if installed() else None)):
            line = {"records": count, "questions": max(0, len(asked) - WARM)}
            if opened is None:
                yield from (line | {"way": way + when, "p50_ms": None, "p95_ms": None} for when in ("", AFTER))
                continue
            with opened(home) as (ask, note):
                yield line | {"way": way} | _times([_ms(ask, query) for query in asked][WARM:])
                yield line | {"way": way + AFTER} | _times([_ms(ask, query, note) for query in asked][WARM:])


def installed() -> bool:
    """Whether there is a server, and the SDK."""
    return all(importlib.util.find_spec(name) for name in ("mcp", "bankml.mcp"))


@contextmanager
def _in_process(home: Path) -> Iterator[tuple[Ask, Note]]:
    embedder = choose(name=MODEL)
    with Store.open(home / "kb.db") as store, Searcher(store, lambda: embedder) as searcher:
        recaller = Recaller(searcher)

        def note(text: str) -> None:
            remember(store, Settings.read(), Draft.of(title=f"Note {text[:40]}", content=text), lambda: embedder)

        yield lambda query: _some(recaller.recall(query).results), note


@contextmanager
def _over_mcp(home: Path) -> Iterator[tuple[Ask, Note]]:
    from anyio.from_thread import start_blocking_portal
    from mcp import Client, StdioServerParameters

    variables = {"BANKML_HOME": str(home), "BANKML_SKIP_MODEL_DOWNLOAD": "1"}
    arguments = ["-m", "bankml", "mcp", "--model", MODEL, "--db", str(home / "kb.db")]
    server = StdioServerParameters(command=sys.executable, args=arguments, env=variables)
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(server)) as client:

        def call(tool: str, **given: str) -> dict[str, Any]:
            answer = portal.call(client.call_tool, tool, given)
            if answer.is_error:
                raise SystemExit(f"bench: bankml mcp says {answer.content[0].text}")
            found: dict[str, Any] = answer.structured_content
            return found

        yield (
            lambda query: _some(call("query", query=query)["results"]),
            lambda text: _some([call("remember", title=f"Note {text[:40]}", content=text)]),
        )


def _some(results: Sequence[Any]) -> None:
    if not results:
        raise SystemExit("bench: a query found nothing among records that hold its words")


def _ms(ask: Ask, query: str, note: Note | None = None) -> float:
    """Of the question alone, which is noted before."""
    if note is not None:
        note(query)
    start = time.perf_counter()
    ask(query)
    return (time.perf_counter() - start) * 1e3


def _times(milliseconds: Sequence[float]) -> Line:
    p50, p95 = np.percentile(milliseconds, [50, 95]).tolist() if milliseconds else (None, None)
    return {"p50_ms": p50, "p95_ms": p95}


def table(lines: Sequence[Line]) -> str:
    """A line each."""
    return markdown(["records", "asked", "questions", "p50, ms", "p95, ms"], [_row(line) for line in lines])


def _row(line: Line) -> list[str]:
    times = ["not measured" if line[name] is None else f"{line[name]:.1f}" for name in ("p50_ms", "p95_ms")]
    return [f"{line['records']:,}", line["way"], str(line["questions"]), *times]
