"""Scores in a memory of one record, three and ten, asked in other words than it was written in, with both built-ins."""

from pathlib import Path

import pytest

from bankml.embedders import Embedder, choose
from bankml.library.model import binding
from bankml.library.search.searcher import Searcher
from bankml.memory.draft import Draft
from bankml.memory.recall.recalled import Memory
from bankml.memory.recall.recaller import Recaller
from bankml.memory.writing import remember
from bankml.settings import Settings
from bankml.store import Store

RECORDS = {  # by a question that it is about: title, content
    "how long is a login valid?": (
        "Token life",
        "Access tokens live for 15 minutes, refresh tokens for 30 days.",
    ),
    "which database do we use?": (
        "Storage",
        "Everything is in PostgreSQL 16; SQLite was given up because two services write at once.",
    ),
    "may I print the user's password for debugging?": (
        "No secrets in logs",
        "Never log a token or a password; the formatter masks fields named secret.",
    ),
    "what type should a price column have?": (
        "Money is in cents",
        "Amounts are integers in cents of the currency. Floats are forbidden in billing code.",
    ),
    "when do we ship to production?": (
        "Release process",
        "We deploy every Tuesday morning from main; hotfixes are cherry-picked onto the release branch.",
    ),
    "why does CI fail now and then at night?": (
        "Flaky checkout test",
        "test_checkout_total fails about once in fifty runs when the clock crosses midnight; freeze time in it.",
    ),
    "how do I change an endpoint without breaking clients?": (
        "API versioning",
        "Breaking changes of the REST API get a new path prefix such as /v2; old versions are kept for a year.",
    ),
    "a customer sees an old price, why?": (
        "Cache invalidation",
        "Product pages are cached in Redis for ten minutes; a price change publishes an event that purges them.",
    ),
    "can I add a React component?": (
        "Frontend stack",
        "The web client is TypeScript with Svelte; React was rejected for the size of its bundle.",
    ),
    "in what order are articles listed?": (
        "Search ranking",
        "Products in stock are ranked before those that are sold out, then by margin.",
    ),
}
OFF = ("how do I bake sourdough bread?", "who won the world cup in 1998?", "what are the symptoms of measles?")


MINILM, E5 = "all-minilm-l6-v2", "multilingual-e5-small"


@pytest.mark.parametrize(("model", "few", "likely"), [(MINILM, 0.35, 0.9), (E5, 0.15, 0.7)])
@pytest.mark.parametrize("count", [1, 3, 10])
def test_the_right_record_scores_and_what_is_off_the_topic_does_not(
    model: str, few: float, likely: float, count: int, stocked_home: Path, tmp_path: Path
) -> None:
    """`likely`: the share of right records that score `few` at least; e5's floor is of ten languages."""
    answered, off = asked(choose(name=model), list(RECORDS)[:count], tmp_path)
    better = sum(right.score > max((other.score for other in others), default=0.0) for right, others in answered)
    assert better >= 0.9 * count
    assert sum(right.score >= few for right, _ in answered) >= max(1, int(likely * count))
    assert max(off) < 0.1


def asked(embedder: Embedder, questions: list[str], folder: Path) -> tuple[list[tuple[Memory, list[Memory]]], list]:
    """Of each question the right record and the others; and the scores of all that is off the topic."""
    with Store.create(folder / "kb.db") as store, Searcher(store, lambda: embedder) as searcher:
        with store.writing() as db:
            binding.check(db, embedder)
        for question in questions:
            title, content = RECORDS[question]
            remember(store, Settings.read(), Draft.of(title=title, content=content), lambda: embedder)
        recaller = Recaller(searcher)
        answered = []
        for question in questions:
            found = recaller.recall(question).results
            (right,) = [one for one in found if one.record.title == RECORDS[question][0]]
            answered.append((right, [one for one in found if one is not right]))
        return answered, [one.score for question in OFF for one in recaller.recall(question).results]
