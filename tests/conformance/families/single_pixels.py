"""Transposed convolutions of pictures of one pixel: products with taps, as far as all results have one."""
from case_maker import case, constant, floats


def single_pixels():
    for name, channels, outputs, kernel, attributes in (
            ("all_taps", 20, 5, (4, 4), {}),
            ("cropped", 20, 18, (4, 5), {"pads": [1, 0, 2, 1], "strides": [2, 2]}),
            ("longer_than_taps", 7, 3, (3, 2), {"strides": [3, 2], "output_padding": [1, 1]}),
            ("groups", 6, 4, (2, 3), {"group": 3}),
            ("dilated", 5, 4, (2, 3), {"dilations": [2, 1]}),
            ("line", 30, 8, (16,), {"strides": [8], "pads": [4, 4]}),
            ("solid", 9, 3, (2, 1, 3), {"pads": [0, 0, 1, 0, 0, 0]})):
        groups = attributes.get("group", 1)
        x, w = floats(3, channels, *[1] * len(kernel)), floats(channels, outputs, *kernel, scale=0.3)
        inputs = [x, constant(w), floats(outputs * groups)]
        yield case(name, "ConvTranspose", inputs, attributes, domain="", opset=22)
        yield case(f"{name}_any_weights", "ConvTranspose", [x, w, inputs[2]], attributes, domain="", opset=22)
