from case_maker import case, constant, floats


def transposed_phases():
    """Phases without a tap, and few channels: weights that are known, and weights that are not, whose layout differs."""
    shapes = [  # channels, outputs, kernel, sizes, attributes
        ("no_tap_in_most", 5, 6, (1, 1), (4, 5), {"strides": [3, 2]}),
        ("no_tap_along_one_axis", 4, 3, (2, 3), (4, 5), {"strides": [3, 2], "pads": [1, 0, 0, 2]}),
        ("no_tap_at_the_edges", 3, 17, (2, 2), (3, 4), {"strides": [5, 3], "pads": [1, 1, 1, 1], "output_padding": [4, 2]}),
        ("no_tap_in_groups", 6, 5, (2, 2), (5, 3), {"strides": [3, 3], "group": 2}),
        ("one_channel", 18, 1, (4, 4), (6, 17), {"strides": [2, 2], "pads": [1] * 4}),
        ("three_of_five_by_two", 8, 3, (5, 5), (6, 13), {"strides": [2, 2], "pads": [2] * 4, "output_padding": [1, 1]}),
        ("three_in_groups", 10, 3, (3, 3), (6, 13), {"strides": [2, 2], "pads": [1] * 4, "group": 2}),
        ("thirteen_by_three", 6, 13, (4, 4), (4, 5), {"strides": [3, 3]}),
        ("no_stride", 5, 7, (4, 4), (5, 23), {"pads": [0, 1, 2, 3]}),
        ("no_stride_dilated", 3, 2, (3, 2), (8, 9), {"dilations": [2, 3]}),
        ("spread_over_strides", 3, 2, (3, 2), (6, 5), {"strides": [2, 3], "dilations": [3, 2]}),
        ("solid_of_two", 2, 3, (1, 2, 3), (3, 4, 5), {"strides": [2, 3, 2], "pads": [0, 0, 1, 0, 1, 1]}),
        ("one_axis_of_eight", 12, 5, (8,), (50,), {"strides": [4], "pads": [2, 2]}),
    ]
    for name, channels, outputs, kernel, sizes, attributes in shapes:
        groups = attributes.get("group", 1)
        x, w = floats(2, channels, *sizes), floats(channels, outputs, *kernel, scale=0.3)
        inputs = [x, constant(w), floats(outputs * groups)]
        yield case(name, "ConvTranspose", inputs, attributes, domain="", opset=22)
        yield case(f"{name}_any_weights", "ConvTranspose", [x, w, inputs[2]], attributes, domain="", opset=22)
