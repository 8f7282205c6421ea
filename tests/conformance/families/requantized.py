"""Quantized products and convolutions whose sums are quantized again: channels of all widths, windows of all shapes, one of each channel, first
layers; zero points of data and results that are 0, in the middle, and at the ends."""
import numpy as np

from case_maker import case, constant, integers


def requantized():
    def scale(value):
        return np.array(value, np.float32)

    def bytes_of(dtype, *dims):
        return integers(np.iinfo(dtype).min, np.iinfo(dtype).max + 1, *dims, dtype=dtype)

    def scales(count):
        return np.linspace(0.001, 0.01, count, dtype=np.float32)

    convolutions = [  # data, weights, attributes
        ((1, 16, 7, 9), (96, 16, 1, 1), {}), ((2, 8, 5, 5), (7, 8, 1, 1), {}), ((1, 30, 6, 5), (17, 30, 1, 1), {"strides": [2, 2]}),
        ((1, 6, 5, 7), (10, 3, 1, 1), {"group": 2}), ((2, 3, 15, 13), (20, 3, 3, 3), {"strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ((1, 3, 20, 18), (16, 3, 7, 7), {"strides": [2, 2], "pads": [3, 3, 3, 3]}), ((1, 20, 6, 30), (18, 20, 3, 3), {"pads": [1, 1, 1, 1]}),
        ((3, 5, 4, 9), (6, 5, 2, 3), {"dilations": [1, 2]}), ((1, 24, 9, 8), (24, 1, 3, 3), {"group": 24, "pads": [1, 1, 1, 1]}),
        ((2, 37, 10, 7), (37, 1, 3, 3), {"group": 37, "strides": [2, 2], "pads": [1, 1, 1, 1]}), ((1, 18, 12, 6), (18, 1, 5, 3), {"group": 18}),
        ((2, 6, 21), (9, 6, 4), {"pads": [2, 1], "strides": [3]}), ((1, 4, 5, 6, 4), (5, 4, 2, 2, 2), {}), ((1, 40, 3), (40, 1, 3), {"group": 40, "pads": [1, 1]}),
    ]
    zeros = [(0, 0), (128, 0), (255, 255), (3, 200), (0, 77)]
    for number, (data, weights, attributes) in enumerate(convolutions):
        name = "x".join(str(size) for size in (*data, *weights))
        for signed in (False, True) if number % 3 == 0 else (False,):
            dtype = np.int8 if signed else np.uint8
            shift = 128 if signed else 0
            zero, result = (np.array(z - shift, dtype) for z in zeros[number % len(zeros)])
            depth = int(np.prod(weights[1:]))
            inputs = [bytes_of(dtype, *data), scale(0.02), zero, constant(integers(-127, 128, *weights, dtype=np.int8)), constant(scales(weights[0])),
                      constant(np.zeros(weights[0], np.int8)), scale(0.0131 * depth ** 0.5), result]
            if number % 2 == 0:
                inputs.append(constant(integers(-5000, 5000, weights[0], dtype=np.int32)))
            inputs = [constant(value) if isinstance(value, np.ndarray) and value.ndim == 0 else value for value in inputs]
            yield case(f"conv_{name}{'_i8' if signed else ''}", "QLinearConv", inputs, attributes, domain="", opset=10)
    for rows, depth, columns in ((5, 16, 33), (30, 70, 17), (1, 130, 64), (3, 5, 2)):
        for zero, result in ((0, 0), (131, 77)):
            inputs = [bytes_of(np.uint8, rows, depth), constant(scale(0.02)), constant(np.array(zero, np.uint8)),
                      constant(integers(-127, 128, depth, columns, dtype=np.int8)), constant(scale(0.007)), constant(np.array(0, np.int8)),
                      constant(scale(0.011 * depth ** 0.5)), constant(np.array(result, np.uint8))]
            yield case(f"matmul_{rows}x{depth}x{columns}_{zero}", "QLinearMatMul", inputs, domain="", opset=10)
