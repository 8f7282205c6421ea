from os import PathLike
from typing import Any, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from .memory import Dims, MemoryPlan
from .parameter import Parameter

class CancelToken:
    """Ends the runs that it is given to, from any thread."""

    def __init__(self) -> None: ...
    def cancel(self) -> None:
        """Ends them with Cancelled, and those that begin later."""
    @property
    def cancelled(self) -> bool: ...

class Device:
    """A device that is open. Shared by any number of Vms and tensors."""

    def __init__(self, selection: str, *, max_bytes: int = 0) -> None: ...
    @property
    def name(self) -> str: ...
    @property
    def is_cpu(self) -> bool: ...
    @property
    def description(self) -> Dict[str, Any]: ...
    def statistics(self) -> Dict[str, int]:
        """Bytes handed out and held, launches, waits."""

class Tensor:
    """A dense row-major array in memory of the host or of a device. Shares memory with NumPy, and with others by DLPack."""

    def __init__(self, array: Any, dtype: Optional[str] = None, device: Optional[Device] = None) -> None:
        """Shares the array's memory; with `device`, a copy there."""
    @staticmethod
    def empty(shape: Sequence[int], dtype: str = "float32", device: Optional[Device] = None) -> Tensor:
        """Uninitialised memory, of a device or of the host."""
    @property
    def dtype(self) -> str: ...
    @property
    def shape(self) -> Tuple[int, ...]: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def device(self) -> str: ...
    def to(self, device: Optional[Device]) -> Tensor:
        """A copy in the device's memory; None: in the host's."""
    def numpy(self) -> Any:
        """As a NumPy array that shares the memory, where NumPy has the type."""
    def __array__(self, dtype: Any = None, copy: Optional[bool] = None) -> Any: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __dlpack__(self, **kwargs: Any) -> Any: ...
    def __dlpack_device__(self) -> Tuple[int, int]: ...

class MemoryPool:
    """Bounds what all Vms that are given it hold together. First come, first served: a run that would hold more ends with
    OutOfMemory."""

    def __init__(self, max_bytes: int, name: str = "the memory pool") -> None:
        """`max_bytes`: 0 for none. `name`: for messages."""
    @property
    def max_bytes(self) -> int: ...
    @property
    def held_bytes(self) -> int:
        """Now."""
    @property
    def peak_bytes(self) -> int:
        """The most that was held at once."""

class Program:
    """A compiled model. Never changes; any number of Vms and threads share it."""

    @property
    def inputs(self) -> Tuple[Parameter, ...]:
        """A Parameter for each input, in order."""
    @property
    def outputs(self) -> Tuple[Parameter, ...]:
        """A Parameter for each output, in order."""
    @property
    def metadata(self) -> Dict[str, Any]:
        """What made it, from what, with which options, and the code that it holds."""
    def save(self, path: Union[str, PathLike[str]]) -> None:
        """Writes a .vmexe file, beside its name first, so that no reader sees a half."""
    def plan(self, dims: Optional[Dims] = None, *, gpus: int = 0) -> MemoryPlan:
        """As Vm.plan, without a Vm: `gpus` is how many GPUs the program would run on."""
    def _save(self, path: str) -> None: ...
    def to_bytes(self) -> bytes:
        """What `save` writes."""

class Vm:
    def __init__(
        self,
        program: Program,
        devices: List[Device],
        threads: int,
        timeout: float,
        max_bytes: int,
        max_steps: int,
        allow_native: bool,
        trust: str,
        keys: List[str],
        signed_constants: bool,
        results: str,
        memory: Optional[MemoryPool],
    ) -> None: ...
    def __call__(self, *inputs: Any, **named: Any) -> Any:
        """Runs with inputs by position or by name. Gives the output, or a tuple where there are several."""
    def run(
        self,
        inputs: Optional[Mapping[str, Any]] = None,
        outputs: Optional[Iterable[str]] = None,
        *,
        out: Optional[Mapping[str, Any]] = None,
        timeout: Optional[float] = None,
        cancel: Optional[CancelToken] = None,
    ) -> Dict[str, Any]:
        """Runs with a dict of inputs; gives a dict of outputs.

        outputs: names of those that are wanted, all without it.
        out: arrays that outputs are written to, by name.
        timeout: seconds after which the run ends with DeadlineExceeded.
        cancel: a CancelToken that ends it from another thread.
        """
    def _plan(self, dims: Dict[str, Tuple[int, int]]) -> Dict[str, Any]: ...
    def _profile(self, inputs: Optional[Mapping[str, Any]], runs: int, trace: bool) -> Dict[str, Any]: ...
    def cancel(self) -> None:
        """Ends all runs in progress with Cancelled."""
    def trim(self) -> None:
        """Gives memory back that only makes the next calls warm."""
    @property
    def program(self) -> Program: ...
    @property
    def devices(self) -> List[Dict[str, Any]]:
        """The devices of a run, with how many kernels and in which form."""
    @property
    def gpu(self) -> Optional[Device]:
        """The device where tensors save the way across the bus; None: there is none."""
    @property
    def donations(self) -> Dict[str, str]:
        """Inputs whose memory an output may be given in, by names: compile(donate=)."""
    @property
    def held_bytes(self) -> int:
        """What all calls' memory is now."""
    @property
    def peak_bytes(self) -> int:
        """What the largest run needed so far."""

def compile_bytes(library: str, model: Any, options: Dict[str, Any]) -> Tuple[Program, List[str], List[Dict[str, Any]], str]: ...
def compile_bytes_isolated(
    library: str, model: Any, options: Dict[str, Any], limits: Dict[str, Any]
) -> Tuple[Program, List[str], List[Dict[str, Any]], str]: ...
def compile_file_isolated(
    library: str, path: str, options: Dict[str, Any], limits: Dict[str, Any]
) -> Tuple[Program, List[str], List[Dict[str, Any]], str]: ...
def compile_file(library: str, path: str, options: Dict[str, Any]) -> Tuple[Program, List[str], List[Dict[str, Any]], str]: ...
def list_devices() -> List[Dict[str, Any]]: ...
def load_bytes(bytes: Any, check_constants: bool) -> Program: ...
def load_file(path: str, check_constants: bool) -> Program: ...
def plan(program: Program, dims: Dict[str, Tuple[int, int]], gpus: int) -> Dict[str, Any]: ...
def open_compiler(library: str) -> None: ...
def version() -> str: ...
