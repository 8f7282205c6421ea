"""com.microsoft: what exporters and quantisers write. ONNX Runtime is its specification."""
import numpy as np

from draw import Impossible, Node, Operand

from . import linear, windows
from .quantized import scale, zero_point

KEY = "com.microsoft"
F32 = np.float32


def calm(d, dims, constant=0.2):
    return Operand(d.array(F32, dims, -2, 2), constant)


def unary(d):
    return Node([calm(d, d.dims(1, 4))])


def bias_gelu(d):
    dims = d.dims(1, 3, zero=0)
    bias = calm(d, dims[-1:], 0.6)
    return Node([calm(d, dims), bias if d.schema.name == "BiasGelu" else d.maybe(bias)])


def fused_matmul(d):
    batch = [d.int(1, 3) for _ in range(d.pick([0, 1, 2]))]
    m, k, n = (linear.size(d) for _ in range(3))
    trans_a, trans_b = d.int(0, 1), d.int(0, 1)
    a, b = ([k, m] if trans_a else [m, k]), ([n, k] if trans_b else [k, n])
    return Node([calm(d, batch + a), calm(d, (batch if d.chance(0.5) else []) + b, 0.5)],
                {"transA": trans_a, "transB": trans_b, "alpha": d.pick([1.0, 0.5])}, atol=2e-3)


def fused_conv(d):
    x, w, attributes = windows.conv_parts(d)
    attributes["activation"] = d.pick(["Relu", "Tanh", "Sigmoid"])
    return Node([calm(d, x), calm(d, w, 0.5), d.maybe(calm(d, [w[0]], 0.5))], attributes, atol=2e-3)


def skip_normalization(d):
    dims = [d.int(1, 3), d.int(1, 5), d.pick([1, 2, 3, 8, 16, 17])]
    last = dims[-1:]
    inputs = [calm(d, dims), calm(d, dims), calm(d, last, 0.6)]
    if not d.schema.name.startswith("SkipSimplified"):
        inputs.append(d.maybe(calm(d, last, 0.6)))
    inputs.append(d.maybe(calm(d, last, 0.6), 0.4))
    return Node(inputs, {"epsilon": 1e-3}, atol=2e-3)


def quantized(d, dims, dtype, constant=0.2):
    return [Operand(d.array(dtype, dims), constant), scale(d), zero_point(d, dtype, [])]


def qlinear_binary(d):
    """No ties: ONNX Runtime rounds these to even in vectors, and away from zero behind the last whole one."""
    dtype = d.pick([np.uint8, np.int8])
    dims = d.dims(0, 4)
    a, b = quantized(d, dims, dtype), quantized(d, d.broadcast(dims), dtype, 0.4)
    finest = a[1].value * b[1].value if d.schema.name == "QLinearMul" else min(a[1].value, b[1].value)
    to = Operand(np.asarray(finest / 2.0 ** d.int(0, 2), F32), 0.5)
    return Node(a + b + [to, zero_point(d, dtype, [])])


def qlinear_concat(d):
    dtype = d.pick([np.uint8, np.int8])
    dims = d.dims(1, 3, zero=0)
    axis = d.int(0, len(dims) - 1)
    parts = []
    for _ in range(d.int(1, 3)):
        parts += quantized(d, dims[:axis] + [d.int(1, 4)] + dims[axis + 1:], dtype)
    return Node([scale(d), zero_point(d, dtype, [])] + parts, {"axis": axis})


def inverse(d):
    n = d.int(1, 5)
    return Node([Operand(d.array(F32, [d.int(1, 3), n, n], -1, 1) + 3 * np.eye(n, dtype=F32), 0.1)], atol=1e-2)


def channels(d, x, last):
    return [x[0]] + x[2:] + [x[1]] if last else x


def qlinear_conv(d):
    """No ties, as above: the result's scale is no power of two."""
    x, w, attributes = windows.conv_parts(d)
    last = d.int(0, 1)
    if last and attributes.get("group", 1) != 1 and attributes["group"] != x[1]:
        raise Impossible("not in ONNX Runtime")
    dtype = d.pick([np.uint8, np.int8])
    data, to = quantized(d, channels(d, x, last), dtype), [Operand(np.asarray(0.37, F32), 0.5), zero_point(d, dtype, [])]
    weights = [Operand(d.array(np.int8, w), 0.9), scale(d, d.pick([[], [w[0]]])), Operand(np.zeros([], np.int8), 0.9)]
    weights[2].value = np.zeros(weights[1].value.shape, np.int8)
    if last:
        attributes["channels_last"] = 1
    return Node(data + weights + to + [d.maybe(Operand(d.array(np.int32, [w[0]]), 0.6))], attributes, atol=1)


def nhwc_max_pool(d):
    dims = [d.int(1, 2)] + [d.int(3, 9) for _ in range(d.pick([1, 2, 2, 3]))] + [d.pick([1, 2, 3, 8, 17])]
    axes = len(dims) - 2
    kernel = [d.int(1, 3) for _ in range(axes)]
    return Node([calm_bytes(d, d.pick([np.uint8, np.int8]), dims)],
                dict(d.some(strides=lambda: [d.int(1, 3) for _ in range(axes)]), kernel_shape=kernel))


def calm_bytes(d, dtype, dims, constant=0.2):
    return Operand(d.array(dtype, dims), constant)


def qlinear_unary(d):
    dtype = d.pick([np.uint8, np.int8])
    attributes = {"alpha": d.pick([0.1, 0.25])} if d.schema.name == "QLinearLeakyRelu" else {}
    return Node(quantized(d, d.dims(1, 4), dtype) + [Operand(np.asarray(0.0173, F32), 0.5), zero_point(d, dtype, [])],
                attributes, atol=1)


def qlinear_where(d):
    dtype = d.pick([np.uint8, np.int8])
    dims = d.dims(1, 3)
    return Node([Operand(d.random.integers(0, 2, dims).astype(bool), 0.2)] + quantized(d, dims, dtype)
                + quantized(d, d.broadcast(dims), dtype) + [Operand(np.asarray(0.0173, F32), 0.9), zero_point(d, dtype, [])],
                atol=1)


def product_sizes(d):
    return (linear.size(d) for _ in range(3))


def qgemm(d):
    m, k, n = product_sizes(d)
    dtype = d.pick([np.uint8, np.int8])
    trans_a, trans_b = d.int(0, 1), d.int(0, 1)
    columns = d.pick([[], [n]])
    b_type = np.int8 if dtype == np.int8 else d.pick([np.uint8, np.int8])
    inputs = quantized(d, [k, m] if trans_a else [m, k], dtype)
    inputs += [calm_bytes(d, b_type, [n, k] if trans_b else [k, n], 0.7), scale(d, columns), zero_point(d, b_type, columns),
               d.maybe(Operand(d.array(np.int32, d.pick([[n], [1], [m, n]])), 0.5))]
    if d.chance(0.6):
        inputs += [Operand(np.asarray(0.37, F32), 0.5), zero_point(d, dtype, [])]
    return Node(inputs, {"transA": trans_a, "transB": trans_b, "alpha": d.pick([1.0, 0.5])}, atol=1)


def matmul_integer_to_float(d):
    m, k, n = product_sizes(d)
    batch = [d.int(1, 3) for _ in range(d.pick([0, 1]))]
    dtype = d.pick([np.uint8, np.int8])
    b_type = np.int8 if dtype == np.int8 else d.pick([np.uint8, np.int8])
    columns = d.pick([[], [n]])
    return Node([calm_bytes(d, dtype, batch + [m, k]), calm_bytes(d, b_type, [k, n], 0.7), scale(d), scale(d, columns),
                 d.maybe(zero_point(d, dtype, [])), d.maybe(zero_point(d, b_type, columns)), d.maybe(calm(d, [n], 0.6))],
                atol=1e-3)


def dynamic_matmul(d):
    m, k, n = product_sizes(d)
    b_type = d.pick([np.uint8, np.int8])
    columns = d.pick([[], [n]])
    return Node([calm(d, [m, k]), calm_bytes(d, b_type, [k, n], 0.8), scale(d, columns), d.maybe(zero_point(d, b_type, columns)),
                 d.maybe(calm(d, [n], 0.6))], atol=0.2)


def matmul_integer16(d):
    m, k, n = product_sizes(d)
    return Node([Operand(d.array(np.int16, [m, k], -99, 99), 0.2), Operand(d.array(np.int16, [k, n], -99, 99), 0.5)])


def fused_gemm(d):
    m, k, n = product_sizes(d)
    trans_a, trans_b = d.int(0, 1), d.int(0, 1)
    activation = d.pick([{"activation": "Relu"}, {"activation": "LeakyRelu", "activation_alpha": 0.3}, {"activation": "Tanh"},
                         {"activation": "Sigmoid"}, {}])
    return Node([calm(d, [k, m] if trans_a else [m, k]), calm(d, [n, k] if trans_b else [k, n], 0.5),
                 calm(d, d.pick([[n], [1], [m, n]]), 0.5)],
                dict(activation, transA=trans_a, transB=trans_b, alpha=d.pick([1.0, 0.5])), atol=2e-3)


def tables(d, make):
    batch, length, size = d.int(1, 3), d.int(1, 5), d.pick([4, 8, 17])
    rows = lambda high: Operand(d.random.integers(0, high, (batch, length)).astype(np.int32), 0.1)
    has_segments = d.chance(0.7)
    segments = [rows(2), make([2, size])] if has_segments else [Operand(None), Operand(None)]
    mask = Operand(d.random.integers(0, 2, (batch, length)).astype(np.int32), 0.1)
    return has_segments, [rows(9), segments[0], make([9, size]), make([6, size]), segments[1], make([size]), make([size]),
                          d.maybe(mask)], rows


def embed(d):
    _, inputs, rows = tables(d, lambda dims: calm(d, dims, 0.7))
    inputs.append(d.maybe(rows(6), 0.4))
    return Node(inputs, {"epsilon": 1e-3}, outputs=2, atol=2e-3)


def quantized_embed(d):
    dtype = d.pick([np.uint8, np.int8])
    has_segments, inputs, _ = tables(d, lambda dims: calm_bytes(d, dtype, dims, 0.7))
    for make in (lambda: scale(d), lambda: zero_point(d, dtype, [])):
        more = [make() for _ in range(5)]
        if not has_segments:
            more[2] = Operand(None)
        inputs += more
    return Node(inputs, {"epsilon": 1e-3}, outputs=2, atol=2e-2)


def conv_transpose(d):
    inner, outer, size, kernel, stride = d.int(1, 3), d.int(1, 3), d.int(2, 6), d.int(2, 3), d.int(1, 2)
    return Node([calm(d, [d.int(1, 2), inner, size, size]), calm(d, [inner, outer, kernel, kernel], 0.5),
                 d.list([d.int(0, 1) for _ in range(4)]), d.maybe(calm(d, [outer], 0.5))],
                {"strides": [stride, stride]}, atol=2e-3)


TABLE = {(KEY, name): make for name, make in {
    "Gelu": unary, "QuickGelu": unary, "FastGelu": bias_gelu, "BiasGelu": bias_gelu, "FusedMatMul": fused_matmul,
    "FusedConv": fused_conv, "SkipLayerNormalization": skip_normalization,
    "SkipSimplifiedLayerNormalization": skip_normalization, "QLinearAdd": qlinear_binary, "QLinearMul": qlinear_binary,
    "QLinearConcat": qlinear_concat, "Inverse": inverse, "QLinearConv": qlinear_conv, "NhwcMaxPool": nhwc_max_pool,
    "QLinearSigmoid": qlinear_unary, "QLinearLeakyRelu": qlinear_unary, "QLinearWhere": qlinear_where, "QGemm": qgemm,
    "MatMulIntegerToFloat": matmul_integer_to_float, "DynamicQuantizeMatMul": dynamic_matmul,
    "MatMulInteger16": matmul_integer16, "TransposeMatMul": fused_matmul, "FusedGemm": fused_gemm,
    "EmbedLayerNormalization": embed, "QEmbedLayerNormalization": quantized_embed,
    "ConvTransposeWithDynamicPads": conv_transpose}.items()}
