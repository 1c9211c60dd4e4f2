"""The FAQ's packages from Debian: by apt where it is, with the user's mirrors and proxies, else by HTTPS."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import httpx

from bankml.errors import InputError
from bankml.evaluation import faq
from bankml.evaluation.packages import MAX_PACKAGE, digest

SECONDS = 60  # for apt in all; for each connection and each wait for more of an answer
POOL = "pool/main/d/debian-faq/"
# The first has 11.1 as long as a release that Debian keeps there carries it, the second for ever.
ARCHIVES = ("https://deb.debian.org/debian/", "https://snapshot.debian.org/archive/debian/20240101T000000Z/")


class _NotHereError(Exception):
    """A place that does not give the package, and why."""


def fetch(language: str, archives: tuple[str, ...] = ARCHIVES, apt: str | None = "apt-get") -> bytes:
    """The package of a language, its sha256 checked. Raises InputError naming what was tried and the remedy."""
    reasons = []
    for place in (apt, *archives):
        try:
            if place is not None:
                return _checked(language, _by_apt(language, place) if place == apt else _by_https(language, place))
        except _NotHereError as reason:
            reasons.append(str(reason))
    raise InputError(
        f"{faq.file_name(language)} cannot be had ({'; '.join(reasons)}): connect to the network, or download it from "
        f"{ARCHIVES[0]}{POOL} on another machine and name its folder with --data"
    )


def _by_apt(language: str, command: str) -> bytes:
    if (program := shutil.which(command)) is None:
        raise _NotHereError(f"{command} is not here")
    with tempfile.TemporaryDirectory() as folder:
        wanted = f"{faq.package(language)}={faq.VERSION}"
        try:
            done = subprocess.run(
                [program, "-qq", "download", wanted], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL,
                timeout=SECONDS, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _NotHereError(f"{command}: {error}") from None
        found = list(Path(folder).glob("*.deb"))
        if done.returncode or len(found) != 1:
            raise _NotHereError(f"`{command} download {wanted}` failed")
        return found[0].read_bytes()


def _by_https(language: str, archive: str) -> bytes:
    url = f"{archive}{POOL}{faq.file_name(language)}"
    content = bytearray()
    try:
        with httpx.stream("GET", url, timeout=SECONDS, follow_redirects=True) as answer:
            if answer.status_code != httpx.codes.OK:
                raise _NotHereError(f"{url} answers {answer.status_code}")
            for chunk in answer.iter_bytes():
                content += chunk
                if len(content) > MAX_PACKAGE:
                    raise _NotHereError(f"{url} sends more than {MAX_PACKAGE:,} bytes")
    except httpx.HTTPError as error:
        raise _NotHereError(f"{url}: {str(error) or type(error).__name__}") from None
    return bytes(content)


def _checked(language: str, content: bytes) -> bytes:
    if (found := digest(content)) != faq.DIGESTS[language]:
        raise _NotHereError(f"what came has the sha256 {found}, not {faq.DIGESTS[language]}")
    return content
