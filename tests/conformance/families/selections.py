import numpy as np

from case_maker import case, constant, floats, integers, random


def selections():
    """Few and many elements in order, of few and many rows, along any axis; and windows put back together."""
    def different(*dims, dtype=np.float32):
        count = int(np.prod(dims))
        return (random.permutation(count) - count // 2).astype(dtype).reshape(dims)

    def top(name, x, k, axis=-1, largest=1, given=None):
        k = np.array([k], np.int64)
        return case(f"top_{name}", "TopK", [x, constant(k)], {"axis": axis, "largest": largest}, 2, domain="", opset=24, given=given)

    for rows, size in ((1, 9), (3, 70), (4, 5), (17, 33), (35, 16)):
        for k in (1, 3, 5, 16, 17, 40, 65):
            if k <= size:
                yield top(f"{rows}_{size}_{k}", different(rows, size), k, largest=k % 2)
    for dims, axis, k in (((3, 40, 21), 1, 4), ((3, 40, 3), 1, 4), ((50, 5), 0, 7), ((2, 33, 18), 1, 20), ((19, 2, 70), 1, 2)):
        yield top("axis_" + "_".join(map(str, dims)), different(*dims), k, axis)
    for dtype in (np.float64, np.int64, np.int32):
        for k in (2, 6, 30):
            yield top(f"{np.dtype(dtype).name}_{k}", different(9, 37, dtype=dtype) * (dtype(1) if k < 6 else dtype(3)), k, largest=k % 4 // 2)
    # Rows that are counted, side by side or not, few of them side by side, all of a row, and long ones in groups.
    for dims, axis, k in (((4, 1, 37), 1, 1), ((29, 1, 3), 1, 1), ((11, 6, 3), 1, 5), ((3, 20, 19), 1, 20), ((2, 70, 19), 1, 50),
                          ((2, 150, 5), 1, 150), ((3, 200), 1, 190), ((700, 2), 0, 300), ((1, 2000), 1, 70), ((1300, 2), 0, 80)):
        yield top("of_" + "_".join(map(str, dims)), different(*dims), k, axis)
    # Numbers that are equal, and those beyond all others: NumPy's stable sorting keeps equal ones in order.
    for name, x in (("equal", integers(0, 3, 21, 50, dtype=np.float32)), ("infinite", np.full((9, 20), -np.inf, np.float32)),
                    ("least", np.full((5, 70), -2**31, np.int32)), ("i8", integers(-128, 128, 6, 70, dtype=np.int8)),
                    ("u8", integers(0, 256, 3, 70, dtype=np.uint8)), ("f16", integers(-40, 40, 7, 45, dtype=np.float16)),
                    ("i64", integers(-2**62, 2**62, 11, 41) * np.array([0, 1, 2] * 13 + [1, 2]))):
        if name in ("infinite", "least"):
            x[:, 3::7] = np.arange(x[:, 3::7].shape[1])
        for k, largest in ((4, 1), (4, 0), (19, 1)):
            keys = -x.astype(object) if largest else x.astype(object)
            order = np.argsort(keys, axis=-1, kind="stable")[:, :k].astype(np.int64)
            yield top(f"{name}_{k}_{largest}", x, k, largest=largest, given=[np.take_along_axis(x, order, -1), order])

    for k, largest in ((70, 1), (300, 0)):
        x = integers(0, 40, 1, 1500, dtype=np.float32)
        order = np.argsort(-x if largest else x, axis=-1, kind="stable")[:, :k].astype(np.int64)
        yield top(f"many_equal_{k}", x, k, largest=largest, given=[np.take_along_axis(x, order, -1), order])

    folds = [
        ("plain", (1, 2), (5, 6), (3, 2), {}),
        ("wide", (2, 1), (9, 40), (3, 3), {"pads": [1] * 4}),
        ("steps", (1, 2), (9, 37), (3, 5), {"strides": [2, 2], "pads": [1, 2, 1, 0]}),
        ("gaps", (1, 2), (11, 13), (2, 2), {"strides": [3, 4]}),
        ("patches", (2, 1), (8, 12), (4, 3), {"strides": [4, 3]}),
        ("spread", (1, 2), (11, 29), (3, 2), {"dilations": [2, 3]}),
        ("both", (1, 2), (15, 31), (3, 4), {"dilations": [3, 2], "strides": [2, 3], "pads": [1, 0, 2, 1]}),
        ("shared", (1, 1), (15, 31), (3, 4), {"dilations": [2, 6], "strides": [4, 4], "pads": [1, 2, 2, 3]}),
        ("row", (2, 3), (45,), (7,), {"pads": [3, 3], "strides": [2]}),
        ("solid", (1, 2), (4, 5, 6), (2, 2, 3), {"strides": [1, 2, 1], "pads": [0, 1, 1, 0, 0, 1]}),
    ]
    for name, (batch, channels), image, block, attributes in folds:
        axes = len(image)
        pads, strides = attributes.get("pads", [0] * 2 * axes), attributes.get("strides", [1] * axes)
        dilations = attributes.get("dilations", [1] * axes)
        places = [(image[i] + pads[i] + pads[i + axes] - dilations[i] * (block[i] - 1) - 1) // strides[i] + 1 for i in range(axes)]
        x = integers(-9, 10, batch, channels * int(np.prod(block)), int(np.prod(places)), dtype=np.float32)
        sizes = [constant(np.array(image, np.int64)), constant(np.array(block, np.int64))]
        yield case(f"fold_{name}", "Col2Im", [x, *sizes], attributes, domain="", opset=18)

    def onnx_case(name, op, inputs, attributes=None, opset=21, **more):
        return case(name, op, inputs, attributes, domain="", opset=opset, **more)

    for size in (5, 37, 131):
        x = integers(-4, 5, 6, size, dtype=np.float32)
        yield onnx_case(f"hardmax_{size}", "Hardmax", [x], {"axis": -1})
        for dtype in (np.float32, np.int32, np.uint8):
            for last in (0, 1):
                for op in ("ArgMax", "ArgMin"):
                    yield onnx_case(f"{op}_{np.dtype(dtype).name}_{size}_{last}", op, [integers(0, 9, 4, size, dtype=dtype)],
                                    {"axis": 1, "select_last_index": last})

    # Quotients of numbers that floats hold, and of those that they do not.
    def signed(high, count, dtype):
        return integers(1, high, count, dtype=dtype) * random.choice(np.array([-1, 1], dtype), count)

    for dtype, high in ((np.int64, 10**6), (np.int64, 2**51), (np.int64, 2**62), (np.int32, 2**31 - 1), (np.int8, 127)):
        a, b = signed(high, 75, dtype), signed(min(high, 2**40), 75, dtype)
        b[:20], a[20:24] = signed(9, 20, dtype), 0
        for op, attributes in (("Mod", {}), ("Mod", {"fmod": 1}), ("Div", {})):
            if op == "Div" and dtype == np.int8:
                continue
            yield onnx_case(f"{op}_{np.dtype(dtype).name}_{high}_{len(attributes)}", op, [a, b], attributes)
    for dtype, high in ((np.uint64, 2**62), (np.uint32, 2**32 - 1), (np.uint8, 255)):
        a, b = integers(0, high, 75, dtype=dtype), integers(1, high, 75, dtype=dtype)
        b[:30] = integers(1, 9, 30, dtype=dtype)
        yield onnx_case(f"Mod_{np.dtype(dtype).name}", "Mod", [a, b])

    axis = constant(np.array(1, np.int64))
    for length in (15, 37, 45):
        for attributes in ({}, {"onesided": 1}, {"inverse": 1}):
            parts = 1 if "onesided" in attributes else 2
            yield onnx_case(f"DFT_{length}_{''.join(attributes)}", "DFT", [floats(2, length, parts), None, axis], attributes,
                            rtol=1e-4, atol=1e-4)

    for outputs, groups in ((5, 1), (26, 1), (70, 1), (36, 2)):
        inputs = [floats(1, 6, 5, 9), floats(outputs, 6 // groups, 3, 3, scale=0.3)]
        yield onnx_case(f"filter_{outputs}_{groups}", "Conv", inputs, {"group": groups, "pads": [1, 0, 1, 2]}, rtol=1e-4, atol=1e-4)
    for stride in (1, 2):
        scale = constant(np.float32(0.01))
        inputs = [integers(0, 256, 1, 5, 7, 41, dtype=np.uint8), constant(np.float32(0.02)), constant(np.uint8(130)),
                  constant(integers(-127, 128, 5, 1, 3, 3, dtype=np.int8)), scale, constant(np.int8(0)),
                  constant(np.float32(0.1)), constant(np.uint8(128))]
        yield onnx_case(f"filter_bytes_{stride}", "QLinearConv", inputs, {"group": 5, "strides": [stride] * 2, "pads": [1] * 4})

    # A window as long as can be is all channels: NumPy.
    x = floats(2, 6, 3, 4)
    size, alpha = 2**63 - 1, 1e18
    sums = (x.astype(np.float64) ** 2).sum(axis=1, keepdims=True)
    wanted = (x / (2 + np.float64(np.float32(alpha)) / size * sums) ** 0.75).astype(np.float32)
    yield onnx_case("LRN_endless", "LRN", [x], {"size": size, "alpha": alpha, "bias": 2.0, "beta": 0.75}, given=[wanted])
