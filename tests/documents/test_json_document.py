import subprocess
import sys
from contextlib import nullcontext

import pytest

from bankml.documents.extract import extract
from bankml.errors import DocumentError
from tests.documents.soundness import assert_sound, shown

TEXT = r"""{"name": "x\u00e9\ud800", "tags": ["a", "b"],
 "server": {"port": 8080, "tls": {"on": true}},
 "users": [{"n": "A", "age": 3},
  {"n": "B", "of": {"y": 1.50}}], "none": null}"""


def read(text, name="a.json"):
    extracted = extract(name, text.encode())
    assert_sound(extracted)
    return extracted


def test_values_stand_under_their_keys_with_their_lines():
    assert shown(read(TEXT)) == [
        ("row", 0, 1, "name: xé\ufffd\ntags: a, b"),
        ("heading", 1, 2, "server"),
        ("row", 0, 2, "port: 8080"),
        ("heading", 2, 2, "tls"),
        ("row", 0, 2, "on: true"),
        ("heading", 1, 3, "users"),
        ("row", 0, 3, "n: A\nage: 3"),
        ("heading", 2, 4, "users[1]"),
        ("row", 0, 4, "n: B"),
        ("heading", 3, 4, "of"),
        ("row", 0, 4, "y: 1.50"),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [("3", "3"), ('"a\\nb"', "a\nb"), ("[1,[2,3],{}]", "1\n2, 3"), ('[{"a":NaN}]', "a: NaN"), ("[]", ""), 
     ("[[[[[0]]]]]", "[0]\n\n[0]\n\n[0]\n\n0"),
     ('{"a":1,"a":2}', "a: 1\na: 2"), ('{"":{"b":1}}', "-\n\nb: 1")],
)  # fmt: skip
def test_roots_and_corners(text, words):
    extracted = read(text)
    assert extracted.type == "json"
    assert extracted.text == words


@pytest.mark.parametrize(
    "text", ["{", "[" * 100_000 + "]" * 100_000, '{"a":' * 100_000 + "1" + "}" * 100_000, "{a: 1}", "1" * 5000 + "x"]
)
def test_what_is_no_json_is_text_with_a_note(text):
    extracted = read(text)
    assert (extracted.type, extracted.text) == ("text", text)
    assert extracted.notes[0].startswith("no JSON (")


def test_deep_ones_are_as_long_as_they_are():
    assert len(read("[" * 900 + '{"key": "x"}' + "]" * 900).text) < 10_000
    assert len(read('{"some key": 1, "b": ' * 900 + "1" + "}" * 900).text) < 30_000


PEAK = """
import sys
from bankml.documents import extract
from bankml.errors import DocumentError
unit, times = sys.argv[1], int(sys.argv[2])
try:
    extract("a.json", f"[{','.join([unit] * times)}]".encode())
except DocumentError as error:
    print(error)
else:
    print("read")
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""


@pytest.mark.parametrize(
    ("unit", "times", "said"),
    [("1", 7_000_000, "has more than 1,000,000 values"), ("{}", 5_000_000, "has more than 1,000,000 values"),
     ("1", 999_000, "read")],
)  # fmt: skip
def test_however_many_values_there_are_the_memory_is_bounded(unit, times, said):
    command = [sys.executable, "-c", PEAK, unit, str(times)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    answer, peak = done.stdout.splitlines()
    assert answer.startswith(said)
    assert int(peak) << 10 < 500 << 20


@pytest.mark.parametrize("text", ['"' + '\\"' * 200_000, '"' + "\\", "[" * 200 + '"' + "a,[" * 100_000])
def test_what_begins_a_value_is_counted_in_linear_time(monkeypatch, text):
    monkeypatch.setattr("bankml.documents.json_tree.VALUES", 100)
    with pytest.raises(DocumentError) if text.startswith("[") else nullcontext():
        read(text)


def test_commas_in_a_text_are_no_values(monkeypatch):
    monkeypatch.setattr("bankml.documents.json_tree.VALUES", 3)
    assert read('["a,b,c,d\\",e,f", 2]').text == 'a,b,c,d",e,f\n2'


def test_lines_of_json_under_the_name_of_json():
    assert read('{"a": 1}\n{"a": 2}\n').type == "jsonl"
