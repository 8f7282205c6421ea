#!/usr/bin/env python3
"""Times operators and patterns (cases/*.txt) with tvm-vm beside onnxruntime and openvino, in turns, in one run.

Each case is compiled once, its outputs are compared with onnxruntime's, and then all take turns; what counts is the best call
of each. `ratio` is the best peer's time by tvm-vm's: below 1 a peer is faster. `limit` is the time that the kernels would take
at the machine's measured speed (`tvm-vm bench --profile`) by the time of a call: near 100 % nothing is left to gain.
Peers that are not installed are left out. Exits 1 where an output is wrong, or a case is slower than --floor allows.
Needs numpy and onnx from PyPI.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from case_text import all_cases
from peers.comparison import argument_parser, run_all
import onnx


def main():
    options = argument_parser("bench ops", __doc__, floor=0.9).parse_args()
    cases = [c for c in all_cases() if not options.names or any(part in c.name or part in c.family for part in options.names)]
    if not cases:
        sys.exit(f"no case is named like {' '.join(options.names)}")
    sys.exit(run_all([(lambda path, c=c: onnx.save(c.model(), path), [(c.name, c.family, c.inputs, c.tolerance)]) for c in cases], options))


if __name__ == "__main__":
    main()
