from case_maker import case, constant, floats


def transposed_convolutions():
    """Strides that do not divide the kernel: phases with a tap less than others, and results cut at their edges."""
    shapes = [  # channels, outputs, kernel, sizes, attributes
        ("upsampling", 8, 16, (3, 3), (5, 7), {"strides": [2, 2], "pads": [1] * 4, "output_padding": [1, 1]}),
        ("five_by_two", 4, 32, (5, 5), (4, 6), {"strides": [2, 2], "pads": [2] * 4, "output_padding": [1, 0]}),
        ("five_by_three", 3, 17, (5, 4), (5, 3), {"strides": [3, 3], "pads": [0, 1, 2, 0]}),
        ("seven_by_four", 2, 24, (7,), (9,), {"strides": [4], "pads": [3, 1], "output_padding": [3]}),
        ("one_axis", 3, 16, (3, 4), (6, 5), {"strides": [2, 2], "pads": [2, 2, 1, 3]}),
        ("solid", 2, 20, (3, 2, 5), (3, 4, 2), {"strides": [2, 1, 3], "pads": [0, 1, 4, 1, 0, 2]}),
        ("groups", 6, 16, (3, 3), (4, 4), {"strides": [2, 2], "group": 2, "pads": [1] * 4}),
        ("few_outputs", 5, 3, (3, 3), (4, 5), {"strides": [2, 2], "pads": [1] * 4}),
        ("fewer_taps_than_strides", 3, 16, (2, 1), (3, 4), {"strides": [3, 2], "output_padding": [1, 1]}),
        ("cut_deep", 3, 16, (7, 7), (6, 6), {"strides": [2, 2], "pads": [6, 5, 4, 6]}),
        ("spread", 3, 16, (3, 3), (5, 4), {"strides": [2, 1], "dilations": [2, 3], "pads": [1, 2, 2, 1]}),
    ]
    for name, channels, outputs, kernel, sizes, attributes in shapes:
        groups = attributes.get("group", 1)
        x, w = floats(2, channels, *sizes), floats(channels, outputs, *kernel, scale=0.3)
        yield case(name, "ConvTranspose", [x, constant(w), floats(outputs * groups)], attributes, domain="", opset=22)
    x, w = floats(1, 3, 4, 5), floats(3, 16, 3, 3, scale=0.3)
    yield case("any_weights", "ConvTranspose", [x, w], {"strides": [2, 2]}, domain="", opset=22)
