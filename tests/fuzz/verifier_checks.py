#!/usr/bin/env python3
"""Takes each check of the verifier and the loader away, one at a time, and sees that a test fails.

Their sources are rewritten so that an environment variable names the check that does not stand, compiled once and linked
with their tests; these run once for each check. A check is

  removed    an `if` that refuses, a call of a further check, the condition of an `if` that accepts
  part       one condition of several of these
  by one     a limit that lets one more pass

It prints those whose loss no test notices, and fails where there are any.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import typing

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Part(typing.NamedTuple):
    sources: list[str]
    tests: list[str]
    fewest: int  # checks that the patterns once found


PARTS = {
    "verifier": Part(
        ["bytecode/verifier.cc", *sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("bytecode/verifier/*.cc")),
         "bytecode/encoding.cc"],
        [*sorted(str(path.relative_to(ROOT)) for path in ROOT.glob("tests/bytecode/verifier/*_test.cc")),
         *(f"tests/bytecode/{name}_test.cc" for name in ("builder", "assembler", "instruction"))],
        250),
    "loader": Part(
        ["serializer/load.cc", "serializer/wire/layout.cc", "serializer/wire/unpack.cc"],
        [f"tests/serializer/{name}_test.cc"
         for name in ("damage", "section_contents", "versions", "file", "round_trip", "golden_files")],
        60),
}

PRELUDE = """#pragma once
#include <cstdlib>
#include <type_traits>
namespace tvmvm_checks {
inline bool Stands(int check) {
  static const int gone = std::atoi(std::getenv("TVMVM_CHECK_GONE"));
  return check != gone;
}
template <class T>
constexpr T Next(T value) {
  if constexpr (std::is_enum_v<T>)
    return static_cast<T>(static_cast<std::underlying_type_t<T>>(value) + 1);
  else
    return static_cast<T>(value + 1);
}
}  // namespace tvmvm_checks
"""

# Limits of which one more is the same.
AS_GOOD_BY_ONE = {
    "++visits_ > kMaxVisits": "bounds time, not memory",
    "alignment > kArgumentAlignment": "powers of two alone come so far",
    "value.alignment > kMaxPlanAlignment": "powers of two alone come so far",
    "*count > INT64_MAX / bits": "no constant has as many bytes as one more overflows to",
    "bytes > budget_": "bounds memory by the size of the file, not to the byte",
    "gpu < 0": "-1 stands for none",
}

REFUSES = re.compile(r"return\s+(Refuse|Malformed|MakeError|Unassigned|context_?\.Fail|context_?->Fail)\s*\(|return\s+false;")
ACCEPTS = re.compile(r"return\s+\{\};")
CHECKS = re.compile(r"TVMVM_CHECK_OK\(|return\s+(?!Refuse|Malformed|MakeError|Unassigned)(?:[A-Z]\w*|verify|check)\(")


def end_of_text(text, at):
    """Where the text or character that begins at `at` ends; `at` where none does."""
    if text[at] not in "\"'":
        return at
    quote, at = text[at], at + 1
    while text[at] != quote:
        at += 2 if text[at] == "\\" else 1
    return at


def end_of_group(text, begin):
    """Behind the parenthesis that closes the one at `begin`; texts and characters are skipped."""
    depth, at = 0, begin
    while True:
        at = end_of_text(text, at)
        depth += text[at] in "([{"
        depth -= text[at] in ")]}"
        at += 1
        if depth == 0:
            return at


def split_top(text, operator):
    parts, depth, last, at = [], 0, 0, 0
    while at < len(text):
        at = end_of_text(text, at)
        depth += text[at] in "([{"
        depth -= text[at] in ")]}"
        if depth == 0 and text.startswith(operator, at):
            parts.append(text[last:at])
            at += len(operator)
            last = at
            continue
        at += 1
    return parts + [text[last:]]


class Source:
    """A source whose checks can be taken away; `checks` receives what each is."""

    def __init__(self, path, checks):
        self.path, self.text, self.checks, self.edits = path, (ROOT / path).read_text(), checks, []
        self.find()

    def number(self, at, what, text):
        line = self.text.count("\n", 0, at) + 1
        self.checks.append(f"{self.path}:{line}: {what}: {' '.join(text.split())}")
        return len(self.checks) - 1

    def bound(self, at, term, accepts):
        """The term, and the same with a limit that lets one more pass."""
        for joint in ("&&", "||"):
            if len(parts := split_top(term, joint)) > 1:
                return "(" + joint.join(self.bound(at, part, accepts) for part in parts) + ")"
        for operator in (" < ", " <= ", " > ", " >= "):
            sides = split_top(term, operator)
            if len(sides) != 2 or " ".join(term.split()) in AS_GOOD_BY_ONE:
                continue
            left, right = (f"({side.strip()})" for side in sides)
            one_more = {" < ": f"tvmvm_checks::Next{left} < {right}", " <= ": f"{left} < {right}",
                        " > ": f"{left} > tvmvm_checks::Next{right}", " >= ": f"{left} > {right}"}
            if accepts:
                one_more = {" < ": f"{left} <= {right}", " <= ": f"{left} <= tvmvm_checks::Next{right}",
                            " > ": f"{left} >= {right}", " >= ": f"tvmvm_checks::Next{left} >= {right}"}
            number = self.number(at, "by one", term)
            return f"(tvmvm_checks::Stands({number}) ? ({term}) : ({one_more[operator]}))"
        return f"({term})"

    def condition(self, at, condition, accepts):
        """What refuses (or accepts) when all, or a part, or the last case of it may be taken away."""
        joint, gone = ("&&", "!tvmvm_checks::Stands({}) || ({})") if accepts else ("||", "tvmvm_checks::Stands({}) && ({})")
        whole = self.number(at, "removed", condition)
        terms = split_top(condition, joint)
        parts = []
        for term in terms:
            text = self.bound(at, term, accepts)
            if len(terms) > 1:
                text = "(" + gone.format(self.number(at, "part", term), text) + ")"
            parts.append(text)
        return gone.format(whole, joint.join(parts))

    def find(self):
        for match in re.finditer(r"\bif \(", self.text):
            begin = match.end() - 1
            end = end_of_group(self.text, begin)
            following = self.text[end:].lstrip()
            declaration, semicolon, condition = "", "", self.text[begin + 1:end - 1]
            if ";" in condition and "(" in condition and re.match(r"auto |Status |const ", condition):
                declaration, semicolon, condition = condition.partition(";")
            if REFUSES.match(following):
                accepts = False
            elif ACCEPTS.match(following) and REFUSES.match(following[following.index(";") + 1:].lstrip()):
                accepts = True
            else:
                continue
            self.edits.append((begin, end, f"({declaration}{semicolon}{self.condition(begin, condition, accepts)})"))
        for match in CHECKS.finditer(self.text):
            is_macro = match.group().startswith("TVMVM")
            begin = match.start()
            open_at = match.end() - 1
            end = end_of_group(self.text, open_at)
            if self.text[end] != ";":
                continue
            call = self.text[begin:end] if is_macro else self.text[begin + len("return"):end]
            number = self.number(begin, "removed", call)
            if is_macro:
                self.edits.append((begin, begin, f"if (tvmvm_checks::Stands({number})) "))
            else:
                self.edits.append((begin, begin, f"if (!tvmvm_checks::Stands({number})) return {{}}; else "))
        for match in re.finditer(r"^bool IsValid\(.*?\{ return (.*?); \}$", self.text, re.M):
            self.edits.append((match.start(1), match.end(1), self.condition(match.start(1), match.group(1), True)))

    def rewritten(self):
        text, last = [], 0
        for begin, end, new in sorted(self.edits):
            if begin < last:  # within another
                continue
            text += [self.text[last:begin], new]
            last = end
        return f'#line 1 "{ROOT / self.path}"\n' + "".join(text) + self.text[last:]


def build(part, build_folder, folder, checks):
    """The tests of a part whose checks can be taken away."""
    (folder / "checks.h").write_text(PRELUDE)
    commands = {}
    for command in json.loads((build_folder / "compile_commands.json").read_text()):
        if "added_device" not in command["command"]:  # a test's build of the same sources, with a kind of device more
            commands[command["file"]] = command
    objects, running, compiler = [], [], []
    jobs = [(source.path, source.rewritten()) for source in (Source(path, checks) for path in part.sources)]
    jobs += [(path, None) for path in part.tests]
    for path, text in jobs:
        command = commands[str(ROOT / path)]
        words = shlex.split(command["command"])
        out = folder / (path.replace("/", "_") + ".o")
        source = ROOT / path
        if text is not None:
            source = folder / path.replace("/", "_")
            source.write_text(text)
        words[words.index("-o") + 1] = str(out)
        words[words.index("-c") + 1] = str(source)
        words = [word for word in words if not re.match(r"-O.|-Werror|-g|-D_GLIBCXX|-M[DFT]|.*\.d$", word)]
        compiler = words[:next(i for i, word in enumerate(words) if word.startswith("-"))]
        words += ["-O1", "-w"] + (["-include", str(folder / "checks.h")] if text is not None else [])
        objects.append(str(out))
        running.append((path, subprocess.Popen(words, cwd=command["directory"], stderr=subprocess.PIPE, text=True)))
        while len([1 for _, process in running if process.poll() is None]) >= os.cpu_count():
            next(process for _, process in running if process.poll() is None).wait()
    for path, process in running:
        _, errors = process.communicate()
        if process.returncode != 0:
            sys.exit(f"{path} does not compile:\n{errors}")
    program = folder / "tests"
    archives = [str(build_folder / archive) for archive in ("libtvmvm_runtime.a", "tests/libtest_folders.a")]
    subprocess.run([*compiler, "-o", program, *objects, *archives, "-lgmock", "-lgtest", "-lgtest_main",
                    "-lfmt", "-lxxhash", "-ldl", "-lpthread"], check=True)
    return program


def passes(program, check):
    environment = dict(os.environ, TVMVM_CHECK_GONE=str(check), GTEST_FAIL_FAST="1", TEST_TMPDIR=str(program.parent))
    try:
        return subprocess.run([program], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120).returncode == 0
    except subprocess.TimeoutExpired:  # for ever: that is noticed, too
        return False


def take_away(part, build_folder):
    """How many checks of a part no test misses; says which."""
    checks, unnoticed = [], 0
    with tempfile.TemporaryDirectory() as name:
        program = build(part, build_folder, pathlib.Path(name), checks)
        if len(checks) < part.fewest:
            sys.exit(f"{len(checks)} checks found: the patterns no longer fit the sources")
        if not passes(program, -1):
            sys.exit("the tests fail with all checks in place")
        for number, check in enumerate(checks):
            if passes(program, number):
                unnoticed += 1
                print(check, flush=True)
    print(f"{len(checks)} checks, {len(checks) - unnoticed} of them noticed", flush=True)
    return unnoticed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=" and ".join(PARTS) + "; all, where none are named")
    parser.add_argument("--build", default="build", help="a folder where tvmvm_runtime and test_folders are built")
    parser.add_argument("--list", action="store_true", help="the checks, without running anything")
    arguments = parser.parse_args()
    parts = [PARTS[name] for name in arguments.parts or PARTS]
    if arguments.list:
        checks = []
        for path in (path for part in parts for path in part.sources):
            Source(path, checks)
        print("\n".join(checks))
        return
    unnoticed = sum([take_away(part, (ROOT / arguments.build).resolve()) for part in parts])
    sys.exit(1 if unnoticed else 0)


if __name__ == "__main__":
    main()
