#!/usr/bin/env python3
"""What plans promise, at random sizes: peak against lower bound, and what runs held against what their plans said.

    plans.py MODEL.onnx --dim batch=1..4 --dim seq=1..384 --range input_ids=0..1999
    plans.py MODEL.onnx --dim h=32..256 --dim w=32..256 --without share-memory       the same without a pass, beside it

Sizes are those of random calls, the same for both. The model is compiled once; `tvm-vm plan` says what each call takes, without
running it, and `tvm-vm run` what it held. Inputs are random: floats in [0, 1), integers from the range of --range, else 0 and 1; --input
takes one from a .npy file. Needs numpy and onnx, and `tvm-vm` in the build folder. Ends with 1 where a run held what its plan does not say.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import numpy as np

from library import inputs_of, made_inputs, pair

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def arguments():
    parser = argparse.ArgumentParser(prog="bench plans", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=LO..HI|NAME=N")
    parser.add_argument("--range", action="append", default=[], metavar="INPUT=LO..HI", help="of integers, both ends included")
    parser.add_argument("--input", action="append", default=[], metavar="INPUT=FILE.npy")
    parser.add_argument("--calls", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--without", metavar="PASS", help="compile a second time with --disable-pass PASS")
    parser.add_argument("--build", default=str(ROOT / "build"), help="the build folder")
    parser.add_argument("--json", action="store_true", help="an object for each call, instead of the table")
    return parser.parse_args()


def answer(*command):
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def look(tool, executable, dims, files):
    """What the plan of a call says, and what the call held."""
    plan = answer(tool, "plan", executable, "--json", *(word for name, size in dims.items() for word in ("--dim", f"{name}={size}")))
    run = answer(tool, "run", executable, "--json", *(word for name, file in files.items() for word in ("--input", f"{name}={file}")))
    low, high, held = plan["least_peak_bytes"], plan["peak_bytes"], run["peak_bytes"]
    return {"dims": dims, "peak": high, "least": low, "bound": plan["lower_bound_bytes"], "held": held,
            "kept": low <= held and (high is None or held <= high), "exact": low == high, "ms": run["ms"]}


def calls(args, executable, folder):
    ranges = {name: (low, high) for name, low, high in map(pair, args.range)}
    fixed = dict(text.split("=", 1) for text in args.input)
    inputs = [spec for spec in inputs_of(args.model, ranges) if spec[0] not in fixed]
    chosen, numbers = random.Random(args.seed), np.random.default_rng(args.seed)
    sizes = [pair(text) for text in args.dim]
    for _ in range(args.calls):
        dims = {name: chosen.randint(low, high) for name, low, high in sizes}
        files = dict(fixed)
        for name, array in made_inputs(inputs, dims, numbers).items():
            files[name] = str(folder / f"{len(files)}.npy")
            np.save(files[name], array)
        yield look(f"{args.build}/tvm-vm", executable, dims, files)


def show(name, seen):
    exact = [call for call in seen if call["exact"]]
    ratios = [call["peak"] / call["bound"] for call in seen if call["peak"] and call["bound"]]
    print(f"{name}: {sum(call['kept'] for call in seen)} of {len(seen)} runs held what was planned ({len(exact)} plans exact), peak / lower "
          f"bound at most {max(ratios, default=1):.4f}, held {min(call['held'] for call in seen) / 1e6:.3f} to "
          f"{max(call['held'] for call in seen) / 1e6:.3f} MB")


def main():
    args = arguments()
    kinds = {"": []} | ({f" without {args.without}": ["--disable-pass", args.without]} if args.without else {})
    seen = {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for kind, options in kinds.items():
            executable = folder / "model.vmexe"
            subprocess.run([f"{args.build}/tvm-vm", "compile", args.model, "-o", executable, *options], check=True, stderr=subprocess.DEVNULL)
            seen[kind] = list(calls(args, executable, folder))
            if not args.json:
                show(pathlib.Path(args.model).name + kind, seen[kind])
    if args.json:
        print(json.dumps(seen))
    elif args.without:
        ratios = sorted(a["held"] / b["held"] for a, b in zip(*seen.values()))
        print(f"held with the pass / without: {ratios[0]:.3f} to {ratios[-1]:.3f}, median {ratios[len(ratios) // 2]:.3f}")
    return 0 if all(call["kept"] for calls in seen.values() for call in calls) else 1


if __name__ == "__main__":
    sys.exit(main())
