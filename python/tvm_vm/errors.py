"""Exceptions: one class for each code of the library.

All derive from Error, and from Python's own class for the same thing where there is one.
"""


class Error(Exception):
    """The base of all errors of this package. `code` is the library's name for the kind of error."""

    code = "internal"


class InvalidArgument(Error, ValueError):
    """An input, an option or a model is wrong."""

    code = "invalid_argument"


class InvalidProgram(Error, ValueError):
    """A program or file is malformed."""

    code = "invalid_program"


class NotFound(Error, FileNotFoundError):
    """A file, a name, a device or the compiler is not there."""

    code = "not_found"


class Unsupported(Error, NotImplementedError):
    """Well formed, but not something that this build or this machine can do."""

    code = "unsupported"


class OutOfMemory(Error, MemoryError):
    """An allocation failed, or a limit on memory would be exceeded."""

    code = "out_of_memory"


class DeadlineExceeded(Error, TimeoutError):
    """A limit on time or steps was reached."""

    code = "deadline_exceeded"


class Cancelled(Error):
    """A run was asked to stop."""

    code = "cancelled"


class DeviceLost(Error, RuntimeError):
    """The device is gone."""

    code = "device_lost"


class Io(Error, OSError):
    """The system cannot read or write a file: no room, no right, a folder, a closed pipe."""

    code = "io"


class Internal(Error, RuntimeError):
    """A defect of this software."""

    code = "internal"


BY_CODE = {
    kind.code: kind
    for kind in (
        InvalidArgument,
        InvalidProgram,
        NotFound,
        Unsupported,
        OutOfMemory,
        DeadlineExceeded,
        Cancelled,
        DeviceLost,
        Internal,
        Io,
    )
}
