"""Makes csrc/tokenizer/unicode_tables.inc by asking the pinned `tokenizers` package about every code point.

The package's Unicode tables are older than any Python's, so nothing here comes from `unicodedata`: what BertNormalizer
and BertPreTokenizer do is observed and split into properties. Before anything is written, the properties are put
together again in Python and compared with the package for every code point and all four settings of lowercase and
strip_accents.

    python oracle/make_unicode_tables.py [FILE]        writes FILE, by default csrc/tokenizer/unicode_tables.inc
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby, islice, product
from pathlib import Path

import tokenizers
from tokenizers import normalizers, pre_tokenizers

TARGET = Path(__file__).resolve().parent.parent / "csrc" / "tokenizer" / "unicode_tables.inc"
LAST = 0x10FFFF
HANGUL = range(0xAC00, 0xAC00 + 11172)
# Flags of a code point, as csrc/tokenizer/unicode.h names them.
DROP, SPACE, IDEOGRAPH, PUNCTUATION, MARK, DECOMPOSES, LOWERS = (1 << i for i in range(7))


def code_points() -> Iterator[int]:
    """Every code point that a text can hold, surrogates left out."""
    yield from range(0xD800)
    yield from range(0xE000, LAST + 1)


def batches(points: Iterable[int], size: int = 256) -> Iterator[list[int]]:
    rest = iter(points)
    while batch := list(islice(rest, size)):
        yield batch


def bert(
    clean: bool = False, ideographs: bool = False, strip: bool = False, lower: bool = False
) -> normalizers.Normalizer:
    return normalizers.BertNormalizer(
        clean_text=clean, handle_chinese_chars=ideographs, strip_accents=strip, lowercase=lower
    )


def outputs(normalizer: normalizers.Normalizer) -> dict[int, str]:
    """Code point → what the normaliser makes of it, where that is another text. Asked in batches that `|` parts."""
    changed = {}
    for batch in batches(c for c in code_points() if c != 0x7C):
        parts = normalizer.normalize_str("|".join(map(chr, batch))).split("|")
        if len(parts) != len(batch):
            raise SystemExit(f"a code point between {batch[0]:#x} and {batch[-1]:#x} makes a '|'")
        changed.update({c: part for c, part in zip(batch, parts, strict=True) if part != chr(c)})
    if normalizer.normalize_str("|") != "|":
        raise SystemExit("'|' is not left alone")
    return changed


def pre_token_classes() -> tuple[set[int], set[int]]:
    """Code points at which BertPreTokenizer splits: those it drops (whitespace) and those it keeps as words."""
    split = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    spaces, punctuation = set(), set()
    for batch in batches(code_points()):
        words = Counter(start // 4 for _, (start, _) in split("".join(f"a{chr(c)}b " for c in batch)))
        spaces |= {c for i, c in enumerate(batch) if words[i] == 2}
        punctuation |= {c for i, c in enumerate(batch) if words[i] == 3}
    return spaces, punctuation


def ordered_marks() -> dict[int, int]:
    """Code point → its rank in canonical ordering (starters are left out), found by which of two marks comes first."""
    nfd = normalizers.NFD().normalize_str
    low, high = "\u0334", "\u0345"  # the lowest class (1, overlays) and the highest (240, iota subscript)

    def moved(text: str) -> bool:
        return nfd(text) != text

    def is_mark(c: int) -> bool:
        return not moved("a" + chr(c)) and (moved(f"a{high}{chr(c)}") or moved(f"a{chr(c)}{low}"))

    classes: list[list[int]] = []  # of equal rank, ascending
    for batch in batches(code_points()):
        texts = ("".join(f"a{high}{chr(c)}" for c in batch), "".join(f"a{chr(c)}{low}" for c in batch))
        if any(map(moved, texts)):
            for mark in filter(is_mark, batch):
                place(mark, classes, lambda a, b: moved(f"a{chr(a)}{chr(b)}"))
    return {c: rank for rank, members in enumerate(classes, 1) for c in members}


def place(mark: int, classes: list[list[int]], swapped: Callable[[int, int], bool]) -> None:
    """Binary search: `swapped(a, b)` says that a written before b is moved behind it."""
    low, high = 0, len(classes)
    while low < high:
        middle = (low + high) // 2
        if swapped(mark, classes[middle][0]):
            low = middle + 1
        elif swapped(classes[middle][0], mark):
            high = middle
        else:
            classes[middle].append(mark)
            return
    classes.insert(low, [mark])


@dataclass
class Tables:
    flags: dict[int, int]
    order: dict[int, int]
    decomposed: dict[int, str]
    lowered: dict[int, str]

    def normalize(self, c: int, strip: bool, lower: bool) -> str:
        """What csrc/tokenizer/bert_words.cpp does with one code point; the package's answer must be the same."""
        flags = self.flags.get(c, 0)
        if flags & DROP:
            return ""
        if flags & SPACE:
            return " "
        text = chr(c)
        if strip:
            text = "".join(d for d in decompose(c, self.decomposed) if not self.flags.get(ord(d), 0) & MARK)
        if lower:
            text = "".join(self.lowered.get(ord(d), d) for d in text)
        return f" {text} " if flags & IDEOGRAPH else text


def decompose(c: int, decomposed: dict[int, str]) -> str:
    if c not in HANGUL:
        return decomposed.get(c, chr(c))
    lead, rest = divmod(c - HANGUL.start, 588)
    vowel, tail = divmod(rest, 28)
    return chr(0x1100 + lead) + chr(0x1161 + vowel) + (chr(0x11A7 + tail) if tail else "")


def observe() -> Tables:
    cleaned = outputs(bert(clean=True))
    ideographs = outputs(bert(ideographs=True))
    decomposed = {c: text for c, text in outputs(normalizers.NFD()).items() if c not in cleaned}
    stripped = outputs(bert(strip=True))
    lowered = outputs(bert(lower=True))
    spaces, punctuation = pre_token_classes()
    kinds: list[tuple[int, Iterable[int]]] = [
        (DROP, (c for c, text in cleaned.items() if text == "")),
        (SPACE, [0x20, *(c for c, text in cleaned.items() if text == " ")]),
        (IDEOGRAPH, ideographs),
        (PUNCTUATION, punctuation),
        (MARK, (c for c, text in stripped.items() if text == "" and c not in decomposed)),
        (DECOMPOSES, decomposed),
        (LOWERS, lowered),
    ]
    flags: dict[int, int] = {}
    for flag, members in kinds:
        for c in members:
            flags[c] = flags.get(c, 0) | flag
    tables = Tables(flags, ordered_marks(), {c: t for c, t in decomposed.items() if c not in HANGUL}, lowered)
    check(tables, spaces)
    return tables


def check(tables: Tables, spaces: set[int]) -> None:
    """Stops unless the properties give the package's output everywhere and the C++ code's assumptions hold."""
    for strip, lower in product((False, True), repeat=2):
        truth = outputs(bert(clean=True, ideographs=True, strip=strip, lower=lower))
        for c in truth.keys() | tables.flags.keys() | set(HANGUL):
            if truth.get(c, chr(c)) != tables.normalize(c, strip, lower):
                raise SystemExit(f"U+{c:04X} is not the sum of its properties (strip {strip}, lower {lower})")
    parts = [d for text in (*tables.decomposed.values(), *tables.lowered.values()) for d in map(ord, text)]
    if any(c in spaces for c in parts):
        raise SystemExit("a decomposition or lower-casing makes a space")
    if any(not tables.flags.get(c, 0) & (DROP | SPACE) for c in spaces):
        raise SystemExit("a whitespace code point outlives clean_text")
    if any(tables.flags.get(c, 0) & (SPACE | IDEOGRAPH | PUNCTUATION) for c in tables.order):
        raise SystemExit("a mark with an order ends a word")
    if any(ord(d) in tables.decomposed for text in tables.decomposed.values() for d in text):
        raise SystemExit("a decomposition is not complete")


def lines(values: Iterable[str]) -> Iterator[str]:
    """Joins values to lines of at most 120 columns."""
    line = ""
    for value in values:
        if line and len(line) + len(value) + 2 > 120:
            yield line
            line = ""
        line = f"{line} {value}," if line else f"{value},"
    if line:
        yield line


def array(head: str, values: Iterable[str]) -> str:
    return "\n".join([head + " = {", *lines(values), "};", ""])


def mappings(name: str, table: dict[int, str]) -> str:
    """One pool of code points: source, count, then the target; and the sources' places, ascending by source."""
    pool: list[str] = []
    places = []
    for c, text in sorted(table.items()):
        places.append(f"{{{c:#x}, {len(pool)}, {len(text)}}}")
        pool += [f"{ord(d):#x}" for d in text]
    return array(f"constexpr char32_t k{name}Pool[]", pool) + array(f"constexpr Mapping k{name}[]", places)


def render(tables: Tables) -> str:
    kinds = [(tables.flags.get(c, 0), tables.order.get(c, 0)) for c in range(LAST + 1)]
    distinct = sorted(set(kinds))
    number = {kind: i for i, kind in enumerate(distinct)}
    if len(distinct) > 256:
        raise SystemExit(f"{len(distinct)} kinds of code points do not fit a byte")
    ranges = []
    for kind, group in groupby(range(LAST + 1), key=kinds.__getitem__):
        ranges.append(f"{{{next(iter(group)):#x}, {number[kind]}}}")
    return "\n".join(
        [
            f"// Made by oracle/make_unicode_tables.py from tokenizers {tokenizers.__version__}; do not edit.",
            "// clang-format off",
            array("constexpr CodePointKind kKinds[]", (f"{{{flags}, {order}}}" for flags, order in distinct)),
            array("constexpr Range kRanges[]", ranges),
            mappings("Decomposed", tables.decomposed),
            mappings("Lowered", tables.lowered),
        ]
    )


def main() -> None:
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    target.write_text(render(observe()), encoding="ascii")


if __name__ == "__main__":
    main()
