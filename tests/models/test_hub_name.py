import pytest

from bankml.errors import InputError
from bankml.models.hub_name import HubName, preferred


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("hf:owner/repo", HubName("owner", "repo")),
        ("hf:o-w_n.3/re.po-1/file.gguf", HubName("o-w_n.3", "re.po-1", "file.gguf")),
        ("hf:o/r/a/b c/file.GGUF", HubName("o", "r", "a/b c/file.GGUF")),
        ("hf:o/r@v1.0", HubName("o", "r", "", "v1.0")),
        ("hf:o/r/f.gguf@refs/pr/1", HubName("o", "r", "f.gguf", "refs/pr/1")),
        ("hf:o/r/a@b.gguf", HubName("o", "r", "a@b.gguf")),
    ],
)
def test_a_name_has_its_parts_and_its_own_place(text: str, name: HubName) -> None:
    assert HubName.parse(text) == name
    assert str(name) == text
    if name.file:
        assert HubName.of_path(name.path_parts) == name


@pytest.mark.parametrize(
    "text",
    [
        "hf:", "hf:owner", "hf:owner/", "hf:/repo", "hf:o/r/", "hf:o/r/file.bin", "hf:o/r/../x.gguf", "hf:o/../x.gguf",
        "hf:../r/x.gguf", "hf:o/r//x.gguf", "hf:o/r/./x.gguf", "hf:o/r/a\\b.gguf", "hf:o/r/a\0.gguf", "hf:o/r/a\n.gguf",
        "hf:o/r@", "hf:o/r@../x", "hf:o/r@-x", "hf:o/r@a b", "hf:-o/r", "hf:o/r.git", "hf:o/r--s", "hf:o/r..s",
        "hf:o/r@a/../b", "hf:o/" + "r" * 97, "hf:o/r/" + "f" * 200 + ".gguf", "hf:é/r", "hf:o/r/\ud800.gguf", "HF:o",
        "hf:o/r/" + "d/" * 500 + "f.gguf", "o/r", "",
    ],
)  # fmt: skip
def test_what_is_no_name_or_could_lead_elsewhere(text: str) -> None:
    with pytest.raises(InputError, match="is not a name on a hub"):
        HubName.parse(text)


def test_two_revisions_of_a_file_have_two_places() -> None:
    names = ["hf:o/r/f.gguf", "hf:o/r/f.gguf@a", "hf:o/r/f.gguf@a/b", "hf:o/r/f.gguf@a.b", "hf:o/r/a/f.gguf"]
    assert len({HubName.parse(name).path_parts for name in names}) == len(names)


@pytest.mark.parametrize(
    "parts", [(), ("o", "r"), ("o", "r", "f.bin"), ("o", "r@%41", "f.gguf"), ("..", "r", "f.gguf")]
)
def test_a_path_that_is_nobodys(parts: tuple[str, ...]) -> None:
    assert HubName.of_path(parts) is None


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
    assert preferred(files) == taken
