"""Where the FAQ's pages come from: folders that are named, or its packages in bankml's own folder, fetched once."""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bankml.errors import InputError, StoreError
from bankml.evaluation import faq
from bankml.models import atomic, regular_file

MAX_PACKAGE = 16 << 20  # bytes; the largest has 0.6 MB
MAX_PAGE = 1 << 20  # bytes; the largest has 42 kB
MAX_PAGES = 1_000  # files of a language in a folder; there are 17

Fetch = Callable[[str], bytes]
"""The package of a language, its sha256 the known one; raises Error with the remedy where it cannot be had."""


@dataclass(frozen=True)
class Pages:
    """A language's pages by name. `verified`: they come from the very package whose sha256 is known."""

    pages: Mapping[str, bytes]
    source: str
    verified: bool


def given(language: str, folders: Sequence[Path]) -> Pages:
    """From the first of `folders` that has the language's package, of any version, or its pages *.LANGUAGE.html.

    Raises InputError when none has, or what it has is damaged.
    """
    for folder in folders:
        if not folder.is_dir():
            raise InputError(f"{folder} is no folder; name one with {faq.file_name(language)} in it")
        if found := _packed(language, folder) or _extracted(language, folder):
            return found
    raise InputError(
        f"{', '.join(map(str, folders))} has neither {faq.file_name(language)} nor pages *.{language}.html: run "
        f"`apt-get download {faq.package(language)}` there, or leave --data out, and they are fetched"
    )


def kept(language: str, folder: Path, fetch: Fetch) -> Pages:
    """From the package of the known sha256 in `folder`; what is not there, or is another file, is fetched.

    Raises StoreError when `folder` cannot be used, and what `fetch` raises.
    """
    path = folder / faq.file_name(language)
    content = _read(path, MAX_PACKAGE) if path.exists() else None
    if content is None or digest(content) != faq.DIGESTS[language]:
        content = fetch(language)
        _keep(path, content)
    return Pages(faq.unpacked(content, str(path)), str(path), True)


def digest(content: bytes) -> str:
    """sha256, 64 hex digits."""
    return hashlib.sha256(content).hexdigest()


def _packed(language: str, folder: Path) -> Pages | None:
    exact = folder / faq.file_name(language)
    others = sorted(folder.glob(f"{faq.package(language)}_*.deb"))
    for path in [exact] if exact.exists() else others[-1:]:
        content = _read(path, MAX_PACKAGE)
        return Pages(faq.unpacked(content, str(path)), str(path), digest(content) == faq.DIGESTS[language])
    return None


def _extracted(language: str, folder: Path) -> Pages | None:
    """Pages that lie somewhere in `folder`, as `dpkg-deb -x` or an installed package leaves them."""
    paths = [path for path in sorted(folder.rglob(f"*.{language}.html")) if not path.is_symlink()]
    if len(paths) > MAX_PAGES:
        raise InputError(f"{folder} has {len(paths):,} pages *.{language}.html; name the folder of the FAQ alone")
    pages = {str(path.relative_to(folder)): _read(path, MAX_PAGE) for path in paths}
    return Pages(pages, str(folder), False) if pages else None


def _read(path: Path, limit: int) -> bytes:
    try:
        content = regular_file.read(path, limit + 1)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}): remove it or make it readable") from None
    if len(content) > limit:
        raise InputError(f"{path} has more than {limit:,} bytes and is no file of the Debian FAQ: remove it")
    return content


def _keep(path: Path, content: bytes) -> None:
    try:
        with atomic.replacement(path) as temporary:
            temporary.write_bytes(content)
    except OSError as error:
        raise StoreError(
            f"{path} cannot be written ({error.strerror}): set BANKML_HOME to a folder with room that you can write"
        ) from None
