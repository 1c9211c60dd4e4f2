"""What a text costs who is given it, in tokens."""

from collections.abc import Callable

from bankml.embedders.counting import Counting
from bankml.embedders.embedder import Embedder
from bankml.errors import UnavailableError

Count = Callable[[str], int]

CHARACTERS = 4  # of a token, as English prose has them; callers leave headroom for their own prompt


def characters(text: str) -> int:
    """A quarter of its characters, rounded up."""
    return -(-len(text) // CHARACTERS)


def counting(embedder: Embedder) -> Count:
    """By the tokenizer of a model, without what stands before and after every document of it.

    Raises UnavailableError where the model's tokenizer is not in this process; what it gives raises it, too.
    """
    if not isinstance(embedder, Counting):
        raise UnavailableError(
            f"{embedder.model} is run by {embedder.provider}, so its tokens cannot be counted here: "
            "leave out --tokenizer, and characters / 4 is the estimate"
        )
    around = embedder.count([""])[0]
    return lambda text: embedder.count([text])[0] - around
