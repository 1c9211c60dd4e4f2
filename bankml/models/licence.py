"""Which licence a model has, from its text or its identifier, and whether it is one that is known to be open.

Cautious: a text that carries extra conditions, or is not recognised as a whole, is "unknown".
"""

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Licence:
    """An SPDX identifier (several joined by AND), or "unknown"; `open` when each allows any use, change and copy."""

    id: str
    open: bool

    def __str__(self) -> str:
        return self.id


UNKNOWN = Licence("unknown", False)

OPEN_IDS = (
    "MIT", "MIT-0", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "ISC", "Zlib", "Unlicense", "CC0-1.0",
    "CC-BY-4.0", "CC-BY-SA-4.0", "CC-BY-3.0", "CC-BY-SA-3.0", "MPL-2.0", "BSL-1.0", "PostgreSQL", "EPL-2.0",
    "GPL-2.0", "GPL-3.0", "LGPL-2.1", "LGPL-3.0", "AGPL-3.0", "ODC-By-1.0", "CDLA-Permissive-2.0",
)  # fmt: skip
CLOSED_IDS = (
    "CC-BY-NC-4.0", "CC-BY-NC-SA-4.0", "CC-BY-NC-ND-4.0", "CC-BY-ND-4.0", "CC-BY-NC-3.0", "Gemma",
    "Llama2", "Llama3", "Llama3.1", "Llama3.2", "Llama3.3", "OpenRAIL", "BigScience-OpenRAIL-M",
)  # fmt: skip
SPELLINGS = {
    "apache 2.0": "Apache-2.0", "apache2": "Apache-2.0", "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0", "mit license": "MIT", "the mit license": "MIT", "expat": "MIT",
    "bsd": "BSD-3-Clause", "new bsd": "BSD-3-Clause", "cc0": "CC0-1.0", "the unlicense": "Unlicense",
}  # fmt: skip

# What a whole text must contain, in this order of trying: a BSD text with three clauses contains that with two.
MARKS = {
    "Apache-2.0": ("apache license", "version 2.0, january 2004", "grant of patent license", "disclaimer of warranty"),
    "MIT": ("permission is hereby granted, free of charge", "without restriction", "notice shall be included"),
    "BSD-3-Clause": ("redistribution and use in source and binary forms", "neither the name of", "as is"),
    "BSD-2-Clause": ("redistribution and use in source and binary forms", "binary form must reproduce", "as is"),
    "ISC": ("permission to use, copy, modify, and/or distribute this software", "permission notice appear"),
    "Unlicense": ("released into the public domain", "unlicense.org"),
    "MPL-2.0": ("mozilla public license", "version 2.0", "larger work"),
    "AGPL-3.0": ("gnu affero general public license version 3, 19 november 2007",),
    "LGPL-3.0": ("gnu lesser general public license version 3, 29 june 2007",),
    "GPL-3.0": ("gnu general public license version 3, 29 june 2007", "freedom to share and change"),
    "GPL-2.0": ("gnu general public license version 2, june 1991",),
    "CC0-1.0": ("cc0 1.0 universal", "waiver"),
    "CC-BY-4.0": ("creative commons attribution 4.0 international public license", "section 2"),
    "CC-BY-SA-4.0": ("creative commons attribution-sharealike 4.0 international public license", "section 2"),
    "CC-BY-NC-4.0": ("creative commons attribution-noncommercial 4.0 international public license",),
    "CC-BY-NC-SA-4.0": ("creative commons attribution-noncommercial-sharealike 4.0 international public license",),
    "Gemma": ("gemma terms of use",),
}  # fmt: skip
# Words of the conditions that people add to an open text. Texts that are closed anyway may contain them.
EXTRA_CONDITIONS = (
    "commons clause", "non-commercial", "noncommercial use", "noncommercial purpose", "not for commercial",
    "research purposes only", "research use only", "acceptable use policy", "additional restriction", "use restriction",
    "community license", "may not be used for", "monthly active users",
)  # fmt: skip

_BY_ID = {
    name.casefold(): Licence(name, is_open) for ids, is_open in ((OPEN_IDS, True), (CLOSED_IDS, False)) for name in ids
}
_SPELLED = {spelling: _BY_ID[name.casefold()] for spelling, name in SPELLINGS.items()}


def classify(text: str) -> Licence:
    """The licence of an identifier such as "apache-2.0" or of a licence's whole text."""
    words = " ".join(text.casefold().replace("“", '"').replace("”", '"').split())
    if found := _BY_ID.get(_identifier(words)) or _SPELLED.get(words):
        return found
    return next((_BY_ID[name.casefold()] for name, marks in MARKS.items() if _bears(words, name, marks)), UNKNOWN)


def classify_all(texts: Iterable[str]) -> Licence:
    """The licence of a model with several licence texts: open only when each is. None at all is unknown."""
    found = {classify(text): None for text in texts if text.strip()}
    if not found or UNKNOWN in found:
        return UNKNOWN
    return Licence(" AND ".join(licence.id for licence in found), all(licence.open for licence in found))


def refused(model: str, licence: Licence, allowed: Collection[str] = ()) -> str | None:
    """Why texts are not to be stored or published under this model's licence; None where it is open or `allowed`.

    `allowed`: names of licences as they are told, `unknown` too, in any case.
    """
    names = {allowed} if isinstance(allowed, str) else set(allowed)
    if licence.open or licence.id.casefold() in {name.strip().casefold() for name in names}:
        return None
    stated = "no licence that is known" if licence == UNKNOWN else f"the licence {licence.id}, which is not known"
    return (
        f"{model} has {stated} to be open: to index or publish with it all the same, allow it by name "
        f"(--allow-licence '{licence.id}', in Python allow_licence={licence.id!r})"
    )


def _identifier(words: str) -> str:
    words = words.removeprefix("license:").removeprefix("licence:").strip()
    return re.sub(r"(-only|-or-later|\+)$", "", words)


def _bears(words: str, name: str, marks: Sequence[str]) -> bool:
    if not all(mark in words for mark in marks):
        return False
    return not _BY_ID[name.casefold()].open or not any(condition in words for condition in EXTRA_CONDITIONS)
