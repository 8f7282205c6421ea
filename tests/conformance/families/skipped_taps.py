"""Convolutions of many channels whose taps are far apart along either axis: tiles leave out what is padding."""
from case_maker import convolution


def skipped_taps():
    for data, weights, attributes in (
            ((1, 32, 13, 15), (32, 32, 3, 3), {"dilations": [6, 6], "pads": [6, 6, 6, 6]}),
            ((2, 33, 9, 11), (34, 33, 1, 3), {"dilations": [1, 9], "pads": [0, 9, 0, 9]}),
            ((1, 32, 7, 21), (32, 32, 2, 2), {"dilations": [4, 7], "pads": [3, 4, 1, 2]}),
            ((3, 32, 5, 4), (33, 32, 3, 1), {"dilations": [5, 4], "pads": [5, 0, 5, 0], "strides": [2, 1]}),
            ((1, 16, 21, 33), (20, 16, 3, 3), {"dilations": [18, 18], "pads": [18, 18, 18, 18]}),
            ((1, 12, 34, 6), (40, 12, 3, 3), {"dilations": [8, 1], "pads": [8, 1, 8, 1]}),
            ((2, 16, 21), (18, 8, 3), {"dilations": [10], "pads": [12, 9], "group": 2}),
            ((1, 32, 2, 6, 9), (32, 32, 1, 3, 1), {"dilations": [2, 4, 5], "pads": [0, 4, 0, 0, 4, 0]})):
        yield convolution(data, weights, attributes)
