import numpy as np

from case_maker import case, constant, floats


def odd_panels():
    """Products whose columns end in a single panel of 16, or in a part of one, and whose rows lie 4 KB apart."""
    for rows in (1, 7, 13):
        for columns in (5 * 16, 16 * 7 - 3):
            a, b = floats(rows, 9), floats(9, columns)
            yield case(f"weights_{rows}x{columns}", "MatMul", [a, constant(b)], domain="", opset=13)
            yield case(f"in_place_{rows}x{columns}", "MatMul", [a, b], domain="", opset=13)
    far, weights = floats(13, 1024), floats(1024, 20, scale=0.1)
    for rows in (5, 13):
        yield case(f"far_rows_{rows}", "MatMul", [far[:rows], constant(weights)], domain="", opset=13)
    yield case("far_rows_f64", "MatMul", [floats(7, 512, dtype=np.float64), constant(floats(512, 18, dtype=np.float64))], domain="", opset=13)
    yield case("batches", "MatMul", [floats(3, 14, 10), floats(3, 10, 68)], domain="", opset=13)
    yield case("pixels_1x1", "Conv", [floats(1, 12, 5, 7), constant(floats(80, 12, 1, 1)), floats(80)], domain="", opset=11)
