"""The command `tvm-vm`: the tool of the package, in place of this process."""

import os
import sys


def main() -> None:
    tool = os.path.join(os.path.dirname(__file__), "bin", "tvm-vm")
    os.execv(tool, [tool, *sys.argv[1:]])
