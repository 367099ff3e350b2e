"""SVG pictures of the documentation, from simple parts."""
import math
import pathlib
from xml.sax.saxutils import escape

HERE = pathlib.Path(__file__).resolve().parent
COLOURS = ["#2f6f9f", "#d9822b", "#4c9f70", "#9b5094"]
PALE = "#e8edf1"
INK = "#22303c"


class Picture:
    """An SVG of 640 by `height`, from the top left."""

    def __init__(self, title, height):
        self.height = height
        self.parts = [f'<title>{escape(title)}</title>',
                      f'<rect width="640" height="{height}" fill="#ffffff"/>']

    def rectangle(self, x, y, width, height, fill, stroke="none"):
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" '
                          f'fill="{fill}" stroke="{stroke}"/>')

    def line(self, x1, y1, x2, y2, colour=INK, dashed=False, width=1):
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
                          f'stroke="{colour}" stroke-width="{width}"{dash}/>')

    def circle(self, x, y, radius, fill):
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius}" fill="{fill}"/>')

    def text(self, x, y, words, anchor="start", size=13, colour=INK):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" '
                          f'fill="{colour}">{escape(words)}</text>')

    def arrow(self, x1, y1, x2, y2, colour=INK, width=2):
        """A line with its head at (x2, y2)."""
        length = math.hypot(x2 - x1, y2 - y1)
        along = ((x2 - x1) / length, (y2 - y1) / length)
        foot = (x2 - 10 * along[0], y2 - 10 * along[1])
        self.line(x1, y1, *foot, colour, width=width)
        corners = [(x2, y2), (foot[0] - 5 * along[1], foot[1] + 5 * along[0]),
                   (foot[0] + 5 * along[1], foot[1] - 5 * along[0])]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
        self.parts.append(f'<polygon points="{points}" fill="{colour}"/>')

    def save(self, name):
        body = "\n".join(self.parts)
        (HERE / name).write_text(
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 {self.height}" '
            f'font-family="sans-serif">\n{body}\n</svg>\n')
