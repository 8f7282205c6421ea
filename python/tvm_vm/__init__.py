"""Compiles ONNX models ahead of time and runs them, at every shape, on CPUs and GPUs.

    program = tvm_vm.compile("model.onnx")       # with tvm-vm-compiler; or tvm_vm.load("model.vmexe")
    vm = tvm_vm.Vm(program)
    y = vm(x)                                    # NumPy arrays, torch tensors, whatever speaks DLPack
"""

from ._core import CancelToken, Device, MemoryPool, Program, Tensor, version
from .compilation import CompileWarning, compile
from .errors import (
    Cancelled,
    DeadlineExceeded,
    DeviceLost,
    Error,
    Internal,
    InvalidArgument,
    InvalidProgram,
    Io,
    NotFound,
    OutOfMemory,
    Unsupported,
)
from .memory import MemoryPlan
from .parameter import Parameter
from .profile import KernelProfile, Profile
from .programs import load
from .tagged import Tagged
from .vm import Vm, devices

__version__ = version()

__all__ = [
    "CancelToken",
    "Cancelled",
    "CompileWarning",
    "DeadlineExceeded",
    "Device",
    "DeviceLost",
    "Error",
    "Internal",
    "InvalidArgument",
    "InvalidProgram",
    "Io",
    "KernelProfile",
    "MemoryPlan",
    "MemoryPool",
    "NotFound",
    "OutOfMemory",
    "Parameter",
    "Profile",
    "Program",
    "Tagged",
    "Tensor",
    "Unsupported",
    "Vm",
    "compile",
    "devices",
    "load",
    "__version__",
]
