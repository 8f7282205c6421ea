import numpy as np

from case_maker import case, floats, integers, random


def gathers():
    """Elements of several rows from the same places, and indices that are looked at in vectors."""
    def onnx_case(name, op, inputs, attributes=None, opset=20):
        return case(name, op, inputs, attributes, domain="", opset=opset)

    for dtype in (np.float32, np.int64, np.uint8, np.float16, np.float64, np.int32):
        for dims, count in (((3, 21), 40), ((4, 30), 17), ((2, 5, 33), 70), ((9, 8), 100)):
            x = integers(0, 100, *dims, dtype=np.int64).astype(dtype)
            places = integers(-dims[-1], dims[-1], count)
            yield onnx_case(f"gather_{np.dtype(dtype).name}_" + "_".join(map(str, dims)), "Gather", [x, places], {"axis": -1})
    for dims, places in (((6, 40), (2, 35)), ((1, 5, 17), (5, 7))):
        yield onnx_case("gather_table_" + "_".join(map(str, dims)), "Gather",
                        [floats(*dims), integers(-dims[-1], dims[-1], *places, dtype=np.int32)], {"axis": len(dims) - 1})

    for rows, size, count in ((5, 70, 131), (3, 9, 64), (1, 300, 1000)):
        yield onnx_case(f"elements_{rows}_{size}_{count}", "GatherElements",
                        [floats(rows, size), integers(-size, size, rows, count)], {"axis": 1})
    for channels, picture, result in ((5, (9, 13), (4, 9)), (8, (6, 7), (3, 11)), (3, (12, 5), (7, 7))):
        for mode, padding, aligned in (("linear", "zeros", 0), ("linear", "border", 1), ("nearest", "reflection", 0), ("cubic", "zeros", 1)):
            grid = (random.rand(2, *result, 2) * 2.6 - 1.3).astype(np.float32)
            yield onnx_case(f"grid_{channels}_{mode}_{padding}", "GridSample", [floats(2, channels, *picture), grid],
                            {"mode": mode, "padding_mode": padding, "align_corners": aligned})
