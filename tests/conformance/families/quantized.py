import numpy as np

from case_maker import case, constant, floats, integers


def quantized():
    def u8(*dims):
        return integers(0, 256, *dims, dtype=np.uint8)

    def i8(*dims):
        return integers(-128, 128, *dims, dtype=np.int8)

    def scale(value):
        return np.array(value, np.float32)

    def zero(value, dtype=np.uint8):
        return np.array(value, dtype)

    x = [u8(2, 3, 4), scale(0.02), zero(120)]
    to = [scale(0.03), zero(100)]
    image = [u8(1, 3, 6, 6), scale(0.02), zero(120)]
    yield case("add", "QLinearAdd", [*x, u8(2, 3, 4), scale(0.05), zero(130), *to])
    yield case("multiply_i8", "QLinearMul", [i8(2, 3), scale(0.02), zero(3, np.int8), i8(3), scale(0.03),
                                             zero(-4, np.int8), scale(0.01), zero(5, np.int8)])
    yield case("sigmoid", "QLinearSigmoid", [*x, scale(1 / 256), zero(0)])
    yield case("leaky", "QLinearLeakyRelu", [*x, *to], {"alpha": 0.2})
    yield case("concat", "QLinearConcat", [*to, *x, u8(2, 2, 4), scale(0.05), zero(99)], {"axis": 1})
    yield case("average_pool", "QLinearAveragePool", [*image, *to], {"kernel_shape": [2, 2], "strides": [2, 2]})
    yield case("average_pool_last", "QLinearAveragePool", [u8(1, 6, 6, 3), scale(0.021), zero(120), *to],
               {"kernel_shape": [2, 2], "channels_last": 1})
    yield case("global_pool", "QLinearGlobalAveragePool", [*image, *to])
    yield case("softmax", "QLinearSoftmax", [*x, scale(1 / 256), zero(0)], {"axis": -1, "opset": 13})
    yield case("where", "QLinearWhere", [integers(0, 2, 2, 3, 4).astype(bool), *x, u8(2, 3, 4), scale(0.05), zero(99),
                                         *to])
    yield case("gemm", "QGemm", [u8(3, 4), scale(0.02), zero(120), constant(i8(5, 4)), scale(0.01), zero(0, np.int8),
                                 integers(-900, 900, 5, dtype=np.int32), *to], {"transB": 1})
    yield case("gemm_float", "QGemm", [u8(3, 4), scale(0.02), zero(120), constant(u8(4, 5)), floats(5, scale=0.01),
                                       integers(100, 140, 5, dtype=np.uint8)], {"alpha": 0.5})
    yield case("to_float", "MatMulIntegerToFloat", [u8(2, 3, 4), i8(4, 5), scale(0.02), floats(5, scale=0.01), zero(120),
                                                    zero(0, np.int8), floats(5)])
    yield case("dynamic", "DynamicQuantizeMatMul", [floats(3, 8), constant(i8(8, 5)), scale(0.02), zero(3, np.int8),
                                                    floats(5)])
    # Data and states are quantized there, too.
    yield case("lstm", "DynamicQuantizeLSTM",
               [floats(4, 2, 3), constant(i8(1, 3, 20)), constant(i8(1, 5, 20)), constant(floats(1, 40)), None, None,
                None, None, constant(np.array([0.01], np.float32)), constant(np.zeros(1, np.int8)),
                constant(np.array([0.01], np.float32)), constant(np.zeros(1, np.int8))],
               {"hidden_size": 5}, outputs=3, atol=0.02)
    for bits in (2, 4, 8):
        rows, depth, block = 3, 40, 16
        blocks = (depth + block - 1) // block
        packed = integers(0, 256, rows, blocks, block * bits // 8, dtype=np.uint8)
        inputs = [floats(2, 2, depth), constant(packed), constant(floats(rows * blocks, scale=0.1))]
        sizes = {"N": rows, "K": depth, "bits": bits, "block_size": block}
        yield case(f"bits_{bits}", "MatMulNBits", inputs, sizes, atol=1e-3)
        zeros = integers(0, 256, rows * ((blocks * bits + 7) // 8), dtype=np.uint8)
        yield case(f"bits_{bits}_zero", "MatMulNBits", inputs + [constant(zeros)], sizes, atol=1e-3)
