"""What a repository holds, and which of its files is meant."""

import json

import pytest

from bankml.errors import ModelError
from bankml.models import repository
from bankml.models.hub import Hub
from bankml.models.hub_name import HubName
from tests.hub import COMMIT


def listed(text: str) -> repository.Repository:
    return repository.read(Hub(), HubName.parse(text))


def test_a_listing(hub) -> None:
    hub.add("o/r", {"README.md": b"#", "b.gguf": b"bb", "a/a.gguf": b"a"}, licence="apache-2.0")
    found = listed("hf:o/r")
    assert (found.commit, found.licence) == (COMMIT, "apache-2.0")
    assert [(file.path, file.size, len(file.sha256)) for file in found.files] == [
        ("README.md", 1, 0),
        ("a/a.gguf", 1, 64),
        ("b.gguf", 2, 64),
    ]
    assert [request.path for request in hub.requests] == ["/api/models/o/r/revision/main?blobs=true"]


def test_one_gguf_file_is_taken_and_so_is_one_f16_of_many(hub) -> None:
    hub.add("o/one", {"README.md": b"#", "m-q4.gguf": b"4"})
    hub.add("o/many", {"m-q4.gguf": b"4", "m-FP16.gguf": b"16", "m-q8.gguf": b"8"})
    assert listed("hf:o/one").pick().path == "m-q4.gguf"
    assert listed("hf:o/many").pick().path == "m-FP16.gguf"
    assert listed("hf:o/many/m-q8.gguf").pick().path == "m-q8.gguf"


def test_several_are_listed_with_their_sizes(hub) -> None:
    hub.add("o/r", {"q4.gguf": bytes(1_500_000), "q8.gguf": b"88", "README.md": b"#"})
    with pytest.raises(ModelError) as error:
        listed("hf:o/r@main").pick()
    assert str(error.value) == (
        "hf:o/r@main has 2 GGUF files: name one, as in `bankml pull hf:o/r/q4.gguf@main`; "
        "they are q4.gguf (2 MB), q8.gguf (2 bytes)"
    )


def test_none_says_what_there_is_and_what_makes_one(hub) -> None:
    hub.add("o/r", {"model.onnx": bytes(9), "config.json": b"{}"})
    with pytest.raises(ModelError) as error:
        listed("hf:o/r").pick()
    assert str(error.value) == (
        "hf:o/r has no GGUF file and no model.safetensors to make one of, only config.json (2 bytes), model.onnx "
        "(9 bytes): name another repository"
    )


def test_weights_in_a_pickle_are_refused_with_what_would_do(hub) -> None:
    hub.add("o/r", {"pytorch_model.bin": bytes(9), "config.json": b"{}"})
    with pytest.raises(
        ModelError, match=r"in pytorch_model\.bin alone, and a pickle may run .*: name another repository"
    ):
        listed("hf:o/r").pick()


def test_a_file_that_is_not_there_is_answered_with_those_that_are(hub) -> None:
    hub.add("o/r", {f"{index:02}.bin": b"" for index in range(20)} | {"q8.gguf": b"88"})
    with pytest.raises(ModelError, match=r"hf:o/r has no file none\.gguf: it has q8\.gguf \(2 bytes\), .*, 9 more$"):
        listed("hf:o/r/none.gguf").pick()


GOOD = {"rfilename": "a.gguf", "size": 1, "blobId": "b" * 40}


@pytest.mark.parametrize(
    "page",
    [b"<html>", b"", b"[]", b"{}", b"[" * 100_000, {"sha": "main", "siblings": []}, {"sha": COMMIT, "siblings": [1]}],
)
def test_what_no_hub_says(hub, page: bytes | dict) -> None:
    hub.page = page if isinstance(page, bytes) else json.dumps(page).encode()
    with pytest.raises(ModelError, match="does not answer as a hub does: check HF_ENDPOINT"):
        listed("hf:o/r")


def test_a_listing_without_end(hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository, "MAX_LISTING", 1000)
    hub.page = json.dumps({"sha": COMMIT, "siblings": [GOOD]}).encode() + b" " * 1000
    with pytest.raises(ModelError, match="does not answer as a hub does"):
        listed("hf:o/r")


@pytest.mark.parametrize(
    "wrong",
    [
        {"size": None}, {"size": -1}, {"blobId": None}, {"blobId": "../../x"}, {"rfilename": "../a.gguf"},
        {"rfilename": "/a.gguf"}, {"rfilename": "a\x1b[2J.gguf"}, {"lfs": {"sha256": "../x", "size": 1}},
    ],
)  # fmt: skip
def test_a_file_of_a_kind_that_could_do_harm_is_none(hub, wrong: dict) -> None:
    hub.page = json.dumps({"sha": COMMIT, "siblings": [GOOD | wrong]}).encode()
    with pytest.raises(ModelError, match="has no GGUF file") as error:
        listed("hf:o/r").pick()
    assert "\x1b" not in str(error.value)


@pytest.mark.parametrize(
    ("files", "taken"),
    [
        ([], None),
        (["m-Q4_0.gguf"], "m-Q4_0.gguf"),
        (["m-FP16.gguf", "m-Q8_0.gguf"], "m-FP16.gguf"),
        (["a/m.f16.gguf", "a/m.bf16.gguf", "a/m.f32.gguf"], "a/m.f16.gguf"),
        (["F16/a.gguf", "F16/b.gguf"], None),
        (["a-f16.gguf", "b-f16.gguf"], None),
        (["a-q8_0.gguf", "a-q4_0.gguf"], None),
    ],
)
def test_which_file_a_repositorys_name_means(files: list[str], taken: str | None) -> None:
    assert repository.preferred(files) == taken
