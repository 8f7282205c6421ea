import numpy as np

from case_maker import case, constant, floats, integers


def windows():
    """Edges of rows against the width of vectors: windows, padding, seams, steps; and selections from long rows."""
    def onnx_case(name, op, inputs, attributes=None, opset=21, **more):
        return case(name, op, inputs, attributes, domain="", opset=opset, **more)

    pools = [(3, 1, (1, 1), 1), (3, 2, (1, 1), 1), (2, 2, (0, 0), 1), (5, 3, (2, 1), 1), (3, 1, (0, 2), 2), (2, 5, (1, 0), 1)]
    for width in (5, 17, 37):
        for kernel, stride, (low, high), dilation in pools:
            attributes = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [low, low, high, high],
                          "dilations": [dilation] * 2}
            if (width + low + high - (kernel - 1) * dilation - 1) < 0:
                continue
            name = f"{kernel}_{stride}_{low}{high}_{dilation}_{width}"
            x = floats(1, 1, 7, width)
            yield onnx_case(f"max_{name}", "MaxPool", [x], attributes)
            for counted in (0, 1):
                yield onnx_case(f"average_{name}_{counted}", "AveragePool", [x], {**attributes, "count_include_pad": counted})
    for kernel, stride, dilation in ((3, 1, 1), (3, 2, 1), (5, 2, 1), (3, 1, 2), (7, 1, 1)):
        pad = (kernel - 1) * dilation // 2
        attributes = {"group": 2, "strides": [stride] * 2, "dilations": [dilation] * 2, "pads": [pad] * 4}
        for width in (6, 37):
            inputs = [floats(1, 2, 6, width), constant(floats(2, 1, kernel, kernel, scale=0.3))]
            yield onnx_case(f"depthwise_{kernel}_{stride}_{dilation}_{width}", "Conv", inputs, attributes)
    yield onnx_case("depthwise_row", "Conv", [floats(2, 2, 50), floats(2, 1, 31, scale=0.2)], {"group": 2, "pads": [15, 15]})

    transposed = [
        ("2_2", (2, 3, 5), (2, 4, 2, 2), {"strides": [2, 2]}),
        ("3_2", (2, 5, 4), (2, 3, 3, 3), {"strides": [2, 2], "pads": [1] * 4, "output_padding": [1, 1]}),
        ("4_2", (3, 4, 5), (3, 2, 4, 4), {"strides": [2, 2], "pads": [1] * 4}),
        ("5_3", (2, 3, 4), (2, 2, 5, 4), {"strides": [3, 2], "pads": [2, 1, 1, 2]}),
        ("spread", (2, 4, 3), (2, 2, 3, 2), {"strides": [2, 3], "dilations": [2, 2]}),
        ("apart", (2, 4, 5), (2, 3, 3, 3), {"dilations": [2, 3], "pads": [1, 2, 3, 1]}),
        ("groups", (4, 3, 4), (4, 3, 3, 3), {"strides": [2, 1], "group": 2, "pads": [0, 1, 1, 0]}),
        ("single", (3, 4, 5), (3, 1, 4, 4), {"strides": [2, 2], "group": 3, "pads": [1] * 4}),
        ("shape", (2, 3, 3), (2, 2, 3, 3), {"strides": [3, 3], "output_shape": [10, 8]}),
        ("cut", (2, 4, 4), (2, 2, 3, 3), {"strides": [2, 2], "pads": [2, 2, 3, 3]}),
        ("few_taps", (2, 3, 3), (2, 2, 1, 2), {"strides": [3, 4]}),
        ("row", (4, 9), (4, 3, 16), {"strides": [8], "pads": [4, 4]}),
        ("solid", (2, 2, 3, 2), (2, 2, 3, 2, 3), {"strides": [2, 1, 2], "pads": [1, 0, 1, 0, 1, 1]}),
    ]
    for name, dims, weights, attributes in transposed:
        inputs = [floats(2, *dims), constant(floats(*weights, scale=0.4)), floats(weights[1] * attributes.get("group", 1))]
        yield onnx_case(f"transposed_{name}", "ConvTranspose", inputs, attributes)
    yield onnx_case("transposed_any_weights", "ConvTranspose", [floats(1, 3, 4, 4), floats(3, 2, 3, 3)],
                    {"strides": [2, 2], "pads": [1] * 4})

    for mode in ("constant", "reflect", "edge", "wrap"):
        for low, high in ((3, 2), (0, 20), (21, 0), (-2, 3)):
            pads = constant(np.array([1, low, 0, high], np.int64))
            yield onnx_case(f"pad_{mode}_{low}_{high}", "Pad", [floats(2, 37), pads], {"mode": mode})
    for count in (3, 11):
        yield onnx_case(f"concat_{count}", "Concat", [floats(2, 1 + 7 * i % 20) for i in range(count)], {"axis": -1})
    for step in (2, 3, 4, 5, -2):
        ends = [(1, 70), (69, -71)][step < 0]
        inputs = [floats(2, 71), *(constant(np.array([v], np.int64)) for v in (*ends, 1, step))]
        yield onnx_case(f"slice_{step}", "Slice", inputs)
        yield onnx_case(f"slice_bytes_{step}", "Slice", [integers(0, 255, 2, 71, dtype=np.uint8), *inputs[1:]])

    for count, of in ((1, 700), (3, 700), (150, 700), (699, 700), (24, 24), (5, 25), (2, 8)):
        for largest in (0, 1):
            k = constant(np.array([count], np.int64))
            # Many equal ones: their order is that of their places.
            yield onnx_case(f"topk_{count}_{of}_{largest}", "TopK", [integers(-9, 9, 2, of).astype(np.float32) / 4, k],
                            {"largest": largest}, outputs=2)
    for dtype in (np.int32, np.int64, np.float64):
        values = (floats(2, 400, scale=1000)).astype(dtype)
        yield onnx_case(f"topk_{np.dtype(dtype).name}", "TopK", [values, constant(np.array([30], np.int64))], outputs=2)
    yield onnx_case("topk_rising", "TopK", [np.arange(1500, dtype=np.float32).reshape(1, 1500), constant(np.array([4], np.int64))],
                    outputs=2)
    yield onnx_case("topk_columns", "TopK", [floats(300, 3), constant(np.array([7], np.int64))], {"axis": 0}, outputs=2)
    far = np.array([[0.0, -0.0, np.inf, 1e-45, -np.inf, -1e-45, 3e38, -0.0, 0.0]], np.float32)
    yield onnx_case("topk_zeros", "TopK", [far, constant(np.array([9], np.int64))], outputs=2)
