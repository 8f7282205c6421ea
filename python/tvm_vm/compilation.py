"""Models to programs, by the compiler of the package tvm-vm-compiler."""

import os
import tempfile
import warnings
from typing import Any, Callable, Mapping, Optional, Sequence, TextIO, Tuple, Union

from . import _core
from ._core import Program

Dim = Union[int, Tuple[int, int]]
TextFile = Union[str, "os.PathLike[str]", TextIO]


class CompileWarning(UserWarning):
    """What was assumed of a model that breaks ONNX's rules, and what is worth knowing of it."""


def device_names(device: Union[str, Sequence[str]]) -> list:
    """ "vulkan,cpu" and ["vulkan", "cpu"] alike."""
    return device.split(",") if isinstance(device, str) else list(device)


def library(name: str = "tvm-vm-compiler") -> str:
    """Where the compiler is: in this package, which tvm-vm-compiler adds it to, or wherever the loader finds it."""
    numbers = _core.version().split(".")
    name = f"lib{name}.so." + (f"0.{numbers[1]}" if numbers[0] == "0" else numbers[0])
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lib", name)
    return path if os.path.exists(path) else name


def compile(
    model: Any,
    *,
    device: Union[str, Sequence[str]] = "cpu",
    dims: Optional[Mapping[str, Dim]] = None,
    weights: Optional[str] = None,
    precision: Optional[str] = None,
    targets: Optional[Sequence[str]] = None,
    strict: Optional[bool] = None,
    prefer_gpu: Optional[bool] = None,
    bitcode: Optional[bool] = None,
    keep_all_values: Optional[bool] = None,
    keep_values: Optional[Sequence[str]] = None,
    donate: Optional[Mapping[str, str]] = None,
    memory_budget: Optional[int] = None,
    schedule: Optional[TextFile] = None,
    write_schedule: Optional[TextFile] = None,
    exact_convolutions: Optional[bool] = None,
    distinct_dims: Optional[bool] = None,
    strict_onnx: Optional[bool] = None,
    threads: Optional[int] = None,
    model_name: Optional[str] = None,
    progress: Optional[Callable[[str, float], None]] = None,
    isolated: Optional[bool] = None,
    max_bytes: Optional[int] = None,
    timeout: Optional[float] = None,
) -> Program:
    """Compiles an ONNX model: a path, its bytes, an onnx.ModelProto or a torch.onnx.ONNXProgram.

    device: "cpu", "vulkan,cpu", ["opencl", "vulkan", "cpu"]: what the program can run on.
    dims: of the inputs, by name: {"batch": 1} fixes one, {"length": (1, 512)} bounds one.
    weights: "int8" or "int4": large weights in so few bits.
    precision: "fp16": of the GPUs' weights and activations.
    targets: levels of the CPU, "x86-64-v3", "x86-64-v4" or "host"; without them, those that are common.
    strict: with a GPU, an error where something would run on the CPU.
    prefer_gpu: small models run on the GPU, too, though the CPU alone is faster.
    bitcode: the program also holds LLVM bitcode, for other CPUs.
    keep_all_values: every value of the model becomes an output.
    keep_values: names of nodes and of values that become outputs, behind the model's own; in the body of a loop
        they are collected, an element for each step, as NAME_steps.
    donate: inputs whose memory an output takes, {"past": "present"}: give `out=` memory that begins where the input's
        does, and no copy is made (Vm.donations).
    memory_budget: bytes that a run on the CPU may hold, weights apart, at the largest sizes of `dims`; what does not fit
        is computed later, again or in parts (docs/memory.md). OutOfMemory says the least that was reached.
    schedule: a file, or its path, that says how kernels are built (docs/schedules.md).
    write_schedule: a file, or its path, that gets what was chosen for each kernel, as `schedule` takes it.
    exact_convolutions: 3 x 3 convolutions add up every product, instead of fewer of sums (Winograd); slower.
    distinct_dims: dimensions of one name may differ in a call.
    strict_onnx: what else is a CompileWarning is an error.
    threads: of the compiler; 0: all that the process may use.
    progress: is called with a stage and its fraction, on the calling thread.
    isolated: in a process of its own, whose crash or lack of memory is an exception here, for services.
    max_bytes, timeout: limits of that process, bytes and seconds; each asks for one by itself.

    Warns with CompileWarning. Raises InvalidArgument, Unsupported (all operators that are not supported, at once),
    and NotFound where a file or the compiler is not there.
    """
    options = {
        "devices": device_names(device),
        "dims": {name: (dim, dim) if isinstance(dim, int) else tuple(dim) for name, dim in (dims or {}).items()},
        "weights": weights,
        "precision": precision,
        "targets": None if targets is None else list(targets),
        "strict": strict,
        "prefer_gpu": prefer_gpu,
        "bitcode": bitcode,
        "keep_all_values": keep_all_values,
        "keep_values": None if keep_values is None else list(keep_values),
        "donate": None if donate is None else list(donate.items()),
        "memory_budget": memory_budget,
        "exact_convolutions": exact_convolutions,
        "distinct_dims": distinct_dims,
        "strict_onnx": strict_onnx,
        "threads": threads,
        "model_name": model_name,
        "progress": progress,
    }
    if schedule is not None:
        options["schedule"], options["schedule_name"] = _read(schedule)
    limits = {"max_bytes": max_bytes, "timeout": timeout}
    if isolated is None:
        isolated = max_bytes is not None or timeout is not None
    elif not isolated and (max_bytes is not None or timeout is not None):
        raise ValueError("max_bytes and timeout are limits of a process of its own: isolated=False has none")
    program, notes, _, chosen = _compile_any(model, _Compiler(options, limits if isolated else None))
    if write_schedule is not None:
        _write(write_schedule, chosen)
    for note in notes:
        warnings.warn(note, CompileWarning, stacklevel=2)
    return program


def _read(file: TextFile) -> Tuple[str, str]:
    """The text, and what messages call it."""
    if not isinstance(file, (str, os.PathLike)):
        return file.read(), str(getattr(file, "name", "schedule"))
    with open(file) as opened:
        return opened.read(), os.fspath(file)


def _write(file: TextFile, text: str) -> None:
    if not isinstance(file, (str, os.PathLike)):
        file.write(text)
        return
    with open(file, "w") as opened:
        opened.write(text)


class _Compiler:
    """Compiles with these options; with limits, in a process of its own."""

    def __init__(self, options: dict, limits: Optional[dict]):
        self.options, self.limits = options, limits

    def of_file(self, path: str) -> Any:
        if self.limits is None:
            return _core.compile_file(library(), path, self.options)
        return _core.compile_file_isolated(library("tvm-vm-isolated-compiler"), path, self.options, self.limits)

    def of_bytes(self, model: Any) -> Any:
        if self.limits is None:
            return _core.compile_bytes(library(), model, self.options)
        return _core.compile_bytes_isolated(library("tvm-vm-isolated-compiler"), model, self.options, self.limits)


def _compile_any(model: Any, compiler: _Compiler) -> Any:
    if isinstance(model, (str, os.PathLike)):
        return compiler.of_file(os.fspath(model))
    if isinstance(model, (bytes, bytearray, memoryview)):
        return compiler.of_bytes(model)
    if hasattr(model, "SerializeToString"):  # onnx.ModelProto
        return _compile_proto(model, compiler)
    if hasattr(model, "model_proto") and hasattr(model, "save"):  # torch.onnx.ONNXProgram
        return _compile_saved(lambda path: model.save(path, external_data=True), compiler)
    raise TypeError(f"a path, bytes, an onnx.ModelProto or a torch.onnx.ONNXProgram is wanted, not {type(model).__name__}")


def _compile_proto(model: Any, compiler: _Compiler) -> Any:
    try:
        serialized = model.SerializeToString()
    except ValueError:  # protobuf writes no more than 2 GB in one piece
        import onnx

        return _compile_saved(lambda path: onnx.save(model, path, save_as_external_data=True), compiler)
    return compiler.of_bytes(serialized)


def _compile_saved(save: Callable[[str], None], compiler: _Compiler) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        save(path)
        return compiler.of_file(path)
