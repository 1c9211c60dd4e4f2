"""Every model on every pair of languages: what `bankml eval` measures, before it is shown."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product

from bankml.evaluation.collection import Collection, Queries
from bankml.evaluation.faq import Language
from bankml.evaluation.measurement import Measured, measure
from bankml.evaluation.methods import Arm
from bankml.evaluation.model import Model
from bankml.models.progress import Progress


@dataclass(frozen=True)
class Result:
    """Of one model. `documents` and `cut` by language: how many there are, and are longer than the model takes."""

    model: Model
    documents: dict[str, int]
    cut: dict[str, int]
    measured: list[Measured] = field(default_factory=list)


def evaluate(languages: Sequence[Language], models: Sequence[Model], progress: Progress) -> list[Result]:
    """All pairs of the languages, each model on all of them."""
    queries = [Queries(one.code, list(one.queries), list(one.queries.values())) for one in languages]
    collections = [Collection(one.code, list(one.documents), list(one.documents.values())) for one in languages]
    results = [_prepared(model, queries, collections) for model in models]
    for done, (one, collection) in enumerate(product(queries, collections), 1):
        words = [collection.words(text) for text in one.texts]
        for result in results:
            found = measure(one, collection, words, _meaning(result.model, one, collection))
            if found.ids:
                result.measured.append(found)
        progress("ranking, pairs of languages", done, len(languages) ** 2)
    return results


def _meaning(model: Model, queries: Queries, collection: Collection) -> list[Arm]:
    matrix = model.documents(collection.texts)
    return [collection.meaning(vector, matrix) for vector in model.queries(queries.texts)]


def _prepared(model: Model, queries: Sequence[Queries], collections: Sequence[Collection]) -> Result:
    model.prepare([text for one in queries for text in one.texts], [text for one in collections for text in one.texts])
    documents = {one.language: len(one.texts) for one in collections}
    return Result(model, documents, {one.language: model.cut(one.texts) for one in collections})
