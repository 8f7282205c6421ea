"""What the benches of memory share: libtvm-vm's C interface (load, run with NumPy arrays, trim), sizes and inputs of calls."""

import ctypes
import pathlib

import numpy as np

DTYPES = {"float32": 1, "float64": 2, "float16": 3, "int8": 5, "int16": 6, "int32": 7, "int64": 8, "uint8": 9, "uint16": 10, "uint32": 11,
          "uint64": 12, "bool": 13}


class VmOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("threads", ctypes.c_int), ("no_native", ctypes.c_int), ("devices", ctypes.c_void_p),
                ("device_count", ctypes.c_size_t), ("pool", ctypes.c_void_p), ("memory", ctypes.c_void_p), ("trust", ctypes.c_int),
                ("signed_constants", ctypes.c_int), ("trusted_keys", ctypes.c_void_p), ("trusted_key_count", ctypes.c_size_t)]


class Library:
    """The library in a build folder. Handles live until the process ends."""

    def __init__(self, folder):
        self.c = ctypes.CDLL(str(pathlib.Path(folder) / "libtvm-vm.so"))
        for name in ("program_load", "vm_create", "invocation_create", "invocation_run", "tensor_borrow"):
            getattr(self.c, "tvmvm_" + name).restype = ctypes.c_void_p
        self.c.tvmvm_status_message.restype = ctypes.c_char_p
        self.c.tvmvm_program_output_count.restype = ctypes.c_size_t

    def check(self, status):
        if status:
            raise RuntimeError(self.c.tvmvm_status_message(ctypes.c_void_p(status)).decode())


class Model:
    """A program with a Vm of `threads` threads and `clients` Invocations."""

    def __init__(self, library, path, threads, clients=1):
        self.library, c = library, library.c
        program, vm = ctypes.c_void_p(), ctypes.c_void_p()
        library.check(c.tvmvm_program_load(str(path).encode(), ctypes.byref(program)))
        options = VmOptions(size=ctypes.sizeof(VmOptions), threads=threads)
        library.check(c.tvmvm_vm_create(program, ctypes.byref(options), ctypes.byref(vm)))
        self.outputs = (ctypes.c_void_p * c.tvmvm_program_output_count(program))()
        self.invocations = [ctypes.c_void_p() for _ in range(clients)]
        for invocation in self.invocations:
            library.check(c.tvmvm_invocation_create(vm, ctypes.byref(invocation)))

    def borrow(self, arrays):
        """Tensors on the arrays' memory, which has to outlive them."""
        tensors = (ctypes.c_void_p * len(arrays))()
        for k, array in enumerate(arrays):
            dims = (ctypes.c_int64 * array.ndim)(*array.shape)
            made = ctypes.c_void_p()
            self.library.check(self.library.c.tvmvm_tensor_borrow(DTYPES[array.dtype.name], dims, array.ndim,
                                                                  ctypes.c_void_p(array.ctypes.data), ctypes.byref(made)))
            tensors[k] = made.value
        return tensors

    def free(self, tensors):
        for k, tensor in enumerate(tensors):
            self.library.c.tvmvm_tensor_free(ctypes.c_void_p(tensor))
            tensors[k] = None

    def run(self, tensors, client=0):
        """The outputs are freed."""
        self.library.check(self.library.c.tvmvm_invocation_run(self.invocations[client], tensors, ctypes.c_size_t(len(tensors)),
                                                               self.outputs, ctypes.c_size_t(len(self.outputs))))
        self.free(self.outputs)

    def trim(self):
        for invocation in self.invocations:
            self.library.c.tvmvm_invocation_trim(invocation)


def pair(text):
    name, _, value = text.partition("=")
    low, dots, high = value.partition("..")
    return name, int(low), int(high if dots else low)


def inputs_of(path, ranges):
    """(name, dtype, dims, low, high) of each input of the model."""
    import onnx
    from onnx import helper
    graph = onnx.load(path, load_external_data=False).graph
    weights = {weight.name for weight in graph.initializer}
    inputs = []
    for value in graph.input:
        tensor = value.type.tensor_type
        if value.name in weights:
            continue
        dims = [d.dim_param if d.HasField("dim_param") else d.dim_value for d in tensor.shape.dim]
        low, high = ranges.get(value.name, (0, 1))
        inputs.append((value.name, helper.tensor_dtype_to_np_dtype(tensor.elem_type).name, dims, low, high))
    return inputs


def made_inputs(inputs, dims, numbers):
    """Arrays of a model's inputs, (name, dtype, dims, low, high) each, at these sizes."""
    arrays = {}
    for name, dtype, shape, low, high in inputs:
        sizes = [dims[size] if isinstance(size, str) else size for size in shape]
        kind = np.dtype(dtype)
        arrays[name] = (numbers.random(sizes, np.float32).astype(kind) if kind.kind == "f" else
                        numbers.integers(low, high, sizes, endpoint=True).astype(kind))
    return arrays
