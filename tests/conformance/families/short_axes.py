import numpy as np

from case_maker import case, constant, floats, integers


def short_axes():
    """Axes of 1 to 8 elements where memory is written or read along: a launch finds others, tiles are narrow."""
    def onnx_case(name, op, inputs, attributes=None, opset=18, **more):
        return case(name, op, inputs, attributes, domain="", opset=opset, **more)

    turned = [
        ((1, 9, 17, 3), (1, 2, 3, 0)), ((4, 19, 2, 1, 1), (3, 0, 1, 4, 2)), ((18, 6, 1), (1, 0, 2)), ((1, 1, 9, 5), (3, 2, 1, 0)),
        ((1, 5, 1, 7), (2, 3, 0, 1)), ((2, 3, 2, 7, 2), (4, 0, 3, 2, 1)), ((2, 33, 2), (0, 2, 1)), ((2, 2, 33), (0, 2, 1)),
        ((37, 3), (1, 0)), ((5, 37), (1, 0)), ((7, 7), (1, 0)), ((6, 1), (1, 0)), ((1, 1, 1), (2, 0, 1)), ((13, 70), (1, 0)),
        ((15, 35), (1, 0)), ((3, 1, 40), (2, 1, 0)), ((2, 0, 1), (2, 1, 0)), ((1, 12, 1, 3), (0, 2, 1, 3)),
    ]
    for dims, perm in turned:
        for dtype in (np.float32, np.uint8, np.float64, np.float16):
            name = f"turned_{'x'.join(map(str, dims))}_{''.join(map(str, perm))}_{np.dtype(dtype).name}"
            yield onnx_case(name, "Transpose", [integers(0, 99, *dims).astype(dtype)], {"perm": list(perm)})
    repeated = [
        ((1, 37, 1), (1, 37, 1)), ((3, 4, 9, 1), (9, 1)), ((3, 4, 9, 1), (4, 1, 1)), ((2, 35, 1), (2, 1, 1)), ((5, 1, 1), (5, 1, 1)),
        ((19, 2), (1, 2)), ((19, 3), (19, 1)), ((1, 1, 1), (1, 1)), ((2, 17, 1, 1), (17, 1, 1)), ((0, 3, 1), (3, 1)),
    ]
    for dims, other in repeated:
        for op in ("Sub", "Less"):
            name = f"{op}_{'x'.join(map(str, dims))}_{'x'.join(map(str, other))}"
            yield onnx_case(name, op, [floats(*dims), floats(*other)], opset=14 if op == "Sub" else 13)
    for dims, starts, ends, axes in (((5, 9, 1), [3], [8], [1]), ((5, 9, 4), [2], [3], [2]), ((1, 40, 2), [1, 1], [39, 2], [1, 2])):
        limits = [constant(np.array(values, np.int64)) for values in (starts, ends, axes)]
        yield onnx_case(f"part_{'x'.join(map(str, dims))}", "Slice", [floats(*dims), *limits], opset=13)
    # Places are found with a row in each lane, up to long rows; the first of equal ones is wanted.
    for rows, columns in ((16, 29), (17, 56), (19, 130), (16, 399), (16, 401), (3, 50)):
        for op in ("ArgMax", "ArgMin"):
            for last in (0, 1):
                x = integers(0, 7, rows, columns).astype(np.float32)
                yield onnx_case(f"{op}_{rows}x{columns}_{last}", op, [x], {"axis": 1, "keepdims": 0, "select_last_index": last}, opset=13)
    # Columns that one panel holds, or that leave one over.
    for m, n, k in ((25, 9, 20), (13, 16, 33), (14, 17, 5), (50, 40, 7), (100, 12, 1), (6, 13, 70)):
        yield onnx_case(f"panel_{m}x{n}x{k}", "MatMul", [floats(2, m, k), floats(2, k, n)], opset=13)
        yield onnx_case(f"panel_turned_{m}x{n}x{k}", "Gemm", [floats(k, m), floats(k, n)], {"transA": 1}, opset=13)
