"""The pictures of pages in the docs: `python -m bench.screenshot [history] [knowledge]`, with Chromium and all-minilm.

They are the pages themselves: over the sample history, and over a knowledge base of some of docs/, wholly embedded; one
question each, typed.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "examples" / "sample.history"
DOCS = ROOT / "docs"
OUT = DOCS / "plots"
HISTORY = "How fast is the ternary model on this laptop?", "query", "history-status"  # and where it is typed and told
KNOWLEDGE = "what happens when the machine has not enough memory for a model?", "kb-query", "kb-status"
PAGES = ("history", "knowledge-base", "ollama", "serving")
SHOTS = {"history.png": (960, 700, "light"), "history-phone.png": (360, 700, "dark")}  # width, height, scheme
MOST = 150_000  # bytes of a picture
PATIENCE = 60  # seconds


def main() -> None:
    pages = sys.argv[1:] or ["history", "knowledge"]
    with tempfile.TemporaryDirectory() as folder, _browser(Path(folder)) as browser:
        if "history" in pages:
            history = Path(shutil.copy(SAMPLE, folder))
            subprocess.run(
                [sys.executable, "-m", "bankml", "history", "index", history, "-m", "all-minilm"], check=True
            )
            for name, shot in SHOTS.items():
                with _opened("history", "open", history, "-m", "all-minilm", "--no-browser") as link:
                    _take(browser, link, HISTORY, OUT / name, *shot)
        if "knowledge" in pages:
            base = Path(folder) / "kb.db"
            subprocess.run([sys.executable, "-m", "bankml", "init", "--db", base, "--model", "all-minilm"], check=True)
            with _opened("serve", "--native", "--port", "0", "-m", "all-minilm", "--kb", base) as url:
                _fill(url)
                _take(browser, f"{url}/ui#knowledge", KNOWLEDGE, OUT / "knowledge.png", 960, 700, "light")


def _fill(url: str) -> None:
    """PAGES, by names that are the same on every machine."""
    documents = [{"name": f"docs/{name}.md", "text": (DOCS / f"{name}.md").read_text()} for name in PAGES]
    httpx.post(f"{url}/kb/add", json={"documents": documents}, timeout=600).raise_for_status()


def _take(
    browser: webdriver.Chrome, link: str, asked: tuple[str, str, str], out: Path, width: int, height: int, scheme: str
) -> None:
    question, field, status = asked
    device = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", device)
    features = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", features)
    browser.get(link)
    browser.find_element(By.ID, field).send_keys(question)
    WebDriverWait(browser, PATIENCE).until(lambda it: "fused by" in it.find_element(By.ID, status).text)
    browser.execute_script("document.activeElement.blur()")  # a caret blinks
    time.sleep(1)  # what fades in has done so
    browser.save_screenshot(str(out))
    size = out.stat().st_size
    if size > MOST:
        raise SystemExit(f"{out} has {size:,} bytes, more than {MOST:,}; make the window smaller")
    print(f"{out.relative_to(ROOT)}: {size:,} bytes")


@contextmanager
def _opened(*arguments: str | Path) -> Iterator[str]:
    command = [sys.executable, "-m", "bankml", *arguments, "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            yield json.loads((server.stdout or sys.stdin).readline())["url"]
        finally:
            server.terminate()


@contextmanager
def _browser(profile: Path) -> Iterator[webdriver.Chrome]:
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or "chromium"
    for argument in (
        "headless=new",
        "no-sandbox",
        "disable-dev-shm-usage",
        "hide-scrollbars",
        f"user-data-dir={profile}/profile",
    ):
        options.add_argument(f"--{argument}")
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    try:
        yield browser
    finally:
        browser.quit()


if __name__ == "__main__":
    main()
