"""Convolutions of 3 x 3 taps and many channels: tiles that stand over the edges, blocks of columns that are not whole, taps that lie apart."""
import numpy as np

from case_maker import case, constant, floats


def winograd():
    for name, n, channels, outputs, height, width, pads in (
            ("even", 1, 32, 32, 8, 8, [1, 1, 1, 1]), ("odd", 1, 32, 48, 21, 15, [1, 1, 1, 1]), ("valid", 1, 32, 80, 9, 8, [0, 0, 0, 0]),
            ("uneven", 1, 48, 32, 5, 13, [2, 0, 1, 2]), ("row", 2, 32, 32, 1, 31, [1, 1, 1, 1])):
        weights = floats(outputs, channels, 3, 3, scale=1 / np.sqrt(9 * channels))
        yield case(f"winograd_{name}", "Conv", [floats(n, channels, height, width), constant(weights), constant(floats(outputs))],
                   {"pads": pads}, domain="", opset=20, rtol=1e-5, atol=1e-5)
    for name, height, width, dilations, pads in (("dilated", 21, 15, [2, 2], [2, 2, 2, 2]), ("dilated_apart", 9, 26, [1, 4], [0, 5, 1, 3]),
                                                 ("dilated_valid", 17, 12, [3, 3], [0, 0, 0, 0])):
        weights = floats(32, 48, 3, 3, scale=1 / np.sqrt(9 * 48))
        yield case(f"winograd_{name}", "Conv", [floats(2, 48, height, width), constant(weights), constant(floats(32))],
                   {"pads": pads, "dilations": dilations}, domain="", opset=20, rtol=1e-5, atol=1e-5)
