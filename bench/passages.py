"""Passages and questions of any number, made of real sentences: the Debian FAQ in ten languages, seeded."""

import random
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from bankml.embedders import Embedder
from bankml.embedders.embedder import Floats
from bankml.embedders.recipe import fingerprint
from bankml.library.model import binding
from bankml.store import DocumentRow, Passage, Store, documents, vectors
from oracle import texts

DOCUMENT, BATCH = 50, 1_000  # passages of a document, of a transaction
LENGTH, DENSE_LENGTH = 900, 300  # characters: 256 tokens or fewer
DENSE = ("ja", "ko", "zh-cn")  # a character is about as much as a word's third
QUESTIONS = 20  # of a language
ASKS = ("?", "\uff1f")


def passages(languages: Sequence[str], count: int) -> Iterator[str]:
    """The same in every run, language after language; each has a number that no other has."""
    generator = random.Random("passages")
    sentences = {each: [text for text in texts.sentences(each) if len(text) > 20] for each in languages}
    for number in range(count):
        language = languages[number // DOCUMENT % len(languages)]
        most = DENSE_LENGTH if language in DENSE else LENGTH
        parts = [f"{number}:{generator.getrandbits(32):08x}"]
        while sum(map(len, parts)) < most:
            parts.append(generator.choice(sentences[language]))
        yield " ".join(parts)


def questions(languages: Sequence[str]) -> list[str]:
    """Sentences that ask."""
    asking = [[text for text in texts.sentences(each) if text.endswith(ASKS)] for each in languages]
    generator = random.Random("questions")
    found = [text for each in asking for text in generator.sample(each, min(QUESTIONS, len(each)))]
    generator.shuffle(found)
    return found


def stored(path: Path, embedder: Embedder, source: Iterator[str], rows: Floats) -> tuple[Store, list[int]]:
    """A store of a passage for each of `rows` (passages, dims), filled through its own API, and the passages' ids."""
    store, recipe, ids = Store.create(path), fingerprint(embedder), list[int]()
    with store.writing() as db:
        binding.check(db, embedder)
    for start in range(0, len(rows), BATCH):
        with store.writing() as db:
            for first in range(start, min(start + BATCH, len(rows)), DOCUMENT):
                size = min(DOCUMENT, len(rows) - first)
                each = [Passage(text, "", 0, len(text), 1, None, 200) for text in islice(source, size)]
                row = DocumentRow(f"/faq/{first}.txt".encode(), "text", "", "0" * 64, 1, 0, "1")
                made = [id for id, _ in documents.replace(db, row, each).added]
                vectors.insert(db, made, recipe, rows[first : first + size])
                ids += made
    return store, ids
