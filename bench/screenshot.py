"""The picture of the history page in the docs: `python -m bench.screenshot`, with Chromium and all-minilm-l6-v2 here.

It is the page itself, over the sample history, wholly embedded: one question, typed.
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

from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "examples" / "sample.history"
OUT = ROOT / "docs" / "plots"
QUESTION = "How fast is the ternary model on this laptop?"
SHOTS = {"history.png": (960, 700, "light"), "history-phone.png": (360, 700, "dark")}  # width, height, scheme
MOST = 150_000  # bytes of a picture
PATIENCE = 60  # seconds


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        history = Path(shutil.copy(SAMPLE, folder))
        subprocess.run([sys.executable, "-m", "bankml", "history", "index", history, "-m", "all-minilm"], check=True)
        with _browser(Path(folder)) as browser:
            for name, shot in SHOTS.items():
                with _opened(history) as link:
                    _take(browser, link, OUT / name, *shot)


def _take(browser: webdriver.Chrome, link: str, out: Path, width: int, height: int, scheme: str) -> None:
    device = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", device)
    features = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", features)
    browser.get(link)
    browser.find_element(By.ID, "query").send_keys(QUESTION)
    fused = "fused by reciprocal rank"
    WebDriverWait(browser, PATIENCE).until(lambda it: fused in it.find_element(By.ID, "history-status").text)
    browser.execute_script("document.activeElement.blur()")  # a caret blinks
    time.sleep(1)  # what fades in has done so
    browser.save_screenshot(str(out))
    size = out.stat().st_size
    if size > MOST:
        raise SystemExit(f"{out} has {size:,} bytes, more than {MOST:,}; make the window smaller")
    print(f"{out.relative_to(ROOT)}: {size:,} bytes")


@contextmanager
def _opened(history: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "bankml", "history", "open", history, "-m", "all-minilm", "--json", "--no-browser"]
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
