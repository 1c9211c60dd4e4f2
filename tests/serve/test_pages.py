"""/docs and /ui: whole in one answer, and nothing in them that another site could send, run or read."""

import asyncio
import base64
import re
from collections.abc import Callable, Iterator
from hashlib import sha256
from html.parser import HTMLParser
from importlib.resources import files

import httpx
import pytest

from bankml.serve import history_server
from bankml.serve.knowledge import Knowledge
from tests.serve import bases
from tests.serve.histories import SKY, ragebar, write

PAGES = ["/docs", "/ui", "/ui of a history", "/ui of a knowledge base", "/ui of all"]


class Tags(HTMLParser):
    """Every tag of a page with its attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.fixture(scope="module")
def pages(tiny, application, applications, tmp_path_factory) -> Iterator[Callable[..., httpx.Response]]:
    """Asks for a page by its name in PAGES."""
    bar = ragebar(write(tmp_path_factory.mktemp("pages") / "sky.history", SKY))
    alone = httpx.ASGITransport(history_server.create_app(bar))

    def of_a_history(*arguments, **more) -> httpx.Response:
        async def asked() -> httpx.Response:
            async with httpx.AsyncClient(transport=alone, base_url="http://localhost") as client:
                return await client.request(*arguments, **more)

        return asyncio.run(asked())

    knowledge = Knowledge(bases.write(tmp_path_factory.mktemp("knowledge")), bases.no_model)
    with (
        applications(tiny, knowledge=knowledge) as of_a_base,
        applications(tiny, ragebar=bar, knowledge=knowledge) as of_all,
    ):
        servers = {"": application, "a history": of_a_history, "a knowledge base": of_a_base, "all": of_all}

        def ask(name: str, **more) -> httpx.Response:
            path, _, server = name.partition(" of ")
            return servers[server]("GET", path, **more)

        yield ask
    bar.close()
    knowledge.close()


def policy(answer) -> dict[str, str]:
    parts = answer.headers["content-security-policy"].split("; ")
    return {name: value for name, _, value in (part.partition(" ") for part in parts)}


@pytest.mark.parametrize("path", PAGES)
def test_only_what_stands_in_the_page_runs(pages, path):
    answer = pages(path)
    rules = policy(answer)
    for tag in ("script", "style"):
        parts = re.findall(f"<{tag}>(.*?)</{tag}>", answer.text, re.DOTALL)
        assert len(parts) == 1
        digest = base64.b64encode(sha256(parts[0].encode()).digest()).decode()
        assert rules[f"{tag}-src"] == f"'sha256-{digest}'"
    assert (rules["default-src"], rules["connect-src"]) == ("'none'", "'self'")
    assert (rules["frame-ancestors"], rules["base-uri"]) == ("'none'", "'none'")
    assert rules["require-trusted-types-for"] == "'script'"
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("path", PAGES)
def test_a_page_names_no_other_site_and_has_no_handlers_or_styles_of_its_own(pages, path):
    for tag, attributes in Tags(pages(path).text).found:
        assert tag not in ("iframe", "object", "embed", "base", "img")
        assert not any(name.startswith("on") or name == "style" for name in attributes)
        for name in ("href", "src", "action"):
            assert re.match(r"/|#|data:image/", attributes.get(name) or "/")


@pytest.mark.parametrize("path", PAGES)
def test_what_comes_from_elsewhere_is_inserted_as_text(pages, path):
    script = re.search("<script>(.*)</script>", pages(path).text, re.DOTALL)[1]
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|DOMParser|document\.write|eval\(|new Function", script
    )
    stored = re.findall(r"localStorage\.\w+\((\w+)", script)
    assert len(stored) == script.count("localStorage")
    assert set(stored) <= {"PROOF"}  # of the link alone, never a key


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_landmarks_a_language_and_fits_a_phone(pages, path):
    found = Tags(pages(path).text).found
    assert {"header", "nav", "main", "footer", "h1", "title"} <= {tag for tag, _ in found}
    assert ("html", {"lang": "en"}) in found
    assert any(attributes.get("name") == "viewport" for _, attributes in found)
    assert pages(path).headers["content-type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_sent_only_to_those_who_lack_it(pages, path):
    etag = pages(path).headers["etag"]
    assert pages(path, headers={"If-None-Match": etag}).status_code == 304


def test_pages_are_small_and_lie_in_the_package(pages):
    assert all(len(pages(path).content) < 50_000 for path in PAGES)
    names = {file.name for file in files("bankml.serve").joinpath("static").iterdir()}
    tabs = {f"{tab}.{suffix}" for tab in ("server", "history", "knowledge") for suffix in ("html", "css", "js")}
    tabs = tabs - {"history.css"} | {"search.css", "search.js"}
    assert names == tabs | {"docs.html", "ui.html", "frame.css", "frame.js", "tabs.css", "tabs.js", "key.html"}


def test_the_root_stays_ollamas_sentence(application):
    assert application("GET", "/", headers={"Accept": "text/html"}).text == "Ollama is running"


def luminance(color: str) -> float:
    """Relative luminance of #rrggbb, as WCAG 2 has it."""
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_is_readable_in_both_schemes(application, scheme):
    blocks = re.findall(r":root \{(.*?)\}", application("GET", "/ui").text, re.DOTALL)
    colors = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", blocks[scheme]))
    pairs = [(ink, back) for ink in ("ink", "soft", "accent", "good", "warn", "bad") for back in ("back", "card")]
    pairs += [("ink", "faint"), ("soft", "faint"), ("ink", "mark"), ("accent-ink", "accent"), ("bad", "bad-back")]
    for ink, back in pairs:
        light, dark = sorted((luminance(colors[ink]), luminance(colors[back])), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, (ink, back)
