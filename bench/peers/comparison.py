"""A case timed with tvm-vm beside peers: outputs are compared first, then all take turns, and the best call of each counts."""
import argparse
import json
import math
import pathlib
import sys
import tempfile

import numpy as np

from peers import page
from peers.runners import Failed, TvmVm, installed_peers

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TOLERANCE = 2e-3  # of the largest number of an output


def argument_parser(name, description, floor):
    parser = argparse.ArgumentParser(prog=name, description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="cases whose name or family holds one of these; none: all")
    parser.add_argument("--tool", default=str(ROOT / "build/tvm-vm"), help="the tvm-vm to time (build/tvm-vm)")
    parser.add_argument("--target", help="the level of CPU code, as of tvm-vm compile (x86-64-v3); else what the machine has")
    parser.add_argument("--threads", type=int, default=1, help="threads of each runtime (1)")
    parser.add_argument("--seconds", type=float, default=0.08, help="time for each runtime in each round (0.08)")
    parser.add_argument("--rounds", type=int, default=3, help="how often they take turns (3)")
    parser.add_argument("--floor", type=float, default=floor, help=f"the smallest ratio that is no failure ({floor:g})")
    parser.add_argument("--json", metavar="FILE", help="write all figures there")
    parser.add_argument("--page", metavar="FILE.html", help="write a page with plots there (page.py)")
    parser.add_argument("--list", action="store_true", help="name the cases and end")
    return parser


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


class Contestants:
    """tvm-vm and the peers that can run a model, opened on it."""

    def __init__(self, model, peers, options, folder):
        self.refused, self.peers, self.options = {}, [], options
        for peer in peers:
            try:
                self.peers.append(peer(model, options.threads))
            except Exception as error:  # a peer that cannot run the model is no failure of ours
                self.refuse(peer, error)
        self.ours = TvmVm(options.tool, model, options.threads, options.target, folder)

    def refuse(self, peer, error):
        self.refused[peer.name] = str(error).splitlines()[0][:200] if str(error) else type(error).__name__

    def run(self, name, family, inputs, tolerance):
        """A row of the result. Failed where tvm-vm does not run the case, or runs it wrongly."""
        runners = {"tvm-vm": self.ours}
        for peer in self.peers:
            try:
                peer.bind(inputs)
                runners[peer.name] = peer
            except Exception as error:
                self.refuse(peer, error)
        self.ours.bind(inputs)
        if "onnxruntime" in runners:
            compare(self.ours.outputs(), runners["onnxruntime"].outputs(), tolerance)
        best = {name: math.inf for name in sorted(runners)}
        for _ in range(self.options.rounds):
            for runner_name in best:
                best[runner_name] = min(best[runner_name], runners[runner_name].best_ms(self.options.seconds))
        profile = self.ours.profile()
        theirs = [ms for runner_name, ms in best.items() if runner_name != "tvm-vm"]
        return {"name": name, "family": family, "best_ms": best, "refused": dict(self.refused), "compile_ms": self.ours.compile_ms,
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


def run_all(models, options):
    """`models`: of (write(path), [(name, family, inputs(), tolerance), ...]). Prints a line for each case and the summary; gives the
    exit status."""
    if options.list:
        for _, cases in models:
            for name, family, *_ in cases:
                print(f"{family:20} {name}")
        return 0
    peers, missing = installed_peers()
    for line in missing:
        print(line, file=sys.stderr)
    rows, wrong = [], []
    for write, cases in models:
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "model.onnx"
            write(path)
            try:
                contestants = Contestants(path, peers, options, folder)
            except Failed as error:
                contestants, problem = None, str(error)
            for name, family, inputs, tolerance in cases:
                try:
                    if contestants is None:
                        raise Failed(problem)
                    rows.append(contestants.run(name, family, inputs(), tolerance))
                    print(shown(rows[-1], peers), flush=True)
                except Failed as error:
                    wrong.append({"name": name, "problem": str(error)})
                    print(f"{name:36} WRONG: {error}", flush=True)
    text, low = summary(rows, wrong, options.floor)
    print(text)
    figures = {"threads": options.threads, "cases": rows, "wrong": wrong}
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(figures, indent=1))
    if options.page:
        pathlib.Path(options.page).write_text(page.page([figures]))
    return 1 if wrong or low else 0
