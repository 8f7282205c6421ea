from case_maker import case, constant, floats


def few_products():
    """Transposed convolutions that make few products of a pixel, or of few pixels: all products first, then what overlaps is added."""
    shapes = [  # channels, outputs, kernel, sizes, attributes
        ("image", 32, 3, (4, 4), (5, 7), {"strides": [2, 2], "pads": [1] * 4}),
        ("unstrided", 20, 2, (5, 3), (6, 17), {}),
        ("five_by_three", 40, 4, (5, 4), (5, 3), {"strides": [3, 3], "pads": [0, 1, 2, 0]}),
        ("one_axis", 30, 5, (7,), (19,), {"strides": [4], "pads": [3, 1], "output_padding": [3]}),
        ("solid", 24, 2, (3, 2, 5), (3, 4, 2), {"strides": [2, 1, 3], "pads": [0, 1, 4, 1, 0, 2]}),
        ("groups", 36, 1, (3, 3), (4, 5), {"strides": [2, 2], "group": 3, "pads": [1] * 4}),
        ("spread", 28, 3, (3, 3), (5, 4), {"strides": [2, 1], "dilations": [2, 3], "pads": [1, 2, 2, 1]}),
        ("spread_by_multiples", 28, 2, (3, 4), (5, 4), {"strides": [2, 3], "dilations": [4, 2]}),
        ("cut_deep", 30, 1, (7, 7), (6, 6), {"strides": [2, 2], "pads": [6, 5, 4, 6]}),
        ("small_picture", 24, 9, (5, 5), (3, 4), {"pads": [2, 1, 0, 2]}),
        ("small_picture_apart", 40, 12, (4, 4), (3, 2), {"strides": [2, 2], "pads": [1] * 4, "output_padding": [1, 0]}),
    ]
    for name, channels, outputs, kernel, sizes, attributes in shapes:
        groups = attributes.get("group", 1)
        x, w = floats(2, channels, *sizes), floats(channels, outputs, *kernel, scale=0.3)
        yield case(name, "ConvTranspose", [x, constant(w), floats(outputs * groups)], attributes, domain="", opset=22)
