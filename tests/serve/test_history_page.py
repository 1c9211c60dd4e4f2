"""The page of a history in a real browser: as a person types, by keyboard, in the dark, on a phone, and attacked."""

import json
import os
import signal
import subprocess
import sys
import threading

import httpx
import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from bankml.embedders import choose
from tests.serve.browsing import asked, needs_browser, text, wait, window
from tests.serve.histories import SKY, opened, write

pytestmark = needs_browser


@pytest.fixture(scope="module")
def sky(tmp_path_factory):
    """The link to the page of a short history without a model, exchanged by the first test that opens it."""
    with opened(write(tmp_path_factory.mktemp("sky") / "sky.history", SKY)) as link:
        yield link


def visit(page, link: str, count: int) -> None:
    """The page, once it shows so many exchanges."""
    page.get(link)
    wait(page, lambda: len(hits(page)) == count)


def hits(page) -> list[str]:
    """The questions of what is shown."""
    return page.execute_script("return [...document.querySelectorAll('#hits .head')].map((head) => head.textContent)")


def marks(page) -> list[str]:
    return page.execute_script("return [...document.querySelectorAll('mark')].map((mark) => mark.textContent)")


def press(page, *keys: str) -> None:
    """Keys, to whatever has the focus."""
    ActionChains(page).send_keys(*keys).perform()


def focused(page) -> str:
    return page.execute_script("return document.activeElement.id || document.activeElement.textContent")


def shows(page, *questions: str) -> None:
    wait(page, lambda: hits(page) == list(questions))


def test_typing_and_clearing(page, sky):
    visit(page, sky, 3)
    assert page.current_url.endswith("/ui#history")
    assert text(page, "history-title") == "sky.history"
    assert hits(page) == [user for user, _ in reversed(SKY)]
    assert marks(page) == []
    press(page, "blue")
    shows(page, SKY[0][0])
    wait(page, lambda: marks(page) == ["blue"])  # what was typed so far may have found the same
    assert text(page, "history-status").startswith("1 of 3 exchanges · BM25 (built in) alone: no model is here")
    assert page.find_element(By.CSS_SELECTOR, ".ranks").text.split("\n") == ["words 1", "#0"]
    press(page, Keys.BACKSPACE * 4, "penguin")
    shows(page)
    assert text(page, "hits-none") == "Nothing found for “penguin”."
    press(page, Keys.ESCAPE)
    wait(page, lambda: len(hits(page)) == 3)
    assert text(page, "state") == "live"
    server = sky.partition("/ui")[0]
    assert {address.removeprefix(server).partition("?")[0] for address in asked(page)} == {
        "/ui",
        "/history/status",
        "/history/search",
    }
    assert page.get_log("browser") == []


def test_the_keyboard_does_it_all(page, sky):
    visit(page, sky, 3)
    assert focused(page) == "query"
    press(page, Keys.ARROW_DOWN, Keys.ARROW_DOWN)
    assert focused(page) == SKY[1][0]
    assert page.execute_script("return getComputedStyle(document.activeElement).outlineStyle") != "none"
    press(page, Keys.ENTER)
    wait(page, lambda: page.find_elements(By.CSS_SELECTOR, ".whole"))
    assert page.find_element(By.CSS_SELECTOR, ".whole.answered").text == SKY[1][1]
    assert page.switch_to.active_element.get_attribute("aria-expanded") == "true"
    press(page, Keys.ENTER)
    assert page.switch_to.active_element.get_attribute("aria-expanded") == "false"
    press(page, *[Keys.ARROW_DOWN] * 5)
    assert focused(page) == SKY[0][0]
    press(page, *[Keys.ARROW_UP] * 5)
    assert focused(page) == "query"
    press(page, "himmel")
    shows(page, SKY[2][0])
    press(page, Keys.ENTER)
    wait(page, lambda: page.find_element(By.CSS_SELECTOR, ".whole.answered").text == SKY[2][1])
    assert focused(page) == SKY[2][0]
    press(page, "/")
    assert focused(page) == "query"
    press(page, "ternary")  # what stood there was selected
    shows(page, SKY[1][0])
    press(page, Keys.ARROW_DOWN, Keys.ESCAPE)
    wait(page, lambda: len(hits(page)) == 3)
    assert focused(page) == "query"
    press(page, Keys.ARROW_DOWN)
    ActionChains(page).key_down(Keys.CONTROL).send_keys("k").key_up(Keys.CONTROL).perform()
    assert focused(page) == "query"


def test_names_and_roles_are_there(page, sky):
    visit(page, sky, 3)
    roles = page.execute_cdp_cmd("Accessibility.getFullAXTree", {})["nodes"]
    named = {(node["role"]["value"], node.get("name", {}).get("value")) for node in roles if not node["ignored"]}
    assert ("searchbox", "Search this history") in named
    assert ("search", "") in named
    assert ("list", "Exchanges") in named
    assert ("button", SKY[0][0]) in named
    assert ("status", "") in named
    assert page.find_element(By.ID, "link-history").get_attribute("aria-current") == "page"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_fits_a_phone_in_light_and_in_dark(page, sky, dark):
    with window(page, 360, dark):
        visit(page, sky, 3)
        press(page, "blue")
        shows(page, SKY[0][0])
        press(page, Keys.ENTER)
        wait(page, lambda: page.find_elements(By.CSS_SELECTOR, ".whole"))
        assert page.execute_script("return document.documentElement.scrollWidth") <= 360
        color = "return getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)"
        assert all((part < 60) == dark for part in page.execute_script(color))


RTL = "\u202egnp.exe\u202c"
HOSTILE = [
    (
        "<script>document.title = 1</script><img src=x onerror='document.title = 2'>",
        "</script></p></li><svg onload='document.title = 3'>",
    ),
    ("javascript:document.title=4", "[link](javascript:document.title=5) https://evil.example/x.png"),
    ("\x1b[2J\x1b[31mred\x1b[0m \x00\x07\x7f\x9b", f"a name {RTL} turned, \u200bhidden, \ufeffmarked"),
    ("שלום needle שלום", "العربية needle"),
    ("Z" + "\u0301" * 3000, "\u0e01" + "\u0e49" * 3000),
    ("surrogate \ud800 alone", "😀 needle 😀 needle"),
    ("Arabic \u061cmark", "tags \U000e0041\U000e007f behind 😀"),
    ("long", "needle " + "word " * 200_000 + "<b>end</b>"),
]


def test_nothing_of_a_hostile_history_is_obeyed(page, tmp_path):
    with opened(write(tmp_path / "<b>hostile<img src=x>.history", HOSTILE)) as link, window(page, 400):
        visit(page, link, len(HOSTILE))
        assert text(page, "history-title") == "<b>hostile<img src=x>.history"
        for head in page.find_elements(By.CSS_SELECTOR, "#hits .head"):
            head.click()
        wait(page, lambda: len(page.find_elements(By.CSS_SELECTOR, ".whole.answered")) == len(HOSTILE))
        shown = page.find_element(By.ID, "hits").get_property("textContent")
        for part in (HOSTILE[0][0], HOSTILE[0][1], HOSTILE[1][0], HOSTILE[1][1], "<b>end</b>"):
            assert part in shown
        assert "␛[2J␛[31mred␛[0m ␀␇␡\ufffd" in shown
        assert "Arabic \ufffdmark" in shown
        assert "tags \ufffd\ufffd behind 😀" in shown
        assert "a name \ufffdgnp.exe\ufffd turned, \ufffdhidden, \ufffdmarked" in shown
        assert (
            page.find_elements(
                By.CSS_SELECTOR, "main script, main img, main a[href*=evil], main a[href^=java], #hits svg"
            )
            == []
        )
        assert page.title == "bankml: history"
        assert page.execute_script("return document.documentElement.scrollWidth") <= 400
        press(page, "/", "needle")
        wait(page, lambda: len(hits(page)) == 3)
        assert set(marks(page)) == {"needle"}
        press(page, Keys.ESCAPE, "<script>")
        wait(page, lambda: text(page, "history-status").startswith("1 of"))
        assert set(marks(page)) == {"script"}
        assert page.get_log("browser") == []
        assert all(address.startswith(link.partition("/ui")[0]) for address in asked(page))


def test_ten_thousand_exchanges_stay_smooth(page, tmp_path):
    """Letters typed without a pause: eight exchanges are shown, and few questions are asked and fewer answered."""
    many = [
        (f"question {number} of the sky", f"answer {number}: the sea is number{number} blue")
        for number in range(10_000)
    ]
    with opened(write(tmp_path / "many.history", many)) as link:
        visit(page, link, 8)
        asked(page)
        press(page, "the sky is blue, number9876")
        wait(page, lambda: hits(page)[:1] == ["question 9876 of the sky"])
        assert len(hits(page)) == 8
        assert len(asked(page)) <= 13  # of 27 letters
        long = "return Math.max(0, ...performance.getEntriesByType('longtask').map((task) => task.duration))"
        assert page.execute_script(long) < 1000
        assert "of 10,000 exchanges" in text(page, "history-status")


def test_words_answer_first_and_meaning_follows(page, tmp_path, minilm):
    """While the history is embedded its progress is told; then cosines and both ranks are there."""
    chosen = threading.Event()

    def slowly():
        chosen.wait(20)
        return choose(name=str(minilm))

    with opened(write(tmp_path / "sky.history", SKY), slowly) as link:
        visit(page, link, 3)
        press(page, "why is the sky blue")
        wait(page, lambda: hits(page)[:1] == [SKY[0][0]])
        assert "BM25 (built in) alone" in text(page, "history-status")
        assert not page.find_elements(By.CLASS_NAME, "cosine")
        press(page, Keys.ARROW_DOWN)
        chosen.set()
        wait(page, lambda: "(meaning, 3 of 3 embedded), fused by reciprocal rank" in text(page, "history-status"))
        wait(page, lambda: len(page.find_elements(By.CLASS_NAME, "cosine")) == 3)
        assert focused(page) == SKY[0][0]  # what came later took nobody's place
        first = page.find_element(By.CSS_SELECTOR, ".ranks").text.split("\n")
        assert first[0].startswith("cosine 0.")
        assert first[1:] == ["words 1", "meaning 1", "#0"]
        width = page.execute_script("return document.querySelector('.cosine rect').getAttribute('width')")
        assert abs(float(width) / 100 - float(first[0].removeprefix("cosine "))) < 0.001


def test_a_history_that_grows_vanishes_and_comes_back(page, tmp_path):
    path = write(tmp_path / "sky.history", SKY)
    with opened(path) as link:
        visit(page, link, 3)
        write(path, [("Is there more?", "There is.")], "a")
        wait(page, lambda: hits(page)[:1] == ["Is there more?"])
        path.rename(tmp_path / "away")
        wait(page, lambda: str(path) in text(page, "lost"))
        assert text(page, "state") == "refused"
        (tmp_path / "away").rename(path)
        wait(page, lambda: text(page, "state") == "live")
        assert not page.find_element(By.ID, "lost").is_displayed()
    wait(page, lambda: text(page, "lost") == "cannot reach the server; trying again")


SLOWLY = """
const asked = fetch;
window.fetch = async (path, options) => {
  const words = JSON.parse(options.body).query, answer = await asked(path, { ...options, signal: null });
  if (words === "blue") await new Promise((resolve) => setTimeout(resolve, 1000));
  (window.answered ??= []).push(words);
  return answer;
};
"""


def test_an_answer_that_was_overtaken_is_not_shown(page, sky):
    """A network that delivers the first answer last, though the page has called it off."""
    visit(page, sky, 3)
    page.execute_script(SLOWLY)
    press(page, "blue")
    threading.Event().wait(0.3)
    press(page, *[Keys.BACKSPACE] * 4, "himmel")
    wait(page, lambda: "blue" in (page.execute_script("return window.answered") or []))
    assert hits(page) == [SKY[2][0]]


def test_the_link_opens_once(page, tmp_path):
    """In another browser, which has no cookie, it shows a sentence and nothing of the history."""
    with opened(write(tmp_path / "sky.history", SKY)) as link:
        visit(page, link, 3)
        assert page.execute_script("return document.cookie") == ""
        page.get(link)  # again in the same one
        wait(page, lambda: len(hits(page)) == 3)
        port = link.partition("/ui")[0].rpartition(":")[2]
        page.execute_cdp_cmd(
            "Network.deleteCookies", {"name": f"bankml-{port}", "url": link.replace("/ui", "/history/")}
        )
        page.get("about:blank")
        page.get(link)
        wait(page, lambda: "open to one browser" in text(page, "lost"))
        assert hits(page) == []
        assert not page.find_element(By.ID, "key").is_displayed()


def test_a_link_of_another_page_locks_nobody_out(page, tmp_path):
    """Any page can lead to /ui#history=x; what is stored stays, and so does what is shown."""
    with opened(write(tmp_path / "sky.history", SKY)) as link:
        visit(page, link, 3)
        proof = page.execute_script("return localStorage.getItem('bankml-proof')")
        assert proof
        page.get("about:blank")
        visit(page, link.partition("?")[0] + "#history=x", 3)
        assert page.current_url.endswith("/ui#history")
        page.execute_script("location.hash = 'history=y'")  # without a page anew
        asked(page)
        wait(page, lambda: page.current_url.endswith("/ui#history"))
        wait(page, lambda: any(address.endswith("/history/search") for address in asked(page)))
        assert text(page, "lost") == ""
        assert page.execute_script("return localStorage.getItem('bankml-proof')") == proof
        visit(page, link, 3)
        assert [entry for entry in page.get_log("browser") if "403" not in entry["message"]] == []


def test_what_is_shown_is_not_sent_again(page, sky):
    """While nothing changes the page asks, and is answered in a few bytes."""
    visit(page, sky, 3)
    press(page, "blue")
    shows(page, SKY[0][0])
    page.execute_script(
        "window.sent = []; const asked = fetch; window.fetch = async (...all) => {"
        " const answer = await asked(...all); window.sent.push(await answer.clone().text()); return answer; };"
    )
    wait(page, lambda: len(page.execute_script("return window.sent")) > 1)
    assert all(len(sent) < 100 for sent in page.execute_script("return window.sent"))
    assert hits(page) == [SKY[0][0]]


def test_a_letter_typed_while_the_tab_is_left_asks_no_more(page, sky):
    visit(page, sky, 3)
    page.execute_script(
        "document.getElementById('query').value = 'sky';"
        "document.getElementById('query').dispatchEvent(new Event('input'));"
        "tabs.history.stop();"
    )
    asked(page)
    threading.Event().wait(0.5)
    assert asked(page) == []


def test_a_whole_server_has_both_tabs_and_either_the_link_or_a_key_opens_the_history(page, serving, tiny, tmp_path):
    path = write(tmp_path / "sky.history", SKY)
    arguments = ("--model", str(tiny), "--history", str(path))
    with serving(tmp_path, *arguments, BANKML_API_KEY="open-sesame") as server:
        visit(page, server.ready["history"], 3)
        assert not page.find_element(By.ID, "tab-server").is_displayed()
        page.find_element(By.ID, "link-server").click()
        field = page.find_element(By.ID, "key-input")
        wait(page, field.is_displayed)
        field.send_keys("open-sesame", Keys.ENTER)
        wait(page, lambda: text(page, "memory") not in ("", "\u2013"))
        assert not page.find_element(By.ID, "tab-history").is_displayed()
        asked(page)
        threading.Event().wait(1.2)
        assert {address.removeprefix(server.url) for address in asked(page)} == {"/stats", "/api/ps"}
        page.execute_script("localStorage.clear()")  # the link's half; the key is enough
        page.find_element(By.ID, "link-history").click()
        press(page, "blue")
        wait(page, lambda: hits(page)[:1] == [SKY[0][0]])
        assert [entry for entry in page.get_log("browser") if "401" not in entry["message"]] == []


def test_from_the_command_to_the_browser(page, tmp_path):
    """The file that BROWSER is given leads there, and tells nobody else of this machine."""
    opener, told = tmp_path / "opener", tmp_path / "told"
    opener.write_text(f'#!/bin/sh\nprintf %s "$1" > {told}.new && mv {told}.new {told}\n')
    opener.chmod(0o700)
    command = [
        sys.executable,
        "-m",
        "bankml",
        "history",
        "open",
        str(write(tmp_path / "sky.history", SKY)),
        "--json",
        "--words",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"BROWSER": str(opener)})
    try:
        link = json.loads(process.stdout.readline())["url"]
        wait(page, told.exists)
        signpost = told.read_text().removeprefix("file://")
        assert os.stat(signpost).st_mode & 0o777 == 0o600
        visit(page, f"file://{signpost}", 3)
        assert page.current_url == link.partition("?")[0] + "#history"
        assert httpx.get(link.partition("?")[0].replace("/ui", "/history/status")).status_code == 403
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        process.stdout.close()
    assert not os.path.exists(signpost)
