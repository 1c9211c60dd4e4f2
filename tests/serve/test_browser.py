"""The pages in a real browser: what a person sees, and that nothing else is asked, run or reported."""

import json
import shlex
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
import uvicorn
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from bankml.models import choose
from bankml.serve.app import create_app
from bankml.serve.engines import Engines
from bankml.serve.names import Names
from bankml.serve.state import State
from bankml.serve.workers import Workers
from tests.serve.browsing import PATIENCE, asked, needs_browser, text, wait, window

pytestmark = needs_browser


def live(page) -> None:
    wait(page, lambda: text(page, "state") == "live" and text(page, "memory") != "\u2013")


def embed(url: str, model: str, texts: list[str]) -> None:
    httpx.post(f"{url}/api/embed", json={"model": model, "input": texts}, timeout=60).raise_for_status()


def test_the_status_page_is_live(page, serving, home):
    with serving(home, "--model", "all-minilm") as server:
        page.get(f"{server.url}/ui")
        live(page)
        assert "serves all-minilm-l6-v2 · version" in text(page, "facts")
        assert "all-minilm-l6-v2:latest" in text(page, "models")
        assert text(page, "failures-none") == "none since the start"
        embed(server.url, "e5-small", ["query: a text", "word " * 600])
        httpx.post(f"{server.url}/api/embed", json={"model": "nonesuch"})
        wait(page, lambda: "multilingual-e5-small:latest" in text(page, "models"))
        wait(page, lambda: "1 with 2 texts" in text(page, "requests-all"))
        wait(page, lambda: text(page, "truncated") == "1")
        wait(page, lambda: text(page, "failures").split("\n") == ["not found", "1"])
        assert text(page, "p50").endswith("s")
        assert "in 4 min" in text(page, "models") or "in 5 min" in text(page, "models")
        addresses = asked(page)
        assert {address.removeprefix(server.url) for address in addresses} == {"/ui", "/stats", "/api/ps"}
        assert page.get_log("browser") == []


def test_a_server_that_goes_and_comes_back(page, serving, tiny, tmp_path):
    with serving(tmp_path, "--model", str(tiny)) as server:
        embed(server.url, "tiny", ["a"] * 7)
        page.get(f"{server.url}/ui")
        live(page)
        assert "1 with 7 texts" in text(page, "requests-all")
    wait(page, lambda: text(page, "lost") == "cannot reach the server; trying again")
    assert text(page, "state") == "no answer"
    port = server.url.rpartition(":")[2]
    with serving(tmp_path, "--model", str(tiny), "--port", port):
        live(page)
        wait(page, lambda: "0 with 0 texts" in text(page, "requests-all"))
        assert not page.find_element(By.ID, "lost").is_displayed()
        assert not any(word in page.find_element(By.TAG_NAME, "main").text for word in ("NaN", "undefined"))
        assert page.execute_script("return Math.min(...figures.tokens, ...figures.requests)") >= 0


def test_a_page_that_nobody_sees_asks_nothing(page, application, serving, tiny, tmp_path):
    with serving(tmp_path, "--model", str(tiny)) as server:
        page.get(f"{server.url}/ui")
        live(page)
        shown = page.current_window_handle
        page.switch_to.new_window("tab")
        try:
            before = _requests(server.url)
            threading.Event().wait(3)
            assert _requests(server.url) - before <= 2 + 2  # what was on its way, and the two looks themselves
        finally:
            page.close()
            page.switch_to.window(shown)
        before = _requests(server.url)
        wait(page, lambda: _requests(server.url) > before + 6)


def _requests(url: str) -> int:
    return httpx.get(f"{url}/stats").json()["requests"]


HOSTILE = "<img src=x onerror=document.title=1><script>document.title=2<"


def test_a_models_name_is_text(page, serving, tiny, tmp_path):
    hostile = tmp_path / f"{HOSTILE}.gguf"
    hostile.symlink_to(tiny)
    with serving(tmp_path, "--model", str(hostile)) as server:
        page.get(f"{server.url}/ui")
        live(page)
        assert HOSTILE in text(page, "facts")
        assert HOSTILE in text(page, "models")
        assert page.title == "bankml: server"
        page.get(f"{server.url}/docs#embed")
        wait(page, lambda: page.find_elements(By.CSS_SELECTOR, "#embed textarea"))
        body = page.find_element(By.CSS_SELECTOR, "#embed textarea").get_property("value")
        assert json.loads(body)["model"] == HOSTILE
        assert page.title == "bankml: addresses"
        assert page.find_elements(By.TAG_NAME, "img") == []
        assert page.get_log("browser") == []


REFUSED = "try { document.body.innerHTML = '<b>x</b>'; return 'done' } catch (error) { return error.name }"
IMAGE = "const image = document.createElement('img'); image.src = arguments[0]; document.body.append(image)"
FETCH = "const [url, done] = arguments; fetch(url).then(() => done('answered'), () => done('refused'))"


def test_nothing_that_is_added_to_a_page_runs(page, server):
    """The policy itself: markup is refused, another site is not asked."""
    page.get(f"{server.url}/ui")
    live(page)
    assert page.execute_script(REFUSED) == "TypeError"
    with socket.create_server(("127.0.0.1", 0)) as other:
        address = f"http://127.0.0.1:{other.getsockname()[1]}/"
        page.execute_script(IMAGE, address)
        assert page.execute_async_script(FETCH, address) == "refused"
        wait(page, lambda: "Content Security Policy" in json.dumps(page.get_log("browser")))
        other.settimeout(0.5)
        with pytest.raises(TimeoutError):
            other.accept()


class Gate:
    """A proxy in front of the server that wants a key for all but the pages."""

    def __init__(self, app) -> None:
        self.app = app

    async def __call__(self, scope, receive, send) -> None:
        if scope["path"] in ("/ui", "/docs") or (b"authorization", b"Bearer open sesame") in scope["headers"]:
            await self.app(scope, receive, send)
        else:
            await send({"type": "http.response.start", "status": 401, "headers": [(b"content-length", b"0")]})
            await send({"type": "http.response.body"})


@contextmanager
def gated(tiny: Path) -> Iterator[str]:
    """The address of a server in this process behind a Gate."""
    state = State(Names(choose(str(tiny))), Engines(10**12, threads=1), Workers(1))
    server = uvicorn.Server(uvicorn.Config(Gate(create_app(state, True)), log_level="critical", lifespan="off"))
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(PATIENCE)
            state.close()


def test_a_server_with_a_key_is_given_it(page, tiny):
    with gated(tiny) as url:
        page.get(f"{url}/ui")
        field = page.find_element(By.ID, "key-input")
        wait(page, field.is_displayed)
        field.send_keys("wrong", Keys.ENTER)
        wait(page, page.find_element(By.ID, "key-wrong").is_displayed)
        field.send_keys("open sesame", Keys.ENTER)
        live(page)
        page.get(f"{url}/docs#embed")  # the same tab is not asked again
        wait(page, lambda: page.find_elements(By.CSS_SELECTOR, "#embed button.main"))
        assert "open sesame" not in page.page_source
        assert "$BANKML_API_KEY" in page.find_element(By.CSS_SELECTOR, "#embed pre:last-of-type").text
        assert page.execute_script("return localStorage.length + document.cookie.length") == 0


def test_the_addresses_can_be_tried(page, server):
    page.execute_cdp_cmd("Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})
    page.get(f"{server.url}/docs#embed")
    wait(page, lambda: page.find_elements(By.CSS_SELECTOR, "#embed button.main"))
    shown = page.find_element(By.TAG_NAME, "main").text
    paths = httpx.get(f"{server.url}/openapi.json").json()["paths"]
    assert [path for path in paths if path not in shown] == []
    card = page.find_element(By.ID, "embed")
    card.find_element(By.CSS_SELECTOR, "button.main").click()
    wait(page, lambda: card.find_element(By.CLASS_NAME, "outcome").text.startswith("200 OK"))
    assert card.find_element(By.TAG_NAME, "pre").text.startswith('{"model":"all-minilm-l6-v2","embeddings":[[')
    body = card.find_element(By.TAG_NAME, "textarea")
    body.clear()
    body.send_keys('{"model": "all-minilm", "input": "it\'s"}')
    line = card.find_elements(By.TAG_NAME, "pre")[1].text
    card.find_elements(By.TAG_NAME, "button")[1].click()
    wait(page, lambda: card.find_elements(By.TAG_NAME, "button")[1].text == "Copied")
    assert page.execute_async_script("navigator.clipboard.readText().then(arguments[0])") == line
    words = shlex.split(line)
    assert words[:2] == ["curl", f"{server.url}/api/embed"]
    answer = httpx.post(words[1], content=words[-1], headers={"Content-Type": "application/json"})
    assert answer.json()["prompt_eval_count"] == 5
    assert {address.partition("#")[0].removeprefix(server.url) for address in asked(page)} == {
        "/docs",
        "/openapi.json",
        "/api/embed",
    }
    assert page.get_log("browser") == []


@pytest.mark.skipif(not shutil.which("curl"), reason="no curl here")
def test_every_line_for_a_shell_does_what_it_says(page, server):
    page.get(f"{server.url}/docs")
    wait(page, lambda: page.find_elements(By.CSS_SELECTOR, "details"))
    page.execute_script("for (const card of document.querySelectorAll('details')) card.open = true")
    wait(
        page,
        lambda: len(page.find_elements(By.CSS_SELECTOR, ".inside")) == len(page.find_elements(By.TAG_NAME, "details")),
    )
    lines = [pre.text for pre in page.find_elements(By.TAG_NAME, "pre") if pre.text.startswith("curl ")]
    assert len(lines) == len(page.find_elements(By.TAG_NAME, "details"))
    for line in lines:
        command = [*shlex.split(line), "-s", "-o", "/dev/null", "-w", "%{http_code}"]
        assert subprocess.run(command, capture_output=True, text=True).stdout == "200", line


@pytest.mark.parametrize("path", ["/ui", "/docs"])
@pytest.mark.parametrize("width", [320, 400, 1200])
def test_a_page_fits_its_window(page, server, path, width):
    with window(page, width):
        page.get(server.url + path)
        wait(page, lambda: page.find_elements(By.CSS_SELECTOR, "dd, details"))
        page.execute_script("for (const card of document.querySelectorAll('details')) card.open = true")
        assert page.execute_script("return document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("path", ["/ui", "/docs"])
def test_the_keyboard_reaches_the_content_first(page, server, path):
    page.get(server.url + path)
    page.find_element(By.TAG_NAME, "body").send_keys(Keys.TAB)
    focused = page.switch_to.active_element
    assert (focused.get_attribute("class"), focused.get_attribute("href").endswith("#main")) == ("skip", True)
    assert focused.location["x"] >= 0
