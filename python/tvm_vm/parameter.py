"""What a program takes and gives."""

from dataclasses import dataclass
from typing import Optional, Tuple, Union


@dataclass(frozen=True)
class Parameter:
    """An input or an output.

    kind: "tensor", "sequence", "optional" or "tuple".
    dtype: of tensors, by NumPy's and ml_dtypes' names: "float32", "bfloat16", "int4"; "string".
    dims: of tensors: numbers, names of dimensions that are known when the program runs, and None where even the
        name is unknown; None instead of the tuple where the rank is unknown.
    elements: what sequences, optionals and tuples hold, without names.
    """

    name: str
    kind: str
    dtype: Optional[str] = None
    dims: Optional[Tuple[Union[int, str, None], ...]] = None
    elements: Tuple["Parameter", ...] = ()

    def __str__(self) -> str:
        if self.kind == "tensor":
            dims = "[...]" if self.dims is None else "[" + ", ".join("?" if d is None else str(d) for d in self.dims) + "]"
            text = f"{self.dtype}{dims}"
        else:
            text = f"{self.kind}({', '.join(str(element) for element in self.elements)})"
        return f"{self.name}: {text}" if self.name else text
