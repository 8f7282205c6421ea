"""Convolutions in steps of several pixels with many taps: those of one residue of the step share pixels."""
from case_maker import convolution


def large_steps():
    for data, weights, attributes in (
            ((1, 2, 40, 41), (4, 2, 7, 7), {"strides": [2, 2], "pads": [3, 3, 3, 3]}),
            ((2, 3, 37, 43), (3, 3, 5, 6), {"strides": [2, 2], "pads": [0, 4, 3, 1]}),
            ((1, 2, 23, 60), (4, 2, 4, 7), {"strides": [1, 3], "pads": [2, 5, 1, 2]}),
            ((1, 2, 61, 22), (4, 2, 7, 3), {"strides": [3, 1], "pads": [6, 1, 0, 1]}),
            ((1, 4, 42, 41), (4, 2, 5, 5), {"strides": [2, 2], "dilations": [2, 3], "pads": [4, 7, 5, 6], "group": 2}),
            ((1, 3, 1301), (4, 3, 16), {"strides": [3], "pads": [9, 4]}),
            ((1, 2, 5, 29, 33), (3, 2, 2, 5, 7), {"strides": [2, 2, 2], "pads": [1, 2, 3, 0, 2, 4]})):
        yield convolution(data, weights, attributes)
