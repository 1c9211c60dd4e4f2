"""`python -m bench.tokenizers`: tokenizing beside Hugging Face's `tokenizers` (Rust) and SentencePiece (C++).

One thread, CPU time of what a Python caller calls, the engines taking turns; the ids of every text are compared first.
The second table is tokenizing's share of embedding. Exit status 1 when that is more than promised or a peer is faster.
"""

import argparse
import os
import statistics
import sys
import sysconfig
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bankml.encoder import Encoder
from bench import cases, results, sections
from bench.report import markdown
from oracle import texts, vocabularies

ROUNDS = 7
TURN = 0.02  # CPU seconds of a turn at least: after another engine's turn the caches are cold
SINGLE = {"TOKENIZERS_PARALLELISM": "false", "RAYON_NUM_THREADS": "1"}
MODULES = ("argparse", "ast", "dataclasses", "difflib", "inspect", "pathlib", "subprocess", "textwrap", "typing")
QUERY = range(20, 61)  # bytes
SHARES = {"1 x 12": (1, 12), "64 x 32": (64, 32), "1 x 512": (1, 512)}  # texts of a call, tokens of each
PROMISED = 0.02  # tokenizing's share of any of MiniLM's calls

Ids = Sequence[int]
Seconds = dict[str, float]  # "min" and "median" of the rounds; tables show the first, which other work disturbs least


@dataclass(frozen=True)
class Tokenizer:
    """`run` is timed; `ids` gives the same as the GGUF file numbers them, with the special tokens."""

    run: Callable[[str], Any]
    ids: Callable[[str], Ids]


@dataclass(frozen=True)
class Vocabulary:
    """A model and who else tokenizes for it; `as_good` says whether other ids than a peer's are no worse than these."""

    model: cases.Model
    encoder: Encoder
    peers: dict[str, Tokenizer]
    as_good: Callable[[Ids, Ids], bool] | None = None  # None: only the same ids are right

    @property
    def runs(self) -> dict[str, Callable[[str], Any]]:
        """What is timed, by engine."""
        return {"bankml": self.encoder.tokenize, **{name: peer.run for name, peer in self.peers.items()}}


def wordpiece() -> Vocabulary:
    """all-MiniLM-L6-v2's 30,522 pieces."""
    from oracle.token_references import bert_tokenizer

    peers = {"tokenizers": hugging_face(bert_tokenizer(vocabularies.minilm_tokens()))}
    return Vocabulary(cases.MINILM, Encoder(cases.MINILM.path(), threads=1), peers)


def unigram() -> Vocabulary:
    """multilingual-e5-small's 250,002 pieces, XLM-R's."""
    import tokenizers

    from oracle.token_references import XlmRoberta, xlmr_ids

    rust = tokenizers.Tokenizer.from_file(str(vocabularies.xlmr_file()))
    rust.no_truncation()
    rust.no_padding()
    pieces = XlmRoberta.read(vocabularies.xlmr_file())
    processor = pieces.sentencepiece()
    peers = {
        "tokenizers": hugging_face(rust),
        "sentencepiece": Tokenizer(processor.encode, lambda text: xlmr_ids(processor, text)),
    }
    encoder = Encoder(cases.E5_SMALL.path(), threads=1)
    return Vocabulary(cases.E5_SMALL, encoder, peers, lambda ours, theirs: pieces.score(ours) >= pieces.score(theirs))


def hugging_face(tokenizer: Any) -> Tokenizer:
    """Its fastest call: without offsets, which bankml and SentencePiece do not give either."""

    def run(text: str) -> Ids:
        ids: Ids = tokenizer.encode_batch_fast([text])[0].ids
        return ids

    return Tokenizer(run, run)


def corpora() -> dict[str, list[str]]:
    """What is tokenized, one text a call: the Debian FAQ in ten languages, and modules of this Python."""
    faq = {language: sections.sections(language) for language in sections.LANGUAGES}
    library = Path(sysconfig.get_path("stdlib"))
    return {
        "short English queries": [text for text in texts.sentences("en") if len(text.encode()) in QUERY],
        "English sections": faq["en"],
        "one English document": ["\n".join(faq["en"])],
        "sections in ten languages": [text for found in faq.values() for text in found],
        "Japanese and Chinese sections": faq["ja"] + faq["zh-cn"],
        "one Japanese document": ["".join(faq["ja"])],
        "source code": [(library / f"{module}.py").read_text(encoding="utf-8") for module in MODULES],
    }


def differences(vocabulary: Vocabulary, corpus: Sequence[str]) -> dict[str, int]:
    """Of each peer how many texts have other ids.

    Raises RuntimeError for ids worse than SentencePiece's, whose f32 sums choose freely among equal scores and in a
    long text among close ones, and for any that differ from Hugging Face's WordPiece. Its Unigram is told of only:
    it maps decomposed text differently (oracle/README.md).
    """
    found = {}
    for name, peer in vocabulary.peers.items():
        pairs = [(vocabulary.encoder.tokenize(text), list(peer.ids(text))) for text in corpus]
        other = [(ours, theirs) for ours, theirs in pairs if ours != theirs]
        worse = [ours for ours, theirs in other if vocabulary.as_good is None or not vocabulary.as_good(ours, theirs)]
        if worse and (vocabulary.as_good is None or name == "sentencepiece"):
            raise RuntimeError(f"{name} gives better ids for {len(worse)} of {len(corpus)} texts")
        found[name] = len(other)
    return found


def turns(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, Seconds]:
    """CPU seconds of each call: each is run for a turn, one after the other, `rounds` times."""
    found: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            found[name].append(_turn(call))
    return {name: {"min": min(each), "median": statistics.median(each)} for name, each in found.items()}


def _turn(call: Callable[[], Any]) -> float:
    start, repeats = time.process_time(), 0
    while (seconds := time.process_time() - start) < TURN:
        call()
        repeats += 1
    return seconds / repeats


def speed(vocabulary: Vocabulary, name: str, corpus: Sequence[str], rounds: int) -> dict[str, Any]:
    """A line of the first table: the time is that of all texts of the corpus, one a call."""

    def each(run: Callable[[str], Any]) -> Callable[[], None]:
        def call() -> None:
            for text in corpus:
                run(text)

        return call

    return {
        "model": vocabulary.model.name,
        "texts": name,
        "count": len(corpus),
        "bytes": sum(len(text.encode()) for text in corpus),
        "tokens": sum(len(vocabulary.encoder.tokenize(text)) for text in corpus),
        "differences": differences(vocabulary, corpus),
        "seconds": turns({engine: each(run) for engine, run in vocabulary.runs.items()}, rounds),
    }


def share(vocabulary: Vocabulary, name: str, documents: Sequence[str], rounds: int) -> dict[str, Any]:
    """A line of the second table: embedding one batch on one thread, and tokenizing its texts alone."""
    encoder, (count, tokens) = vocabulary.encoder, SHARES[name]
    batch = [text for text in documents if len(encoder.tokenize(text)) > tokens][:count]
    calls = {
        "encode": lambda: encoder.encode_full(batch, max_tokens=tokens),
        "tokenize": lambda: [encoder._engine.tokenize(text, False, tokens) for text in batch],
    }
    assert encoder.encode_full(batch, max_tokens=tokens).tokens.tolist() == [tokens] * count
    return {"model": vocabulary.model.name, "case": name, "tokens": count * tokens, "seconds": turns(calls, rounds)}


def figures(rounds: int) -> dict[str, list[dict[str, Any]]]:
    """Both tables' lines."""
    found = corpora()
    both = [wordpiece(), unigram()]
    return {
        "speeds": [speed(each, name, corpus, rounds) for each in both for name, corpus in found.items()],
        "shares": [share(each, name, found["English sections"], rounds) for each in both for name in SHARES],
    }


def lines(run: dict[str, Any]) -> str:
    """Markdown: a sentence and the two tables."""
    versions = ", ".join(f"{name} {number}" for name, number in run["versions"].items())
    head = f"`make bench-tokenizers`, {run['datetime'][:10]}, {run['machine']}; load {run['load'][0]:.1f}; {versions}."
    return f"{head}\n\n{speed_table(run['speeds'])}\n\n{share_table(run['shares'])}"


def speed_table(speeds: Sequence[dict[str, Any]]) -> str:
    """A line for each vocabulary and corpus; for each peer how many times as fast bankml is."""
    head = ["model", "texts", "MB", "bankml MB/s", "ns a token", "tokenizers MB/s", "sentencepiece MB/s"]
    rows = [[*_own(line), *(_peer(line, name) for name in ("tokenizers", "sentencepiece"))] for line in speeds]
    return markdown(head, rows)


def share_table(shares: Sequence[dict[str, Any]]) -> str:
    """A line for each model and case."""
    head = ["model", "texts x tokens", "tokenizing", "ns a token", "encoding, 1 thread", "share"]
    rows = []
    for line in shares:
        part, whole = line["seconds"]["tokenize"]["min"], line["seconds"]["encode"]["min"]
        cells = [f"{1e6 * part:.1f} µs", f"{1e9 * part / line['tokens']:.0f}", f"{1e3 * whole:.1f} ms"]
        rows.append([line["model"], line["case"], *cells, f"{part / whole:.2%}"])
    return markdown(head, rows)


def _own(line: dict[str, Any]) -> list[str]:
    seconds = line["seconds"]["bankml"]["min"]
    size = f"{line['bytes'] / 1e6:.2f}"
    return [line["model"], line["texts"], size, _rate(line, "bankml"), f"{1e9 * seconds / line['tokens']:.0f}"]


def _peer(line: dict[str, Any], name: str) -> str:
    if name not in line["seconds"]:
        return "-"
    ratio = line["seconds"][name]["min"] / line["seconds"]["bankml"]["min"]
    differ = line["differences"][name]
    other = f"; other ids for {differ} of {line['count']}" if differ else ""
    return f"**{ratio:.1f}** ({_rate(line, name)}{other})"


def _rate(line: dict[str, Any], engine: str) -> str:
    return f"{line['bytes'] / line['seconds'][engine]['min'] / 1e6:.1f}"


def too_much(shares: Sequence[dict[str, Any]]) -> list[str]:
    """MiniLM's cases in which tokenizing takes more than is promised."""
    return [
        line["case"]
        for line in shares
        if line["model"] == cases.MINILM.name
        and line["seconds"]["tokenize"]["min"] > PROMISED * line["seconds"]["encode"]["min"]
    ]


def slower(speeds: Sequence[dict[str, Any]]) -> list[str]:
    """The texts of which some peer tokenizes more in a second."""
    return [
        f"{line['texts']} ({line['model']})"
        for line in speeds
        if line["seconds"]["bankml"]["min"] > min(seconds["min"] for seconds in line["seconds"].values())
    ]


def main() -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="python -m bench.tokenizers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"turns of each engine (default {ROUNDS})")
    options = parser.parse_args()
    os.environ |= SINGLE
    file, run = results.keep("tokenizers", figures(options.rounds))
    print(f"{lines(run)}\n\n{file}")
    if slow := too_much(run["shares"]):
        print(f"tokenizing takes more than {PROMISED:.0%} of {', '.join(slow)}", file=sys.stderr)
    if behind := slower(run["speeds"]):
        print(f"a peer is faster on {', '.join(behind)}", file=sys.stderr)
    return 1 if slow or behind else 0


if __name__ == "__main__":
    sys.exit(main())
