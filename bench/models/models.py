#!/usr/bin/env python3
"""Times the models of model_list.py with tvm-vm beside onnxruntime and openvino, in turns, in one run.

Each model is compiled once, for all sizes, and so are the peers'. Outputs are compared with onnxruntime's, then all take turns; what
counts is the best call of each. `ratio` is the best peer's time by tvm-vm's: below 1 a peer is faster. `limit` is the time that the
kernels would take at the machine's measured speed (`tvm-vm bench --profile`) by the time of a call: near 100 % nothing is left to gain.
Peers that are not installed are left out. Exits 1 where an output is wrong, or a case is slower than --floor allows.
Needs numpy and onnx from PyPI.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from model_list import MODELS
from peers.comparison import argument_parser, run_all
import onnx


def main():
    parser = argument_parser("bench", __doc__, floor=0)
    parser.add_argument("--write", metavar="FOLDER", help="write the models there, as .onnx files, and end")
    options = parser.parse_args()
    chosen = []
    for model in MODELS:
        sizes = [s for s in model.sizes if not options.names or any(part in model.case_name(s) for part in options.names)]
        if sizes:
            chosen.append((model, sizes))
    if not chosen:
        sys.exit(f"no model is named like {' '.join(options.names)}; there are: {', '.join(model.name for model in MODELS)}")
    if options.write:
        folder = pathlib.Path(options.write)
        folder.mkdir(parents=True, exist_ok=True)
        for model, _ in chosen:
            onnx.save(model.model(), folder / f"{model.name}.onnx")
        return
    sys.exit(run_all([(lambda path, m=model: onnx.save(m.model(), path),
                       [(model.case_name(s), model.name, lambda m=model, s=s: m.arrays(s), model.tolerance) for s in sizes])
                      for model, sizes in chosen], options))


if __name__ == "__main__":
    main()
