"""Where sentences end, by punctuation, in the scripts that have some.

No model and no language is asked for: what this misses is a passage that ends a sentence earlier or later.
"""

# ruff: noqa: RUF001 - marks of other scripts look like ASCII's

import re
from collections.abc import Iterator

# ASCII, ellipsis, Arabic, Urdu, Ethiopic, Armenian: a space must follow, as 3.14 and example.org have the same mark.
SPACED = ".!?…؟۔።፧։"
# CJK, half and full width, Devanagari (most of India), Burmese, Khmer, Tibetan: no space is written behind these.
BARE = "。！？｡।॥၊။។៕༎‼⁇⁈⁉"
CLOSERS = "\"'”’»›)\\]}」』】〕）］｝〉》*_`"
END = re.compile(rf"(?:[{SPACED}]+[{CLOSERS}]*(?=\s)|[{BARE}]+[{CLOSERS}]*)\s*")

WORD = re.compile(r"[^\W\d_]*(?:\.[^\W\d_]+)*\Z")
SHORT = frozenset(
    # titles, references and what goes before a name or a number, in the languages that write a dot there
    """adm al approx art av bd bzw ca cap cf cfr ch col corp dept dipl dr dra ed eds eg env est etc evtl ex exc fig
    figs fr ggf gen gov hon hr hrsg ie ing jr lt ltd max mgr min mme mr mrs ms mt nr núm num op p pág pag par pp prof
    ref rev sa sec sen sgt sig sir sog sr sra st str tab tel ul univ usw vgl vol vs z zzgl гл др им инж напр проф рис
    св см стр т тел ул""".split()
)
LOOKED_AT = 24  # characters before a dot, in which the word before it is looked for


def ends(text: str, start: int, end: int) -> Iterator[int]:
    """Where the next sentence begins, for each but the first, between `start` and `end`."""
    for found in END.finditer(text, start, end):
        if found.end() < end and not (text[found.start()] == "." and _within(text, found)):
            yield found.end()


def _within(text: str, found: re.Match[str]) -> bool:
    """Whether the dot ends an abbreviation, an initial or an ordinal and no sentence."""
    follows = text[found.end()]
    if follows.islower():
        return True
    if text[found.start() : found.end()].rstrip() != ".":
        return False
    before = WORD.search(text, max(0, found.start() - LOOKED_AT), found.start())
    word = before.group() if before else ""
    if not word:  # "3. Oktober", and the number of an item of a list
        return text[found.start() - 1 : found.start()].isdigit() and _starts_line(text, found.start())
    return "." in word or (len(word) == 1 and word.isupper()) or word.casefold() in SHORT


def _starts_line(text: str, dot: int) -> bool:
    """Whether only digits stand between the start of the line and the dot."""
    line = text[max(0, dot - LOOKED_AT) : dot].rpartition("\n")[2].strip()
    return line.isdigit()
