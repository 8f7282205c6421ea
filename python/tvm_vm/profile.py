"""What the kernels of a program cost."""

from dataclasses import dataclass
from typing import List, Optional


@dataclass(frozen=True)
class KernelProfile:
    """All launches of a kernel. `flops` and `bytes` are the compiler's estimates."""

    name: str
    node: str
    device: str
    launches: int
    nanoseconds: int
    flops: int
    bytes: int


@dataclass(frozen=True)
class Profile:
    """Of `runs` runs: the kernels, the costliest first. `str()` of it is a table."""

    runs: int
    nanoseconds: int
    kernels: List[KernelProfile]
    table: str
    chrome_trace: Optional[str]

    def __str__(self) -> str:
        return self.table
