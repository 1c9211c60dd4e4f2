"""One line that says which arms ranked, how much of the history they know, and why one is missing."""


def status(
    shown: str, total: int, words: str, meaning: str | None, embedded: int, without: str, notes: list[str]
) -> str:
    """`3 of 3 exchanges · BM25 (built in) + bge-m3 (meaning, 3 of 3 embedded), fused by reciprocal rank`.

    `shown`: how many of them. `meaning`: the model that ranked; None: words alone did, and `without` is why. `notes`
    follow, each behind a `·`.
    """
    arms = f"{words} alone: {without}"
    if meaning:
        arms = f"{words} + {meaning} (meaning, {embedded:,} of {total:,} embedded), fused by reciprocal rank"
    return " · ".join([f"{shown} of {total:,} exchanges", arms, *notes])


def latest(shown: int, total: int, meaning: str | None, embedded: int, without: str, notes: list[str]) -> str:
    """As `status`, of exchanges that nobody ranked."""
    ready = f"{embedded:,} of {total:,} embedded with {meaning}" if meaning else f"words alone: {without}"
    return " · ".join([f"the latest {shown:,} of {total:,} exchanges", ready, *notes])


def left_out(lines: int) -> str:
    """What became of bad lines."""
    return f"{lines:,} {'line that is' if lines == 1 else 'lines that are'} no exchange left out"
