"""Who runs a case: tvm-vm, and the peers that are installed. Each is opened on a model; `bind` gives it the inputs of the calls
that follow, `best_ms(seconds)` is the shortest of the calls that it makes within that time, `outputs()` what one gives."""
import json
import pathlib
import subprocess
import time

import numpy as np

SHORT = 5  # calls at least


def best_of(call, seconds):
    """Milliseconds of the shortest call."""
    best, calls, end = float("inf"), 0, time.perf_counter() + seconds
    while calls < SHORT or time.perf_counter() < end:
        begin = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - begin)
        calls += 1
    return best * 1e3


class OnnxRuntime:
    """Inputs are bound once, so that a call pays as little as can be for Python."""
    name = "onnxruntime"

    def __init__(self, model, threads):
        import onnxruntime
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4
        self.session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])

    def bind(self, inputs):
        self.binding = self.session.io_binding()
        for name, array in inputs.items():
            self.binding.bind_cpu_input(name, array)
        for output in self.session.get_outputs():
            self.binding.bind_output(output.name, "cpu")

    def call(self):
        self.session.run_with_iobinding(self.binding)

    def best_ms(self, seconds):
        return best_of(self.call, seconds)

    def outputs(self):
        self.call()
        return dict(zip([o.name for o in self.session.get_outputs()], self.binding.copy_outputs_to_cpu()))


class OpenVino:
    name = "openvino"

    def __init__(self, model, threads):
        import openvino
        core = openvino.Core()
        settings = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "INFERENCE_PRECISION_HINT": "f32", "PERFORMANCE_HINT": "LATENCY"}
        self.request = core.compile_model(core.read_model(model), "CPU", settings).create_infer_request()

    def bind(self, inputs):
        import openvino
        for name, array in inputs.items():
            self.request.set_tensor(name, openvino.Tensor(array, shared_memory=array.ndim > 0))
        self.request.infer()

    def best_ms(self, seconds):
        return best_of(self.request.infer, seconds)


PEERS = [OnnxRuntime, OpenVino]


def installed_peers():
    """The peers whose packages are there, and a line about each that is not."""
    there, missing = [], []
    for peer in PEERS:
        try:
            __import__(peer.name)
            there.append(peer)
        except ImportError:
            missing.append(f"{peer.name} is not installed: nothing is compared with it")
    return there, missing


class Failed(Exception):
    pass


class TvmVm:
    name = "tvm-vm"

    def __init__(self, tool, model, threads, target, folder):
        self.tool, self.threads, self.folder = tool, threads, pathlib.Path(folder)
        self.program = self.folder / "case.vmexe"
        begin = time.perf_counter()
        self.tell("compile", str(model), "-o", str(self.program), *(["--target", target] if target else []))
        self.compile_ms = (time.perf_counter() - begin) * 1e3

    def bind(self, inputs):
        self.inputs = []
        for name, array in inputs.items():
            path = self.folder / f"in_{name}.npy"
            np.save(path, array)
            self.inputs += ["--input", f"{name}={path}"]

    def tell(self, *arguments):
        done = subprocess.run([self.tool, *arguments], capture_output=True, text=True)
        if done.returncode != 0:
            raise Failed(f"tvm-vm {arguments[0]}: {done.stderr.strip()[-300:]}")
        return done.stdout

    def bench(self, seconds, *more):
        return json.loads(self.tell("bench", str(self.program), *self.inputs, "--threads", str(self.threads), "--seconds", str(seconds),
                                    "--json", *more))

    def best_ms(self, seconds):
        return self.bench(seconds)["best_ms"]

    def profile(self):
        """The machine's limits and the kernels of a call."""
        shown = self.bench(0.01, "--profile")
        return {"machine": shown["machine"], "kernels": shown["kernels"]}

    def outputs(self):
        folder = self.folder / "out"
        for old in folder.glob("*.npy"):
            old.unlink()
        self.tell("run", str(self.program), *self.inputs, "--output-dir", str(folder), "--threads", str(self.threads))
        return {path.stem: np.load(path) for path in folder.glob("*.npy")}
