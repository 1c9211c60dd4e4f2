"""The store at a path as tools see it: what each takes and answers, without MCP."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from bankml.errors import InputError, StoreError
from bankml.library.model.binding import embedder
from bankml.library.model.initialise import missing
from bankml.library.search.answer import answer as found_in_documents
from bankml.library.search.searcher import Searcher
from bankml.library.upkeep.status import status
from bankml.memory import instant, writing
from bankml.memory.context import BUDGET, Pack, pack
from bankml.memory.draft import Draft
from bankml.memory.opening import opened
from bankml.memory.origin import provenance
from bankml.memory.past import as_of as look_back
from bankml.memory.recall.answer import answer
from bankml.memory.recall.recaller import Recaller
from bankml.memory.timeline import timeline
from bankml.memory.verdicts import judged
from bankml.memory.workspace.workspace import Workspace
from bankml.settings import Settings
from bankml.store import Store
from bankml.store.followed import Followed

BY = "bankml mcp"
SESSION = "session"  # the namespace
ACTIVE = ("active",)

Client = Mapping[str, str]  # who asks, as it says of itself


@dataclass(frozen=True)
class Opened:
    """A store that is open, with its one searcher: one matrix, one encoder for all tools."""

    store: Store
    searcher: Searcher
    recaller: Workspace

    def close(self) -> None:
        """Ends what runs."""
        self.recaller.close()
        self.searcher.close()
        self.store.close()


class Memories:
    """Safe to use from many threads, which take turns. All raise Error in one sentence.

    `model`: whose vectors are searched, as `--model`; `session`: whose own records are seen, "" for
    nobody's. `root`: the folder that cited paths are relative to.
    """

    def __init__(self, path: Path, model: str | None, session: str, root: bytes) -> None:
        self.path, self.session = path, session
        self._model, self._root = model, root
        self._followed = Followed(path, self._open)

    def of(self, session: str) -> Self:
        """The same store, as another session sees it."""
        seen = copy(self)
        seen.session = session
        return seen

    def query(
        self,
        query: str,
        n: int = 10,
        mode: Any = "fused",
        status: Sequence[str] = ACTIVE,
        category: Sequence[str] = (),
        prefer: Sequence[str] = (),
        namespace: Sequence[str] = (),
        tag: Sequence[str] = (),
        as_of: str | None = None,
        explain: bool = False,
    ) -> dict[str, Any]:
        """As `bankml query --json`, with the records of this session."""
        if as_of is not None:
            return self._query_then(query, n, instant.parse(as_of, "as_of"), status, category, tag)

        def work(now: Opened) -> dict[str, Any]:
            found = now.recaller.recall(
                query,
                n,
                mode,
                statuses=status or ACTIVE,
                categories=category,
                namespaces=namespace,
                session=self.session,
                tags=tag,
                root=self._root,
                prefer=prefer,
            )
            return answer(found, self._root, explain)

        return self._followed.of_now(work)

    def _query_then(
        self, query: str, n: int, at: int, status: Sequence[str], category: Sequence[str], tag: Sequence[str]
    ) -> dict[str, Any]:
        """As `bankml query --as-of --json`."""

        def work(now: Opened) -> dict[str, Any]:
            found = look_back(now.recaller, query, at, n, status or ACTIVE, category, tag)
            return answer(found, self._root) | {"as_of": instant.iso(at)}

        return self._followed.of_now(work)

    def context(self, query: str, task: str = "", token_budget: int = BUDGET) -> Pack:
        """As `bankml context`, with the records of this session."""
        return self._followed.of_now(
            lambda now: pack(Recaller(now.searcher), query, task, token_budget, session=self.session, root=self._root)
        )

    def timeline(self, id: str, full: bool = False) -> dict[str, Any]:
        """As `bankml timeline --json`."""
        return self._followed.of_now(lambda now: timeline(now.store, id).object(full))

    def remember(self, client: Client, title: str, content: str, **given: Any) -> dict[str, Any]:
        """As `bankml remember --json`; the store is made where there is none."""
        since = given.pop("valid_from", None)
        if given.get("namespace") == SESSION and not self.session:
            raise InputError(
                "this client has no session of its own: give another namespace, or start `bankml mcp` with --session"
            )
        draft = Draft.of(
            title=title,
            content=content,
            **given,
            session=self.session if given.get("namespace") == SESSION else "",
            valid_from=None if since is None else instant.parse(since, "valid_from"),
            root=self._root,
            provenance=self._provenance(client),
        )
        settings = Settings.read()
        if missing(self.path):
            opened(self.path, settings, self._model).close()
        return self._followed.of_now(
            lambda now: writing.remember(now.store, settings, draft, now.searcher.embedder).object()
        )

    def revise(self, client: Client, id: str, content: str, **given: Any) -> dict[str, Any]:
        """As `bankml remember --revise --json`."""
        since = given.pop("valid_from", None)
        if others := given.keys() - {"confidence", "paths"}:
            raise InputError(
                f"{min(others)} cannot be given with revise, a record keeps it: remember a new one that supersedes it"
            )
        at = None if since is None else instant.parse(since, "valid_from")
        more = {"valid_from": at, "provenance": self._provenance(client), **given}
        return self._followed.of_now(
            lambda now: writing.revise(
                now.store, Settings.read(), id, content, choose=now.searcher.embedder, **more
            ).object()
        )

    def feedback(self, client: Client, id: str, verdict: str, note: str = "") -> dict[str, Any]:
        """As `bankml feedback --json`."""
        origin = self._provenance(client)
        return self._followed.of_now(
            lambda now: judged(writing.feedback(now.store, id, verdict, note, origin), verdict)
        )

    def search(self, query: str, n: int = 10, mode: Any = "fused", **filters: Any) -> dict[str, Any]:
        """As `bankml search --json`."""
        return self._followed.of_now(lambda now: found_in_documents(now.searcher.search(query, n, mode, **filters)))

    def status(self) -> dict[str, Any]:
        """As `bankml status --json`, and the session."""
        settings = Settings.read()
        return self._followed.of_now(lambda now: status(now.store, settings).object()) | {SESSION: self.session}

    def close(self) -> None:
        """Ends what runs."""
        self._followed.close()

    def _provenance(self, client: Client) -> dict[str, Any]:
        return provenance(BY, self._root) | dict(client)

    def _open(self, path: Path) -> Opened:
        if missing(path):
            raise StoreError(f"there is no memory at {path}: `remember` makes one, and so does `bankml init`")
        store = Store.open(path)
        searcher = Searcher(store, lambda: embedder(store, Settings.read(), self._model))
        return Opened(store, searcher, Workspace(store, searcher))
