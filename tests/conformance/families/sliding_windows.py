"""Windows that slide along rows: blocks of rows and columns, padding on either side, strides, averages that count it or not."""
import ml_dtypes
import numpy as np

from case_maker import case, evaluate, floats, integers


def greatest(x, kernel, stride, pad):
    """MaxPool of two axes by NumPy, where NaN wins."""
    padded = np.pad(x, [(0, 0), (0, 0), (pad, pad), (pad, pad)], constant_values=-np.inf)
    windows = np.lib.stride_tricks.sliding_window_view(padded, (kernel, kernel), axis=(2, 3))
    return windows[:, :, ::stride, ::stride].max(axis=(4, 5))


def sliding_windows():
    def pool(name, op, x, attributes, opset=22, **more):
        if op == "AveragePool" and x.dtype != np.float32:  # ONNX Runtime has no kernel
            more["given"] = [evaluate(op, [x], attributes, [0], "", opset, True)[0].astype(x.dtype)]
        return case(name, op, [x], attributes, domain="", opset=opset, **more)

    shapes = [
        ("same", (1, 2, 18, 19), {"kernel_shape": [3, 3], "pads": [1] * 4}),
        ("halves", (2, 1, 33, 30), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4}),
        ("ceil", (1, 1, 20, 23), {"kernel_shape": [3, 3], "strides": [2, 2], "ceil_mode": 1}),
        ("ceil_padded", (1, 1, 20, 24), {"kernel_shape": [4, 3], "strides": [3, 2], "pads": [1, 0, 2, 1], "ceil_mode": 1}),
        ("lopsided", (1, 1, 18, 21), {"kernel_shape": [4, 5], "pads": [3, 0, 1, 4]}),
        ("apart", (1, 1, 12, 37), {"kernel_shape": [3, 3], "dilations": [2, 3], "pads": [2, 1, 2, 2]}),
        ("apart_strided", (1, 1, 12, 37), {"kernel_shape": [3, 3], "dilations": [3, 2], "strides": [2, 3], "pads": [1, 2, 2, 0]}),
        ("tall", (1, 1, 40, 9), {"kernel_shape": [18, 2], "pads": [9, 0, 8, 1]}),
        ("long", (1, 1, 3, 60), {"kernel_shape": [2, 20], "pads": [0, 10, 1, 9]}),
        ("tiny", (2, 3, 4, 4), {"kernel_shape": [3, 3], "pads": [1] * 4}),
        ("seven", (2, 3, 7, 7), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1] * 4}),
        ("wide", (1, 1, 2, 530), {"kernel_shape": [2, 3], "pads": [0, 1, 1, 1]}),
        ("wide_strided", (1, 1, 1, 1085), {"kernel_shape": [3, 3], "strides": [1, 2], "pads": [1] * 4}),
        ("unpadded", (1, 1, 12, 20), {"kernel_shape": [5, 5]}),
        ("far_apart", (1, 1, 17, 26), {"kernel_shape": [2, 2], "strides": [3, 4], "pads": [1, 1, 1, 1]}),
        ("line", (2, 5, 50), {"kernel_shape": [5], "strides": [2], "pads": [2, 1]}),
        ("cube", (1, 2, 6, 7, 9), {"kernel_shape": [3, 3, 3], "pads": [1] * 6}),
        ("cube_strided", (2, 1, 7, 9, 21), {"kernel_shape": [3, 2, 3], "strides": [2, 1, 2], "pads": [1, 1, 0, 1, 0, 2]}),
        ("slices", (1, 2, 3, 9, 12), {"kernel_shape": [1, 3, 3], "pads": [0, 1, 1, 0, 1, 1]}),
    ]
    for name, dims, attributes in shapes:
        yield pool(f"max_{name}", "MaxPool", floats(*dims), attributes)
        for counts in (0, 1):
            if "dilations" in attributes and counts:
                continue
            yield pool(f"average_{name}_{counts}", "AveragePool", floats(*dims), {**attributes, "count_include_pad": counts})
        if name in ("same", "ceil_padded", "cube"):
            yield pool(f"lp_{name}", "LpPool", floats(*dims), {**attributes, "p": 2})

    same, halves = ({"kernel_shape": [3, 3], "strides": [s, s], "pads": [1] * 4} for s in (1, 2))
    for name, attributes in (("same", same), ("halves", halves)):
        for width in (3, 9, 37):
            dims = (1, 2, 3, width)
            yield pool(f"max_f64_{name}_{width}", "MaxPool", floats(*dims, dtype=np.float64), attributes)
            yield pool(f"average_f64_{name}_{width}", "AveragePool", floats(*dims, dtype=np.float64), attributes)
            yield pool(f"max_f16_{name}_{width}", "MaxPool", floats(*dims, dtype=np.float16), attributes)
            yield pool(f"average_f16_{name}_{width}", "AveragePool", floats(*dims, dtype=np.float16), attributes, rtol=2e-3)
            yield pool(f"max_u8_{name}_{width}", "MaxPool", integers(0, 256, *dims, dtype=np.uint8), attributes)
            yield pool(f"max_i8_{name}_{width}", "MaxPool", integers(-128, 0, *dims, dtype=np.int8), attributes)
            x = floats(*dims).astype(ml_dtypes.bfloat16)
            wanted = greatest(x.astype(np.float32), 3, attributes["strides"][0], 1).astype(ml_dtypes.bfloat16)
            yield pool(f"max_bf16_{name}_{width}", "MaxPool", x, attributes, given=[wanted])
    yield pool("max_u8_line", "MaxPool", integers(0, 256, 2, 3, 100, dtype=np.uint8), {"kernel_shape": [4], "strides": [3]})
    yield pool("max_i8_cube", "MaxPool", integers(-128, 128, 1, 2, 5, 6, 40, dtype=np.int8),
               {"kernel_shape": [2, 3, 3], "pads": [1] * 6})
    yield pool("average_f16_cube", "AveragePool", floats(1, 2, 5, 6, 40, dtype=np.float16),
               {"kernel_shape": [2, 3, 3], "pads": [1] * 6}, rtol=2e-3)

    # Numbers that are none go to every window that sees them; padding is less than anything, so that rows of -inf stay.
    for stride in (1, 2):
        x = floats(1, 2, 9, 24)
        x[0, 0, 2, 5] = x[0, 1, 0, 0] = x[0, 1, 8, 23] = np.nan
        x[0, 0, 4, :] = -np.inf
        x[0, 1, 4, 4:9] = np.inf
        yield pool(f"max_of_no_numbers_{stride}", "MaxPool", x, same if stride == 1 else halves, given=[greatest(x, 3, stride, 1)])
    x = np.full((1, 1, 5, 17), -np.inf, np.float32)
    yield pool("max_of_least", "MaxPool", x, same, given=[greatest(x, 3, 1, 1)])
    # As many windows of the same number give that number.
    yield pool("average_of_ones", "AveragePool", np.ones((1, 1, 9, 33), np.float32), same, rtol=2.4e-7, atol=0)
