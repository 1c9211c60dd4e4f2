"""Records that answer a query, by words, by meaning and by name, over the one index of a store."""

from collections.abc import Callable, Sequence
from functools import partial

from bankml.errors import MismatchError
from bankml.library.search.asking import Question
from bankml.library.search.searcher import Mode, Searcher
from bankml.memory import calibration
from bankml.memory.freshness import Look
from bankml.memory.recall.answered import Source, answered
from bankml.memory.recall.asked import Asked
from bankml.memory.recall.judged import Calibration
from bankml.memory.recall.page import Page, page
from bankml.memory.recall.recalled import Recalled
from bankml.memory.recall.relevance import ALPHA, Fusion
from bankml.memory.recall.wanted import Wanted, one_of
from bankml.settings import Settings
from bankml.store import Record
from bankml.store.record import CATEGORIES, Freshness


class Recaller:
    """The records of one searcher's store; safe to use from many threads.

    `seen`: the freshness of a record as it is now. `calibrated`: what was measured of the model of a digest.
    """

    def __init__(
        self,
        searcher: Searcher,
        seen: Callable[[Record], Freshness] | None = None,
        calibrated: Callable[[str], Calibration | None] | None = None,
    ) -> None:
        self.searcher = searcher
        self._seen = seen
        self._calibrated = calibrated or _measured

    def recall(
        self,
        query: str,
        n: int = 10,
        mode: Mode = "fused",
        fusion: Fusion = "convex",
        statuses: Sequence[str] = ("active",),
        categories: Sequence[str] = (),
        namespaces: Sequence[str] = (),
        session: str = "",
        tags: Sequence[str] = (),
        root: bytes = b"",
        wait: float | None = None,
        *,
        prefer: Sequence[str] = (),
        alpha: float = ALPHA,
        project: bytes = b"",
    ) -> Recalled:
        """The n records that answer best, of those that pass (`Wanted`). One that the query names by id comes first.

        `prefer`: categories that rank before others. `alpha`: the weight of meaning in `convex`. `root`: of who asks: a
        file that is named is one of there, if any is. `project`: the root that records must be of, as `Wanted.root`.
        `wait`: as of `Searcher.search`. Where the meaning cannot be had, another model than the store's among the
        reasons, words alone rank and the status says why.

        One state of the store is asked, whatever is written meanwhile. Raises InputError for what cannot be asked,
        UnavailableError or MismatchError for meaning alone where there is none, StoreError.
        """
        wanted = Wanted.of(statuses, categories, namespaces, session, tags, project)
        asked = Asked.of(query, n, mode, fusion, alpha, wanted, one_of("category", prefer, CATEGORIES), root)
        return self._answered(asked, wait)

    def look(self) -> Callable[[Record], Freshness]:
        """What sees the records of one answer, of whose files it reads a bounded number of bytes in all."""
        return self._seen or Look().seen

    def _answered(self, asked: Asked, wait: float | None) -> Recalled:
        return answered(asked, [self._source(self._page(asked, wait))])

    def _page(self, asked: Asked, wait: float | None) -> Page:
        read = partial(page, asked)
        try:
            return self.searcher.asked(asked.query, asked.mode, wait, read)
        except MismatchError as error:
            if asked.mode == "meaning":
                raise
            by_words = Question(why=str(error))
        return self.searcher.asked(asked.query, "words", wait, lambda db, state, _: read(db, state, by_words))

    def _source(self, read: Page, repository: str = "") -> Source:
        return Source(read, self.look(), self._calibrated(read.digest) if read.digest else None, repository)


def _measured(digest: str) -> Calibration | None:
    return calibration.of(digest, Settings.read())
