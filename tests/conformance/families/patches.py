"""Convolutions in steps so large that pixels share few taps or none, and products with a right operand whose columns lie
along the depth: both are turned while they are gathered."""
import numpy as np

from case_maker import case, convolution, floats, integers


def patches():
    for data, weights, attributes in (
            ((2, 3, 33, 32), (18, 3, 8, 8), {"strides": [8, 8]}),
            ((1, 3, 40, 37), (17, 3, 7, 9), {"strides": [4, 5], "pads": [3, 4, 2, 1]}),
            ((1, 1, 2000), (20, 1, 131), {"strides": [37]}),
            ((2, 8, 20, 21), (12, 4, 6, 6), {"strides": [5, 4], "pads": [0, 2, 1, 0], "group": 2}),
            ((1, 4, 4, 13, 18), (16, 4, 2, 4, 5), {"strides": [2, 4, 4], "pads": [1, 0, 0, 0, 1, 2]}),
            ((1, 3, 24, 50), (16, 3, 4, 4), {"strides": [4, 4]}),
            ((2, 2, 301), (17, 2, 10), {"strides": [5]}),
            ((1, 6, 12, 35), (10, 3, 2, 5), {"strides": [2, 6], "group": 2}),
            ((1, 2, 6, 150), (9, 2, 3, 17), {"strides": [1, 4], "dilations": [2, 1]})):
        yield convolution(data, weights, attributes)
    for rows, columns, depth in ((5, 33, 70), (1, 3, 200), (40, 17, 5), (7, 48, 64), (19, 50, 16), (33, 1, 31), (3, 20, 1)):
        for transposed in (0, 1):
            left = floats(*((depth, rows) if transposed else (rows, depth)), scale=0.3)
            yield case(f"gemm_{rows}x{columns}x{depth}_{transposed}", "Gemm",
                       [left, floats(columns, depth, scale=0.3), floats(columns)], {"transA": transposed, "transB": 1},
                       domain="", opset=13)
    for dtype in (np.float64, np.int32, np.int64):
        left, right = integers(-9, 9, 9, 37, dtype=dtype), integers(-9, 9, 21, 37, dtype=dtype)
        yield case(f"einsum_{np.dtype(dtype).name}", "Einsum", [left, right], {"equation": "mk,nk->mn"}, domain="", opset=12)
