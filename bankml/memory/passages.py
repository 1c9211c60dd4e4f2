"""A record's text as passages that the model reads whole, so that the end of a long one is found as its beginning."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from bankml.documents.chunking import chunks
from bankml.documents.counting import Count
from bankml.documents.estimate import estimate
from bankml.documents.markdown import markdown
from bankml.embedders.counting import Counting
from bankml.embedders.embedder import Embedder
from bankml.library.add.recipe import Recipe
from bankml.library.model.configuration import Configuration
from bankml.memory.embedding import FAILURES
from bankml.store.passage import Passage
from bankml.store.record import TYPE, passage

MOST_CHARACTERS = 32  # of a token: a text with more of them is not counted as a whole, which would count it twice


@dataclass(frozen=True, slots=True)
class Cut:
    """`passages`: each is characters `start` to `end` of the record's text, under its title. `recipe`: how.

    `clipped`: tokens that the model will not read, of passages longer than it takes.
    """

    passages: tuple[Passage, ...]
    recipe: str
    clipped: int = 0


def cut(title: str, text: str, embedder: Embedder | None, configuration: Configuration) -> Cut:
    """The text of a record, whose first line is its title: one passage where it fits, else parts along its structure.

    Tokens are the model's own where it has its tokenizer in this process, else estimated, rather too many.
    """
    if isinstance(embedder, Counting):
        with suppress(*FAILURES):  # its file or its memory is gone, or it reads too few tokens to cut a text for
            size = min(configuration.chunk_tokens, embedder.context_length)
            return Cut(_passages(title, text, configuration, embedder.count, size), _recipe(configuration, embedder))
    made = _passages(title, text, configuration, estimate, configuration.chunk_tokens)
    return Cut(made, _recipe(configuration, None), _clipped(made, embedder))


def _passages(title: str, text: str, configuration: Configuration, count: Count, size: int) -> tuple[Passage, ...]:
    start = len(title) + 1
    body = text[start:]
    if len(text) <= size * MOST_CHARACTERS and (tokens := int(count([text])[0])) <= size:
        return (passage(body, title, start, tokens),)
    parts = _parts(title, body, count, size, min(configuration.chunk_overlap, size // 2))
    return tuple(replace(part, start=part.start + start, end=part.end + start) for part in parts)


def _recipe(configuration: Configuration, embedder: Embedder | None) -> str:
    return str(Recipe.of(embedder, configuration.chunk_tokens, configuration.chunk_overlap))


def _clipped(passages: Sequence[Passage], embedder: Embedder | None) -> int:
    """Tokens that the model does not read, of passages that it has not counted before; 0 where it cannot say."""
    with suppress(*FAILURES):
        if isinstance(embedder, Counting):
            counted = embedder.count([each.embedded for each in passages])
            return sum(max(0, tokens - embedder.context_length) for tokens in counted)
    return 0


def _parts(title: str, body: str, count: Count, size: int, overlap: int) -> list[Passage]:
    """Of the text below the title, whose structure is Markdown's. The headings go on from the title.

    Both together take a quarter of a passage at most: of longer ones the end of the last is left, after an ellipsis.
    """
    structured = replace(markdown(title, body, (), comments=True), type=TYPE, title=title)
    return [
        Passage(chunk.text, chunk.heading, chunk.start, chunk.end, None, None, chunk.tokens)
        for chunk in chunks(structured, count, size, overlap)
    ]
