import numpy as np

from case_maker import case, constant, floats, integers


def few_inside():
    """Few elements, or one, inside of the axis that is joined, reduced or turned: vectors hold several steps of it."""
    def onnx_case(name, op, inputs, attributes=None, opset=18, **more):
        return case(name, op, inputs, attributes, domain="", opset=opset, **more)

    for dtype in (np.float32, np.uint8, np.float64, np.float16):
        for runs in ((1, 1), (1, 1, 1), (1,) * 5, (1,) * 6, (1,) * 7, (1,) * 8, (1, 2), (3, 1, 4), (0, 1), (8, 7, 1, 2)):
            parts = [integers(0, 99, 3, 13, run, 1).astype(dtype) for run in runs]
            yield onnx_case(f"joined_{'_'.join(map(str, runs))}_{np.dtype(dtype).name}", "Concat", parts, {"axis": 2}, opset=13)
        for dims, perm in (((6, 37, 2), (1, 2, 0)), ((2, 1, 19, 5, 3), (2, 1, 3, 0, 4)), ((20, 33, 2), (1, 0, 2)), ((21, 18, 3), (1, 0, 2)),
                           ((3, 7, 9, 2), (2, 0, 1, 3)), ((5, 70), (1, 0)), ((6, 70), (1, 0)), ((7, 70), (1, 0)), ((2, 0, 2), (1, 0, 2))):
            name = f"turned_{'x'.join(map(str, dims))}_{''.join(map(str, perm))}_{np.dtype(dtype).name}"
            yield onnx_case(name, "Transpose", [integers(0, 99, *dims).astype(dtype)], {"perm": list(perm)}, opset=13)
    for rows, steps, inside in ((2, 50, 1), (3, 1, 2), (2, 37, 2), (2, 173, 3), (1, 131, 4), (1, 97, 6), (1, 79, 7), (1, 130, 8),
                                (1, 17, 9), (1, 40, 15), (2, 0, 3), (40, 3, 2), (1, 283, 2)):
        shape = f"{rows}x{steps}x{inside}"
        x = floats(rows, steps, inside)
        for op in ("Softmax", "LogSoftmax"):
            yield onnx_case(f"{op}_{shape}", op, [x], {"axis": 1}, opset=13)
        for op in ("ReduceSum", "ReduceMax", "ReduceMean", "ReduceProd", "ReduceLogSumExp"):
            if steps > 0 or op == "ReduceSum":
                yield onnx_case(f"{op}_{shape}", op, [x, constant(np.array([1], np.int64))], {"keepdims": 0})
        yield onnx_case(f"ReduceMax_{shape}_i32", "ReduceMax", [integers(-9, 9, rows, max(steps, 1), inside).astype(np.int32),
                                                               constant(np.array([1], np.int64))], {"keepdims": 1})
        for op, last in (("ArgMax", 0), ("ArgMin", 1)):
            if steps > 0:
                ties = integers(0, 5, rows, steps, inside).astype(np.float32)
                yield onnx_case(f"{op}_{shape}_{last}", op, [ties], {"axis": 1, "keepdims": 0, "select_last_index": last}, opset=13)
    for steps, inside in ((140, 4), (171, 3), (40, 1)):
        x = floats(2, steps, inside)
        x[1, :, 0] = -np.inf
        x[1, steps - 1, inside - 1] = np.inf
        yield onnx_case(f"ReduceMax_hostile_{steps}x{inside}", "ReduceMax", [x, constant(np.array([1], np.int64))], {"keepdims": 0})
        x[0, 7, 0] = np.nan
        yield onnx_case(f"ReduceSum_hostile_{steps}x{inside}", "ReduceSum", [x, constant(np.array([1], np.int64))], {"keepdims": 0})
        yield onnx_case(f"Softmax_hostile_{steps}x{inside}", "Softmax", [x], {"axis": 1}, opset=13)
