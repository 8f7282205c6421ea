"""What a call from Python costs beside the same call from C, and beside onnxruntime and openvino.

The model adds two vectors of four numbers, so that all that is measured is the way in and out. The call from C goes through
libtvm-vm's C interface, by a small program that this script compiles.

    python call_overhead.py [--json]

Each figure is the least time of a call among many short rounds: what else the machine does, does not count.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto, helper

import tvm_vm

CALLS = 200  # of a round
ROUNDS = 500

C_SOURCE = r"""
#include <stdio.h>
#include <time.h>
#include <tvm-vm/c_api.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec * 1e9 + t.tv_nsec; }
#define OK(call) do { tvmvm_status* s = (call); if (s) { fprintf(stderr, "%s\n", tvmvm_status_message(s)); return 1; } } while (0)
int main(int argc, char** argv) {
  tvmvm_program* program; tvmvm_vm* vm; tvmvm_invocation* invocation;
  tvmvm_vm_options options = {sizeof(options)};
  options.threads = 1;
  OK(tvmvm_program_load(argv[1], &program));
  OK(tvmvm_vm_create(program, &options, &vm));
  OK(tvmvm_invocation_create(vm, &invocation));
  float x[4] = {1, 2, 3, 4};
  int64_t dims[1] = {4};
  double best = 1e18;
  for (int round = 0; round < atoi(argv[3]); ++round) {
    double begin = now();
    for (int call = 0; call < atoi(argv[2]); ++call) {
      tvmvm_tensor *in[2], *out[1] = {0};
      OK(tvmvm_tensor_borrow(TVMVM_F32, dims, 1, x, &in[0]));
      OK(tvmvm_tensor_borrow(TVMVM_F32, dims, 1, x, &in[1]));
      OK(tvmvm_invocation_run(invocation, (const tvmvm_tensor* const*)in, 2, out, 1));
      tvmvm_tensor_free(in[0]); tvmvm_tensor_free(in[1]); tvmvm_tensor_free(out[0]);
    }
    double took = (now() - begin) / atoi(argv[2]);
    if (took < best) best = took;
  }
  printf("%f\n", best);
  return 0;
}
"""


def model():
    vector = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in "xyz"]
    graph = helper.make_graph([helper.make_node("Add", ["x", "y"], ["z"])], "add", vector[:2], vector[2:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def least_ns(call):
    for _ in range(CALLS):
        call()
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.perf_counter_ns()
        for _ in range(CALLS):
            call()
        best = min(best, (time.perf_counter_ns() - begin) / CALLS)
    return best


def from_c(program, folder):
    """None where there is no C compiler or no header."""
    package = os.path.dirname(tvm_vm.__file__)
    include = os.path.join(os.path.dirname(__file__), "..", "..", "include")
    source, binary, path = (os.path.join(folder, name) for name in ("call.c", "call", "add.vmexe"))
    program.save(path)
    with open(source, "w") as file:
        file.write("#include <stdlib.h>\n" + C_SOURCE)
    libraries = os.path.realpath(os.path.join(package, "lib"))
    library = os.path.join(libraries, "libtvm-vm.so.0.1")
    try:
        subprocess.run(["cc", "-O2", "-I", include, source, library, f"-Wl,-rpath,{libraries}", "-o", binary], check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return float(subprocess.run([binary, path, str(CALLS), str(ROUNDS)], check=True, capture_output=True).stdout)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--json", action="store_true")
    as_json = arguments.parse_args().json
    x = np.arange(4, dtype=np.float32)
    z = np.empty_like(x)
    program = tvm_vm.compile(model())
    vm = tvm_vm.Vm(program, threads=1)
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        figures["tvm-vm from C"] = from_c(program, folder)
    figures["nothing (a call of a lambda)"] = least_ns(lambda: None)
    figures["tvm-vm vm(x, x)"] = least_ns(lambda: vm(x, x))
    inputs, out = {"x": x, "y": x}, {"z": z}
    figures["tvm-vm vm.run(dict)"] = least_ns(lambda: vm.run(inputs))
    figures["tvm-vm vm.run(dict, out=)"] = least_ns(lambda: vm.run(inputs, out=out))
    try:
        import torch

        t = torch.from_numpy(x)
        figures["tvm-vm vm(torch, torch)"] = least_ns(lambda: vm(t, t))
    except ImportError:
        pass
    try:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(model().SerializeToString(), options, providers=["CPUExecutionProvider"])
        figures["onnxruntime session.run"] = least_ns(lambda: session.run(None, inputs))
    except ImportError:
        pass
    try:
        import openvino

        core = openvino.Core()
        compiled = core.compile_model(core.read_model(model().SerializeToString()), "CPU", {"INFERENCE_NUM_THREADS": 1})
        request = compiled.create_infer_request()
        figures["openvino request.infer"] = least_ns(lambda: request.infer(inputs))
    except ImportError:
        pass
    if as_json:
        json.dump(figures, sys.stdout, indent=2)
        print()
    else:
        for name, ns in figures.items():
            print(f"{name:32} " + ("       ?" if ns is None else f"{ns / 1000:8.2f} us"))


if __name__ == "__main__":
    main()
