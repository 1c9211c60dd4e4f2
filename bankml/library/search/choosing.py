"""The choice of a model, made by a thread of its own: that may read a file of gigabytes."""

import threading
from collections.abc import Callable

from bankml.embedders.embedder import Embedder
from bankml.errors import BusyError
from bankml.library.search.model import Model


class Choosing:
    """One call of `choose`, for as many as wait for it."""

    def __init__(self, choose: Callable[[], Embedder]) -> None:
        self._choose = choose
        self._over = threading.Event()
        self._model: Model | None = None
        self._error: BaseException | None = None

    @property
    def over(self) -> bool:
        """Whether it has ended."""
        return self._over.is_set()

    def begin(self) -> None:
        """In the background, or here where no thread can be had."""
        try:
            threading.Thread(target=self._run, name="choosing", daemon=True).start()
        except RuntimeError:
            self._run()

    def result(self, wait: float | None) -> Model:
        """Raises what `choose` raised, and BusyError when it takes longer than `wait` seconds."""
        if not self._over.wait(wait):
            raise BusyError("on its way")
        if self._model is None:
            raise self._error or BusyError("on its way")
        return self._model

    def _run(self) -> None:
        try:
            self._model = Model(self._choose())
        except BaseException as error:
            self._error = error
        finally:
            self._over.set()
