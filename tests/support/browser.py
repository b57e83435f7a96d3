# SPDX-License-Identifier: MIT
"""A page as a headless Chromium shows it: its DOM, its console and a picture, for tests."""
import html.parser
import json
import os
import shutil
import subprocess
import tempfile
import time
import zlib

CHROMIUM = shutil.which("chromium")
FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--disable-extensions", "--no-first-run", "--hide-scrollbars", "--enable-logging=stderr",
         "--v=0", "--force-device-scale-factor=1", "--host-resolver-rules=MAP * ~NOTFOUND"]
DARK, LIGHT = "--blink-settings=preferredColorScheme=0", "--blink-settings=preferredColorScheme=1"
SIZE = (800, 1900)
VOID = {"meta", "link", "br", "img", "input", "hr"}


class Element:
    """One element of a DOM; attributes are strings, text is that of all below it."""

    def __init__(self, tag, attributes):
        self.tag, self.attributes, self.children, self.own = tag, dict(attributes), [], []

    def __getitem__(self, name):
        return self.attributes.get(name)

    def text(self):
        return "".join(part if isinstance(part, str) else part.text() for part in self.own)

    def find(self, tag=None, **wanted):
        """All below it with that tag and those data- attributes (True: any)."""
        for child in self.children:
            if tag in (None, child.tag) and all(
                    (f"data-{key}" in child.attributes) if value is True
                    else child[f"data-{key}"] == value for key, value in wanted.items()):
                yield child
            yield from child.find(tag, **wanted)


class Dom(html.parser.HTMLParser):
    """The tree of what --dump-dom prints, which closes all that it opens."""

    def __init__(self, text):
        super().__init__()
        self.root = Element("", {})
        self.open = [self.root]
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        element = Element(tag, attrs)
        self.open[-1].children.append(element)
        self.open[-1].own.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag):
        if tag in [element.tag for element in self.open[1:]]:
            while self.open.pop().tag != tag:
                pass

    def handle_data(self, data):
        self.open[-1].own.append(data)


class View:
    """What a browser made of a page: its DOM, its console, and a picture if one was asked for."""

    def __init__(self, folder, path, *flags, picture=False):
        profile = tempfile.mkdtemp(dir=folder)
        self.picture = os.path.join(profile, "page.png") if picture else None
        command = [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", "--dump-dom",
                   f"--window-size={SIZE[0]},{SIZE[1]}", *(flags or (LIGHT,))]
        if picture:
            command.append(f"--screenshot={self.picture}")
        run = subprocess.run([*command, f"file://{path}"], capture_output=True, timeout=120,
                             env={**os.environ, "HOME": profile}, check=False)
        errors = run.stderr.decode(errors="replace")
        if run.returncode or b"<html" not in run.stdout:
            raise AssertionError(f"chromium: status {run.returncode}:\n{errors}")
        self.console = [line for line in errors.splitlines() if "CONSOLE" in line]
        self.dom = Dom(run.stdout.decode()).root
        self.html = next(self.dom.find("html"))

    def messages(self):
        return [p.text() for p in self.dom.find("p") if p["class"] == "error"
                and "switched off" not in p.text()]

    def seen(self):
        return json.loads(next(e for e in self.dom.find("pre") if e["id"] == "seen").text())


class Tab:
    """A page in a browser that goes on: its window changes, and expressions are asked (DevTools over a pipe)."""

    def __init__(self, folder, path, width, height=844):
        profile = tempfile.mkdtemp(dir=folder)
        to_read, to_write = os.pipe()
        from_read, from_write = os.pipe()
        self.browser = subprocess.Popen(  # it reads from 3 and writes to 4
            ["sh", "-c", f'exec "$@" 3<&{to_read} 4>&{from_write}', "sh", CHROMIUM, *FLAGS,
             f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"],
            pass_fds=(to_read, from_write), stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": profile})
        os.close(to_read)
        os.close(from_write)
        self.write, self.read = os.fdopen(to_write, "wb", 0), os.fdopen(from_read, "rb", 0)
        self.rest, self.number, self.session = b"", 0, {}
        pages = [target for target in self.call("Target.getTargets")["targetInfos"]
                 if target["type"] == "page"]
        attached = self.call("Target.attachToTarget", targetId=pages[0]["targetId"], flatten=True)
        self.session = {"sessionId": attached["sessionId"]}
        self.resize(width, height)
        self.call("Page.navigate", url=f"file://{path}")
        self.wait("document.documentElement.dataset.ready === 'true'")

    def call(self, method, **parameters):
        self.number += 1
        self.write.write(json.dumps({"id": self.number, "method": method, "params": parameters,
                                     **self.session}).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                more = self.read.read(65536)
                if not more:
                    raise AssertionError(f"chromium ended before it answered {method}")
                self.rest += more
            message, _, self.rest = self.rest.partition(b"\0")
            answer = json.loads(message)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise AssertionError(f"{method}: {answer['error']}")
                return answer["result"]

    def value(self, expression):
        """Of an expression or promise, as JSON has it."""
        return self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                         awaitPromise=True)["result"].get("value")

    def wait(self, expression):
        while not self.value(expression):
            time.sleep(0.05)

    def resize(self, width, height=844):
        """Until the page was laid out anew, and what it draws thereupon is there."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        frame = "await new Promise((done) => requestAnimationFrame(done));"
        self.value(f"(async () => {{ {frame * 4} }})()")

    def close(self):
        self.browser.kill()
        self.browser.wait()
        self.write.close()
        self.read.close()


def decode_png(path):
    """(width, height, bytes per pixel, rows) of an 8-bit picture without interlace."""
    with open(path, "rb") as stream:
        data = stream.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", "no PNG"
    at, packed = 8, b""
    while at < len(data):
        size, kind = int.from_bytes(data[at:at + 4], "big"), data[at + 4:at + 8]
        if kind == b"IHDR":
            header = data[at + 8:at + 8 + size]
        elif kind == b"IDAT":
            packed += data[at + 8:at + 8 + size]
        at += 12 + size
    width, height = int.from_bytes(header[:4], "big"), int.from_bytes(header[4:8], "big")
    assert header[8] == 8 and header[9] in (2, 6) and header[12] == 0, f"IHDR {header[8:]}"
    step = 3 if header[9] == 2 else 4
    raw, stride = zlib.decompress(packed), width * step + 1
    rows, above = [], bytearray(width * step)
    for y in range(height):
        line = raw[y * stride:(y + 1) * stride]
        above = unfilter(line[0], bytearray(line[1:]), above, step)
        rows.append(above)
    return width, height, step, rows


def unfilter(kind, row, above, step):
    if kind == 0:
        return row
    if kind == 2:
        return bytearray((a + b) & 255 for a, b in zip(row, above))
    for i, value in enumerate(row):
        left = row[i - step] if i >= step else 0
        up, corner = above[i], above[i - step] if i >= step else 0
        if kind == 1:
            guess = left
        elif kind == 3:
            guess = (left + up) >> 1
        else:
            near = [(abs(up - corner), 0, left), (abs(left - corner), 1, up),
                    (abs(left + up - 2 * corner), 2, corner)]
            guess = min(near)[2]
        row[i] = (value + guess) & 255
    return row


def colors_of(path):
    """{(r, g, b): how many pixels}."""
    width, height, step, rows = decode_png(path)
    counts = {}
    for row in rows:
        for i in range(0, width * step, step):
            pixel = bytes(row[i:i + 3])
            counts[pixel] = counts.get(pixel, 0) + 1
    return width, height, counts
