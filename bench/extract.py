"""How fast each kind of file becomes text, in CPU time: `python -m bench.extract [MEGABYTES]`."""

import sys
from time import process_time

from bankml.documents.extract import extract

PROSE = "The quick brown fox jumps over the lazy dog, and then it rests a while.\n"
UNITS = {
    "txt": PROSE * 5 + "\n",
    "md": "# Heading\n\n" + PROSE * 5 + "\n- one\n- two\n\n",
    "html": f"<h2>Heading</h2>\n<p>{PROSE * 5}</p><ul><li>a<li>b</ul><table><tr><td>1<td>2</table>\n",
    "py": "def f(a):\n    return a + 1\n\n\n",
    "c": "int f(int a)\n{\n  return a + 1;\n}\n\n",
    "jsonl": f'{{"text": "{PROSE.strip()}", "n": 1}}\n',
    "csv": f'1,word,"{PROSE.strip()}"\n',
    "json": f'{{"text": "{PROSE.strip()}", "n": [1, 2, 3]}},\n',
}


def content(suffix: str, size: int) -> bytes:
    """About `size` bytes of this kind."""
    text = UNITS[suffix] * (size // len(UNITS[suffix]) + 1)
    return {"json": f"[{text.rstrip()[:-1]}]", "csv": f"number,kind,text\n{text}"}.get(suffix, text).encode()


def main() -> None:
    """A line for each kind."""
    size = int(float(sys.argv[1]) * 1e6) if len(sys.argv) > 1 else 20_000_000
    for suffix in UNITS:
        whole = content(suffix, size)
        before = process_time()
        found = extract(f"a.{suffix}", whole)
        seconds = process_time() - before
        megabytes = len(whole) / 1e6
        print(f"{suffix:6} {megabytes:6.1f} MB {seconds:7.2f} s {megabytes / seconds:6.1f} MB/s {len(found.blocks):9,}")


if __name__ == "__main__":
    main()
