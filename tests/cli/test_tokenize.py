"""`bankml tokenize`."""


def test_ids_and_pieces(here, minilm, encoder):
    ids = [encoder.tokenize("the sky"), encoder.tokenize("")]
    plain = here("tokenize", "--model", str(minilm), "the sky", "")
    assert plain.out.decode() == "".join(" ".join(map(str, row)) + "\n" for row in ids)
    as_json = here("tokenize", "--model", str(minilm), "--json", "the sky")
    assert as_json.out.lines == [{"text": "the sky", "ids": ids[0], "pieces": ["[CLS]", "▁the", "▁sky", "[SEP]"]}]
