import json

import pytest

from bankml.documents.extract import extract
from tests.documents.soundness import assert_sound, shown


def test_cells_are_read_without_what_came_out_of_them():
    cells = [
        {"cell_type": "markdown", "source": ["# My *study*\n", "\n", "Words.\n"]},
        {"cell_type": "code", "source": "x = 1\n", "outputs": [{"data": {"image/png": "iVBORw0KGgo"}}]},
        {"cell_type": "raw", "source": ["raw"]},
        {"cell_type": "code", "source": None},
        "no cell",
    ]
    extracted = extract("a.ipynb", json.dumps({"cells": cells, "nbformat": 4}).encode())
    assert_sound(extracted)
    assert (extracted.type, extracted.title) == ("notebook", "My *study")
    assert [(kind, level, words) for kind, level, _, words in shown(extracted)] == [
        ("heading", 1, "# My *study*"),
        ("paragraph", 0, "Words."),
        ("code", 0, "x = 1"),
        ("paragraph", 0, "raw"),
    ]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"cells": 1}', '"' * 3])
def test_what_is_no_notebook_is_read_all_the_same(text):
    assert_sound(extract("a.ipynb", text.encode()))
