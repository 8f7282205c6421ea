"""Depthwise convolutions of pictures whose rows are shorter than vectors."""
import numpy as np

from case_maker import case, constant, floats


def short_rows():
    for name, dims, kernel, attributes in (
            ("one_pixel", (2, 35, 1, 1), (3, 3), {"pads": [1, 1, 1, 1]}),
            ("two_by_three", (1, 16, 2, 3), (3, 3), {"pads": [1, 1, 1, 1]}),
            ("seven", (2, 20, 7, 7), (3, 3), {"pads": [1, 1, 1, 1]}),
            ("seven_taps", (1, 33, 7, 7), (7, 7), {"pads": [3, 3, 3, 3]}),
            ("even_taps", (1, 17, 6, 5), (4, 2), {"pads": [2, 0, 1, 1]}),
            ("steps", (1, 19, 15, 13), (3, 3), {"pads": [1, 1, 1, 1], "strides": [2, 2]}),
            ("uneven_steps", (1, 18, 11, 14), (5, 3), {"pads": [0, 2, 3, 0], "strides": [3, 1]}),
            ("unpadded", (2, 16, 9, 8), (3, 5), {}),
            ("unpadded_steps", (1, 21, 10, 9), (2, 3), {"strides": [2, 3]}),
            ("dilated", (1, 24, 9, 6), (3, 3), {"pads": [4, 2, 4, 2], "dilations": [4, 2]}),
            ("wide_padding", (1, 16, 3, 4), (3, 3), {"pads": [5, 6, 4, 7]}),
            ("column", (1, 40, 20, 1), (7, 7), {"pads": [3, 3, 3, 3]}),
            ("many_rows", (1, 16, 70, 9), (3, 3), {"pads": [1, 1, 1, 1]}),
            ("line", (3, 34, 13), (5,), {"pads": [2, 2]}),
            ("causal_line", (1, 20, 9), (3,), {"pads": [8, 0], "dilations": [4]}),
            ("line_of_steps", (1, 16, 30), (4,), {"pads": [1, 0], "strides": [3]}),
            ("unit_axis", (2, 18, 1, 10), (1, 3), {"pads": [0, 1, 0, 1]})):
        channels = dims[1]
        inputs = [floats(*dims), constant(floats(channels, 1, *kernel, scale=0.3)), floats(channels)]
        yield case(name, "Conv", inputs, {"group": channels, **attributes}, domain="", opset=22)
    x, w = floats(2, 18, 6, 7), floats(18, 1, 3, 3)
    x[0, 0, 2, 6] = x[1, 17, 5, 0] = np.inf
    x[0, 3, 0, 0] = x[1, 17, 0, 3] = np.nan
    yield case("hostile", "Conv", [x, constant(w)], {"group": 18, "pads": [1, 1, 1, 1]}, domain="", opset=22)
