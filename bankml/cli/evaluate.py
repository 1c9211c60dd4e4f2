"""`bankml eval`: how well words, meaning and both together find what is asked for, in ten languages."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bankml.cli import calibrate as calibrations
from bankml.cli.output import AsJson, note, table, write_json
from bankml.cli.progress import counted
from bankml.errors import InputError, StoreError

if TYPE_CHECKING:
    from bankml.evaluation.evaluation import Result
    from bankml.evaluation.faq import Language
    from bankml.evaluation.packages import Pages
    from bankml.evaluation.summary import Row

MODELS = ("multilingual-e5-small", "all-minilm-l6-v2")

Models = Annotated[
    list[str] | None,
    typer.Option("--model", "-m", help="A model to measure; may be given again.", show_default=" and ".join(MODELS)),
]
Languages = Annotated[
    list[str] | None,
    typer.Option("--language", "-l", help="A language; may be given again.", show_default="all ten"),
]
Data = Annotated[
    list[Path] | None,
    typer.Option(help="A folder with the packages debian-faq… or their pages; may be given again.", show_default=False),
]
Plot = Annotated[Path | None, typer.Option(help="Draw the figures into this SVG file.", show_default=False)]
Calibrate = Annotated[
    bool,
    typer.Option(
        "--calibrate", help="Fit from which cosine on a model's results mean something, and how much; and keep it."
    ),
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", help="Where --calibrate keeps it.", show_default="calibrations.json of BANKML_HOME"),
]


def evaluate(
    model: Models = None,
    language: Languages = None,
    data: Data = None,
    plot: Plot = None,
    calibrate: Calibrate = False,
    output: Output = None,
    json: AsJson = False,
) -> None:
    """Measure search by words, by meaning and by both, on the Debian FAQ in ten languages (fetched once, 4 MB)."""
    from bankml.evaluation import report, summary

    if plot and plot.suffix.lower() != ".svg":
        raise InputError(f"--plot is {plot}; name a file that ends in .svg")
    if output and not calibrate:
        raise InputError(f"--output is {output}, and nothing is calibrated: give --calibrate too")
    languages, pages = _read(language, data or [])
    if calibrate:
        text = report.data(languages, pages) if json else None
        return calibrations.calibrate(model or MODELS, languages, bool(language), output, plot, text)
    with _measured(model or MODELS, languages) as results:
        figures = [(one, list(summary.rows(one.measured)), list(summary.differences(one.measured))) for one in results]
        if plot:
            _draw(plot, [(one.model.encoder.name, rows) for one, rows, _ in figures])
        if json:
            models = [report.model(*one) for one in figures]
            write_json({"data": report.data(languages, pages), **report.method(), "models": models})
        else:
            _show(figures)


def _read(codes: Sequence[str] | None, folders: Sequence[Path]) -> tuple[list["Language"], dict[str, "Pages"]]:
    """The languages that were asked for, in the FAQ's order, and where their pages are from."""
    from bankml.evaluation import faq

    faq.check(codes or ())
    wanted = [code for code in faq.LANGUAGES if not codes or code in codes]
    # English always: it tells what is translated, and which titles are questions.
    pages = _pages(list(dict.fromkeys([faq.ENGLISH, *wanted])), folders)
    for code, found in pages.items():
        if not found.verified:
            note(f"{found.source} is not the package {faq.VERSION} whose figures are published ({code}); it is used")
    sections = {code: faq.sections(found.pages, found.source) for code, found in pages.items()}
    languages = [faq.language(code, sections[code], sections[faq.ENGLISH]) for code in wanted]
    for one in languages:
        if not one.queries:
            raise InputError(f"{pages[one.code].source} holds no question with its answer; take the package of Debian")
    return languages, pages


def _pages(codes: Sequence[str], folders: Sequence[Path]) -> dict[str, "Pages"]:
    """From `folders`, else from bankml's own folder, into which they are fetched once."""
    from bankml.evaluation import archive, packages
    from bankml.settings import Settings

    if folders:
        return {code: packages.given(code, folders) for code in codes}
    own = Settings.read().home / "eval" / "debian-faq"
    with counted() as progress:

        def fetch(code: str) -> bytes:
            progress("fetching the Debian FAQ", codes.index(code), len(codes))
            return archive.fetch(code)

        return {code: packages.kept(code, own, fetch) for code in codes}


@contextmanager
def _measured(names: Sequence[str], languages: Sequence["Language"]) -> Iterator[list["Result"]]:
    from bankml.cli.model import load
    from bankml.evaluation.evaluation import evaluate
    from bankml.evaluation.model import Model
    from bankml.settings import Settings

    folder = Settings.read().home / "eval"
    with ExitStack() as open_models:
        encoders = [open_models.enter_context(load(name)) for name in dict.fromkeys(names)]
        with counted() as progress:
            results = evaluate(languages, [Model(encoder, folder, progress) for encoder in encoders], progress)
        yield results


def _show(figures: Sequence[tuple["Result", Sequence["Row"], Sequence["Row"]]]) -> None:
    """What `report.shown` says, and the differences of several languages; all of it is in the JSON."""
    from bankml.evaluation import report, summary

    lines: list[tuple[str, ...]] = []
    differences: list[tuple[str, ...]] = []
    for result, rows, compared in figures:
        name = result.model.encoder.name
        lines += report.cells(name, [row for row in rows if report.shown(row)])
        differences += report.cells(name, [row for row in compared if row.scope in summary.SCOPES], signed=True)
        cut, documents = sum(result.cut.values()), sum(result.documents.values())
        note(f"{name} takes {result.model.encoder.context_length} tokens: {cut} of {documents} documents were cut")
    table(report.HEADINGS, lines)
    table(report.HEADINGS, differences)


def _draw(path: Path, rows: Sequence[tuple[str, Sequence["Row"]]]) -> None:
    from bankml.evaluation import plot
    from bankml.models import atomic

    try:
        with atomic.replacement(path) as temporary:
            temporary.write_text(plot.drawn(rows), encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{path} cannot be written ({error.strerror}): name another file with --plot") from None
