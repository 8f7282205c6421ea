import numpy as np

from case_maker import case, constant, floats, integers


def integer_products():
    """Constant weights: products of bytes where zero points allow it."""
    def u8(*dims):
        return integers(0, 256, *dims, dtype=np.uint8)

    def i8(*dims):
        return integers(-128, 128, *dims, dtype=np.int8)

    rows = [("u8_i8", u8(5, 19), np.array(131, np.uint8), i8(19, 37), np.array(0, np.int8)),
            ("i8_i8", i8(5, 19), np.array(-7, np.int8), i8(19, 37), np.array(0, np.int8)),
            ("i8_columns", u8(2, 3, 19), np.array(3, np.uint8), i8(19, 6) // 2, integers(-60, 60, 6, dtype=np.int8)),
            ("u8_middle", u8(5, 19), np.array(131, np.uint8), u8(19, 18), np.array(128, np.uint8)),
            ("u8_other", u8(2, 3, 19), np.array(131, np.uint8), u8(19, 18), np.array(90, np.uint8)),
            ("u8_columns", u8(5, 19), np.array(131, np.uint8), u8(19, 6), integers(0, 256, 6, dtype=np.uint8)),
            ("u8_none", u8(4, 70), None, i8(70, 20), None)]
    for name, x, zero, w, column_zeros in rows:
        yield case(name, "MatMulInteger", [x, constant(w), zero, None if column_zeros is None else constant(column_zeros)],
                   domain="", opset=10)
    image, window = u8(2, 6, 9, 8), {"pads": [1, 1, 1, 1], "strides": [1, 2]}
    yield case("window", "ConvInteger", [image, constant(i8(20, 6, 3, 3)), np.array(77, np.uint8)], window, domain="",
               opset=10)
    yield case("depthwise", "ConvInteger", [image, constant(i8(6, 1, 3, 3)), constant(np.array(77, np.uint8))],
               dict(window, group=6), domain="", opset=10)
    yield case("groups", "ConvInteger", [image, constant(u8(4, 3, 2, 2)), None, constant(np.array(128, np.uint8))],
               {"group": 2}, domain="", opset=10)

    def scales(*dims):
        return constant((np.abs(floats(*dims, scale=0.01)) + 0.001).astype(np.float32))

    yield case("qlinear_window", "QLinearConv",
               [image, np.array(0.02, np.float32), np.array(77, np.uint8), constant(i8(20, 6, 3, 3)), scales(20),
                constant(np.zeros(20, np.int8)), np.array(0.5, np.float32), np.array(100, np.uint8),
                constant(integers(-3000, 3000, 20, dtype=np.int32))], window, domain="", opset=10)
    yield case("qlinear_matmul", "QLinearMatMul",
               [u8(3, 4, 33), np.array(0.02, np.float32), np.array(120, np.uint8), constant(i8(33, 18)),
                constant(np.array(0.01, np.float32)), constant(np.array(0, np.int8)), np.array(0.2, np.float32),
                np.array(100, np.uint8)], domain="", opset=10)
