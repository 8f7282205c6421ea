#!/usr/bin/env python3
"""Times operators and patterns (cases/*.txt) with tvm-vm beside onnxruntime and openvino, in turns, in one run.

Each case is compiled once, its outputs are compared with onnxruntime's, and then all take turns; what counts is the best call
of each. `ratio` is the best peer's time by tvm-vm's: below 1 a peer is faster. `limit` is the time that the kernels would take
at the machine's measured speed (`tvm-vm bench --profile`) by the time of a call: near 100 % nothing is left to gain.
Peers that are not installed are left out. Exits 1 where an output is wrong, or a case is slower than --floor allows.
Needs numpy and onnx from PyPI.
"""
import argparse
import json
import math
import pathlib
import sys
import tempfile

import numpy as np

import page
from case_text import all_cases
from runners import Failed, TvmVm, installed_peers
import onnx

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOLERANCE = 2e-3  # of the largest number of an output


def arguments():
    parser = argparse.ArgumentParser(prog="bench ops", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="cases whose name or family holds one of these; none: all")
    parser.add_argument("--tool", default=str(ROOT / "build/tvm-vm"), help="the tvm-vm to time (build/tvm-vm)")
    parser.add_argument("--target", help="the level of CPU code, as of tvm-vm compile (x86-64-v3); else what the machine has")
    parser.add_argument("--threads", type=int, default=1, help="threads of each runtime (1)")
    parser.add_argument("--seconds", type=float, default=0.08, help="time for each runtime in each round (0.08)")
    parser.add_argument("--rounds", type=int, default=3, help="how often they take turns (3)")
    parser.add_argument("--floor", type=float, default=0.9, help="the smallest ratio that is no failure (0.9)")
    parser.add_argument("--json", metavar="FILE", help="write all figures there")
    parser.add_argument("--page", metavar="FILE.html", help="write a page with plots there (page.py)")
    parser.add_argument("--list", action="store_true", help="name the cases and end")
    return parser.parse_args()


def difference(got, wanted, tolerance):
    """What is wrong with an output; None where it is as wanted."""
    if got.shape != wanted.shape:
        return f"shape {list(got.shape)}, wanted {list(wanted.shape)}"
    if wanted.size == 0:
        return None
    apart = np.abs(got.astype(np.float64) - wanted.astype(np.float64))
    if wanted.dtype.kind != "f":
        allowed = tolerance or 0
    else:
        finite = np.abs(wanted[np.isfinite(wanted)].astype(np.float64))
        allowed = (tolerance or TOLERANCE) * max(1.0, finite.max(initial=0))
        apart = np.where(got.astype(np.float64) == wanted.astype(np.float64), 0, apart)
        apart = np.where(np.isnan(got) & np.isnan(wanted), 0, apart)
    return None if np.all(apart <= allowed) else f"differs by {np.nanmax(apart):.3g}, {allowed:.3g} is allowed"


def compare(got, wanted, tolerance):
    for name, value in wanted.items():
        if name not in got:
            raise Failed(f"output '{name}' is missing")
        if problem := difference(got[name], np.asarray(value), tolerance):
            raise Failed(f"output '{name}' {problem}")


def limit_of(kernels, best_ms):
    """Share of a call's time that the limits of its kernels take; None where nobody knows the limits."""
    if any("limit_ns" not in kernel for kernel in kernels):
        return None
    return sum(kernel["limit_ns"] for kernel in kernels) / (best_ms * 1e6)


def run_case(case, peers, options, folder):
    """A row of the result. Failed where tvm-vm does not run the case, or runs it wrongly."""
    model, inputs = pathlib.Path(folder) / "case.onnx", case.inputs()
    onnx.save(case.model(), model)
    runners, refused = {}, {}
    for peer in peers:
        try:
            runners[peer.name] = peer(model, inputs, options.threads)
        except Exception as error:  # a peer that cannot run the case is no failure of ours
            refused[peer.name] = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
    ours = TvmVm(options.tool, model, inputs, options.threads, options.target, folder)
    if "onnxruntime" in runners:
        compare(ours.outputs(), runners["onnxruntime"].outputs(), case.tolerance)
    runners["tvm-vm"] = ours
    best = {name: math.inf for name in runners}
    for _ in range(options.rounds):
        for name, runner in runners.items():
            best[name] = min(best[name], runner.best_ms(options.seconds))
    profile = ours.profile()
    theirs = [ms for name, ms in best.items() if name != "tvm-vm"]
    return {"name": case.name, "family": case.family, "best_ms": best, "refused": refused, "compile_ms": ours.compile_ms,
            "ratio": min(theirs) / best["tvm-vm"] if theirs else None, "limit": limit_of(profile["kernels"], best["tvm-vm"]), **profile}


def shown(row, peers):
    text = f"{row['name']:36}"
    for name in [*(peer.name for peer in peers), "tvm-vm"]:
        text += f" {name} {row['best_ms'][name]:9.4f} " if name in row["best_ms"] else f" {name}         - "
    text += f" ratio {row['ratio']:6.2f}" if row["ratio"] else " ratio      -"
    return text + (f"  limit {row['limit'] * 100:4.0f} %" if row["limit"] is not None else "")


def summary(rows, wrong, floor):
    ratios = [row["ratio"] for row in rows if row["ratio"]]
    text = f"{len(rows)} cases, {len(wrong)} wrong"
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        text += f", geometric mean {mean:.3f}, {sum(r < 1 for r in ratios)} slower than a peer"
    low = sorted((row for row in rows if row["ratio"] and row["ratio"] < floor), key=lambda row: row["ratio"])
    text += f", {len(low)} below {floor:g}"
    for row in low:
        text += f"\n  {row['name']:36} {row['ratio']:.2f}" + (f"  at {row['limit'] * 100:.0f} % of its limit" if row["limit"] is not None else "")
    return text, low


def main():
    options = arguments()
    cases = [c for c in all_cases() if not options.names or any(part in c.name or part in c.family for part in options.names)]
    if not cases:
        sys.exit(f"no case is named like {' '.join(options.names)}")
    if options.list:
        for case in cases:
            print(f"{case.family:14} {case.name}")
        return
    peers, missing = installed_peers()
    for line in missing:
        print(line, file=sys.stderr)
    rows, wrong = [], []
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            try:
                rows.append(run_case(case, peers, options, folder))
                print(shown(rows[-1], peers), flush=True)
            except Failed as error:
                wrong.append({"name": case.name, "problem": str(error)})
                print(f"{case.name:36} WRONG: {error}", flush=True)
    text, low = summary(rows, wrong, options.floor)
    print(text)
    figures = {"threads": options.threads, "cases": rows, "wrong": wrong}
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(figures, indent=1))
    if options.page:
        pathlib.Path(options.page).write_text(page.page([figures]))
    sys.exit(1 if wrong or low else 0)


if __name__ == "__main__":
    main()
