"""`bankml embed`."""

from bankml.cli.model import load
from bankml.cli.output import AsJson, Model, write_json
from bankml.cli.texts import Texts, batches


def embed(texts: Texts = None, model: Model = None, json: AsJson = False) -> None:
    """Print a JSON line per text: its unit vector, its token count and whether it was cut at the model's length."""
    # `json` is there because every command takes --json (errors are JSON then, see app.run); lines are JSON anyway.
    with load(model) as encoder:
        for batch in batches(texts):
            encoded = encoder.encode_full(batch)
            rows = zip(batch, encoded.vectors, encoded.tokens.tolist(), encoded.truncated.tolist(), strict=True)
            for text, vector, tokens, truncated in rows:
                write_json({"text": text, "embedding": vector, "tokens": tokens, "truncated": truncated})
