"""`python -m bench.chunking [--languages en,de] [--megabytes 30]`: what reading and cutting documents costs beside
embedding them.

The Debian FAQ in ten languages, extracted and cut for MiniLM and multilingual-e5-small, in seconds of CPU; then the
engine's own tokens/s on the same passages, all threads. Then one line without an end: its time at a third of the length
and at all of it shows whether it grows with the length alone. Exit status 1 when cutting takes more than is promised.
"""

import argparse
import resource
import sys
import time
from collections.abc import Callable, Sequence

import bankml
from bankml.documents import Block, Chunk, Extracted, chunks, extract
from bankml.encoder import Encoder
from bench.report import markdown
from oracle import texts

MODELS = {"all-minilm-l6-v2": "", "multilingual-e5-small": "passage: "}
PROMISED = 0.03  # of the time of embedding
EMBEDDED = 200  # passages that the engine is timed on
UNITS = {"words": "lorem ipsum dolor sit amet ", "Thai": "ภาษาไทยไม่มีช่องว่าง", "base64": "VGhlIHF1aWNrIGJyb3du"}


def counter(encoder: Encoder, prefix: str) -> Callable[[Sequence[str]], Sequence[int]]:
    """Tokens as the model counts them, behind its document prefix."""
    return lambda some: encoder.tokens([prefix + text for text in some], whole=True).counts.tolist()


def pages(languages: Sequence[str]) -> list[bytes]:
    """The FAQ's pages; the packages are downloaded the first time."""
    return [page.encode() for language in languages for page in texts.pages(language)]


def seconds(work: Callable[[], object]) -> float:
    """Of this process's CPU time: other programs have the same cores."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def faq(name: str, prefix: str, content: Sequence[bytes]) -> dict[str, float]:
    """Seconds and numbers of one model."""
    read: list[Extracted] = []
    found: list[Chunk] = []
    with bankml.load(name) as encoder:
        count = counter(encoder, prefix)
        extracting = seconds(lambda: read.extend(extract("page.html", page) for page in content))
        cutting = seconds(lambda: found.extend(chunk for one in read for chunk in chunks(one, count)))
        some = found[:: max(1, len(found) // EMBEDDED)]
        begun = time.perf_counter()
        encoder.encode([prefix + chunk.embedded for chunk in some])
        embedding = (time.perf_counter() - begun) / sum(chunk.tokens for chunk in some)
    tokens = sum(chunk.tokens for chunk in found)
    return {
        "chunks": len(found),
        "tokens": tokens,
        "extracting": extracting,
        "cutting": cutting,
        "share": cutting / (embedding * tokens),
        "engine": 1 / embedding,
    }


def endless(unit: str, size: int) -> dict[str, float]:
    """Seconds for a line of `size` bytes, and how many times as long it takes as a third of it."""

    def cut(line: str) -> float:
        whole = Extracted(line, "text", "", (Block(0, len(line), "paragraph"),), True)
        return seconds(lambda: chunks(whole, count))

    with bankml.load("multilingual-e5-small") as encoder:
        count = counter(encoder, "passage: ")
        line = unit * (size // len(unit.encode()))
        third, all_of_it = cut(line[: len(line) // 3]), cut(line)
    return {"seconds": all_of_it, "of a third": all_of_it / third}


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the tables."""
    parser = argparse.ArgumentParser(prog="python -m bench.chunking", description=__doc__)
    parser.add_argument("--languages", default=",".join(texts.LANGUAGES))
    parser.add_argument("--megabytes", type=float, default=30)
    options = parser.parse_args(arguments)
    content = pages(options.languages.split(","))
    found = {name: faq(name, prefix, content) for name, prefix in MODELS.items()}
    header = ["model", "chunks", "tokens", "extract s", "cut s", "chunks/s", "tokens/s", "engine tokens/s", "share"]
    print(markdown(header, [_row(name, one) for name, one in found.items()]), "\n")
    lines = {name: endless(unit, int(options.megabytes * 1e6)) for name, unit in UNITS.items()}
    rows = [[name, f"{one['seconds']:.1f}", f"{one['of a third']:.1f}"] for name, one in lines.items()]
    print(markdown([f"one line of {options.megabytes:g} MB", "s", "times a third of it"], rows), "\n")
    print(f"most memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000:,.0f} MB")
    return int(any(one["share"] > PROMISED for one in found.values()))


def _row(name: str, one: dict[str, float]) -> list[str]:
    rates = (one["chunks"] / one["cutting"], one["tokens"] / one["cutting"], one["engine"])
    numbers = [f"{one['chunks']:,}", f"{one['tokens']:,}", f"{one['extracting']:.2f}", f"{one['cutting']:.2f}"]
    return [name, *numbers, *(f"{rate:,.0f}" for rate in rates), f"{one['share']:.2%}"]


if __name__ == "__main__":
    sys.exit(main())
