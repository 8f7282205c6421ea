"""Programs as files and bytes."""

import os
from typing import Union

from . import _core
from ._core import Program


def load(source: Union[str, "os.PathLike[str]", bytes, bytearray, memoryview], *, check_constants: bool = False) -> Program:
    """The program in a .vmexe file, which is mapped, or in bytes, which are copied.

    check_constants: their digest, too, which reads all weights; that of everything else is always looked at.

    Raises NotFound, InvalidProgram.
    """
    if isinstance(source, (str, os.PathLike)):
        return _core.load_file(os.fspath(source), check_constants)
    return _core.load_bytes(source, check_constants)


def _save(self: Program, path: Union[str, "os.PathLike[str]"]) -> None:
    """Writes a .vmexe file, beside its name first, so that no reader sees a half."""
    self._save(os.fspath(path))


def _describe(self: Program) -> str:
    inputs = ", ".join(map(str, self.inputs))
    outputs = ", ".join(map(str, self.outputs))
    return f"tvm_vm.Program(({inputs}) -> ({outputs}))"


Program.save = _save  # type: ignore[method-assign]
Program.__repr__ = _describe  # type: ignore[method-assign,assignment]
Program.__reduce__ = lambda self: (load, (self.to_bytes(),))  # type: ignore[method-assign,assignment]
