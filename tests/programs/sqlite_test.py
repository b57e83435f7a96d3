#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A day of work for sqlite3: tables, indexes, joins, text, JSON, deletes, in memory and in a file."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import preload  # noqa: E402

ROWS = 120000

SCRIPT = f"""
CREATE TABLE item(id INTEGER PRIMARY KEY, name TEXT, kind INTEGER, price REAL, note BLOB);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})
INSERT INTO item SELECT i, printf('item %08d', (i * 7919) % {ROWS}), i % 97, i * 0.37,
                        zeroblob(i % 120) FROM n;
CREATE INDEX item_name ON item(name);
CREATE INDEX item_kind ON item(kind, price);
SELECT kind, count(*), sum(price), min(name), max(name) FROM item GROUP BY kind ORDER BY 3 LIMIT 9;
CREATE TABLE sale(item INTEGER, amount INTEGER, day TEXT);
INSERT INTO sale SELECT (id * 31) % {ROWS} + 1, id % 13, date('2020-01-01', '+' || (id % 700) || ' days') FROM item;
SELECT day, sum(amount * price) FROM sale JOIN item ON item.id = sale.item
GROUP BY day ORDER BY 2 DESC LIMIT 9;
SELECT length(group_concat(name, ',')) FROM (SELECT name FROM item ORDER BY name);
SELECT sum(length(replace(hex(note), '0', 'ab'))) FROM item;
SELECT sum(json_extract(j, '$.a[2]')) FROM (SELECT json_object('a', json_array(id, kind, price))
                                            AS j FROM item);
DELETE FROM item WHERE id % 3 = 0;
UPDATE item SET note = name || hex(id) || name WHERE kind < 50;
SELECT count(*), sum(length(note)) FROM item;
VACUUM;
PRAGMA integrity_check;
"""


def version():
    text = subprocess.run(["sqlite3", "--version"], capture_output=True, text=True, check=True).stdout
    return tuple(map(int, text.split()[0].split(".")[:2]))


def main():
    preload.need("sqlite3")
    lab, peaks = preload.Lab(), preload.Peaks()
    database = lab.file("test.db")

    def before():
        if os.path.exists(database):
            os.unlink(database)

    # A page and its header fill an object of 4368 bytes in SQLite 3.40, and are a little more in 3.46,
    # whose pages so lie in objects of 4608: 1.08 and 1.12
    preload.compare(lab, peaks, "sqlite3 in memory", ["sqlite3", "-batch", ":memory:"],
                    stdin=SCRIPT, anonymous=True, limit=1.15 if version() > (3, 40) else preload.PEAK_LIMIT)
    preload.compare(lab, peaks, "sqlite3 in a file", ["sqlite3", "-batch", database],
                    stdin="PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;" + SCRIPT,
                    before=before,
                    # How much of the library's own mapped code counts depends on how its file lies in
                    # the page cache; without files it is 5.5 MiB, and 6.2 to 6.5 with uslab (6.0 to 6.2
                    # with purge_limit=0), whose CPUs have more or less cached: of six runs the least
                    # is 1.10 to 1.16
                    anonymous=True, most=6, limit=1.18)
    peaks.finish()


if __name__ == "__main__":
    main()
