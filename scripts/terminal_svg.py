# SPDX-License-Identifier: MIT
"""Draws a terminal's screen, as `tmux capture-pane -e -p` prints it, as an SVG.

Each run of characters that look alike is a <text> of its own, at its own column and stretched to its
width, so that columns meet whatever monospaced font the reader has. The ground is opaque: the picture
looks the same on a light and on a dark page.
"""
import re
from xml.sax.saxutils import escape

CELL, LINE, FONT, MARGIN, BAR = 8.4, 19, 14, 16, 30  # pixels
GROUND, TEXT, DIM = "#16191f", "#e4e7eb", "#949ca6"
BASIC = ("#40454d", "#ff7a70", "#6fd08c", "#f0c060", "#75b6ff", "#d99cf5", "#5fd0d8", "#d5d9de",
         "#7d858f", "#ff9d96", "#97e3ad", "#ffd98a", "#a3ceff", "#e9c3fb", "#93e4ea", "#ffffff")
SGR = re.compile(r"\x1b\[([\d;]*)m")


class Style:
    """What the last escape sequences say of the characters that follow."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.ink, self.paper, self.bold, self.dim, self.reverse = None, None, False, False, False

    def apply(self, numbers):
        numbers = [int(n or 0) for n in numbers.split(";")]
        while numbers:
            n = numbers.pop(0)
            if n == 0:
                self.reset()
            elif n in (1, 2, 7):
                setattr(self, {1: "bold", 2: "dim", 7: "reverse"}[n], True)
            elif n == 22:
                self.bold = self.dim = False
            elif n == 27:
                self.reverse = False
            elif n in (38, 48):
                setattr(self, "ink" if n == 38 else "paper", long_color(numbers))
            elif n in (39, 49):
                setattr(self, "ink" if n == 39 else "paper", None)
            elif 30 <= n <= 37 or 90 <= n <= 97:
                self.ink = BASIC[n - 30 if n < 90 else n - 82]
            elif 40 <= n <= 47 or 100 <= n <= 107:
                self.paper = BASIC[n - 40 if n < 100 else n - 92]

    def key(self):
        """(ink, paper or None, bold)"""
        ink, paper = self.ink or (DIM if self.dim else TEXT), self.paper
        if self.reverse:
            ink, paper = paper or GROUND, ink
        return ink, paper, self.bold


def long_color(numbers):
    """Of 38 and 48: 5;N is one of 256, 2;R;G;B is what it says."""
    kind = numbers.pop(0) if numbers else 0
    if kind == 2 and len(numbers) >= 3:
        return "#%02x%02x%02x" % tuple(numbers.pop(0) & 255 for _ in range(3))
    if kind != 5 or not numbers:
        return None
    n = numbers.pop(0) & 255
    if n < 16:
        return BASIC[n]
    if n >= 232:
        return "#%02x%02x%02x" % ((8 + 10 * (n - 232),) * 3)
    steps = (0, 95, 135, 175, 215, 255)
    return "#%02x%02x%02x" % tuple(steps[(n - 16) // part % 6] for part in (36, 6, 1))


def cells(line, style):
    """[(character, look)] of a line; style goes on into the next line."""
    found, at = [], 0
    for match in SGR.finditer(line):
        found += [(c, style.key()) for c in line[at:match.start()]]
        style.apply(match.group(1))
        at = match.end()
    return found + [(c, style.key()) for c in line[at:]]


def runs(found):
    """(column, text, look) of neighbours that look alike; two blanks part columns, too."""
    start = 0
    for end in range(1, len(found) + 1):
        if end == len(found) or found[end][1] != found[start][1]:
            text, look = "".join(c for c, _ in found[start:end]), found[start][1]
            if look[1]:
                yield start, text, look
            else:
                for word in re.finditer(r"\S+(?: \S+)*", text):
                    yield start + word.start(), word.group(0), look
            start = end


def draw_line(found, y):
    out = []
    for column, text, (ink, paper, bold) in runs(found):
        x, width = MARGIN + column * CELL, len(text) * CELL
        if paper:
            out.append(f'<rect x="{x:g}" y="{y - 14:g}" width="{width:g}" height="{LINE}" fill="{paper}"/>')
        for word in re.finditer(r"\S+(?: \S+)*", text):
            out.append(f'<text x="{x + word.start() * CELL:g}" y="{y:g}" '
                       f'textLength="{len(word.group(0)) * CELL:g}"'
                       + (f' fill="{ink}"' if ink != TEXT else "")
                       + (' font-weight="bold"' if bold else "") + f">{escape(word.group(0))}</text>")
    return out


def draw(screen, title, columns):
    """The SVG of a captured screen, with a title bar like a terminal's."""
    lines = screen.rstrip("\n").split("\n")
    width = 2 * MARGIN + columns * CELL
    height = BAR + len(lines) * LINE + MARGIN
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
           f'viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(title)}">',
           f'<rect width="{width:g}" height="{height:g}" rx="8" fill="{GROUND}"/>',
           '<circle cx="18" cy="15" r="5" fill="#ff5f57"/><circle cx="34" cy="15" r="5" fill="#febc2e"/>'
           '<circle cx="50" cy="15" r="5" fill="#28c840"/>',
           f'<g font-family="ui-monospace, SFMono-Regular, Menlo, DejaVu Sans Mono, Consolas, monospace" '
           f'font-size="{FONT}" fill="{TEXT}">',
           f'<text x="{width / 2:g}" y="20" text-anchor="middle" fill="{DIM}">{escape(title)}</text>']
    style = Style()
    for number, line in enumerate(lines):
        out += draw_line(cells(line, style), BAR + 16 + number * LINE)
    return "\n".join([*out, "</g>", "</svg>"]) + "\n"
