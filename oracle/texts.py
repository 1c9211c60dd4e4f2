"""The texts that tokenizers are compared on: real sentences in ten languages, random Unicode, and known hard cases."""

import re
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory

from bankml.errors import ModelError
from bankml.models import atomic
from oracle import cache
from oracle.random_texts import random_texts

RANDOM, SEED = 6_000, 20_260
LANGUAGES = ("en", "de", "fr", "it", "ja", "ko", "nl", "pt", "ru", "zh-cn")
SENTENCE_END = re.compile("(?<=[.!?:;])\\s+|(?<=[\u3002\uff01\uff1f])")
BLOCKS = frozenset(["p", "h1", "h2", "h3", "h4", "h5", "li", "dt", "dd", "td", "th", "pre", "title", "div"])

# What XLM-R's character map does to single characters and short sequences, each inside a word and alone; marks and
# syllables on which tokenizers differ; words too long for BERT; text that looks like special tokens.
HARD = [
    *"\t\n\f\r\u00a0\u3000\u2581\u200b\u200c\u200d\u200e\u200f\u2028\u2029\ufeff\ufffd",
    *(chr(c) for c in (*range(1, 9), 0x0B, *range(0x0E, 0x20), 0x7F, 0x8F, 0x9F)),
    *"\0\u0085\u00ad\u2060\u180e\ufe0f\uff5e\u301c😀",
    *"ﬁ\uff21①½㎏™…\u00a8\ufdfa",
    *("e\u0301", "か\u3099", "\u1100\u1161", "\u0627\u0653", "\u1e9b\u0323", "o\u0302\u0323", "プ", "フ\u309a", "ｶﾞ"),
    *("한국어를 합니다", "각", "हिन्दी में", "தமிழ்", "ทดสอบ", "Hokkaidō", "İstanbul", "ẞtraße ΣΊΣΥΦΟΣ"),
    *("a" * 99, "a" * 100, "a" * 101, "é" * 100, "漢" * 120, "x" * 5_000),
    *("</s>", "<s>a</s>", "[SEP]", "a [MASK] b", "<unk> <pad> <mask>", "</s</s>"),
    *("", " ", "   ", " a  b ", "a\0b", "\u0001\u0002", "👩\u200d👩\u200d👧\u200d👦", "🇩🇪🇫🇷", "\u202babc\u202c שלום"),
    "The Eiffel Tower in Paris was completed in 1889 and stands 330 meters tall.",
    "Příliš žluťoučký kůň úpěl ďábelské ódy!",
]


def hard() -> list[str]:
    """The hard cases, alone and inside a word."""
    return [*HARD, *(f"a{text}b" for text in HARD)]


def random() -> list[str]:
    """Seeded random Unicode strings."""
    return list(random_texts(RANDOM, SEED))


def sentences(language: str) -> list[str]:
    """The Debian FAQ's sentences in a language, without repetitions; the package is downloaded the first time."""
    return list(dict.fromkeys(sentence for page in pages(language) for sentence in _split(page)))


def pages(language: str) -> list[str]:
    """The Debian FAQ's HTML pages in a language; the package is downloaded the first time."""
    found = sorted(path for path in _faq(language).rglob(f"*.{language}.html") if path.is_file())
    return [page.read_text(encoding="utf-8") for page in found]


def every() -> dict[str, list[str]]:
    """All texts by source: a language, "random" or "hard"."""
    return {**{language: sentences(language) for language in LANGUAGES}, "random": random(), "hard": hard()}


def _faq(language: str) -> Path:
    package = "debian-faq" if language == "en" else f"debian-faq-{language}"
    folder = cache.folder() / package
    with atomic.lock(folder.with_name(f".{package}.lock")):
        if not folder.is_dir():
            _unpack(package, folder)
    return folder / "usr" / "share" / "doc"


def _unpack(package: str, folder: Path) -> None:
    with TemporaryDirectory(dir=folder.parent) as staging:
        try:
            subprocess.run(["apt-get", "download", "-q", package], cwd=staging, check=True, capture_output=True)
            archive = next(Path(staging).glob("*.deb"))
            subprocess.run(["dpkg-deb", "-x", archive, f"{staging}/files"], check=True, capture_output=True)
        except (OSError, StopIteration, subprocess.CalledProcessError) as error:
            raise ModelError(f"the Debian package {package} could not be had ({error}): run `apt-get update`") from None
        Path(staging, "files").rename(folder)


def _split(page: str) -> list[str]:
    parser = _Paragraphs()
    parser.feed(page)
    parser.close()
    return [s.strip() for text in parser.paragraphs for s in SENTENCE_END.split(text) if len(s.strip()) > 1]


class _Paragraphs(HTMLParser):
    """Collects the text of every block of a page, white space merged."""

    def __init__(self) -> None:
        super().__init__()
        self.paragraphs: list[str] = []
        self._parts: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag in BLOCKS:
            self._flush()

    def handle_endtag(self, tag: str) -> None:
        if tag in BLOCKS:
            self._flush()

    def handle_data(self, data: str) -> None:
        self._parts.append(data)

    def close(self) -> None:
        super().close()
        self._flush()

    def _flush(self) -> None:
        if text := " ".join("".join(self._parts).split()):
            self.paragraphs.append(text)
        self._parts = []
