# SPDX-License-Identifier: MIT
"""Figures, ratios, verdicts and tables of docs/results.md, for scripts/results.

Ratios are of figures as they are shown, so that whoever reads the page can check them.
"""
import re

COLUMNS = 100
VERDICTS = ("holds", "weaker", "stronger", "differs", "not measured")


def number(value, digits=0):
    return "-" if value is None else f"{value:.{digits}f}"


def cycles(value):
    return number(value, 0 if value is not None and value >= 100 else 1)


def seconds(value):
    return number(value, 2 if value is not None and value >= 1 else 4)


def digits_of(ratio):
    """Three that mean something, for ratios far below 1; else hundredths."""
    return 2 if ratio >= 0.1 else 4


def quotient(a, b):
    """'a / b = c' of two figures as they are shown, and c; or a dash and None."""
    if "-" in (a, b) or float(b) == 0:
        return "-", None
    ratio = float(a) / float(b)
    return f"{a} / {b} = {ratio:.{digits_of(ratio)}f}", ratio


def is_about_one(ratio):
    """1.10 is: 1.1 - 1 would be a little more than 0.1."""
    return 0.9 <= ratio <= 1.1


def times(published, ours):
    """How a ratio of times that was published compares with ours."""
    if ours is not None and is_about_one(published):
        return "holds" if is_about_one(ours) else "differs"
    return amounts(published, ours)


def amounts(published, ours):
    """The same for bytes, of which a few percent are the matter."""
    if ours is None:
        return "not measured"
    if published < 1:
        published, ours = 1 / published, 1 / max(ours, 1e-9)
    return grade((ours - 1) / (published - 1))


def grade(strength):
    """Of a difference, relative to the one that was published."""
    if strength <= 0:
        return "differs"
    return "weaker" if strength < 0.5 else "holds" if strength <= 2 else "stronger"


def table(head, rows):
    """Markdown; all but the first column to the right."""
    rows = [list(map(str, row)) for row in rows]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]

    def line(cells):
        first = cells[0].ljust(widths[0])
        return f"| {' | '.join([first, *(c.rjust(w) for c, w in zip(cells[1:], widths[1:]))])} |"

    rule = [":" + "-" * (widths[0] - 1), *("-" * (w - 1) + ":" for w in widths[1:])]
    return "\n".join([line(head), line(rule), *map(line, rows)])


def wrap(block):
    """A block of prose or a list on lines of at most COLUMNS; tables, headings and comments stay.
    Text in backquotes and a quotient with its parts are not broken."""
    if block.startswith(("|", "#", "<!--")):
        return block
    lines = []
    for paragraph in block.split("\n"):
        margin = "  " if paragraph.startswith("- ") else ""
        line, *words = re.findall(r"(?:`[^`]*`|[\d.]+ / [\d.]+ = [\d.]+|\S)+", paragraph)
        for word in words:
            if len(line) + 1 + len(word) > COLUMNS:
                lines.append(line)
                line = margin + word
            else:
                line += " " + word
        lines.append(line)
    return "\n".join(lines)



class Section:
    """One table that was published, ours, and the ratios."""

    def __init__(self, title, source, intro):
        self.title = title
        self.blocks = [f"Source: {source}.", intro]
        self.verdicts = []  # (what, verdict)

    def add(self, *blocks):
        self.blocks += [block for block in blocks if block]

    def when(self, condition, text):
        if condition:
            self.blocks.append(text)

    def judge(self, what, verdict):
        self.verdicts.append((what, verdict))
        return verdict

    def ratios(self, rows, judge=times):
        """rows: (what, published a, b, ours a, b), figures as they are shown."""
        cells = []
        for what, a, b, our_a, our_b in rows:
            published, ratio = quotient(a, b)
            ours, our_ratio = quotient(our_a, our_b)
            cells.append((what, published, ours, self.judge(what, judge(ratio, our_ratio))))
        self.add(table(["ratio", "published", "here", ""], cells))

    def count(self, verdict):
        return sum(1 for _, v in self.verdicts if v == verdict)

    def text(self, place):
        return "\n\n".join([f"## {place}. {self.title}", *self.blocks])
