"""The Debian FAQ in ten languages: the same 148 sections with the same ids, most of their titles questions.

A title is a query, and the section of its id is the answer, in its own language or in another one.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from bankml.errors import InputError
from bankml.evaluation import deb, page
from bankml.evaluation.page import Section

VERSION = "11.1"
PAGES = "usr/share/doc/debian/FAQ/"
ENGLISH = "en"

DIGESTS = {  # sha256 of debian-faq…_11.1_all.deb
    "en": "427426e0cfa6888622fc1d72631071cb4b5a1f86ccde722e7820bcef284de5d0",
    "de": "e9a8d8234f4b182660d521f80f50cea87f797b4541005a3d64fab7777766f6de",
    "fr": "e83cbcc28106fc35f6665a6b0c54c2bd66db481de409764ce35b715baca510df",
    "it": "6c3c79c386f3b393e5b87e7be6cc8230ff88975f176aa20d07d5bf68d5d95bf0",
    "ja": "7e2a2f200a963e41dead4dd8645e0dd6550e2eda4cd88041b8e880046ca924a2",
    "ko": "1e010227c0e7497b836e195beedcda60f3e9b8856f19f211cbbdc5e91b4a5d7a",
    "nl": "133abcbedaafd65baa8c258551c2c536e8b391426bc16b85b1af4bbe7403e624",
    "pt": "ec3c25671b78da0359611fb904976d5a62f4054953a97a3db0f42883b21d45ea",
    "ru": "aaaae7a409c5cf5f5b8c26991f6ef484297e0cd2dee74c8d675cfa6613bce541",
    "zh-cn": "3545356b1aa04d87e91dd15e8406210cf5b4f476662e597897bcb42234591758",
}
LANGUAGES = tuple(DIGESTS)


@dataclass(frozen=True)
class Language:
    """`documents` and `queries` by the id of their section; what is not translated is in neither."""

    code: str
    documents: dict[str, str]  # id → text, without its title
    queries: dict[str, str]  # id → title, without its number
    untranslated: int  # sections whose text is the English one
    empty: int  # sections without a text of their own


def file_name(language: str) -> str:
    """Of the language's package, as archives of Debian call it."""
    return f"{package(language)}_{VERSION}_all.deb"


def package(language: str) -> str:
    """The name of the language's package."""
    return "debian-faq" if language == ENGLISH else f"debian-faq-{language}"


def sections(pages: Mapping[str, bytes], source: str) -> dict[str, Section]:
    """The sections of a language's pages by their id. Raises InputError that names `source` and the page."""
    found: dict[str, Section] = {}
    for name, content in sorted(pages.items()):
        try:
            found.update({section.id: section for section in page.sections(content)})
        except InputError as error:
            raise InputError(
                f"{source}: {name} cannot be read: {error}; take the package {VERSION} of Debian"
            ) from None
    return found


def unpacked(content: bytes, source: str) -> dict[str, bytes]:
    """The pages in a package by name. Raises InputError that names `source`."""
    try:
        return {name: page for name, page in deb.files(content, ".html").items() if name.startswith(PAGES)}
    except InputError as error:
        raise InputError(f"{source} cannot be read: {error}; delete it, or take the one of Debian") from None


def language(code: str, found: Mapping[str, Section], english: Mapping[str, Section]) -> Language:
    """What can be asked and found in a language. Which titles are questions is told by the English ones."""
    texts = {section.id: section.text for section in found.values() if section.text}
    copied = set() if code == ENGLISH else _same(texts, {section.id: section.text for section in english.values()})
    documents = {id: text for id, text in texts.items() if id not in copied}
    titles = {section.id: section.title for section in found.values() if section.id in documents}
    original = {section.id: section.title for section in english.values()}
    foreign = set() if code == ENGLISH else _same(titles, original)
    queries = {id: title for id, title in titles.items() if "?" in original.get(id, "") and id not in foreign}
    return Language(code, documents, queries, len(copied), len(found) - len(texts))


def _same(some: Mapping[str, str], others: Mapping[str, str]) -> set[str]:
    return {id for id, text in some.items() if others.get(id) == text}


def check(codes: Iterable[str]) -> None:
    """Raises InputError for a language that the FAQ does not have."""
    for code in codes:
        if code not in DIGESTS:
            raise InputError(f"{code!r} is no language of the Debian FAQ; choose among {', '.join(LANGUAGES)}")
