#!/usr/bin/env python3
"""Times operators and patterns (cases/*.txt) with tvm-vm beside onnxruntime and openvino, in turns, in one run.

Each case is compiled once, its outputs are compared with onnxruntime's, and then all take turns; what counts is the best call
of each. `ratio` is the best peer's time by tvm-vm's: below 1 a peer is faster. `limit` is the time that the kernels would take
at the machine's measured speed (`tvm-vm bench --profile`) by the time of a call: near 100 % nothing is left to gain.
--random SEED takes cases at random sizes instead (random_cases.py), --text prints the cases that it would time.
Peers that are not installed are left out. Exits 1 where an output is wrong, or a case is slower than --floor allows.
Needs numpy and onnx from PyPI.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from case_text import all_cases, parse_cases
from random_cases import text_of_cases
from peers.comparison import argument_parser, run_all
import onnx


def main():
    parser = argument_parser("bench ops", __doc__, floor=0.9)
    parser.add_argument("--random", metavar="SEED", help="time cases at random sizes")
    parser.add_argument("--count", type=int, default=95, help="so many of them (95)")
    parser.add_argument("--text", action="store_true", help="print the cases, as cases/*.txt hold them, and end")
    options = parser.parse_args()
    known = all_cases() if options.random is None else parse_cases(text_of_cases(options.random, options.count), "random")
    cases = [c for c in known if not options.names or any(part in c.name or part in c.family for part in options.names)]
    if not cases:
        sys.exit(f"no case is named like {' '.join(options.names)}")
    if options.text:
        print("\n".join(c.source for c in cases))
        return
    sys.exit(run_all([(lambda path, c=c: onnx.save(c.model(), path), [(c.name, c.family, c.inputs, c.tolerance)]) for c in cases], options))


if __name__ == "__main__":
    main()
