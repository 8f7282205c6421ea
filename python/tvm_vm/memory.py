"""What a run will hold of memory, before it runs."""

from dataclasses import dataclass
from typing import Any, Dict, List, Mapping, Optional, Tuple, Union

from . import _core
from ._core import Program

Dims = Mapping[str, Union[int, Tuple[int, int]]]
Range = Tuple[int, Optional[int]]  # both ends are included; None: nothing bounds it


@dataclass(frozen=True)
class MemoryPlan:
    """Ranges, (low, high), whose ends are alike where neither sizes nor branches depend on data; high is None where
    nothing bounds it, and `unbounded` says why.

    peak_bytes: what Vm.peak_bytes will be after such a run alone, outputs included.
    lower_bound_bytes: the most that is alive at once; no placement needs less.
    output_bytes: the part of the peak that the outputs are, which `out=` may give.
    donated_bytes: beside the peak, outputs in the memory of donated inputs.
    scratch_bytes_per_thread, register_bytes: beside the peak, too.
    constant_bytes: the constants in the file.
    devices: a dict for each, of its name, peak_bytes, lower_bound_bytes, constant_bytes.
    values: a dict for each value that is made: node, bytes, device, is_output, and the places on the time line between
        which it lives, first and last.
    """

    peak_bytes: Range
    lower_bound_bytes: Range
    output_bytes: Range
    donated_bytes: Range
    scratch_bytes_per_thread: Range
    register_bytes: int
    constant_bytes: int
    devices: List[Dict[str, Any]]
    values: List[Dict[str, Any]]
    unbounded: List[str]

    @property
    def is_exact(self) -> bool:
        """The peak is one number."""
        return self.peak_bytes[0] == self.peak_bytes[1]


def ends_of(dims: Optional[Dims]) -> Dict[str, Tuple[int, int]]:
    """A number is a range of one."""
    return {name: (dim, dim) if isinstance(dim, int) else tuple(dim) for name, dim in (dims or {}).items()}


def _plan(self: Program, dims: Optional[Dims] = None, *, gpus: int = 0) -> MemoryPlan:
    """As Vm.plan, without a Vm: `gpus` is how many GPUs the program would run on."""
    return MemoryPlan(**_core.plan(self, ends_of(dims), gpus))


Program.plan = _plan  # type: ignore[method-assign]
