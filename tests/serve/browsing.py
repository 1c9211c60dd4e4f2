"""What the tests of the pages see in Debian's Chromium."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
needs_browser = pytest.mark.skipif(
    not (CHROMIUM and DRIVER), reason="no browser here: apt-get install chromium chromium-driver"
)
PATIENCE = 30  # seconds, of a machine that does much else


@contextmanager
def chromium(profile: Path) -> Iterator[webdriver.Chrome]:
    """A browser without a window, which writes down what it asks and what it complains of."""
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("headless=new", "no-sandbox", "disable-dev-shm-usage", f"user-data-dir={profile}"):
        options.add_argument(f"--{argument}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    driver.set_page_load_timeout(PATIENCE)
    try:
        yield driver
    finally:
        driver.quit()


@contextmanager
def window(page: webdriver.Chrome, width: int, dark: bool = False) -> Iterator[None]:
    """The page as wide as this, in this scheme."""
    device = {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", device)
    page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    try:
        yield
    finally:
        page.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
        page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


def text(page: webdriver.Chrome, name: str) -> str:
    return page.find_element(By.ID, name).text


def wait(page: webdriver.Chrome, condition: Callable[[], object]) -> None:
    WebDriverWait(page, PATIENCE, poll_frequency=0.05).until(lambda _: condition())


def asked(page: webdriver.Chrome) -> list[str]:
    """Every address that the browser asked since the last look; those within the page itself are not asked."""
    events = [json.loads(entry["message"])["message"] for entry in page.get_log("performance")]
    sent = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
    return [address for address in sent if not address.startswith("data:")]
