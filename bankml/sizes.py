"""Numbers of bytes as people read them."""


def human(size: int) -> str:
    """1,158 MB, of 10^6 bytes each; below one, 2,960 bytes."""
    return f"{size / 1e6:,.0f} MB" if size >= 10**6 else f"{size:,} bytes"
