import numpy as np

from case_maker import case, floats, integers


def few_columns():
    """Products of two operands that change, with fewer columns than a vector has lanes: rows lie along vectors, or each element is a dot product."""
    sizes = [  # batch, rows, columns, depth
        ((), 37, 1, 70), ((), 33, 2, 65), ((), 35, 3, 81), ((2,), 17, 8, 64), ((3,), 20, 5, 65), ((2,), 29, 7, 25),
        ((), 70, 4, 3), ((2, 2), 9, 3, 66), ((), 16, 8, 31), ((), 15, 8, 70), ((), 19, 9, 66), ((), 2, 1, 66), ((), 6, 3, 0), ((), 0, 3, 70),
    ]
    for batch, m, n, k in sizes:
        name = "x".join(str(size) for size in (*batch, m, n, k))
        a, b = floats(*batch, m, k), floats(*batch, k, n)
        yield case(f"matmul_{name}", "MatMul", [a, b], domain="", opset=13)
        if k > 0 and n % 2 == 1:
            yield case(f"rows_along_depth_{name}", "FusedMatMul", [a, np.ascontiguousarray(np.swapaxes(b, -1, -2))], {"transB": 1, "alpha": 0.5})
        if batch == () and m > 0 and k > 0 and n < 5:
            yield case(f"both_turned_{name}", "Gemm", [np.ascontiguousarray(a.T), np.ascontiguousarray(b.T), floats(n)],
                       {"transA": 1, "transB": 1}, domain="", opset=13)
    yield case("einsum", "Einsum", [floats(2, 3, 6, 65), floats(3, 4, 65)], {"equation": "bhwc,hkc->bhwk"}, domain="", opset=12)
    yield case("einsum_short", "Einsum", [floats(4, 3, 7, 10), floats(3, 5, 10)], {"equation": "bhwc,hkc->bhwk"}, domain="", opset=12)
    yield case("one_matrix_for_all", "MatMul", [floats(3, 40, 70), floats(70, 3)], domain="", opset=13)
    yield case("f64", "MatMul", [floats(40, 70, dtype=np.float64), floats(70, 3, dtype=np.float64)], domain="", opset=13)
    yield case("integers", "MatMul", [integers(-9, 9, 40, 70, dtype=np.int32), integers(-9, 9, 70, 3, dtype=np.int32)], domain="", opset=13)
    yield case("bytes", "MatMulInteger", [integers(0, 255, 40, 70, dtype=np.uint8), integers(-127, 127, 70, 3, dtype=np.int8)], domain="", opset=10)
