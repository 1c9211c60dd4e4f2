"""Adding the ten Debian FAQs to a knowledge base, beside the engine alone on the same chunks.

`python -m bench.adding [--languages en de] [--rounds 3] [--model NAME]`. Both in this process, in turn, with the model
loaded; the share is of the engine's tokens a second when all chunks are one call. Also: a second run, in which nothing
has changed, and how long a run takes on many tiny files.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from bankml import models
from bankml.embedders import NativeEmbedder
from bankml.encoder import Encoder
from bankml.library.add.added import Added
from bankml.library.add.ingest import Ingest
from bankml.library.add.selection import Selection
from bankml.library.model.configuration import Configuration
from bankml.models import prefixes
from bankml.store import Passage, Store
from bench.report import markdown
from oracle import texts

T = TypeVar("T")

MODEL = "all-minilm-l6-v2"
SHARE = 0.9  # promised
TINY = 500  # files


def faq(folder: Path, languages: list[str]) -> Path:
    """The pages as files, a folder for each language."""
    for language in languages:
        (folder / language).mkdir(parents=True)
        for number, page in enumerate(texts.pages(language)):
            (folder / language / f"{number:02}.html").write_text(page, encoding="utf-8")
    return folder


def tiny(folder: Path, languages: list[str]) -> Path:
    """Files of a sentence or two."""
    folder.mkdir()
    words = " ".join(" ".join(texts.pages(languages[0])).split()).replace("<", " ").replace(">", " ").split(" ")
    for number in range(TINY):
        start = number * 37 % max(1, len(words) - 40)
        (folder / f"{number:04}.txt").write_text(f"{number} " + " ".join(words[start : start + 40]), encoding="utf-8")
    return folder


def added(path: Path, folder: Path, embedder: NativeEmbedder) -> Added:
    """One run over a folder."""
    with Store.create(path) as store:
        sources = list(Selection([str(folder)], store.path).sources())
        return Ingest(store, embedder, Configuration.read(store.path)).run(sources)


def chunks(path: Path) -> list[str]:
    """What was embedded, each text once."""
    with Store.open(path) as store, store.reading() as db:
        rows = db.execute("SELECT text, heading FROM chunks ORDER BY id")
        return list(dict.fromkeys(Passage(*row, 0, 0, None, None, 0).embedded for row in rows))


def raw(encoder: Encoder, found: list[str], prefix: str) -> int:
    """The engine alone: tokens."""
    return int(encoder.encode_full([prefix + text for text in found]).tokens.sum())


def typed(folder: Path, language: str, model: str, encoder: Encoder) -> dict[str, Any]:
    """`bankml add` of a language's pages in a process of its own, then the engine alone on the same chunks, here.

    `seconds` are the command's own, from the first file to the last chunk on the disk; `wall` also has the start of
    the process and the making of the store.
    """
    path = folder / f"{language}.db"
    command = [sys.executable, "-m", "bankml", "add", "--json", "--model", model, "--db", str(path)]
    begun = time.perf_counter()
    done = subprocess.run([*command, str(folder / "pages" / language)], check=True, capture_output=True)
    wall = time.perf_counter() - begun
    found, prefix = json.loads(done.stdout), prefixes.of(encoder.name).document
    tokens, alone, _ = timed(lambda: raw(encoder, chunks(path), prefix))
    assert tokens == found["tokens"], f"{language}: {found['tokens']} tokens were added, {tokens} are in the chunks"
    counts = {key: found[key] for key in ("added", "chunks", "tokens", "seconds")}
    return {"language": language, **counts, "wall": wall, "engine_seconds": alone}


def figures(languages: Sequence[str], model: str = MODEL) -> list[dict[str, Any]]:
    """A line for each language, the command and the engine in turn."""
    with tempfile.TemporaryDirectory() as folder, Encoder(models.choose(model).path) as encoder:
        faq(Path(folder) / "pages", list(languages))
        raw(encoder, ["It starts its threads."], "")
        return [typed(Path(folder), language, model, encoder) for language in languages]


def share(lines: Sequence[dict[str, Any]], of: str = "seconds") -> float:
    """Of the engine's tokens/s, what adding reaches over all languages; `of`: "seconds" or "wall"."""
    return float(sum(line["engine_seconds"] for line in lines) / sum(line[of] for line in lines))


def table(lines: Sequence[dict[str, Any]]) -> str:
    """A line for each language, and one for all."""
    summed = {key: sum(line[key] for line in lines) for key in lines[0] if key != "language"}
    rows = [_row(line) for line in [*lines, {"language": f"all {len(lines)}", **summed}]]
    head = ["language", "files", "chunks", "tokens", "`bankml add`, tokens/s", "the engine alone", "share"]
    return markdown([*head, "with the start of the process"], rows)


def _row(line: dict[str, Any]) -> list[str]:
    speeds = [f"{line['tokens'] / line[key]:,.0f}" for key in ("seconds", "engine_seconds")]
    counts = [f"{line[key]:,}" for key in ("added", "chunks", "tokens")]
    return [line["language"], *counts, *speeds, f"{share([line]):.1%}", f"{share([line], 'wall'):.1%}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--languages", nargs="+", default=list(texts.LANGUAGES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--model", default=MODEL)
    arguments = parser.parse_args()
    choice = models.choose(arguments.model)
    with tempfile.TemporaryDirectory() as folder, Encoder(choice.path) as encoder:
        embedder = NativeEmbedder(choice, encoder=encoder)
        for name, make in (("FAQ", faq), (f"{TINY} tiny files", tiny)):
            report(name, make(Path(folder) / name, arguments.languages), embedder, encoder, arguments.rounds)


def report(name: str, folder: Path, embedder: NativeEmbedder, encoder: Encoder, rounds: int) -> None:
    """Prints a line a round, and the medians: by the clock, and by the CPU's time, which a busy machine blurs less."""
    shares: list[float] = []
    by_cpu: list[float] = []
    for number in range(rounds):
        path = folder.parent / f"{name} {number}.db"
        done, seconds, cpu = timed(lambda path=path: added(path, folder, embedder))
        found = chunks(path)
        tokens, raw_seconds, raw_cpu = timed(lambda found=found: raw(encoder, found, embedder.document_prefix))
        _, again, _ = timed(lambda path=path: added(path, folder, embedder))
        assert tokens == done.tokens
        shares.append(raw_seconds / seconds)
        by_cpu.append(raw_cpu / cpu)
        print(
            f"{name}: {done.added} files, {done.chunks:,} chunks, {tokens:,} tokens: {tokens / seconds:,.0f} tokens/s "
            f"of {tokens / raw_seconds:,.0f}, {shares[-1]:.1%} ({by_cpu[-1]:.1%} by CPU time); "
            f"unchanged in {again:.2f} s",
            flush=True,
        )
    share = statistics.median(shares)
    print(
        f"{name}: {share:.1%} of the engine alone ({statistics.median(by_cpu):.1%} by CPU time), "
        f"{SHARE:.0%} promised{'' if share >= SHARE else ': MISSED'}"
    )


def timed(work: Callable[[], T]) -> tuple[T, float, float]:
    """What it gives, seconds by the clock, and seconds of the CPU."""
    begun, cpu = time.perf_counter(), time.process_time()
    found = work()
    return found, time.perf_counter() - begun, time.process_time() - cpu


if __name__ == "__main__":
    main()
