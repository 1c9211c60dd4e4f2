"""The vector of a query, by the model that published vectors are of."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bankml.embedders import Embedder, choose
from bankml.embedders.embedder import Floats
from bankml.errors import Error
from bankml.library.model.fingerprint import fingerprint
from bankml.models.prefixes import Override
from bankml.publish.store.listed import Listed, Recipe
from bankml.settings import Settings

NO_PGVECTOR = "the database has no pgvector"
NOT_EMBEDDED = "nothing there is embedded"
SHOWN = 8  # hex digits of a digest
Choose = Callable[[Recipe], Embedder]


@dataclass(frozen=True)
class Question:
    """`recipe`: of the vectors that `vector` may be compared with. `why`: there is no vector."""

    vector: Floats | None = None
    recipe: Recipe | None = None
    why: str = ""


def chooser(settings: Settings, model: str | None = None) -> Choose:
    """The model of a recipe on this machine; `model`: what it is called here, where its own name does not lead to it.

    It is called with the pooling and the prefixes that passages were embedded with.
    """
    return lambda recipe: choose(
        settings,
        model or recipe.model,
        prefixes=Override(recipe.document_prefix, recipe.query_prefix),
        pooling=recipe.pooling or None,
    )


class Vectors:
    """Of queries, by the recipe of most passages whose model is here. Models are kept from query to query."""

    def __init__(self, choose: Choose) -> None:
        self._choose = choose
        self._known: dict[Recipe, Embedder | str] = {}

    def of(self, query: str, stores: Sequence[Listed]) -> Question:
        """The query's vector, or why there is none."""
        counts = Counter[Recipe]()
        for store in stores:
            if store.recipe and store.embedded:
                counts[store.recipe] += store.embedded
        whys = []
        for recipe, _ in counts.most_common():
            found = self._embedder(recipe)
            if not isinstance(found, str):
                return self._asked(query, recipe, found)
            whys.append(found)
        return Question(why=" · ".join(dict.fromkeys(whys)) or NOT_EMBEDDED)

    def close(self) -> None:
        """Lets go of the models."""
        for found in self._known.values():
            if not isinstance(found, str):
                found.close()

    def _asked(self, query: str, recipe: Recipe, embedder: Embedder) -> Question:
        try:
            return Question(embedder.embed([query], query=True)[0], recipe)
        except Error as error:
            return Question(why=str(error))

    def _embedder(self, recipe: Recipe) -> Embedder | str:
        """Or why there is none."""
        if recipe not in self._known:
            try:
                self._known[recipe] = self._fitting(recipe)
            except (Error, OSError) as error:
                return str(error)  # looked for again by the next query
        return self._known[recipe]

    def _fitting(self, recipe: Recipe) -> Embedder | str:
        found = self._choose(recipe)
        of_recipe = f"the vectors there are of {recipe.model} ({recipe.digest[:SHOWN]}…)"
        if found.digest != recipe.digest:
            return (
                f"{of_recipe}, and {found.model} here is another file ({found.digest[:SHOWN]}…): name one with --model"
            )
        if fingerprint(found) != recipe.fingerprint:
            return f"{of_recipe} by another recipe than {found.model} has here: reindex and publish the store again"
        return found
