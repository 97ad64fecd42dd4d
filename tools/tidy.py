#!/usr/bin/env python3
"""The tidy test: reads the tree and holds it to the rules that no compiler checks.

Prints each violation as file:line, rule and reason, and ends with `N passed, M failed`, where each
rule counts one. `--list` prints the rules.
"""

import argparse
import re
import subprocess
import sys
from functools import cached_property
from pathlib import Path, PurePosixPath

PURE_MODULES = {"policy", "engine", "state", "cel", "schedule", "model"}
MAX_LINES = 700
MAX_COLUMNS = 120

CODE_FOLDERS = ("src", "tests", "bench", "cmake")
CXX = (".h", ".cpp")
WIDTH_CHECKED = (".h", ".cpp", ".py", ".cmake", ".sh", ".sql")

# Comments, raw strings, strings, character literals (not the separators in 1'000).
TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^()\\\s]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'",
    re.S)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.M)


def blank(match):
    """Spaces in place of a comment or literal, so that lines keep their numbers."""
    return re.sub(r"[^\n]", " ", match.group())


class File:
    def __init__(self, path, text):
        self.path = path
        self.text = text
        self.suffix = PurePosixPath(path).suffix

    @cached_property
    def code(self):
        """The text without comments and literals."""
        return TOKEN.sub(blank, self.text)

    @cached_property
    def lines(self):
        return self.text.splitlines()

    @cached_property
    def includes(self):
        """(line, path, quoted) of each #include that is not in a comment."""
        text = TOKEN.sub(lambda m: blank(m) if m.group().startswith("/") else m.group(), self.text)
        return [(text.count("\n", 0, m.start(m.lastindex)) + 1, m.group(1) or m.group(2), bool(m.group(1)))
                for m in INCLUDE.finditer(text)]

    def find(self, pattern, text=None):
        """The line of each match, with the matched text."""
        text = self.code if text is None else text
        for m in re.finditer(pattern, text):
            yield text.count("\n", 0, m.start()) + 1, " ".join(m.group().split())

    @property
    def is_cxx(self):
        return self.suffix in CXX

    @property
    def is_test(self):
        return self.path.startswith("tests/") or self.path.endswith("_test.cpp")

    @property
    def module(self):
        """base for src/base/x.h; None outside src/."""
        parts = self.path.split("/")
        return parts[1] if parts[0] == "src" and len(parts) > 2 else None


class Tree:
    """The files of a checkout: tracked, and new ones that are not ignored."""

    def __init__(self, root):
        listing = subprocess.run(
            ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            cwd=root, capture_output=True, text=True, check=True).stdout
        self.files = {}
        for path in sorted(set(filter(None, listing.split("\0")))):
            full = Path(root, path)
            if not full.is_file() or full.is_symlink():
                continue  # deleted, not yet committed
            data = full.read_bytes()
            if b"\0" not in data[:8000]:
                self.files[path] = File(path, data.decode("utf-8", errors="replace"))

    def all(self, *folders):
        return [f for p, f in self.files.items() if not folders or p.split("/")[0] in folders]

    def cxx(self, *folders):
        return [f for f in self.all(*(folders or CODE_FOLDERS)) if f.is_cxx]

    def text(self, path):
        return self.files[path].text if path in self.files else None

    @cached_property
    def modules(self):
        return sorted({f.module for f in self.all("src") if f.module})

    @cached_property
    def allowed(self):
        """Module → the modules it may include, transitively, from CMakeLists.txt."""
        direct = {}
        text = re.sub(r"#[^\n]*", "", self.text("CMakeLists.txt") or "")
        for body in re.findall(r"\bctrlplane_module\s*\(([^)]*)\)", text):
            name, *words = body.split()
            links, keyword = [], None
            for word in words:
                if word in ("LINKS", "SYSTEM", "PRIVATE_SYSTEM"):
                    keyword = word
                elif keyword == "LINKS":
                    links.append(word)
            direct[name] = links

        def closure(name, seen):
            for link in direct.get(name, []):
                if link not in seen:
                    seen.add(link)
                    closure(link, seen)
            return seen

        return {name: closure(name, {name}) for name in direct}


# A rule is a generator of (path, line, reason). Its docstring says what it asks for.
RULES = []


def rule(function):
    RULES.append(function)
    return function


@rule
def module_includes(tree):
    """a module includes only itself and what its line in CMakeLists.txt links, transitively"""
    known = set(tree.modules) | set(tree.allowed)
    for f in tree.cxx("src"):
        if not f.module:
            continue
        if f.module not in tree.allowed:
            yield f.path, 1, f"module {f.module} has no ctrlplane_module line in CMakeLists.txt"
            continue
        for line, path, quoted in f.includes:
            other = path.split("/")[0] if "/" in path else None
            if other in known:
                if other not in tree.allowed[f.module]:
                    yield f.path, line, f"{f.module} may not include {path}"
            elif quoted and not f.is_test:
                yield f.path, line, f'"{path}" names no module; write the path from src/, or <…> for a library'


PURE_HEADERS = re.compile(
    r"(?:base/clock\.h|base/log\.h|fstream|iostream|cstdio|stdio\.h|filesystem|thread|mutex|shared_mutex"
    r"|condition_variable|future|atomic|random|unistd\.h|fcntl\.h|poll\.h|netdb\.h"
    r"|(?:sys|netinet|arpa|linux)/.*|boost/(?:asio|beast|filesystem|thread|random)\b.*)")
PURE_NAMES = (r"\b(?:system_clock|steady_clock|high_resolution_clock|utc_clock|clock_gettime|gettimeofday"
              r"|getrandom|getentropy|random_device|getenv)\b|\bstd::rand\b|\b(?:rand|random|srand|clock)\s*\(\s*\)"
              r"|\btime\s*\(\s*(?:nullptr|NULL|0|&\w+)\s*\)")


@rule
def pure_modules(tree):
    """policy, engine, state, cel, schedule and model read no clock, do no I/O, draw no random number"""
    # The precompiled header is put before every file of these modules.
    files = [f for f in tree.cxx("src") if f.module in PURE_MODULES and not f.is_test]
    files += [f for f in tree.cxx("cmake") if f.path == "cmake/precompiled.h"]
    for f in files:
        for line, path, _ in f.includes:
            if PURE_HEADERS.fullmatch(path):
                yield f.path, line, f"{path} in a pure module; pass the value in instead"
        for line, name in f.find(PURE_NAMES):
            yield f.path, line, f"{name} in a pure module; pass the value in instead"


@rule
def no_coroutines(tree):
    """no coroutines: g++ 12 destroys some temporaries in co_await arguments twice"""
    for f in tree.cxx():
        for line, word in f.find(r"\bco_(?:await|return|yield)\b"):
            yield f.path, line, f"{word}: write a callback or a plain call"


# A copy (`Job job = old;`) is an update, not a new job. `struct Job {` and `-> Job {` make none.
NEW_JOB = (r"(?<!struct )(?<!class )(?<!-> )\bJob\s*\{|\bJob\s*\(\s*\)|\bJob\s+\w+\s*\{|\bnew\s+(?:\w+::)*Job\b"
           r"|\b(?:emplace|make_unique|make_shared|in_place_type)\s*<\s*(?:\w+::)*Job\s*>")
NEW_JOB_VARIABLE = r"\bJob\s+\w+\s*;"  # in a header this is a member, to be filled with an existing row


@rule
def jobs_from_admission(tree):
    """a job row is made only in src/engine/admission.cpp"""
    for f in tree.cxx("src"):
        if f.is_test or f.module in ("store", "model") or f.path == "src/engine/admission.cpp":
            continue
        for line, text in f.find(NEW_JOB if f.suffix == ".h" else f"{NEW_JOB}|{NEW_JOB_VARIABLE}"):
            yield f.path, line, f"'{text}' makes a job outside admission"


@rule
def one_hand_over(tree):
    """handed_over_at is set only in src/engine/handover.cpp"""
    for f in tree.cxx("src"):
        if f.is_test or f.module == "store" or f.path == "src/engine/handover.cpp":
            continue
        for line, _ in f.find(r"\bhanded_over_at\s*(?:=(?!=)|\.\s*emplace\b)"):
            yield f.path, line, "handed_over_at is set outside the hand-over command"


@rule
def independent_checker(tree):
    """tests/sim/checker* reaches no header of engine, policy, state or runtime, directly or not"""
    banned = {"engine", "policy", "state", "runtime"}

    def resolve(f, path):
        beside = str(PurePosixPath(f.path).parent / path)
        return next((p for p in (f"src/{path}", f"tests/{path}", beside, path) if p in tree.files), None)

    for f in tree.cxx("tests"):
        if not f.path.startswith("tests/sim/checker") or f.path.endswith("_test.cpp"):
            continue
        for line, first, _ in f.includes:
            todo, seen = [(first, f)], set()
            while todo:
                path, includer = todo.pop()
                target = resolve(includer, path)
                if path.split("/")[0] in banned or (target and tree.files[target].module in banned):
                    via = "" if path == first else f" through {first}"
                    yield f.path, line, f"the checker includes {path}{via}"
                elif target and target not in seen:
                    seen.add(target)
                    todo += [(p, tree.files[target]) for _, p, _ in tree.files[target].includes]


# Header → the path prefixes that may include it. Tests beside a source may do what tests/ may.
HEAVY = [
    (r"boost/(?:asio|beast)\b.*", ("src/net/",)),
    (r"boost/json(?:\.hpp|/(?!fwd\.hpp).*)", ("src/model/json.cpp", "src/model/policy.cpp", "src/model/freeze.cpp",
                                             "src/model/version_settings.cpp",
                                             "src/policy/rule_body.cpp", "src/notify/*.cpp",
                                             "src/api/*.cpp", "src/agent/*.cpp", "src/cli/*.cpp", "src/app/*.cpp",
                                             "tests/*.cpp")),
    (r"spdlog/.*", ("src/base/log.cpp",)),
    (r"CLI/.*", ("src/app/", "src/cli/")),
    (r"curl/.*", ("src/net/",)),
    (r"sodium\.h", ("src/api/",)),
    (r"yaml-cpp/.*", ("src/cli/",)),
    (r"(?:postgresql/)?libpq-fe\.h", ("src/store/postgres", "tests/", "bench/")),
    (r"sqlite3\.h", ("src/store/sqlite", "tests/", "bench/")),
]


def may_include(f, places):
    def fits(path, place):
        head, star, tail = place.partition("*")
        return path.startswith(head) and (not star or path.endswith(tail))

    return any(fits(p, place) for p in (f.path, "tests/" + f.path if f.is_test else f.path) for place in places)


@rule
def heavy_headers(tree):
    """Asio, Beast, Boost.JSON, spdlog, CLI11, libpq and SQLite stay in the few files that need them"""
    for f in tree.cxx():
        for line, path, _ in f.includes:
            for pattern, places in HEAVY:
                if re.fullmatch(pattern, path) and not may_include(f, places):
                    yield f.path, line, f"{path} belongs only in {', '.join(places)}"


@rule
def pragma_once(tree):
    """every header has #pragma once"""
    for f in tree.cxx():
        if f.suffix == ".h" and not re.search(r"^#pragma once$", f.code, re.M):
            yield f.path, 1, "no #pragma once"


@rule
def short_files(tree):
    """no file under src/ or tests/ has over 700 lines"""
    for f in tree.all("src", "tests"):
        if len(f.lines) > MAX_LINES:
            yield f.path, MAX_LINES + 1, f"{len(f.lines)} lines: look for the second thing in it"


@rule
def short_lines(tree):
    """lines of code have at most 120 columns (100 wanted)"""
    for f in tree.all():
        if f.suffix in WIDTH_CHECKED:
            for number, line in enumerate(f.lines, 1):
                if len(line) > MAX_COLUMNS:
                    yield f.path, number, f"{len(line)} columns"


@rule
def no_tabs(tree):
    """no tabs in code"""
    for f in tree.all():
        if f.suffix in WIDTH_CHECKED or f.path in ("dev", "CMakeLists.txt"):
            for number, line in enumerate(f.lines, 1):
                if "\t" in line:
                    yield f.path, number, "tab"


@rule
def no_sleeps(tree):
    """nothing under src/ or tests/ sleeps: wait for the event, or pass time in"""
    for f in tree.all("src", "tests"):
        if f.is_cxx or f.suffix == ".py":
            text = f.code if f.is_cxx else f.text
            for line, call in f.find(r"\b(?:sleep|usleep|nanosleep|sleep_for|sleep_until)\s*\(", text):
                yield f.path, line, f"{call.rstrip('( ')} in {'a test' if f.is_test else 'product code'}"


MACHINE_PATH = r"(?<![\w.*/-])/(?:(?:root|home|work)/|root\b)[\w./-]*"
REGISTRY = (r"(?i)\b(?:registry(?:-\d)?\.(?!example\b)[a-z0-9-]+\.[a-z]{2,}|npmjs\.(?:org|com)|pypi\.org"
            r"|pythonhosted\.org|(?:ghcr|gcr|quay|docker)\.io|deb\.debian\.org"
            r"|[a-z0-9.-]*(?:artifactory|nexus|verdaccio)[a-z0-9-]*\.[a-z.]+)")


@rule
def no_machine_names(tree):
    """no absolute path of one machine and no package registry's host name"""
    for f in tree.all():
        for line, path in f.find(MACHINE_PATH, f.text):
            yield f.path, line, f"{path} exists on one machine only"
        for line, host in f.find(REGISTRY, f.text):
            yield f.path, line, f"{host} is a registry's host name"


@rule
def modules_described(tree):
    """src/README.md has a paragraph for every module"""
    readme = tree.text("src/README.md")
    if readme is None:
        return
    for module in tree.modules:
        if not re.search(rf"^[^\w\n]*{module}\b", readme, re.M):
            yield "src/README.md", 1, f"no line begins with {module}"


@rule
def known_verbs(tree):
    """documents name only verbs that ./dev has"""
    verbs = {v.replace("_", "-") for v in re.findall(r"^cmd_(\w+)\(\)", tree.text("dev") or "", re.M)}
    for f in tree.all():
        if f.suffix == ".md" or f.path in (".ci/run", "dev"):
            for line, text in f.find(r"(?<![\w/])\./dev [a-z][a-z-]*", f.text):
                if text.split()[1] not in verbs:
                    yield f.path, line, f"'{text}': ./dev has no such verb"


@rule
def decisions_listed(tree):
    """docs/decisions/README.md lists every decision beside it"""
    folder = "docs/decisions/"
    index = tree.text(folder + "README.md") or ""
    for path in tree.files:
        name = path.removeprefix(folder)
        if path.startswith(folder) and name.endswith(".md") and name != "README.md" and f"({name})" not in index:
            yield path, 1, f"not in the list of {folder}README.md"


def check(root):
    """Rule name → its violations."""
    tree = Tree(root)
    return {r.__name__: list(r(tree)) for r in RULES}


def main():
    parser = argparse.ArgumentParser(description="Holds the source tree to its rules.")
    parser.add_argument("--list", action="store_true", help="print the rules")
    parser.add_argument("root", nargs="?", default=Path(__file__).resolve().parent.parent)
    args = parser.parse_args()
    if args.list:
        for r in RULES:
            print(f"{r.__name__:<20} {r.__doc__}")
        return 0
    results = check(args.root)
    for name, violations in results.items():
        for path, line, reason in violations:
            print(f"{path}:{line}: {name}: {reason}")
    failed = sum(1 for violations in results.values() if violations)
    print(f"{len(results) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
