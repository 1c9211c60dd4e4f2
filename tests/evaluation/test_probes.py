"""The questions without an answer: as many in every language, none twice, none about what the FAQ is about."""

import re

import pytest

from bankml.errors import InputError
from bankml.evaluation.probes import COUNT, LANGUAGES, probes

OURS = re.compile(
    r"debian|linux|kernel|software|computer|install|package|paket|paquet|pacchetto|pacote|パッケージ|패키지|软件|пакет|dpkg|apt\b",
    re.I,
)


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language(language: str) -> None:
    found = probes(language)
    assert len(set(found)) == len(found) == COUNT
    assert all(one == one.strip() and len(one) > 5 for one in found)
    assert not [one for one in found if OURS.search(one)]


def test_a_language_without() -> None:
    with pytest.raises(InputError, match="no probes in 'sv'"):
        probes("sv")
