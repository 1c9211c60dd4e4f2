"""A record's timeline for people: drawn on a terminal with what changed, a tab between fields elsewhere."""

import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from bankml.memory import instant
from bankml.memory.changes import Change, changes
from bankml.memory.past import held
from bankml.memory.recall.compact import PREVIEW, titled
from bankml.memory.timeline import Timeline
from bankml.store import Assertion, Feedback
from bankml.utf8 import line, printable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

STYLES = {"kept": "", "removed": "red strike", "added": "bold green"}
SIGNS = {"kept": ("", ""), "removed": ("[-", "-]"), "added": ("{+", "+}")}  # where there are no colours
AROUND = 60  # characters that are kept before and after what changed
ASSERTED, SAID, LINE, END = "● ", "○ ", "│ ", "└ "


def write_events(timeline: Timeline, full: bool) -> None:
    """On stdout: the record, what it said in the order of recording, and what was said of it."""
    if sys.stdout.isatty():
        _draw(timeline, full)
        return
    length = None if full else PREVIEW
    for each in timeline.assertions:
        end = "" if each.valid_to is None else instant.iso(each.valid_to)
        times = instant.iso(each.recorded_at), instant.iso(each.valid_from), end
        print("asserted", *times, f"{each.confidence:g}", line(each.content[:length]), sep="\t")
    for said in timeline.feedback:
        print(printable(said.verdict), instant.iso(said.recorded_at), "", "", "", line(said.note[:length]), sep="\t")
    print("#", *_heading(timeline), *_relations(timeline), sep="  ")


def _heading(timeline: Timeline) -> list[str]:
    record = timeline.record
    facts = ", ".join([record.category, record.status, *([record.freshness] if record.freshness != "current" else [])])
    return [line(titled(record.title)), record.id, facts]


def _relations(timeline: Timeline) -> list[str]:
    found = [f"supersedes {', '.join(timeline.supersedes)}"] if timeline.supersedes else []
    after = timeline.record.superseded_by
    return found + ([f"superseded by {after}"] if after else [])


def _draw(timeline: Timeline, full: bool) -> None:
    from rich.console import Console
    from rich.text import Text

    console = Console()
    title, *facts = _heading(timeline)
    _behind(console, Text.assemble((title, "bold"), "  ", ("  ".join(facts), "dim")), "", "")
    events: list[Assertion | Feedback] = [*timeline.assertions, *timeline.feedback]
    for event in sorted(events, key=lambda event: event.recorded_at):
        if isinstance(event, Feedback):
            _draw_feedback(console, event, None if full else PREVIEW)
        else:
            _draw_assertion(console, event, timeline.assertions, full)
    for relation in _relations(timeline):
        console.print(Text(f"{END}{relation}"))


def _draw_assertion(console: "Console", this: Assertion, every: Sequence[Assertion], full: bool) -> None:
    from rich.text import Text

    before = replaced(this, every)
    span = f"true from {_time(this.valid_from)} {'on' if this.valid_to is None else f'until {_time(this.valid_to)}'}"
    facts = [] if this.recorded_at == this.valid_from else [f"recorded {_time(this.recorded_at)}"]
    was = f", was {before.confidence:g}" if before and before.confidence != this.confidence else ""
    facts.append(f"confidence {this.confidence:g}{was}")
    _behind(console, Text.assemble((span, "bold"), (f"  {'  '.join(facts)}", "dim")), ASSERTED, LINE)
    _behind(console, compared(before, this, full, console.color_system is None), LINE, LINE)
    console.print(Text(LINE.rstrip()))


def _time(at: int) -> str:
    """To the second, as people read it."""
    return re.sub(r"T(\S{8})\.\d{6}Z", r" \1Z", instant.iso(at))


def _draw_feedback(console: "Console", said: Feedback, length: int | None) -> None:
    from rich.text import Text

    text = Text.assemble((printable(said.verdict), "bold"), (f"  {_time(said.recorded_at)}", "dim"))
    _behind(console, text, SAID, LINE)
    if said.note:
        _behind(console, Text(_lines(said.note[:length])), LINE, LINE)
    console.print(Text(LINE.rstrip()))


def replaced(this: Assertion, every: Sequence[Assertion]) -> Assertion | None:
    """What an assertion is compared with: what held at its beginning when it was recorded, else the one before it."""
    before = every[: every.index(this)]
    return held(before, this.valid_from) or (before[-1] if before else None)


def compared(before: Assertion | None, this: Assertion, full: bool, colourless: bool) -> "Text":
    """The content, with what is another than before; what stayed is cut unless `full`."""
    from rich.text import Text

    if before is None or before.content == this.content:
        text = this.content if full else _cut(this.content, PREVIEW)
        return Text(_lines(text), "" if before is None else "dim")
    drawn, every = Text(), changes(before.content, this.content)
    for change in every if full else shortened(every):
        before_it, after_it = SIGNS[change.kind] if colourless else ("", "")
        drawn.append(f"{before_it}{_lines(change.text)}{after_it}", STYLES[change.kind])
    return drawn


def shortened(every: Sequence[Change]) -> Iterator[Change]:
    """The same with "…" for what stayed, far from what changed, and for the rest of a very long change."""
    for number, change in enumerate(every):
        text, last = change.text, number == len(every) - 1
        if change.kind != "kept":
            yield Change(change.kind, _cut(text, PREVIEW))
        elif number == 0 and len(text) > AROUND:
            yield Change("kept", "…" if last else f"…{text[-AROUND:]}")
        elif last and len(text) > AROUND:
            yield Change("kept", f"{text[:AROUND]}…")
        elif len(text) > 2 * AROUND:
            yield Change("kept", f"{text[:AROUND]} … {text[-AROUND:]}")
        else:
            yield change


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[:length]}…"


def _lines(text: str) -> str:
    return "\n".join(printable(each.replace("\t", " ")) for each in text.split("\n"))


def _behind(console: "Console", text: "Text", first: str, others: str) -> None:
    """Wrapped, each line behind its sign, and without the spaces that would fill it."""
    from rich.text import Text

    for number, wrapped in enumerate(text.wrap(console, max(1, console.width - len(first)))):
        wrapped.rstrip()
        sign = Text(others if number else first, "dim")
        console.print(Text.assemble(sign, wrapped), no_wrap=True, overflow="ignore", crop=False)
