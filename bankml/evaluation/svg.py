"""A picture in SVG: lines, areas, dots and words, in colours that are readable on white and on black."""

from collections.abc import Sequence
from xml.sax.saxutils import escape

GREY = "#7d8590"

Point = tuple[float, float]  # pixels from the upper left


class Picture:
    """Elements in their order; the same calls give the same bytes."""

    def __init__(self, width: int, height: int) -> None:
        self._size = width, height
        self._elements: list[str] = []

    def line(self, points: Sequence[Point], colour: str = GREY, width: float = 1.5, dashes: str = "") -> None:
        """Through all the points."""
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        shape = f'<polyline points="{_listed(points)}" fill="none" stroke="{colour}" stroke-width="{width}"{dashed}/>'
        self._elements.append(shape)

    def area(self, points: Sequence[Point], colour: str) -> None:
        """Within all the points, faint."""
        self._elements.append(f'<polygon points="{_listed(points)}" fill="{colour}" fill-opacity="0.18"/>')

    def dot(self, at: Point, colour: str, radius: float = 3) -> None:
        """A filled circle."""
        self._elements.append(f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="{radius}" fill="{colour}"/>')

    def words(self, at: Point, text: str, anchor: str = "start", colour: str = GREY, size: int = 11) -> None:
        """A line of text; `at` is its start, middle or end."""
        place = f'x="{at[0]:.1f}" y="{at[1]:.1f}" text-anchor="{anchor}" fill="{colour}" font-size="{size}"'
        self._elements.append(f"<text {place}>{escape(text)}</text>")

    def __str__(self) -> str:
        """The file."""
        width, height = self._size
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">'
        return "\n".join([head, *self._elements, "</svg>", ""])


def _listed(points: Sequence[Point]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
