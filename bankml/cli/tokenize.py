"""`bankml tokenize`."""

from bankml.cli.model import load
from bankml.cli.output import AsJson, Model, write_json
from bankml.cli.texts import Texts, batches


def tokenize(texts: Texts = None, model: Model = None, json: AsJson = False) -> None:
    """Print the token ids of each text, special tokens included; with --json also the pieces."""
    with load(model) as encoder:
        for batch in batches(texts):
            for text in batch:
                ids = encoder.tokenize(text)
                if json:
                    pieces = [encoder.piece(token).decode("utf-8", "replace") for token in ids]
                    write_json({"text": text, "ids": ids, "pieces": pieces})
                else:
                    print(*ids)
