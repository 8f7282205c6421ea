"""Programs bound to this machine."""

import asyncio
import functools
import os
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Union

from . import _core
from ._core import CancelToken, Device, MemoryPool, Program
from .compilation import device_names, library
from .errors import NotFound
from .memory import Dims, MemoryPlan, ends_of
from .profile import KernelProfile, Profile
from .programs import load

DeviceLike = Union[str, Device]


def devices() -> List[Dict[str, Any]]:
    """The devices of this machine: name (which selects it), kind, hardware, driver, api, type, memory_bytes, features,
    and in `unusable` why it cannot be used, if so."""
    return _core.list_devices()


def _open_gpus(selected: Union[DeviceLike, Sequence[DeviceLike]]) -> List[Device]:
    """Those in front of the CPU, without those that are not there as long as one is."""
    given = [selected] if isinstance(selected, Device) else device_names(selected)
    opened: List[Device] = []
    missing: Optional[NotFound] = None
    for one in given:
        if isinstance(one, str) and one.split(":")[0] == "cpu" or isinstance(one, Device) and one.is_cpu:
            break
        try:
            opened.append(one if isinstance(one, Device) else Device(one))
        except NotFound as error:
            missing = missing or error
    if missing and not opened:
        raise missing
    return opened


class Vm(_core.Vm):
    """A program bound to devices. Any number of threads may call it at once.

    program: a Program, or the path of a .vmexe file.
    device: "cpu", "vulkan", "vulkan:0,vulkan:1,cpu", a Device, or a list of these in order of preference.
    threads: CPU workers; 0: all that the process may use; 1: everything runs on the calling thread.
    timeout: seconds that a run may take; 0: any.
    max_bytes: of memory that a run may need; 0: any.
    max_steps: instructions of a run; 0: any.
    allow_native: False refuses programs that run code of their own.
    trust: whose kernels run: "any", "signed" (those of a file that one of `keys` signed, which what compile() gives
        is not), "signed-kernels" (those that one of them signed and that have contracts, whoever wrote the code that
        launches them), or "none" (docs/trust.md).
    keys: paths of public keys, which `tvm-vm keygen` writes.
    signed_constants: with trust="signed", the weights have to be as they were signed, too; reads all of them.
    memory: a MemoryPool that bounds this Vm together with others.
    results: "numpy", "torch", "tensor" (tvm_vm.Tensor), or "auto": torch's where an input is, else NumPy's.
    """

    def __init__(
        self,
        program: Union[Program, str, "os.PathLike[str]"],
        *,
        device: Union[DeviceLike, Sequence[DeviceLike]] = "cpu",
        threads: int = 0,
        timeout: float = 0,
        max_bytes: int = 0,
        max_steps: int = 0,
        allow_native: bool = True,
        trust: str = "any",
        keys: Iterable[Union[str, "os.PathLike[str]"]] = (),
        signed_constants: bool = False,
        results: str = "auto",
        memory: Optional[MemoryPool] = None,
    ) -> None:
        if not isinstance(program, Program):
            program = load(program)
        if allow_native and _has_only_bitcode(program):
            _core.open_compiler(library())
        super().__init__(
            program,
            _open_gpus(device),
            threads,
            timeout,
            max_bytes,
            max_steps,
            allow_native,
            trust,
            [os.fspath(key) for key in keys],
            signed_constants,
            results,
            memory,
        )

    async def run_async(
        self,
        inputs: Optional[Mapping[str, Any]] = None,
        outputs: Optional[Iterable[str]] = None,
        *,
        out: Optional[Mapping[str, Any]] = None,
        timeout: Optional[float] = None,
    ) -> Dict[str, Any]:
        """`run` on a thread of the event loop's executor. Cancelling the task ends the run, and then waits for it."""
        token = CancelToken()
        call = functools.partial(self.run, inputs, outputs, out=out, timeout=timeout, cancel=token)
        running = asyncio.get_running_loop().run_in_executor(None, call)
        try:
            return await asyncio.shield(running)
        except asyncio.CancelledError:
            token.cancel()
            await asyncio.wait([running])
            running.exception()  # seen
            raise

    def plan(self, dims: Optional[Dims] = None) -> MemoryPlan:
        """What a run with these dims will hold, without running it: {"batch": 4, "seq": (1, 128)}. A dimension
        without a name is called INPUT[AXIS], as in "x[0]"."""
        return MemoryPlan(**self._plan(ends_of(dims)))

    def profile(self, inputs: Optional[Mapping[str, Any]] = None, *, runs: int = 10, trace: bool = False) -> Profile:
        """Runs once to warm up and `runs` times to measure. With `trace`, `chrome_trace` is JSON for a trace viewer."""
        measured = self._profile(inputs, runs, trace)
        measured["kernels"] = [KernelProfile(**kernel) for kernel in measured["kernels"]]
        return Profile(**measured)

    def __repr__(self) -> str:
        names = ", ".join(device["name"] for device in self.devices)
        return f"tvm_vm.Vm({self.program!r} on {names})"


def _has_only_bitcode(program: Program) -> bool:
    forms = {library["form"] for library in program.metadata["libraries"]}
    return forms == {"bitcode"}
