"""One request to a local Ollama and its answer: bounded in time and bytes, and given up when nobody waits for it."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import httpx

from bankml.embedders.embedder import Cancelled
from bankml.embedders.turn import LOOK
from bankml.errors import CancelledError, UnavailableError

CONNECT = 3.0  # seconds


@dataclass(frozen=True)
class Answer:
    """As it came."""

    status: int
    body: bytes


@dataclass(frozen=True)
class Exchange:
    """What is sent to an Ollama at `url`; `content` None: a GET. The answer has `seconds`, and at most `limit` bytes.

    Proxies of the environment are not asked and redirects are not followed: texts would go elsewhere.
    """

    url: str
    path: str
    seconds: float
    limit: int
    content: bytes | None = None

    def run(self, cancelled: Cancelled | None = None) -> Answer:
        """Raises UnavailableError where no whole answer comes, CancelledError."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(self._watched(cancelled))
        left = threading.Event()

        def gone() -> bool:
            return left.is_set() or (cancelled is not None and cancelled())

        with ThreadPoolExecutor(1) as thread:  # this thread's loop stands still anyway: the caller wants a vector
            try:
                return thread.submit(asyncio.run, self._watched(gone)).result()
            finally:
                left.set()  # an interrupt need not wait for Ollama

    async def _watched(self, cancelled: Cancelled | None) -> Answer:
        task = asyncio.create_task(self._answer())
        try:
            async with asyncio.timeout(self.seconds):
                while not (await asyncio.wait({task}, timeout=LOOK))[0]:
                    if cancelled and cancelled():
                        raise CancelledError("the caller gave up before Ollama answered")
            return task.result()
        except TimeoutError:
            raise UnavailableError(
                f"the Ollama at {self.url} did not answer {self.path} within {self.seconds:g} s; look at its log"
            ) from None
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            raise UnavailableError(
                f"no Ollama answers at {self.url} ({error or type(error).__name__}): start it with `ollama serve`, or "
                "set BANKML_OLLAMA to where it listens"
            ) from None
        except (httpx.HTTPError, httpx.InvalidURL, UnicodeError) as error:
            raise UnavailableError(
                f"the Ollama at {self.url} broke off ({error or type(error).__name__}); look at its log and its address"
            ) from None
        finally:
            task.cancel()

    async def _answer(self) -> Answer:
        timeout = httpx.Timeout(None, connect=CONNECT)
        tls = self.url.startswith("https:")  # making a context of its authorities takes 20 ms
        method = "GET" if self.content is None else "POST"
        headers = {"Accept-Encoding": "identity", "Content-Type": "application/json"}
        async with (
            httpx.AsyncClient(trust_env=False, timeout=timeout, verify=tls) as client,
            client.stream(method, self.url + self.path, content=self.content, headers=headers) as response,
        ):
            body = bytearray()
            async for chunk in response.aiter_raw():
                body += chunk
                if len(body) > self.limit:
                    raise UnavailableError(
                        f"the Ollama at {self.url} answered {self.path} with more than {self.limit} bytes; is it one?"
                    )
            return Answer(response.status_code, bytes(body))
