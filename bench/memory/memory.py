#!/usr/bin/env python3
"""What a model takes in memory over many calls of random sizes, beside onnxruntime and openvino where they are installed.

    memory.py MODEL.onnx --dim batch=1..4 --dim seq=1..384                 resident memory over 300 calls, and after Trim
    memory.py MODEL.onnx --dim n=1..64 --calls 1000000 --only tvm-vm       growth and slowdown over a million calls
    memory.py MODEL.onnx --dim seq=16 --processes 4                        what processes share of the weights
    memory.py MODEL.onnx --dim n=1..64 --clients 16                        a service of 16 Invocations

Every runner is a process of its own and gets the same sizes in the same order. Figures are megabytes (10^6 bytes) beyond what
the process took before it loaded the model; after Trim, of those that are no mapped file's. Inputs are random: floats in
[0, 1), integers from the range of --range, else 0 and 1; --input takes one from a .npy file. Needs numpy and onnx, and `tvm-vm` in the build folder.
"""

import argparse
import ctypes
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import numpy as np

from library import Library, Model, inputs_of, made_inputs, pair

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WINDOW = 10_000  # calls at the beginning and at the end that are compared


def arguments():
    parser = argparse.ArgumentParser(prog="bench memory", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("--dim", action="append", default=[], metavar="NAME=LO..HI|NAME=N")
    parser.add_argument("--range", action="append", default=[], metavar="INPUT=LO..HI", help="of integers, both ends included")
    parser.add_argument("--input", action="append", default=[], metavar="INPUT=FILE.npy")
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--clients", type=int, default=1, help="Invocations that take turns")
    parser.add_argument("--processes", type=int, default=1, help="processes at once; `together` is of all, the rest of the first")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", choices=list(RUNNERS), help="runners to measure (all that are installed)")
    parser.add_argument("--build", default=str(ROOT / "build"), help="the build folder")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    return parser.parse_args()


def resident():
    """Bytes of this process, weights that are mapped from files among them, and those that are no file's."""
    sizes = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return [int(sizes[name].split()[0]) * 1024 for name in ("VmRSS", "RssAnon")]


# ---- runners: a function that runs on arrays by name, and one that gives memory back, or None ----

def tvm_vm(job):
    model = Model(Library(job["build"]), job["executable"], job["threads"], job["clients"])
    names = [spec[0] for spec in job["inputs"]]

    def run(arrays, call):
        tensors = model.borrow([arrays[name] for name in names])
        model.run(tensors, call % job["clients"])
        model.free(tensors)
    return run, model.trim


def onnxruntime(job):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = job["threads"], 3
    session = ort.InferenceSession(job["model"], options, providers=["CPUExecutionProvider"])
    return (lambda arrays, call: session.run(None, arrays)), None


def openvino(job):
    import openvino as ov
    core = ov.Core()
    compiled = core.compile_model(core.read_model(job["model"]), "CPU", {
        "INFERENCE_NUM_THREADS": job["threads"], "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"})
    requests = [compiled.create_infer_request() for _ in range(job["clients"])]
    return (lambda arrays, call: requests[call % job["clients"]].infer(arrays)), None


RUNNERS = {"tvm-vm": tvm_vm, "onnxruntime": onnxruntime, "openvino": openvino}


def work(job):
    """Runs the calls of one runner and writes what was seen; waits for a line before it ends."""
    if job["runner"] != "tvm-vm":
        __import__(job["runner"])
    before, own = resident()
    run, trim = RUNNERS[job["runner"]](job)
    fixed = {name: np.load(path) for name, path in job["fixed"].items()}
    chosen, numbers = random.Random(job["seed"]), np.random.default_rng(job["seed"])
    inputs = [spec for spec in job["inputs"] if spec[0] not in fixed]
    most = early = 0
    first = last = 0.0  # seconds in windows of calls
    settled = max(1, job["calls"] // 100)
    for call in range(job["calls"]):
        dims = {name: chosen.randint(low, high) for name, low, high in job["dims"]}
        arrays = fixed | made_inputs(inputs, dims, numbers)
        begin = time.perf_counter()
        run(arrays, call)
        took = time.perf_counter() - begin
        if WINDOW // 10 <= call < WINDOW + WINDOW // 10:
            first += took
        if call >= job["calls"] - WINDOW:
            last += took
        if call % settled == 0 or job["calls"] < WINDOW:
            most = max(most, resident()[0])
        if call == settled:
            early = resident()[0]
    end = resident()[0]
    seen = {"most": most - before, "end": end - before, "grown": end - early}
    if job["calls"] >= 4 * WINDOW:
        seen["slower"] = last / first
    if trim:
        arrays = None  # the last call's inputs are not the model's, nor is what the C library keeps of the ones before
        ctypes.CDLL(None).malloc_trim(0)
        trim()
        seen["trimmed"] = resident()[1] - own
    print(json.dumps(seen), flush=True)
    sys.stdin.readline()


def is_installed(runner):
    return runner == "tvm-vm" or subprocess.run([sys.executable, "-c", f"import {runner}"], capture_output=True).returncode == 0


def measure(job, processes):
    """What each process saw while all of them stood."""
    command = [sys.executable, __file__, job["model"], "--worker", json.dumps(job)]
    workers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(processes)]
    lines = [worker.stdout.readline() for worker in workers]
    shared = sum(proportional(worker.pid) for worker in workers)
    for worker in workers:
        worker.communicate("\n")
    if not all(lines):
        sys.exit(f"bench memory: {job['runner']} failed")
    return json.loads(lines[0]) | {"together": shared}


def proportional(pid):
    try:
        return sum(int(line.split()[1]) * 1024 for line in open(f"/proc/{pid}/smaps_rollup") if line.startswith("Pss:"))
    except OSError:
        return 0


def main():
    args = arguments()
    if args.worker:
        return work(json.loads(args.worker))
    dims = [pair(text) for text in args.dim]
    ranges = {name: (low, high) for name, low, high in map(pair, args.range)}
    inputs = inputs_of(args.model, ranges)
    fixed = dict(text.split("=", 1) for text in args.input)
    missing = {size for name, _, shape, _, _ in inputs if name not in fixed for size in shape if isinstance(size, str)} - {d[0] for d in dims}
    if missing:
        sys.exit(f"bench memory: no --dim for {', '.join(sorted(missing))}")
    with tempfile.TemporaryDirectory() as folder:
        executable = pathlib.Path(folder) / "model.vmexe"
        subprocess.run([f"{args.build}/tvm-vm", "compile", args.model, "-o", executable], check=True, stderr=subprocess.DEVNULL)
        rows = {}
        for runner in args.only or [name for name in RUNNERS if is_installed(name)]:
            job = {"runner": runner, "model": args.model, "executable": str(executable), "inputs": inputs, "fixed": fixed, "dims": dims,
                   "calls": args.calls, "threads": args.threads, "clients": args.clients, "seed": args.seed, "build": args.build}
            rows[runner] = measure(job, args.processes)
        show(rows, executable.stat().st_size, args)


def show(rows, file_bytes, args):
    if args.json:
        return print(json.dumps({"file_bytes": file_bytes, "runners": rows}))
    print(f"{pathlib.Path(args.model).name}: executable of {file_bytes / 1e6:.1f} MB, {args.calls} calls, {args.clients} clients, "
          f"{args.processes} processes")
    print(f"{'':14}{'most':>10}{'at the end':>12}{'grown since 1 %':>17}{'after trim':>12}{'together':>10}  last / first 10,000")
    for runner, seen in rows.items():
        trimmed = f"{seen['trimmed'] / 1e6:.1f}" if "trimmed" in seen else ""
        slower = f"{seen['slower']:.3f}" if "slower" in seen else ""
        print(f"{runner:14}{seen['most'] / 1e6:>10.1f}{seen['end'] / 1e6:>12.1f}{seen['grown'] / 1e6:>17.2f}{trimmed:>12}"
              f"{seen['together'] / 1e6:>10.1f}  {slower}")


if __name__ == "__main__":
    main()
