# SPDX-License-Identifier: MIT
"""Applications that any Debian machine has or can have, as programs of scripts/bench-malloc.

What compilers, git, sqlite3 and redis are given is what tests/programs give them.
"""
import os
import shutil
import subprocess
import sys

from malloc_programs import APPLICATIONS, Program

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "programs"))
import gcc_test  # noqa: E402
import git_test  # noqa: E402
import sqlite_test  # noqa: E402

PYTHON = "/usr/bin/python3"

CXX_SOURCE = """
#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <regex>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
template<int N> struct node {
    std::map<int, std::vector<std::string>> words;
    std::unordered_map<std::string, std::shared_ptr<node<N - 1>>> next;
    std::function<int(int)> f = [this](int i) { return i + (int)words.size() + N; };
    int sum() { int r = f(N); for (auto &p : next) r += p.second->sum(); return r; }
};
template<> struct node<0> { int sum() { return 0; } };
int main() {
    node<40> n;
    n.words[1].push_back("one");
    std::sort(n.words[1].begin(), n.words[1].end());
    std::variant<int, std::string> v = n.sum();
    std::cout << std::regex_replace("a b", std::regex("a|b"), "c") << v.index() << std::endl;
}
"""

PYTHON_SOURCE = """
import collections, json, random, re
random.seed(5)
class Item:
    def __init__(self, key, words):
        self.key, self.words, self.next = key, words, None
words = [f"w{random.randrange(10 ** 6)}" for _ in range(20000)]
for _ in range(4):
    items = [Item(i, random.sample(words, 5)) for i in range(40000)]
    for a, b in zip(items, items[1:]):
        a.next = b
    by_word = collections.defaultdict(list)
    at = items[0]
    while at:
        for word in at.words:
            by_word[word].append(at.key)
        at = at.next
    text = json.dumps(by_word)
    back = json.loads(text)
    assert len(back) == len(by_word)
    found = re.findall(r"w[0-9]*7", text)
    ordered = sorted(by_word.items(), key=lambda pair: (len(pair[1]), pair[0]))
    joined = "".join(word for word, _ in ordered)
print(len(found), len(joined))
"""

PERL_SOURCE = """
srand(5);
for my $round (1 .. 3) {
    my (%count, @lines);
    for my $i (1 .. 60000) {
        my $line = join(" ", map { "w" . int(rand(30000)) } 1 .. 6);
        push @lines, { number => $i, text => $line };
        $count{$_}++ for split / /, $line;
    }
    my @ordered = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
    my $text = "";
    $text .= $_->{text} . "\\n" for @lines;
    $text =~ s/w(\\d)/v$1/g;
    print scalar(@ordered), " ", length($text), "\\n";
}
"""

LUA_SOURCE = """
local function tree(depth)
    if depth == 0 then return {} end
    return { left = tree(depth - 1), right = tree(depth - 1), name = "n" .. depth }
end
local function size(t)
    if not t.left then return 1 end
    return 1 + size(t.left) + size(t.right)
end
local long, sum = tree(15), 0
for i = 1, 30 do
    sum = sum + size(tree(14))
    local parts = {}
    for k = 1, 40000 do parts[#parts + 1] = "item " .. (k * 7919 % 10007) end
    table.sort(parts)
    sum = sum + #table.concat(parts, ",")
end
print(sum, size(long))
"""


class Application(Program):
    """needs: the programs that must be installed."""

    def __init__(self, name, what, needs, **more):
        missing = next((f"{need} is not installed" for need in needs if not shutil.which(need)), None)
        super().__init__(name, APPLICATIONS, what, missing=missing, **more)


class Script(Application):
    """A command with the name of a file of ours at its end, or as its standard input."""

    def __init__(self, name, what, command, source, ending, *, piped=False, after=(), **more):
        super().__init__(name, what, command[:1], **more)
        self.words, self.source, self.ending, self.piped, self.after = command, source, ending, piped, after

    def prepare(self, lab):
        path = lab.file(f"{self.name}{self.ending}")
        with open(path, "w", encoding="utf-8") as stream:
            stream.write(self.source() if callable(self.source) else self.source)
        self.command = [*self.words, *(() if self.piped else (path,)), *self.after]
        self.stdin = path if self.piped else None


class Git(Application):
    """git gc of a clone that is made anew for each run."""

    def __init__(self):
        super().__init__("git", "git gc --aggressive of a clone of 1500 commits", ["git"])
        self.source, self.clone = None, None

    def git(self, *arguments, text=None):
        subprocess.run([*git_test.GIT, *arguments], check=True, input=text, text=True, env={**os.environ, **self.env},
                       stdout=subprocess.DEVNULL)

    def prepare(self, lab):
        self.source, self.clone = lab.file("source.git"), lab.file("clone.git")
        self.env = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "HOME": lab.path}
        self.git("init", "-q", "--bare", "-b", "main", self.source)
        self.git("-C", self.source, "fast-import", "--quiet", text=git_test.history())
        self.command = [*git_test.GIT, "-C", self.clone, "gc", "--quiet", "--aggressive"]

    def before(self, lab):
        shutil.rmtree(self.clone, ignore_errors=True)
        self.git("clone", "-q", "--bare", "--no-local", self.source, self.clone)


class RedisServer(Application):
    """Debian's is linked to jemalloc: glibc's malloc is preloaded for glibc."""

    def __init__(self):
        super().__init__("redis-server", "strings, hashes, lists, sets; redis-benchmark",
                         ["redis-server", "redis-benchmark"])
        self.plain = "libc.so.6"

    def run(self, lab, contestant):
        import malloc_redis  # pylint: disable=import-outside-toplevel
        return malloc_redis.run(lab, contestant, "redis-server", [
            "redis-benchmark", "-q", "-P", "16", "-n", "100000", "-r", "50000", "-d", "100", "-t",
            "set,get,incr,lpush,rpop,sadd,hset,zadd,mset"])


def applications():
    compile_c = ["-O2", "-w", "-c", "-o", os.devnull]
    compile_cxx = ["-O1", "-w", "-c", "-std=c++17", "-o", os.devnull]
    lua = next((name for name in ("lua5.4", "lua5.3", "lua") if shutil.which(name)), "lua")
    return [
        Script("gcc", "gcc -O2 of a large file", ["gcc", *compile_c], gcc_test.program, ".c"),
        Script("clang", "clang -O2 of the same", ["clang", *compile_c], gcc_test.program, ".c"),
        Script("g++", "g++ -O1, much of the standard library", ["g++", *compile_cxx], CXX_SOURCE, ".cpp"),
        Script("clang++", "clang++ -O1 of the same", ["clang++", *compile_cxx], CXX_SOURCE, ".cpp"),
        Git(),
        Script("python3", "objects, dicts, JSON, regular expressions", [PYTHON], PYTHON_SOURCE, ".py"),
        Script("python3-malloc", "the same, PYTHONMALLOC=malloc", [PYTHON], PYTHON_SOURCE, ".py",
               env={"PYTHONMALLOC": "malloc"}),
        Script("sqlite3", "a database in memory", ["sqlite3", "-batch"], sqlite_test.SCRIPT, ".sql", piped=True,
               after=[":memory:"]),
        Script("perl", "hashes, lines, sorting", ["perl"], PERL_SOURCE, ".pl"),
        Script("lua-tables", "tables and strings", [lua], LUA_SOURCE, ".lua"),
        RedisServer(),
    ]
