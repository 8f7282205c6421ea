"""Convolutions whose taps lie so far apart that many of them, or all but the middle one, are in the padding."""
from case_maker import convolution


def far_taps():
    for data, weights, attributes in (
            ((1, 5, 12, 20), (18, 5, 3, 3), {"dilations": [6, 6], "pads": [6, 6, 6, 6]}),
            ((2, 7, 9, 7), (19, 7, 3, 3), {"dilations": [12, 12], "pads": [12, 12, 12, 12]}),
            ((3, 6, 5, 4), (17, 6, 3, 3), {"dilations": [4, 1], "pads": [4, 1, 4, 1]}),
            ((1, 4, 30, 6), (9, 4, 5, 3), {"dilations": [7, 2], "pads": [10, 2, 18, 2], "strides": [3, 2]}),
            ((2, 9, 11), (20, 9, 4), {"dilations": [5], "pads": [15, 0]}),
            ((1, 6, 10, 3, 4), (17, 6, 3, 1, 2), {"dilations": [5, 1, 1], "pads": [5, 0, 0, 5, 0, 1]}),
            ((1, 4, 40, 5), (16, 4, 3, 3), {"dilations": [18, 1], "pads": [18, 1, 18, 1]}),
            ((1, 8, 24, 6), (10, 4, 3, 3), {"dilations": [8, 2], "pads": [8, 2, 8, 2], "group": 2}),
            ((1, 8, 3, 3), (16, 8, 2, 2), {"dilations": [9, 9], "pads": [9, 9, 9, 9]})):
        yield convolution(data, weights, attributes)
