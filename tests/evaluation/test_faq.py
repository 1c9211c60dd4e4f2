"""What counts as a document and as a query of a language."""

import pytest

from bankml.errors import InputError
from bankml.evaluation import faq
from bankml.evaluation.page import Section
from tests import debian


def sections(pages: dict[str, tuple[str, str]]) -> dict[str, Section]:
    return faq.sections({"a.html": debian.page(pages).encode()}, "the test")


def test_questions_of_english() -> None:
    english = sections(debian.ENGLISH)
    found = faq.language("en", english, english)
    assert list(found.documents) == list(debian.ENGLISH)
    assert found.queries == {id: title for id, (title, _) in debian.ENGLISH.items() if id != "apt"}
    assert (found.untranslated, found.empty) == (0, 0)


def test_what_is_not_translated_is_left_out() -> None:
    found = faq.language("de", sections(debian.GERMAN), sections(debian.ENGLISH))
    assert list(found.documents) == ["remove", "kernel", "pronounce", "apt"]
    assert list(found.queries) == ["remove", "kernel", "pronounce"]
    assert found.untranslated == 1


def test_a_title_that_is_not_translated_is_no_query() -> None:
    german = debian.GERMAN | {"kernel": (debian.ENGLISH["kernel"][0], debian.GERMAN["kernel"][1])}
    found = faq.language("de", sections(german), sections(debian.ENGLISH))
    assert "kernel" in found.documents
    assert "kernel" not in found.queries


def test_a_question_needs_no_mark_in_its_translation() -> None:
    german = debian.GERMAN | {"kernel": ("Der Kernel von Debian", debian.GERMAN["kernel"][1])}
    assert "kernel" in faq.language("de", sections(german), sections(debian.ENGLISH)).queries


def test_a_section_without_text_is_no_document() -> None:
    english = sections(debian.ENGLISH | {"empty": ("What is empty?", " ")})
    found = faq.language("en", english, english)
    assert ("empty" in found.documents, "empty" in found.queries, found.empty) == (False, False, 1)


def test_errors_name_the_package_and_the_page() -> None:
    with pytest.raises(InputError, match=r"x\.deb: a\.html cannot be read: it is no well-formed"):
        faq.sections({"a.html": b"<p>"}, "x.deb")
    with pytest.raises(InputError, match=r"x\.deb cannot be read: it does not begin"):
        faq.unpacked(b"no package", "x.deb")


def test_a_language_that_it_does_not_have() -> None:
    with pytest.raises(InputError, match="'sv' is no language of the Debian FAQ; choose among en, de,"):
        faq.check(["de", "sv"])


def test_names_of_packages() -> None:
    assert faq.file_name("en") == "debian-faq_11.1_all.deb"
    assert faq.file_name("zh-cn") == "debian-faq-zh-cn_11.1_all.deb"
    assert len(faq.LANGUAGES) == 10
