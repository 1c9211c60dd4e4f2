"""`bankml embed`."""

from typing import Annotated

import typer

from bankml.cli.model import load
from bankml.cli.output import AsJson, Model, counted, write_json
from bankml.cli.texts import Texts, batches

FIELDS = ("text", "embedding", "tokens", "truncated")


def embed(
    texts: Texts = None,
    model: Model = None,
    dimensions: Annotated[int | None, typer.Option(min=1, help="Keep the first N numbers of each vector.")] = None,
    normalize: Annotated[bool, typer.Option(help="Give vectors unit length.")] = True,
    json: AsJson = False,
) -> None:
    """Print a JSON line per text: its unit vector, its token count and whether it was cut at the model's length."""
    # `json` is there because every command takes --json (errors are JSON then, see app.run); lines are JSON anyway.
    with load(model) as encoder, counted("texts") as count:
        for batch in batches(texts):
            encoded = encoder.encode_full(batch, normalize, dimensions=dimensions)
            rows = zip(batch, encoded.vectors, encoded.tokens.tolist(), encoded.truncated.tolist(), strict=True)
            write_json(*(dict(zip(FIELDS, row, strict=True)) for row in rows))
            count(len(batch))
