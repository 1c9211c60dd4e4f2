"""What GGUF's numbers mean."""

from typing import Literal, get_args

Pooling = Literal["none", "mean", "cls", "last"]
POOLINGS: tuple[Pooling, ...] = get_args(Pooling)  # by {architecture}.pooling_type

# By tokenizer.ggml.token_type
NORMAL, UNKNOWN, CONTROL, UNUSED = 1, 2, 3, 5

# general.file_type → the name of most matrices' type, as Ollama shows it
FILE_TYPES = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    7: "Q8_0",
    8: "Q5_0",
    9: "Q5_1",
    10: "Q2_K",
    11: "Q3_K_S",
    12: "Q3_K_M",
    13: "Q3_K_L",
    14: "Q4_K_S",
    15: "Q4_K_M",
    16: "Q5_K_S",
    17: "Q5_K_M",
    18: "Q6_K",
    25: "IQ4_NL",
    32: "BF16",
}


def file_type(matrices: str) -> int:
    """general.file_type of a file whose matrices all have the type `matrices`, by ggml's name; "…_S" has no others."""
    return next(number for number, name in FILE_TYPES.items() if name in (matrices, f"{matrices}_S"))
