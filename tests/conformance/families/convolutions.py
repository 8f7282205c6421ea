import numpy as np

from case_maker import case, constant, evaluate, floats


def convolutions():
    """Convolutions that stand alone, so that pictures stay as they are: rows and blocks of pixels against their edges."""
    def convolution(name, x, w, attributes, inputs=None):
        return case(name, "Conv", inputs or [x, constant(w), floats(w.shape[0])], attributes, domain="", opset=22)

    shapes = [  # channels, outputs, kernel, sizes, attributes
        ("edges", 3, 5, (3, 3), (9, 7), {"pads": [1] * 4}),
        ("one_side", 2, 17, (3, 4), (6, 23), {"pads": [2, 0, 0, 3]}),
        ("blocks", 2, 3, (3, 3), (21, 19), {"pads": [1] * 4}),
        ("strided", 3, 4, (7, 7), (31, 30), {"pads": [3] * 4, "strides": [2, 2]}),
        ("steps", 2, 3, (3, 5), (11, 41), {"pads": [1, 2, 1, 2], "strides": [2, 3]}),
        ("far", 2, 3, (1, 3), (5, 61), {"strides": [3, 5]}),
        ("spread", 2, 3, (3, 3), (13, 12), {"pads": [4] * 4, "dilations": [3, 4]}),
        ("point", 19, 13, (1, 1), (5, 13), {}),
        ("point_strided", 5, 4, (1, 1), (9, 15), {"strides": [2, 2]}),
        ("few", 6, 9, (3, 3), (3, 3), {"pads": [1] * 4}),
        ("row", 5, 7, (3,), (150,), {"pads": [1, 1], "strides": [2]}),
        ("solid", 2, 3, (3, 2, 3), (4, 5, 6), {"pads": [1, 0, 1, 1, 1, 0], "strides": [1, 2, 1]}),
        ("column", 3, 4, (3, 1), (17, 1), {"pads": [1, 0, 1, 0]}),
    ]
    for name, channels, outputs, kernel, sizes, attributes in shapes:
        x = floats(2, channels, *sizes)
        yield convolution(name, x, floats(outputs, channels, *kernel, scale=0.3), attributes)
    for groups, channels, outputs in ((2, 4, 6), (3, 6, 51), (4, 4, 8)):
        x, w = floats(2, channels, 6, 13), floats(outputs, channels // groups, 3, 3, scale=0.3)
        yield convolution(f"groups_{groups}_{outputs}", x, w, {"group": groups, "pads": [1] * 4, "strides": [1, 2]})
    depthwise = [
        ("large", (13, 13), (15, 18), {"pads": [6] * 4}),
        ("rows", (3, 3), (37, 5), {"pads": [1] * 4, "strides": [3, 1]}),
        ("wide", (1, 5), (2, 70), {"pads": [0, 2, 0, 2], "strides": [1, 3]}),
        ("spread", (3, 3), (19, 40), {"pads": [5] * 4, "dilations": [5, 5], "strides": [2, 2]}),
        ("one_side", (2, 4), (7, 35), {"pads": [0, 3, 1, 0]}),
        ("row", (9,), (600,), {"pads": [8, 0]}),
        ("column", (9, 1), (40, 1), {"pads": [4, 0, 4, 0]}),
        ("flat", (1, 9), (1, 40), {"pads": [0, 4, 0, 4]}),
        ("solid", (3, 2, 3), (4, 9, 20), {"pads": [1, 0, 1, 1, 1, 1], "strides": [1, 2, 2], "dilations": [2, 1, 1]}),
    ]
    for name, kernel, sizes, attributes in depthwise:
        for outputs in (1, 2):
            x, w = floats(3 - outputs, 3, *sizes), floats(3 * outputs, 1, *kernel, scale=0.3)
            yield convolution(f"depthwise_{name}_{outputs}", x, w, {"group": 3, **attributes})
    for dtype in (np.float16, np.float64):
        for tag, channels, groups in (("", 4, 1), ("depthwise_", 1, 4)):
            x, w = ((floats(*dims) * 8).round() / 8 for dims in ((1, 4, 7, 9), (4, channels, 3, 3)))  # exact in f32
            attributes = {"pads": [1] * 4, "group": groups}
            given = [v.astype(dtype) for v in evaluate("Conv", [x, w], attributes, [0], "", 22)]
            yield case(f"{tag}of_{np.dtype(dtype).name}", "Conv", [x.astype(dtype), constant(w.astype(dtype))], attributes,
                       domain="", opset=22, given=given)
    x, w = floats(1, 4, 6, 17), floats(4, 1, 3, 3)
    yield convolution("depthwise_any_weights", x, w, {"pads": [1] * 4, "group": 4}, [x, w])
    x, w = floats(1, 4, 6, 17), floats(5, 4, 3, 3)
    yield convolution("any_weights", x, w, {"pads": [1] * 4}, [x, w])
    narrow = [  # groups, channels and outputs of each, kernel, sizes, attributes
        (4, 8, 27, (1, 1), (9, 15), {}),
        (3, 2, 1, (3, 3), (40, 1), {"pads": [1] * 4}),
        (2, 5, 3, (3, 3), (25, 3), {"strides": [2, 2]}),
        (4, 6, 6, (7, 7), (11, 13), {"pads": [3] * 4, "strides": [2, 2]}),
        (2, 3, 4, (5,), (19,), {"pads": [4, 4], "dilations": [2]}),
        (2, 3, 2, (3, 3, 3), (9, 2, 3), {"pads": [2] * 6, "dilations": [2, 2, 2]}),
    ]
    for groups, channels, outputs, kernel, sizes, attributes in narrow:
        x, w = floats(2, groups * channels, *sizes), floats(groups * outputs, channels, *kernel, scale=0.3)
        name = "x".join(str(size) for size in (groups, channels, outputs, *kernel))
        yield convolution(f"narrow_{name}", x, w, {"group": groups, **attributes})
