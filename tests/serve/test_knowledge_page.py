"""The page of a knowledge base in a real browser: typed into, by keyboard, in the dark, on a phone, and attacked."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from bankml import models
from bankml.embedders import NativeEmbedder
from bankml.encoder import Encoder
from bankml.models import Choice
from bankml.serve.access import Access
from bankml.serve.knowledge import Knowledge
from bankml.store import Store
from tests.serve.bases import SKY, embedded, no_model, opened, put, write
from tests.serve.browsing import asked, needs_browser, text, wait, window
from tests.serve.test_history_page import focused, marks, press

pytestmark = needs_browser

GUIDE = "# Guide\n\n" + "".join(f"Line {number} of the guide.\n" for number in range(400)) + "\nThe needle is here.\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("sky")


@pytest.fixture(scope="module")
def sky(folder, tiny):
    """The page of a small knowledge base without a model."""
    knowledge = Knowledge(write(folder, {**SKY, "guide.md": GUIDE}), no_model)
    with opened(knowledge, tiny) as address:
        yield f"{address}/ui#knowledge"


def visit(page, address: str) -> None:
    """The page, once it tells what there is."""
    page.get(address)
    wait(page, lambda: "passages" in text(page, "kb-status"))


def heads(page) -> list[str]:
    script = "return [...document.querySelectorAll('#kb-hits .head')].map((head) => head.textContent)"
    return page.execute_script(script)


def shows(page, *places: str) -> None:
    wait(page, lambda: heads(page) == list(places))


def lines(page) -> list[str]:
    """Of the source that is open."""
    script = "return [...document.querySelectorAll('#source-lines li')].map((line) => line.textContent)"
    return page.execute_script(script)


def is_open(page) -> bool:
    return page.execute_script("return document.getElementById('source').open")


def here(page) -> str:
    """The passage in it, whose first line is in sight."""
    script = """
        const [first] = document.querySelectorAll('#source-lines .here');
        const list = document.getElementById('source-lines').getBoundingClientRect();
        const seen = first.getBoundingClientRect();
        if (seen.top < list.top || seen.top > list.bottom) return 'out of sight';
        return [...document.querySelectorAll('#source-lines .here')].map((part) => part.textContent).join('\\n');
    """
    return page.execute_script(script)


def test_typing_filtering_and_opening_the_source_at_its_line(page, sky, folder):
    visit(page, sky)
    assert heads(page) == []
    press(page, "sky blue")
    shows(page, "sky.md:3", "sea.md:3")
    wait(page, lambda: marks(page)[:2] == ["sky", "blue"])  # what was typed so far may have found the same
    assert page.find_element(By.CSS_SELECTOR, "#kb-hits .crumbs").text == "Sky"
    assert page.find_element(By.CSS_SELECTOR, "#kb-hits .folder").text == f"{folder}/"
    assert page.find_element(By.CSS_SELECTOR, "#kb-hits .ranks").text.startswith("words 1")
    assert "no model is here" in text(page, "kb-status")
    page.find_element(By.ID, "kb-path").send_keys("sea.*")
    shows(page, "sea.md:3")
    page.find_element(By.ID, "kb-path").clear()
    page.find_element(By.ID, "kb-path").send_keys(Keys.END)
    page.execute_script("document.getElementById('kb-path').dispatchEvent(new Event('input'))")
    shows(page, "sky.md:3", "sea.md:3")
    Select(page.find_element(By.ID, "kb-type")).select_by_value("text")
    shows(page)
    assert text(page, "kb-none") == "Nothing found for “sky blue”."
    Select(page.find_element(By.ID, "kb-type")).select_by_value("")
    press(page, "/", "needle")
    shows(page, "guide.md:404")
    page.find_element(By.CSS_SELECTOR, "#kb-hits .head").click()
    wait(page, lambda: is_open(page))
    assert text(page, "source-title") == "guide.md:404"
    assert "\n".join(lines(page)) == GUIDE
    assert here(page) == "The needle is here."
    assert page.execute_script("return document.getElementById('source-lines').start") == 1
    server = sky.partition("/ui")[0]
    assert {address.removeprefix(server) for address in asked(page)} == {"/ui", "/kb/search", "/kb/source"}
    assert page.get_log("browser") == []


LONG = (
    "The start is of no use. "
    + "The filler of a page. " * 30
    + "Pelicans glide over 😀 lagoons. "
    + "The rest of it. " * 30
)


def test_a_long_passage_is_shown_where_its_rare_words_stand(page, tiny, tmp_path):
    with opened(Knowledge(write(tmp_path, {"birds.txt": LONG}), no_model), tiny) as address:
        visit(page, f"{address}/ui#knowledge")
        press(page, "the lagoons of a pelicans glide")
        shows(page, "birds.txt:1")
        said = page.find_element(By.CSS_SELECTOR, "#kb-hits .said").text
    assert said.startswith("…")
    assert 0 < said.index("Pelicans glide over 😀 lagoons.") < 80
    assert {"Pelicans", "glide", "lagoons"} <= set(marks(page))


def test_the_keyboard_does_it_all(page, sky):
    visit(page, sky)
    assert focused(page) == "kb-query"
    press(page, "sky blue")
    shows(page, "sky.md:3", "sea.md:3")
    press(page, Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert focused(page) == "sea.md:3"
    assert page.execute_script("return getComputedStyle(document.activeElement).outlineStyle") != "none"
    press(page, Keys.ENTER)
    wait(page, lambda: is_open(page))
    assert focused(page) == "source-lines"
    press(page, "x", Keys.ARROW_DOWN, "/")  # keys of the page beneath do nothing
    press(page, Keys.ESCAPE)
    wait(page, lambda: not is_open(page))
    assert focused(page) == "sea.md:3"
    assert page.find_element(By.ID, "kb-query").get_attribute("value") == "sky blue"
    press(page, Keys.ARROW_UP, Keys.ARROW_UP)
    assert focused(page) == "kb-query"
    press(page, Keys.ENTER)
    wait(page, lambda: is_open(page) and text(page, "source-title") == "sky.md:3")
    press(page, Keys.ESCAPE, Keys.ESCAPE)
    shows(page)
    assert focused(page) == "kb-query"


def test_names_and_roles_are_there(page, sky):
    visit(page, sky)
    press(page, "needle")
    shows(page, "guide.md:404")
    roles = page.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    named = {(node["role"]["value"], node.get("name", {}).get("value")) for node in roles if not node["ignored"]}
    assert ("searchbox", "Search this knowledge base") in named
    assert ("list", "Passages") in named
    assert ("button", "guide.md:404") in named
    assert {"By", "in", "of type"} <= {name.strip() for _, name in named if name}
    press(page, Keys.ENTER)
    wait(page, lambda: is_open(page))
    roles = page.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    named = {(node["role"]["value"], node.get("name", {}).get("value")) for node in roles if not node["ignored"]}
    assert ("dialog", "guide.md:404") in named
    assert ("button", "Close") in named


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_fits_a_phone_in_light_and_in_dark(page, sky, dark):
    with window(page, 360, dark):
        visit(page, sky)
        press(page, "needle")
        shows(page, "guide.md:404")
        assert page.execute_script("return document.documentElement.scrollWidth") <= 360
        press(page, Keys.ENTER)
        wait(page, lambda: is_open(page))
        assert here(page) == "The needle is here."
        assert page.execute_script("return document.getElementById('source').getBoundingClientRect().width") <= 360
        assert page.execute_script("return document.getElementById('source-lines').scrollWidth") <= 360
        color = "return getComputedStyle(document.getElementById('source')).backgroundColor.match(/\\d+/g).map(Number)"
        assert all((part < 60) == dark for part in page.execute_script(color))


RTL = "\u202egnp.exe\u202c"
HOSTILE = {
    "<img src=x onerror='document.title = 1'>.html": "<script>document.title = 2</script>"
    "<img src=x onerror='document.title = 3'></li></ol></dialog> needle",
    "javascript:document.title=4": f"needle [link](javascript:document.title=5) {RTL} \x1b[2J\x07 \u200bhidden",
    f"{RTL}\x1b[31m": "# <b onclick='document.title = 6'>bold</b>\n\nneedle 😀 needle\n",
    "marks": "needle " + "Z" + "\u0301" * 3000,
    "long": "needle " + "word " * 200_000 + "<b>end</b>",
    "lines": "needle" + "\r\n" * 20_000 + "end",
}


def test_nothing_of_a_hostile_document_is_obeyed(page, tmp_path, tiny):
    with Store.create(tmp_path / "kb.db") as store:
        for name, content in HOSTILE.items():
            put(store, name.encode(), content)
    with opened(Knowledge(tmp_path / "kb.db", no_model), tiny) as address, window(page, 400):
        visit(page, f"{address}/ui#knowledge")
        press(page, "needle")
        wait(page, lambda: len(heads(page)) == len(HOSTILE))
        shown = []
        for number in range(len(HOSTILE)):
            head = page.find_elements(By.CSS_SELECTOR, "#kb-hits .head")[number]
            shown.append(head.text)
            head.click()
            wait(page, lambda: is_open(page))
            shown += [text(page, "source-title"), text(page, "source-crumbs"), *lines(page)]
            assert len(lines(page)) < 11_000
            assert page.execute_script("return document.getElementById('source-lines').scrollWidth") <= 400
            press(page, Keys.ESCAPE)
            wait(page, lambda: not is_open(page))
        whole = "\n".join(shown)
        for part in ("<script>document.title = 2</script>", "<b onclick=", "javascript:document.title=4", "</dialog>"):
            assert part in whole
        assert "\ufffdgnp.exe\ufffd ␛[2J␇ \ufffdhidden" in whole
        assert not {"\u202e", "\x1b", "\u200b"} & set(whole)
        bad = "main script, main img, main a[href^=java], #source img, #source b, #source script, #kb-hits b"
        assert page.find_elements(By.CSS_SELECTOR, bad) == []
        assert page.title == "bankml: server, knowledge"
        assert page.execute_script("return document.documentElement.scrollWidth") <= 400
        assert page.get_log("browser") == []
        assert all(one.startswith(address) for one in asked(page))


def test_a_source_that_changed_is_told_and_what_was_added_is_shown(page, tmp_path, tiny):
    knowledge = Knowledge(write(tmp_path), no_model)
    with opened(knowledge, tiny) as address:
        visit(page, f"{address}/ui#knowledge")
        press(page, "sky blue")
        shows(page, "sky.md:3", "sea.md:3")
        (tmp_path / "sky.md").write_text("a secret that was never added")
        press(page, Keys.ENTER)
        wait(page, lambda: is_open(page))
        assert "has changed since it was added" in text(page, "source-note")
        assert here(page) == SKY["sky.md"].splitlines()[2]
        assert "secret" not in "".join(lines(page))
        press(page, Keys.ESCAPE)
        with Store.open(tmp_path / "kb.db") as store:
            put(store, os.fsencode(tmp_path / "sky.md"), "no more of it\n")
        press(page, Keys.ENTER)  # the passage is gone, and the page says so until it has searched again
        wait(page, lambda: heads(page) == ["sea.md:3"])
        assert not is_open(page)


def test_ten_thousand_passages_stay_smooth(page, tmp_path, tiny):
    with Store.create(tmp_path / "kb.db") as store:
        for part in range(10):
            many = "\n\n".join(
                f"passage {part * 1000 + number} of the number{part * 1000 + number} sky" for number in range(1000)
            )
            put(store, f"many{part}".encode(), many)
    with opened(Knowledge(tmp_path / "kb.db", no_model), tiny) as address:
        visit(page, f"{address}/ui#knowledge")
        asked(page)
        press(page, "the sky is blue, number9876")
        wait(page, lambda: heads(page)[:1] == ["many9:1753"])
        assert len(heads(page)) == 20
        assert len(asked(page)) <= 13  # of 27 letters
        press(page, Keys.ENTER)
        wait(page, lambda: is_open(page))
        assert "number9876" in here(page)
        long = "return Math.max(0, ...performance.getEntriesByType('longtask').map((task) => task.duration))"
        assert page.execute_script(long) < 1000


def test_a_store_that_vanishes_and_a_server_that_ends(page, tmp_path, tiny):
    path = write(tmp_path)
    with opened(Knowledge(path, no_model), tiny) as address:
        visit(page, f"{address}/ui#knowledge")
        path.rename(tmp_path / "away")
        press(page, "sky")
        wait(page, lambda: "bankml init" in text(page, "lost"))
        assert text(page, "state") == "refused"
        (tmp_path / "away").rename(path)
        wait(page, lambda: text(page, "state") == "live")
        assert len(heads(page)) == 2
    wait(page, lambda: text(page, "lost") == "cannot reach the server; trying again")


def test_with_a_key_the_link_or_the_key_opens_it(page, tmp_path, tiny):
    knowledge = Knowledge(write(tmp_path), no_model)
    with opened(knowledge, tiny, Access(keys=("open-sesame",))) as address:
        visit(page, f"{address}/ui?token={knowledge.session.token}")
        assert page.current_url == f"{address}/ui#knowledge"
        press(page, "sky blue")
        shows(page, "sky.md:3", "sea.md:3")
        press(page, Keys.ENTER)
        wait(page, lambda: is_open(page))
        assert not page.find_element(By.ID, "key").is_displayed()
        assert httpx.post(f"{address}/kb/search", json={"query": "sky"}).status_code == 401
        page.get("about:blank")
        page.execute_cdp_cmd("Network.clearBrowserCookies", {})
        page.get(f"{address}/ui#knowledge")
        field = page.find_element(By.ID, "key-input")
        wait(page, field.is_displayed)
        field.send_keys("open-sesame", Keys.ENTER)
        wait(page, lambda: "passages" in text(page, "kb-status"))


class Slow:
    """Lends an encoder that takes its time to be loaded."""

    def __init__(self, model: Path) -> None:
        self.loaded, self._model = threading.Event(), model

    def has(self, choice: Choice) -> bool:
        return self.loaded.is_set()

    @contextmanager
    def lent(self, choice: Choice) -> Iterator[Encoder]:
        self.loaded.wait(20)
        with Encoder(choice.path, threads=1) as encoder:
            yield encoder

    def embedder(self, store: Store) -> NativeEmbedder:
        return NativeEmbedder(models.choose(str(self._model))).borrow(self)


def test_words_answer_first_and_meaning_follows(page, tmp_path, minilm, tiny):
    """While the model is loaded words answer; then cosines and both ranks are there."""
    slow = Slow(minilm)
    with opened(Knowledge(embedded(write(tmp_path), minilm), slow.embedder), tiny) as address:
        visit(page, f"{address}/ui#knowledge")
        press(page, "why is heaven azure, the sky")
        wait(page, lambda: heads(page)[:1] == ["sky.md:3"])
        assert not page.find_elements(By.CLASS_NAME, "cosine")
        press(page, Keys.ARROW_DOWN)
        slow.loaded.set()
        wait(page, lambda: len(page.find_elements(By.CSS_SELECTOR, "#kb-hits .cosine")) == 4)
        assert focused(page) == "sky.md:3"  # what came later took nobody's place
        first = page.find_element(By.CSS_SELECTOR, "#kb-hits .ranks").text.split("\n")
        assert first[0].startswith("cosine 0.")
        assert first[1:3] == ["words 1", "meaning 1"]
        width = page.execute_script("return document.querySelector('#kb-hits .cosine rect').getAttribute('width')")
        assert abs(float(width) / 100 - float(first[0].removeprefix("cosine "))) < 0.001
        Select(page.find_element(By.ID, "kb-mode")).select_by_value("words")
        wait(page, lambda: not page.find_elements(By.CSS_SELECTOR, "#kb-hits .cosine"))


def test_a_match_far_behind_in_a_passage_is_in_sight(page, tmp_path, tiny):
    with Store.create(tmp_path / "kb.db") as store:
        put(store, b"long", "before " * 200 + "the needle" + " after" * 100)
    with opened(Knowledge(tmp_path / "kb.db", no_model), tiny) as address, window(page, 360):
        visit(page, f"{address}/ui#knowledge")
        press(page, "needle")
        shows(page, "long:1")
        script = """
            const mark = document.querySelector('#kb-hits mark').getBoundingClientRect();
            const said = document.querySelector('#kb-hits .said').getBoundingClientRect();
            return mark.top >= said.top && mark.bottom <= said.bottom;
        """
        assert page.execute_script(script)
        assert marks(page) == ["needle"]
