"""A record's text as passages that the model reads whole, so that the end of a long one is found as its beginning."""

from dataclasses import dataclass, replace

from bankml.documents.chunking import chunks
from bankml.documents.counting import Count
from bankml.documents.estimate import estimate
from bankml.documents.markdown import markdown
from bankml.embedders.counting import Counting
from bankml.embedders.embedder import Embedder
from bankml.errors import Error
from bankml.library.add.recipe import Recipe
from bankml.library.model.configuration import Configuration
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
        try:
            return _cut(title, text, configuration, embedder.count, embedder.context_length, embedder)
        except Error:  # its file is gone or its memory is: what to say of it is said when it is to embed
            pass
    return _cut(title, text, configuration, estimate, configuration.chunk_tokens, None)


def _cut(
    title: str, text: str, configuration: Configuration, count: Count, limit: int, embedder: Embedder | None
) -> Cut:
    size = min(configuration.chunk_tokens, limit)
    recipe = str(Recipe.of(embedder, configuration.chunk_tokens, configuration.chunk_overlap))
    start = len(title) + 1
    body = text[start:]
    if len(text) <= size * MOST_CHARACTERS and (tokens := int(count([text])[0])) <= size:
        return Cut((passage(body, title, start, tokens),), recipe)
    parts = _parts(title, body, count, size, min(configuration.chunk_overlap, size // 2))
    found = tuple(replace(part, start=part.start + start, end=part.end + start) for part in parts)
    return Cut(found, recipe, sum(max(0, part.tokens - limit) for part in found))


def _parts(title: str, body: str, count: Count, size: int, overlap: int) -> list[Passage]:
    """Of the text below the title, whose structure is Markdown's. The headings go on from the title."""
    structured = replace(markdown(title, body, (), comments=True), type=TYPE, title=title)
    return [
        Passage(chunk.text, chunk.heading, chunk.start, chunk.end, None, None, chunk.tokens)
        for chunk in chunks(structured, count, size, overlap)
    ]
