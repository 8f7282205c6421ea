"""Shrink of integers by fractions, out of the type's range too: one number at a time, as vectors may come out
otherwise in the reference. 32 bits are left out: ONNX Runtime and ONNX's reference differ there."""
import numpy as np

from case_maker import case


def integer_shrinks():
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int64, np.uint64):
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        for number in (low, low + 1, max(low, -3), 0, 1, 5, high - 1, high):
            for bias, lambd in ((-1.55, -0.27), (2.5, 0.5)):
                yield case(f"shrink_{np.dtype(dtype).name}_{number}_{bias}".replace("-", "minus_").replace(".", "_"), "Shrink",
                           [np.array([number], dtype)], {"bias": bias, "lambd": lambd}, domain="", opset=9)
