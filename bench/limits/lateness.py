"""How late runs end that have a deadline: a table of kernels and host functions that can take long.

    python bench/limits/lateness.py --tool build/tvm-vm --library build/libtvm-vm.so [--threads N] [--device D] [NAME...]

Each case is a small ONNX model given inputs that would take long. It is run with several deadlines; the table has
the largest lateness, where it arose, and how many runs said that all was well although their deadline had passed.
Needs the packages onnx and numpy.
"""

import argparse
import ctypes
import os
import subprocess
import tempfile
import time

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper

NUMPY_OF = {T.FLOAT: np.float32, T.INT64: np.int64, T.DOUBLE: np.float64, T.INT32: np.int32, T.UINT8: np.uint8,
            T.BOOL: np.bool_, T.FLOAT16: np.float16}
CODES = {np.dtype(np.float32): "f32", np.dtype(np.int64): "i64", np.dtype(np.float64): "f64",
         np.dtype(np.int32): "i32", np.dtype(np.uint8): "u8", np.dtype(np.bool_): "bool", np.dtype(np.float16): "f16"}
DEADLINES_MS = (2, 10, 40, 150, 500)


def model(nodes, inputs, outputs, constants=(), opset=20, domains=()):
    graph = helper.make_graph(
        nodes, "late",
        [helper.make_tensor_value_info(n, t, s) for n, t, s in inputs],
        [helper.make_tensor_value_info(n, t, s) for n, t, s in outputs],
        [onnx.numpy_helper.from_array(np.asarray(a), n) for n, a in constants])
    imports = [helper.make_opsetid("", opset)] + [helper.make_opsetid(d, 1) for d in domains]
    return helper.make_model(graph, opset_imports=imports, ir_version=9)


def unary(op, n=300_000_000, dtype=T.FLOAT, out=None, **attributes):
    return (model([helper.make_node(op, ["x"], ["y"], **attributes)], [("x", dtype, ["n"])],
                  [("y", out or dtype, None)]),
            lambda: [np.ones(n, NUMPY_OF[dtype])])


def simple(op, types, arrays, out=T.FLOAT, outputs=1, constants=(), domain="", opset=20, **attributes):
    """A node whose inputs are all the model's, of unknown sizes; `arrays` makes them."""
    names = [f"x{i}" for i in range(len(types))]
    results = [f"y{i}" for i in range(outputs)]
    outs = out if isinstance(out, (list, tuple)) else [out] * outputs
    node = helper.make_node(op, names + [n for n, _ in constants], results, domain=domain, **attributes)
    inputs = [(n, t, [f"{n}_{k}" if d is None else d for k, d in enumerate(s)])
              for (n, (t, s)) in zip(names, types)]
    return (model([node], inputs, [(r, o, None) for r, o in zip(results, outs)], constants, opset,
                  [domain] if domain else []), arrays)


def loop_model():
    body = helper.make_graph(
        [helper.make_node("Sin", ["s"], ["a"]), helper.make_node("Add", ["a", "one"], ["b"]),
         helper.make_node("Identity", ["c"], ["d"])],
        "body",
        [helper.make_tensor_value_info("i", T.INT64, []), helper.make_tensor_value_info("c", T.BOOL, []),
         helper.make_tensor_value_info("s", T.FLOAT, [4])],
        [helper.make_tensor_value_info("d", T.BOOL, []), helper.make_tensor_value_info("b", T.FLOAT, [4])])
    node = helper.make_node("Loop", ["trips", "", "s0"], ["s1"], body=body)
    return (model([node], [("trips", T.INT64, []), ("s0", T.FLOAT, [4])], [("s1", T.FLOAT, [4])],
                  [("one", np.ones(4, np.float32))]),
            lambda: [np.array(1_000_000_000), np.zeros(4, np.float32)])


def random(*shape, dtype=np.float32, seed=0):
    generator = np.random.default_rng(seed)
    if np.issubdtype(dtype, np.integer):
        return generator.integers(0, 1 << 20, shape).astype(dtype)
    return generator.random(shape, np.float32).astype(dtype)


def recurrent(op, gates, steps, batch, hidden):
    names = ["x", "w", "r"]
    node = helper.make_node(op, names, ["y"], hidden_size=hidden)
    return (model([node], [("x", T.FLOAT, ["t", "b", hidden]), ("w", T.FLOAT, [1, gates * hidden, hidden]),
                           ("r", T.FLOAT, [1, gates * hidden, hidden])], [("y", T.FLOAT, None)]),
            lambda: [random(steps, batch, hidden), random(1, gates * hidden, hidden) / hidden,
                     random(1, gates * hidden, hidden) / hidden])


def png(side):
    import struct
    import zlib
    raw = b"".join(b"\0" + os.urandom(64) * (side * 3 // 64) + b"\0" * (side * 3 % 64) for _ in range(side))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return np.frombuffer(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)) +
                         chunk(b"IDAT", zlib.compress(raw, 1)) + chunk(b"IEND", b""), np.uint8)


def texts(*values):
    return np.array(values, object)


F, S = T.FLOAT, T.STRING
CASES = {
    "cumsum 300 M": lambda: simple("CumSum", [(F, [None])], lambda: [np.ones(300_000_000, np.float32)],
                                   constants=[("axis", np.array(0))]),
    "dot 300 M": lambda: simple("MatMul", [(F, [None]), (F, [None])],
                                lambda: [np.ones(300_000_000, np.float32)] * 2),
    "topk 4 M": lambda: simple("TopK", [(F, [None]), (T.INT64, [1])],
                               lambda: [random(4_000_000), np.array([2_000_000])], out=[F, T.INT64], outputs=2),
    "topk 50 M, k 50 M": lambda: simple("TopK", [(F, [None]), (T.INT64, [1])],
                                        lambda: [random(50_000_000), np.array([50_000_000])],
                                        out=[F, T.INT64], outputs=2),
    "topk 50 M, k 10": lambda: simple("TopK", [(F, [None]), (T.INT64, [1])],
                                      lambda: [random(50_000_000), np.array([10])], out=[F, T.INT64], outputs=2),
    "sum 300 M": lambda: unary("ReduceSum", keepdims=0),
    "argmax 300 M": lambda: unary("ArgMax", out=T.INT64, keepdims=0),
    "softmax 100 M": lambda: unary("Softmax", n=100_000_000, axis=0),
    "layernorm 100 M": lambda: simple("LayerNormalization", [(F, [1, None]), (F, [None])],
                                      lambda: [np.ones((1, 100_000_000), np.float32),
                                               np.ones(100_000_000, np.float32)]),
    "8192 x 8192 by a vector": lambda: simple("MatMul", [(F, [None, None]), (F, [None])],
                                              lambda: [np.ones((8192, 8192), np.float32),
                                                       np.ones(8192, np.float32)]),
    "matmul 4096": lambda: simple("MatMul", [(F, [None, None])] * 2,
                                  lambda: [np.ones((4096, 4096), np.float32)] * 2),
    "matmul 64 x 20 M x 64": lambda: simple("MatMul", [(F, [None, None])] * 2,
                                            lambda: [np.ones((16, 10_000_000), np.float32),
                                                     np.ones((10_000_000, 16), np.float32)]),
    "matmul f64 2048": lambda: simple("MatMul", [(T.DOUBLE, [None, None])] * 2,
                                      lambda: [np.ones((2048, 2048))] * 2, out=T.DOUBLE),
    "matmul i32 2048": lambda: simple("MatMul", [(T.INT32, [None, None])] * 2,
                                      lambda: [np.ones((2048, 2048), np.int32)] * 2, out=T.INT32),
    "conv 3x3 of 512": lambda: simple("Conv", [(F, [None, 512, None, None]), (F, [512, 512, 3, 3])],
                                      lambda: [np.ones((1, 512, 128, 128), np.float32),
                                               np.ones((512, 512, 3, 3), np.float32)]),
    "conv 1d, one long row": lambda: simple("Conv", [(F, [1, 1, None]), (F, [1, 1, None])],
                                            lambda: [np.ones((1, 1, 200_000), np.float32),
                                                     np.ones((1, 1, 100_000), np.float32)]),
    "conv transpose": lambda: simple("ConvTranspose", [(F, [None, 128, None, None]), (F, [128, 128, 3, 3])],
                                     lambda: [np.ones((1, 128, 256, 256), np.float32),
                                              np.ones((128, 128, 3, 3), np.float32)]),
    "maxpool of 2001": lambda: simple("MaxPool", [(F, [None, None, None])],
                                      lambda: [random(1, 16, 1_000_000)], kernel_shape=[2001]),
    "lrn": lambda: simple("LRN", [(F, [None, None, None, None])], lambda: [random(1, 4096, 64, 64)], size=2047),
    "gru": lambda: recurrent("GRU", 3, 4000, 1, 1024),
    "lstm": lambda: recurrent("LSTM", 4, 4000, 1, 1024),
    "loop of 10^9": loop_model,
    "dft of 2^14": lambda: simple("DFT", [(F, [None, None, 1])], lambda: [random(4, 1 << 14, 1)]),
    "dft of 16381": lambda: simple("DFT", [(F, [None, None, 1])], lambda: [random(4, 16_381, 1)]),
    "nonzero 100 M": lambda: unary("NonZero", n=100_000_000, out=T.INT64),
    "scatternd 20 M": lambda: simple("ScatterND", [(F, [None]), (T.INT64, [None, 1]), (F, [None])],
                                     lambda: [np.zeros(20_000_000, np.float32),
                                              random(20_000_000, 1, dtype=np.int64),
                                              np.ones(20_000_000, np.float32)]),
    "scatter add 20 M": lambda: simple("ScatterElements", [(F, [None]), (T.INT64, [None]), (F, [None])],
                                       lambda: [np.zeros(20_000_000, np.float32),
                                                random(20_000_000, dtype=np.int64),
                                                np.ones(20_000_000, np.float32)], reduction="add"),
    "gather 100 M": lambda: simple("Gather", [(F, [None]), (T.INT64, [None])],
                                   lambda: [random(1 << 20), random(100_000_000, dtype=np.int64)]),
    "concat 200 M": lambda: simple("Concat", [(F, [None]), (F, [None])],
                                   lambda: [np.ones(200_000_000, np.float32)] * 2, axis=0),
    "transpose 20000": lambda: simple("Transpose", [(F, [None, None])],
                                      lambda: [np.ones((16000, 16000), np.float32)]),
    "identity 300 M": lambda: unary("Identity"),
    "expand 300 M": lambda: simple("Expand", [(F, [1]), (T.INT64, [1])],
                                   lambda: [np.ones(1, np.float32), np.array([300_000_000])]),
    "erf 300 M": lambda: unary("Erf"),
    "pow 200 M": lambda: simple("Pow", [(F, [None]), (F, [None])], lambda: [random(200_000_000)] * 2),
    "mod i64 100 M": lambda: simple("Mod", [(T.INT64, [None]), (T.INT64, [None])],
                                    lambda: [random(100_000_000, dtype=np.int64) + 5,
                                             random(100_000_000, dtype=np.int64) + 1], out=T.INT64),
    "range 300 M": lambda: simple("Range", [(F, []), (F, []), (F, [])],
                                  lambda: [np.array(0, np.float32), np.array(3e8, np.float32),
                                           np.array(1, np.float32)]),
    "einsum": lambda: simple("Einsum", [(F, [None, None, None]), (F, [None, None, None])],
                             lambda: [random(64, 1024, 512), random(64, 512, 1024)], equation="bij,bjk->bik"),
    "determinant 2500": lambda: simple("Det", [(F, [None, None])], lambda: [random(2500, 2500)]),
    "resize": lambda: simple("Resize", [(F, [1, 3, None, None])], lambda: [random(1, 3, 1024, 1024)],
                             constants=[("roi", np.zeros(0, np.float32)),
                                        ("scales", np.array([1, 1, 8, 8], np.float32))], mode="cubic"),
    "grid sample": lambda: simple("GridSample", [(F, [1, None, None, None]), (F, [1, None, None, 2])],
                                  lambda: [random(1, 16, 512, 512), random(1, 4096, 4096, 2)]),
    "roi align": lambda: simple("RoiAlign", [(F, [1, None, None, None]), (F, [None, 4]), (T.INT64, [None])],
                                lambda: [random(1, 64, 512, 512), np.tile(np.float32([-1e30, -1e30, 1e30, 1e30]),
                                                                        (2, 1)),
                                         np.zeros(2, np.int64)], sampling_ratio=0, output_height=2, output_width=2),
    "roi align, large": lambda: simple("RoiAlign", [(F, [1, None, None, None]), (F, [None, 4]), (T.INT64, [None])],
                                       lambda: [random(1, 64, 2048, 2048),
                                                np.tile(np.float32([0, 0, 2048, 2048]), (8, 1)),
                                                np.zeros(8, np.int64)],
                                       sampling_ratio=0, output_height=1, output_width=1),
    "quantize 300 M": lambda: simple("DynamicQuantizeLinear", [(F, [None])],
                                     lambda: [np.ones(300_000_000, np.float32)],
                                     out=[T.UINT8, F, T.UINT8], outputs=3),
    "random normal": lambda: simple("RandomNormalLike", [(F, [None])], lambda: [np.ones(100_000_000, np.float32)]),
    "unique 5 M": lambda: simple("Unique", [(F, [None])], lambda: [random(5_000_000)],
                                 out=[F, T.INT64, T.INT64, T.INT64], outputs=4),
    "unique of one text": lambda: simple("Unique", [(S, [None])], lambda: [texts("a" * 100_000_000, "b")], out=S),
    "nms 1 M": lambda: simple("NonMaxSuppression", [(F, [1, None, 4]), (F, [1, 1, None]), (T.INT64, [1]), (F, [1])],
                              lambda: [np.concatenate([random(1, 1_000_000, 2) * 1e6,
                                                       random(1, 1_000_000, 2) * 1e6 + 1], 2),
                                       random(1, 1, 1_000_000, seed=1), np.array([1_000_000]),
                                       np.float32([1.0])], out=T.INT64),
    "sequence of 300 MB": lambda: (model(
        [helper.make_node("SplitToSequence", ["x"], ["s"], axis=0, keepdims=1),
         helper.make_node("ConcatFromSequence", ["s"], ["y"], axis=0)],
        [("x", F, ["n", "m"])], [("y", F, None)]), lambda: [np.ones((30, 10_000_000), np.float32)]),
    "split of 100 MB": lambda: simple("StringSplit", [(S, [None])], lambda: [texts("a b c d " * 12_500_000)],
                                      out=[S, T.INT64], outputs=2, delimiter=" "),
    "split into words": lambda: simple("StringSplit", [(S, [None])], lambda: [texts("ab " * 33_000_000)],
                                       out=[S, T.INT64], outputs=2),
    "split, no space": lambda: simple("StringSplit", [(S, [None])], lambda: [texts("a" * 100_000_000)],
                                      out=[S, T.INT64], outputs=2),
    "normalize 100 MB": lambda: simple("StringNormalizer", [(S, [None])],
                                       lambda: [texts("aBcDé" * 20_000_000)], out=S, case_change_action="LOWER"),
    "concat of texts": lambda: simple("StringConcat", [(S, [None])] * 2, lambda: [texts("a" * 300_000_000)] * 2,
                                      out=S),
    "regex of 100 MB": lambda: simple("RegexFullMatch", [(S, [None])],
                                      lambda: [texts("ab" * 50_000_000)], out=T.BOOL, pattern="(a|b|ab)*c?"),
    "regex, a state a byte": lambda: simple("RegexFullMatch", [(S, [None])],
                                            lambda: [texts("".join(np.where(random(10_000_000) > 0.5, "a", "b")))],
                                            out=T.BOOL, pattern="(a|b)*a(a|b){20}"),
    "regex of 10^5 texts": lambda: simple("RegexFullMatch", [(S, [None])],
                                          lambda: [np.array(["ab" * 2000] * 100_000, object)], out=T.BOOL,
                                          pattern="(a|b|ab)*c"),
    "floats to texts": lambda: simple("Cast", [(F, [None])], lambda: [random(5_000_000)], out=S, to=S),
    "texts to floats": lambda: simple("Cast", [(S, [None])],
                                      lambda: [np.array(["1.25"] * 3_000_000, object)], out=F, to=F),
    "tf-idf": lambda: simple("TfIdfVectorizer", [(T.INT64, [None])],
                             lambda: [random(10_000_000, dtype=np.int64)], mode="TF", min_gram_length=1,
                             max_gram_length=3, max_skip_count=5, ngram_counts=[0, 2], ngram_indexes=[0, 1, 2],
                             pool_int64s=[1, 2, 3, 4]),
    "png": lambda: simple("ImageDecoder", [(T.UINT8, [None])], lambda: [png(8000)], out=T.UINT8),
}


class Library:
    """The C interface, as much as a run with a deadline needs."""

    def __init__(self, path):
        self.c = ctypes.CDLL(path)
        for name in ("tvmvm_program_load", "tvmvm_vm_create", "tvmvm_invocation_create", "tvmvm_tensor_borrow",
                     "tvmvm_tensor_allocate", "tvmvm_invocation_run_with", "tvmvm_tensor_set_string",
                     "tvmvm_device_open"):
            getattr(self.c, name).restype = ctypes.c_void_p
        self.c.tvmvm_status_message.restype = ctypes.c_char_p
        self.c.tvmvm_status_message.argtypes = [ctypes.c_void_p]
        self.c.tvmvm_status_code.argtypes = [ctypes.c_void_p]
        self.c.tvmvm_program_input_count.restype = ctypes.c_size_t
        self.c.tvmvm_program_output_count.restype = ctypes.c_size_t

    def check(self, status):
        if status:
            raise RuntimeError(self.c.tvmvm_status_message(ctypes.c_void_p(status)).decode())


class VmOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("threads", ctypes.c_int), ("no_native", ctypes.c_int),
                ("devices", ctypes.c_void_p), ("device_count", ctypes.c_size_t)]


class RunOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("timeout_ns", ctypes.c_int64)]


DTYPES = {}  # numpy dtype -> tvmvm_dtype, read from the header


def read_dtypes(root):
    import re
    text = open(os.path.join(root, "include/tvm-vm/c_api.h")).read()
    numbers = {m[1].lower(): int(m[2]) for m in re.finditer(r"TVMVM_(\w+) = (\d+)", text[:text.index("tvmvm_dtype;")])}
    for dtype, name in CODES.items():
        DTYPES[dtype] = numbers[name]
    DTYPES["string"] = numbers["string"]


def tensor(library, array, keep):
    dims = (ctypes.c_int64 * max(1, array.ndim))(*array.shape)
    result = ctypes.c_void_p()
    if array.dtype == object:
        library.check(library.c.tvmvm_tensor_allocate(DTYPES["string"], dims, array.ndim, ctypes.byref(result)))
        for i, text in enumerate(array.ravel()):
            data = text.encode()
            library.check(library.c.tvmvm_tensor_set_string(result, ctypes.c_int64(i), data,
                                                            ctypes.c_size_t(len(data))))
        return result
    array = np.asarray(array, order="C")
    keep.append(array)
    library.check(library.c.tvmvm_tensor_borrow(DTYPES[array.dtype], dims, array.ndim,
                                                ctypes.c_void_p(array.ctypes.data), ctypes.byref(result)))
    return result


def measure(library, path, arrays, threads, device):
    keep = []
    program, vm, invocation = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    library.check(library.c.tvmvm_program_load(path.encode(), ctypes.byref(program)))
    options = VmOptions(ctypes.sizeof(VmOptions), threads, 0, None, 0)
    opened = ctypes.c_void_p()
    if device != "cpu":
        library.check(library.c.tvmvm_device_open(device.encode(), None, ctypes.byref(opened)))
        devices = (ctypes.c_void_p * 1)(opened)
        options.devices, options.device_count = ctypes.cast(devices, ctypes.c_void_p), 1
    library.check(library.c.tvmvm_vm_create(program, ctypes.byref(options), ctypes.byref(vm)))
    library.check(library.c.tvmvm_invocation_create(vm, ctypes.byref(invocation)))
    inputs = [tensor(library, a, keep) for a in arrays]
    given = (ctypes.c_void_p * len(inputs))(*inputs)
    count = library.c.tvmvm_program_output_count(program)
    worst, late_ok, where, total = 0.0, 0, "", None
    for deadline_ms in DEADLINES_MS:
        outputs = (ctypes.c_void_p * count)()
        run = RunOptions(ctypes.sizeof(RunOptions), int(deadline_ms * 1e6))
        begin = time.perf_counter()
        status = library.c.tvmvm_invocation_run_with(invocation, ctypes.byref(run), given,
                                                     ctypes.c_size_t(len(inputs)), outputs, ctypes.c_size_t(count))
        elapsed = (time.perf_counter() - begin) * 1e3
        code = library.c.tvmvm_status_code(ctypes.c_void_p(status)) if status else 0
        for output in outputs:
            library.c.tvmvm_tensor_free(ctypes.c_void_p(output))
        if code not in (0, 6):
            library.check(status)
        lateness = elapsed - deadline_ms
        if code == 0:
            late_ok += lateness > 0.1
            total = elapsed
        if (code or lateness > 0) and lateness > worst:
            worst, where = lateness, f"{deadline_ms} ms"
        library.c.tvmvm_status_free(ctypes.c_void_p(status))
        if code == 0 and elapsed < deadline_ms:
            break
    library.c.tvmvm_invocation_free(invocation)
    for one in inputs:
        library.c.tvmvm_tensor_free(one)
    library.c.tvmvm_vm_free(vm)
    library.c.tvmvm_program_free(program)
    library.c.tvmvm_device_free(opened)  # drivers run threads for each, which do not survive the end of a process
    return worst, where, late_ok, total


def main():
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", default=os.path.join(root, "build/tvm-vm"))
    parser.add_argument("--library", default=os.path.join(root, "build/libtvm-vm.so"))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu", help="cpu, opencl or vulkan")
    parser.add_argument("names", nargs="*", help="cases whose names contain one of these")
    arguments = parser.parse_args()
    read_dtypes(root)
    library = Library(arguments.library)
    print(f"{'case':28} {'late, ms':>9}  {'deadline':>8}  ok although late", flush=True)
    for name, make in CASES.items():
        if arguments.names and not any(n in name for n in arguments.names):
            continue
        try:
            proto, arrays = make()
            with tempfile.TemporaryDirectory() as folder:
                onnx.save(proto, folder + "/m.onnx")
                command = [arguments.tool, "compile", folder + "/m.onnx", "-o", folder + "/m.vmexe"]
                if arguments.device != "cpu":
                    command += ["--device", arguments.device + ",cpu", "--prefer-gpu"]
                else:
                    command += ["--target", "host"]
                done = subprocess.run(command, capture_output=True, text=True)
                if done.returncode != 0:
                    print(f"{name:28} not compiled: {(done.stderr + done.stdout).strip()[:200]}", flush=True)
                    continue
                worst, where, late_ok, total = measure(library, folder + "/m.vmexe", arrays(), arguments.threads,
                                                       arguments.device)
                ended = f"   (all of it: {total:.0f} ms)" if total is not None else ""
                print(f"{name:28} {worst:9.1f}  {where:>8}  {late_ok}{ended}", flush=True)
        except RuntimeError as error:
            print(f"{name:28} {error}", flush=True)


if __name__ == "__main__":
    main()
