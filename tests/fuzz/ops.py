#!/usr/bin/env python3
"""Random operators, attributes, element types and shapes, compared with implementations by others.

Makes models of one node or a short chain of nodes, of every operator and opset version that has a generator
(operators/), computes what they give with ONNX Runtime, or ONNX's reference evaluator where that does not run them,
and hands them in batches to `tvm-vm test`. About one case in eight is damaged on purpose: of those only a clean end
is wanted. A finding is a difference to every reference that runs the case, an error where they give a result, a crash,
a hang or a sanitizer's report. The run ends with a table of what was compared and what was left out, and fails where an
operator was never compared. Needs onnx and onnxruntime from PyPI.
"""
import argparse
import collections
import json
import multiprocessing
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
CHANCES = 60  # cases of an operator, none of which can be compared, until it counts as never compared
CLEAN_END = re.compile(r"\((\w+)\)$")  # an error of the tool ends in its code
SANITIZED = {
    "ASAN_OPTIONS": "allocator_may_return_null=1:intercept_tls_get_addr=0",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "LSAN_OPTIONS": f"suppressions={ROOT}/tests/leaks_of_others.txt:print_suppressions=0",
}


def arguments():
    parser = argparse.ArgumentParser(prog="fuzz ops", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=5, help="how long to make cases (5)")
    parser.add_argument("--cases", type=int, default=0, help="stop after so many cases")
    parser.add_argument("--seed", type=int, help="a case is known by seed and number (else a random seed)")
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--only", nargs="+", default=[], metavar="OPERATOR", help="these operators, one node each")
    parser.add_argument("--tool", default=str(ROOT / "build/tvm-vm"), help="the tvm-vm to test (build/tvm-vm)")
    parser.add_argument("--device", default="cpu", help="devices to run on, as of tvm-vm test: vulkan,cpu (cpu)")
    parser.add_argument("--keep", default="", metavar="DIR", help="where folders of findings are kept (else a new one in /tmp)")
    parser.add_argument("--batch", type=int, default=150, help="cases for one run of the tool")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="cases at a time")
    parser.add_argument("--timeout", type=float, default=30, help="seconds for one case")
    return parser.parse_args()


def named(operator):
    domain, name = operator
    return f"{domain}.{name}" if domain else name


class Worker:
    """A process of its own for the references: some of the cases end theirs."""

    def __init__(self, seed, only):
        self.arguments = (seed, only)
        self.process = None

    def ask(self, *request, seconds=30):
        """The answer, or None when the process died or took too long over it."""
        if self.process is None or not self.process.is_alive():
            self.pipe, other = multiprocessing.Pipe()
            self.process = multiprocessing.Process(target=work, args=(other, *self.arguments), daemon=True)
            self.process.start()
            other.close()
        try:
            self.pipe.send(request)
            if self.pipe.poll(seconds):
                return self.pipe.recv()
        except (EOFError, OSError):
            pass
        self.end()
        return None

    def end(self):
        if self.process is not None:
            self.process.kill()
            self.process.join()
        self.process = None


def work(pipe, seed, only):
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what the references print
    from maker import Maker
    from minimise import alternative, sensitive, smaller
    maker = Maker(seed, only)
    while True:
        request = pipe.recv()
        if request[0] == "make":
            _, number, folder = request
            case, outputs, reference = maker.make(number)
            case.write(pathlib.Path(folder) / case.name, outputs)
            pipe.send({"name": case.name, "number": number, "operators": case.operators, "wild": case.is_wild,
                       "reference": reference if outputs is not None else None, "why": None if outputs is not None else reference,
                       "versions": case.opsets, "domains": [s.domain for s in case.steps]})
        elif request[0] == "alternative":
            pipe.send(alternative(maker, *request[1:]))
        elif request[0] == "sensitive":
            pipe.send(sensitive(maker, *request[1:]))
        elif request[0] == "smaller":
            pipe.send(smaller(maker, *request[1:]))


class Tool:
    """`tvm-vm test` on a batch of folders."""

    def __init__(self, options):
        self.options = options
        self.process = None

    def start(self, folders):
        options = self.options
        command = [options.tool, "test", "--json", "--device", options.device, "--jobs", str(options.jobs), "--timeout",
                   str(options.timeout), "--max-bytes", "2G", *map(str, folders)]
        self.answer = tempfile.TemporaryFile("w+")
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(command, stdout=self.answer, stderr=self.errors, env={**SANITIZED, **os.environ})

    def results(self):
        """Outcome and detail by name."""
        self.process.wait()
        self.answer.seek(0)
        try:
            tests = json.loads(self.answer.read())["tests"]
        except json.JSONDecodeError:
            self.errors.seek(0)
            raise SystemExit(f"fuzz ops: {self.options.tool} gave no results (exit code {self.process.returncode}):\n"
                             + self.errors.read()[-2000:]) from None
        return {test["name"]: (test["outcome"], test["detail"]) for test in tests}

    def run(self, folders):
        self.start(folders)
        return self.results()


def judge(case, outcome, detail):
    """What kind of finding a result is, "" for none."""
    if outcome == "error":
        code = CLEAN_END.search(detail)
        if code is None:
            return "hang" if detail.startswith("no answer") else "crash"
        if code[1] == "internal":
            return "internal error"
        return "refused" if case["reference"] else ""
    return "differs" if outcome == "fail" and case["reference"] else ""


class Session:
    def __init__(self, options):
        self.options = options
        self.scratch = pathlib.Path(tempfile.mkdtemp(prefix="fuzz-ops-"))
        self.keep = pathlib.Path(options.keep or tempfile.mkdtemp(prefix="fuzz-ops-findings-"))
        self.keep.mkdir(parents=True, exist_ok=True)
        self.worker = Worker(options.seed, options.only)
        self.never_compared = []
        self.counts = collections.Counter()
        self.by_operator = collections.defaultdict(collections.Counter)
        self.reasons = collections.defaultdict(collections.Counter)  # why cases of an operator were left out
        self.findings = collections.defaultdict(list)

    def batch(self, numbers, worker=None):
        cases = []
        for number in numbers:
            case = (worker or self.worker).ask("make", number, str(self.scratch))
            if case is None:
                self.counts["ended the references' process"] += 1
            else:
                cases.append(dict(case, folder=self.scratch / case["name"]))
        return cases

    def take(self, cases, results):
        """Judges a batch that ran."""
        suspects = []
        for case in cases:
            outcome, detail = results[case["folder"].name]
            self.count(case, outcome)
            kind = judge(case, outcome, detail)
            if kind:
                suspects.append((case, kind, detail))
        for case, kind, detail in suspects:
            self.consider(case, kind, detail)
        for case in cases:
            shutil.rmtree(case["folder"], ignore_errors=True)

    def count(self, case, outcome):
        self.counts["cases"] += 1
        kind = "wild" if case["wild"] else case["reference"] or "no reference"
        self.counts[kind] += 1
        for operator in zip(case["domains"], case["operators"]):
            tally = self.by_operator[operator]
            tally[kind] += 1
            tally["passed" if outcome == "pass" else "other"] += 1
            if kind == "no reference":
                self.reasons[operator][case["why"] or "the references ended"] += 1

    def consider(self, case, kind, detail):
        """A difference counts where every reference that runs the case differs, by more than rounding of 16-bit floats explains."""
        if kind == "differs":
            if self.worker.ask("sensitive", case["number"], str(case["folder"])):
                outcome, _ = Tool(self.options).run([case["folder"]])[case["folder"].name]
                if outcome == "pass":
                    self.counts["chains that carry rounding on"] += 1
                    return
            other = self.worker.ask("alternative", case["number"], str(case["folder"]), case["reference"])
            if other:
                outcome, _ = Tool(self.options).run([case["folder"]])[case["folder"].name]
                if outcome == "pass":
                    self.counts["references disagree, one of them as here"] += 1
                    return
        self.report(case, kind, detail)

    def report(self, case, kind, detail):
        key = (kind, "+".join(case["operators"]), re.sub(r"[-\d.einfa]+", "#", detail)[:90])
        if len(self.findings[key]) < 3:
            folder = self.keep / f"{kind.replace(' ', '_')}_{case['name']}"
            shutil.rmtree(folder, ignore_errors=True)
            shutil.copytree(case["folder"], folder)
            (folder / "finding.json").write_text(json.dumps(
                {"kind": kind, "detail": detail, "seed": self.options.seed, **{k: str(v) for k, v in case.items()}}, indent=1))
            note(f"{kind}: {case['name']} ({' '.join(case['operators'])}, {case['versions']}; {case['reference']}): {detail[:300]}")
            self.shrink(case, kind)
        self.findings[key].append(case["name"])

    def shrink(self, case, kind):
        """Of a chain: single nodes and shorter chains that show the same."""
        if len(case["operators"]) == 1:
            return
        folders = self.worker.ask("smaller", case["number"], str(self.scratch / "smaller")) or []
        if not folders:
            return
        results = Tool(self.options).run([f for f, _ in folders])
        for folder, nodes in folders:
            outcome, detail = results[pathlib.Path(folder).name]
            if judge(dict(case, reference="any"), outcome, detail) == kind:
                target = self.keep / f"{kind.replace(' ', '_')}_{case['name']}_{pathlib.Path(folder).name}"
                shutil.copytree(folder, target, dirs_exist_ok=True)
                note(f"  smaller: {nodes}: {detail[:200]}")
                break
        shutil.rmtree(self.scratch / "smaller", ignore_errors=True)

    def run(self):
        end = time.monotonic() + 60 * self.options.minutes
        number, tool, running = self.options.first, Tool(self.options), []
        last = self.options.first + self.options.cases if self.options.cases else sys.maxsize
        while running or (time.monotonic() < end and number < last):
            fresh = []
            if time.monotonic() < end and number < last:
                count = min(self.options.batch, last - number)
                fresh = self.batch(range(number, number + count))
                number += count
            results = tool.results() if running else {}
            finished = running
            if fresh:
                tool.start([case["folder"] for case in fresh])
            running = fresh
            self.take(finished, results)
            progress(f"{self.counts['cases']} cases, {len(self.findings)} findings")
        if not self.options.cases:
            self.compare_the_rest()
        progress("")
        shutil.rmtree(self.scratch, ignore_errors=True)

    def summary(self):
        print(f"\nseed {self.options.seed}: " + ", ".join(f"{count} {name}" for name, count in self.counts.most_common()))
        self.table()
        for (kind, operators, _), names in sorted(self.findings.items()):
            print(f"{kind}: {operators}: {len(names)} times: {' '.join(names[:3])}")
        for operator in self.never_compared:
            print(f"never compared: {named(operator)}: " + "; ".join(self.reasons[operator]))
        print(f"{len(self.findings)} findings" + (f", kept in {self.keep}" if self.findings else ""))

    def table(self):
        """Of each operator: how many cases were compared, with which reference, how many were left out and why."""
        print(f"{'operator':44} {'onnxruntime':>11} {'evaluator':>9} {'left out':>8} {'damaged':>7} {'passed':>6}")
        for operator in sorted(self.by_operator):
            tally = self.by_operator[operator]
            reasons = "; ".join(f"{reason[:100]} ({count})" for reason, count in self.reasons[operator].most_common(2))
            print(f"{named(operator):44} {tally['onnxruntime']:11} {tally['onnx.reference']:9} {tally['no reference']:8} "
                  f"{tally['wild']:7} {tally['passed']:6}  {reasons}".rstrip())

    def compare_the_rest(self):
        """Makes cases of the operators that were not compared yet, until each was or has had its chances."""
        from known_defects import INCOMPARABLE
        from maker import Maker
        wanted = [key for key in Maker(0, self.options.only).operators if key not in INCOMPARABLE]
        for operator in wanted:
            worker, first = Worker(self.options.seed, [operator[1]]), 0
            while not self.was_compared(operator) and first < CHANCES:
                cases = self.batch(range(first, first + 10), worker)
                first += 10
                if cases:
                    self.take(cases, Tool(self.options).run([case["folder"] for case in cases]))
            worker.end()
            if not self.was_compared(operator):
                self.never_compared.append(operator)

    def was_compared(self, operator):
        return any(self.by_operator[operator][reference] for reference in ("onnxruntime", "onnx.reference"))


def progress(text):
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K" + text)
        sys.stderr.flush()


def note(text):
    progress("")
    print(text.replace("\n", " "), flush=True)


def main():
    options = arguments()
    sys.path.insert(0, str(HERE))
    try:
        from importlib.util import find_spec
        missing = [name for name in ("numpy", "onnx", "onnxruntime") if find_spec(name) is None]
    except ImportError:
        missing = ["onnx"]
    if missing:
        print(f"fuzz ops: not installed: {', '.join(missing)}. The references come from PyPI: "
              "python3 -m venv V && V/bin/pip install onnx onnxruntime && PATH=V/bin:$PATH", file=sys.stderr)
        return 2
    if not os.access(options.tool, os.X_OK):
        print(f"fuzz ops: no tool at {options.tool}: ./dev build, or --tool PATH", file=sys.stderr)
        return 2
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1 << 30)
    print(f"seed {options.seed}, tool {options.tool}", flush=True)
    session = Session(options)
    try:
        session.run()
    except KeyboardInterrupt:
        progress("")
    session.summary()
    return 1 if session.findings or session.never_compared else 0


if __name__ == "__main__":
    sys.exit(main())
