# SPDX-License-Identifier: MIT
"""Draws charts as SVG: horizontal bars, and rows of dots on a logarithmic axis.

Each picture has a <title>, a <desc>, and a ground of its own; it is light or dark as the reader's system
is. Each bar and dot has a <title> with what it stands for, "mimalloc 4.92", which browsers show.
"""
import math
from xml.sax.saxutils import escape

WIDTH, LABEL, RIGHT, TOP, ROW, FONT = 760, 190, 92, 46, 24, 13  # pixels
BAR, RADIUS = 16, 5
LEGEND = 22  # height of a line of it
TICKS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)
FINE_TICKS = (0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.3, 1.5, 1.75, 2)  # of an axis that ends within
STYLE = """
text { font: %(font)dpx system-ui, sans-serif; fill: #24292f; } .ground { fill: #ffffff; }
.axis { stroke: #d0d7de; } .one { stroke: #6e7781; } .small { fill: #59636e; font-size: 11px; }
.head { font-weight: bold; font-size: 15px; }
.uslab { fill: #d04a00; stroke: #d04a00; } rect.uslab { stroke: none; } .ring { fill: none; stroke-width: 2.5px; }
 .peer { fill: #4f7cac; } .system { fill: #8c959f; } .floor { fill: #d0d7de; }
%(light)s
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3; } .ground { fill: #0d1117; } .axis { stroke: #30363d; } .one { stroke: #9198a1; }
.small { fill: #9198a1; }
.uslab { fill: #ff7a38; stroke: #ff7a38; } .peer { fill: #6f9fd8; } .system { fill: #9198a1; } .floor { fill: #3d444d; }
%(dark)s
}
""".strip()
# Of series in rows of dots, (light, dark) in the order of the peers; uslab and glibc have their own.
COLORS = (("#1f6feb", "#58a6ff"), ("#8250df", "#bc8cff"), ("#1a7f37", "#3fb950"), ("#bf3989", "#f778ba"),
          ("#9a6700", "#d29922"), ("#0a7d8c", "#39c5cf"), ("#57606a", "#b1bac4"), ("#a40e26", "#ff8182"))
SHAPES = (  # drawn around (0, 0), told apart without colours
    f'<circle r="{RADIUS - 1}"/>', '<path d="M-4 -4h8v8h-8z"/>', '<path d="M0 -5.5 5 4h-10z"/>',
    '<path d="M0 -5.5 5.5 0 0 5.5 -5.5 0z"/>', '<path d="M0 5.5 5 -4h-10z"/>')
SHAPES_USLAB = (f'<circle r="{RADIUS + 1.5}"/>', f'<circle class="ring" r="{RADIUS}"/>')


def number(value):
    """With three digits, as it is said in a picture."""
    return f"{value:.{max(0, 2 - math.floor(math.log10(value)))}f}" if value < 100 else f"{value:.0f}"


def text(x, y, words, anchor="start", css=""):
    css = f' class="{css}"' if css else ""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{css}>{escape(words)}</text>'


def picture(title, description, height, body):
    css = {"font": FONT}
    for scheme, index in (("light", 0), ("dark", 1)):
        css[scheme] = " ".join(f".c{n} {{ fill: {pair[index]}; }}" for n, pair in enumerate(COLORS))
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height:g}" '
        f'viewBox="0 0 {WIDTH} {height:g}" role="img" aria-labelledby="title desc">',
        f'<title id="title">{escape(title)}</title>', f'<desc id="desc">{escape(description)}</desc>',
        f"<style>{STYLE % css}</style>", f'<rect class="ground" width="{WIDTH}" height="{height:g}" rx="6"/>',
        text(16, 26, title, css="head"), *body, "</svg>"]) + "\n"


def bars(title, description, rows):
    """rows: (label, value, role, what stands behind the bar); the axis begins at 0."""
    most, width = max(value for _, value, _, _ in rows), WIDTH - LABEL - RIGHT - 40
    body = []
    for n, (label, value, role, note) in enumerate(rows):
        y, length = TOP + n * ROW, width * value / most
        body += [text(LABEL - 8, y + 13, label, "end"),
                 f'<rect class="{role}" x="{LABEL}" y="{y}" width="{length:.1f}" height="{BAR}" rx="2">'
                 f"<title>{escape(label)} {number(value)}</title></rect>",
                 text(LABEL + length + 6, y + 13, note)]
    return picture(title, description, TOP + len(rows) * ROW + 12, body)


def css_of(series):
    """{name: (class, shape)} of [(name, role)]; of uslab the last one is filled."""
    found, peers, ours = {}, 0, [name for name, role in series if role == "uslab"]
    for name, role in series:
        if role == "peer":
            found[name] = (f"c{peers % len(COLORS)}", SHAPES[peers % len(SHAPES)])
            peers += 1
        else:
            found[name] = (role, SHAPES_USLAB[name != ours[-1]] if role == "uslab" else SHAPES[0])
    return found


def legend(series, looks, y):
    """As many lines as it takes; -> (elements, height)."""
    out, x, line = [], LABEL, 0
    for name, _ in series:
        width = 26 + 8 * len(name)
        if x + width > WIDTH - 10:
            x, line = LABEL, line + 1
        css, shape = looks[name]
        at = y + line * LEGEND
        out += [f'<g class="{css}" transform="translate({x} {at - 4})">{shape}</g>', text(x + 11, at, name)]
        x += width
    return out, (line + 1) * LEGEND


def span(values):
    """(the ticks of an axis that has all these, and 1)"""
    low, high = min(*values, 0.95), max(*values, 1.05)
    ticks = FINE_TICKS if FINE_TICKS[0] <= low and high <= FINE_TICKS[-1] else TICKS
    first = max((n for n, tick in enumerate(ticks) if tick <= low), default=0)
    last = min((n for n, tick in enumerate(ticks) if tick >= high), default=len(ticks) - 1)
    return min(low, ticks[first]), max(high, ticks[last]), ticks[first:last + 1]


def axis(ticks, top, bottom, place):
    out = []
    for tick in ticks:
        x = place(tick)
        out += [f'<line class="{"one" if tick == 1 else "axis"}" x1="{x:.1f}" y1="{top}" x2="{x:.1f}" '
                f'y2="{bottom}"/>', text(x, bottom + 15, f"{tick:g}", "middle", "small")]
    return out


def dots(title, description, series, rows):
    """series: (name, role), uslab's drawn last; rows: (label, {name: ratio}); a line stands at 1."""
    low, high, ticks = span([value for _, row in rows for value in row.values()])
    width = WIDTH - LABEL - 40
    place = lambda value: LABEL + width * math.log(value / low) / math.log(high / low)
    looks = css_of(series)
    key, height = legend(series, looks, TOP + 6)
    top = TOP + height
    bottom = top + len(rows) * ROW
    body = key + axis(ticks, top - 6, bottom, place)
    for n, (label, row) in enumerate(rows):
        y = top + n * ROW + 10
        body.append(text(LABEL - 12, y + 4, label, "end"))
        for name, role in sorted(series, key=lambda entry: entry[1] == "uslab"):
            if name in row:
                css, shape = looks[name]
                body.append(f'<g class="{css}" transform="translate({place(row[name]):.1f} {y})">{shape}'
                            f"<title>{escape(label)}: {escape(name)} {number(row[name])}</title></g>")
    return picture(title, description, bottom + 26, body)
