"""com.microsoft: what exporters and quantisers write. ONNX Runtime is its specification."""
import numpy as np

from draw import Node, Operand

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
    m, k, n = (d.pick(linear.SIZES) for _ in range(3))
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


def matmul_nbits(d):
    n, k, bits = d.pick([1, 3, 8, 17]), d.pick([16, 32, 48]), 4
    block = d.pick([16, 32])
    blocks = -(-k // block)
    packed = d.random.integers(0, 256, [n, blocks, block * bits // 8]).astype(np.uint8)
    return Node([calm(d, [d.int(1, 3), d.int(1, 4), k]), Operand(packed, 0.7),
                 Operand(d.array(F32, [n * blocks], 0.01, 0.1), 0.7)], {"N": n, "K": k, "bits": bits, "block_size": block},
                atol=1e-2)


def rotary(d):
    batch, heads, length, size = d.int(1, 2), d.int(1, 3), d.int(1, 4), d.pick([8, 16])
    return Node([calm(d, [batch, length, heads * size]), Operand(d.random.integers(0, 8, (batch, length)), 0.2),
                 calm(d, [8, size // 2], 0.6), calm(d, [8, size // 2], 0.6)],
                dict(d.some(interleaved=lambda: d.int(0, 1)), num_heads=heads), atol=2e-3)


def multi_head(d):
    batch, heads, length, keys, size = d.int(1, 2), d.int(1, 3), d.int(1, 4), d.int(1, 5), d.pick([2, 4, 8])
    return Node([calm(d, [batch, length, heads * size]), calm(d, [batch, keys, heads * size]),
                 calm(d, [batch, keys, heads * size])], dict(d.some(scale=lambda: 0.4), num_heads=heads), atol=2e-3)


def inverse(d):
    n = d.int(1, 5)
    return Node([Operand(d.array(F32, [d.int(1, 3), n, n], -1, 1) + 3 * np.eye(n, dtype=F32), 0.1)], atol=1e-2)


TABLE = {(KEY, name): make for name, make in {
    "Gelu": unary, "QuickGelu": unary, "FastGelu": bias_gelu, "BiasGelu": bias_gelu, "FusedMatMul": fused_matmul,
    "FusedConv": fused_conv, "SkipLayerNormalization": skip_normalization,
    "SkipSimplifiedLayerNormalization": skip_normalization, "QLinearAdd": qlinear_binary, "QLinearMul": qlinear_binary,
    "QLinearConcat": qlinear_concat, "MatMulNBits": matmul_nbits, "RotaryEmbedding": rotary,
    "MultiHeadAttention": multi_head, "Inverse": inverse}.items()}
