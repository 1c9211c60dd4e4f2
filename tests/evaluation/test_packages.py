"""Where pages are taken from, and which of them are known to be the right ones."""

import os
from pathlib import Path

import pytest

from bankml.errors import InputError, StoreError
from bankml.evaluation import faq, packages
from tests import debian

PAGE = f"{faq.PAGES}chapter.de.html"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return debian.packages(tmp_path / "data")


def none(language: str) -> bytes:
    raise AssertionError(f"{language} was fetched")


def test_a_package_in_a_folder(folder: Path) -> None:
    found = packages.given("de", [folder])
    assert list(found.pages) == [PAGE]
    assert found.source == str(folder / faq.file_name("de"))
    assert not found.verified


def test_the_known_package(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = (folder / faq.file_name("de")).read_bytes()
    monkeypatch.setitem(faq.DIGESTS, "de", packages.digest(content))
    assert packages.given("de", [folder]).verified
    assert packages.kept("de", folder, none).verified


def test_another_version(folder: Path) -> None:
    (folder / faq.file_name("de")).rename(folder / "debian-faq-de_12.0_all.deb")
    assert not packages.given("de", [folder]).verified


def test_english_is_not_any_language(folder: Path) -> None:
    (folder / faq.file_name("en")).unlink()
    with pytest.raises(InputError, match=r"has neither debian-faq_11\.1_all\.deb nor pages"):
        packages.given("en", [folder])


def test_extracted_pages(tmp_path: Path) -> None:
    deep = tmp_path / "usr/share/doc/debian/FAQ/de"
    deep.mkdir(parents=True)
    (deep / "chapter.de.html").write_text(debian.page(debian.GERMAN))
    (deep / "chapter.html").symlink_to("chapter.de.html")
    found = packages.given("de", [tmp_path])
    assert list(found.pages) == [PAGE.replace("FAQ/", "FAQ/de/")]
    assert not found.verified


def test_the_first_folder_that_has_it(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert packages.given("en", [tmp_path / "empty", folder]).source.startswith(str(folder))


def test_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere is no folder; name one with debian-faq-ja_11\.1_all\.deb in it"):
        packages.given("ja", [tmp_path / "nowhere"])


def test_a_damaged_package(folder: Path) -> None:
    path = folder / faq.file_name("de")
    path.write_bytes(path.read_bytes()[:-50])
    with pytest.raises(InputError, match=r"de_11\.1_all\.deb cannot be read: it ends before"):
        packages.given("de", [folder])


def test_what_is_no_file(folder: Path) -> None:
    path = folder / faq.file_name("de")
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(InputError, match="not a regular file"):
        packages.given("de", [folder])


def test_a_package_that_is_too_large(folder: Path) -> None:
    os.truncate(folder / faq.file_name("de"), packages.MAX_PACKAGE + 1)
    with pytest.raises(InputError, match="has more than"):
        packages.given("de", [folder])


def test_fetched_once_and_again_when_it_is_another(folder: Path, tmp_path: Path, monkeypatch) -> None:
    content = (folder / faq.file_name("de")).read_bytes()
    monkeypatch.setitem(faq.DIGESTS, "de", packages.digest(content))
    fetched = []

    def fetch(language: str) -> bytes:
        fetched.append(language)
        return content

    home = tmp_path / "home"
    assert list(packages.kept("de", home, fetch).pages) == [PAGE]
    assert list(packages.kept("de", home, none).pages) == [PAGE]
    (home / faq.file_name("de")).write_bytes(content[:-1])
    assert list(packages.kept("de", home, fetch).pages) == [PAGE]
    assert fetched == ["de", "de"]


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="set BANKML_HOME"):
        packages.kept("de", tmp_path / "file" / "eval", lambda language: b"x")
