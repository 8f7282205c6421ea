"""Quantised operators. Scales are powers of two, so that every product is exact and only the rule for ties counts."""
import ml_dtypes
import numpy as np

from draw import DTYPES, Impossible, Node, Operand, element_type, integer_range, is_integer


def scale(d, dims=(), dtype=np.float32):
    values = [2.0 ** d.int(-6, 1) for _ in range(int(np.prod(dims)))]
    return Operand(np.array(values, dtype).reshape(dims), 0.5)


def zero_point(d, dtype, dims):
    dtype = np.dtype(dtype)
    if dtype.kind == "V" and not is_integer(dtype) or dtype == np.int32:
        return Operand(np.zeros(dims, dtype), 0.5)
    low, high = integer_range(dtype)
    return Operand(d.random.integers(max(low, -20), min(high, 20), list(dims), endpoint=True).astype(dtype).reshape(dims),
                   0.5)


def even_zero_point(d, dtype):
    """Rounding before and after it is added gives the same."""
    point = zero_point(d, dtype, [])
    point.value = np.asarray(point.value // 2 * 2, dtype)
    return point


def matmul_dims(d):
    batch = [d.int(1, 3) for _ in range(d.pick([0, 0, 0, 1, 2]))]
    m, k, n = (d.pick([1, 2, 3, 7, 8, 16, 17, 33]) for _ in range(3))
    return batch, m, k, n


def matmul_integer(d):
    batch, m, k, n = matmul_dims(d)
    a, b = d.operand("T1", batch + [m, k]), d.operand("T2", (batch if d.chance(0.4) else []) + [k, n], 0.5)
    return Node([a, b, d.maybe(zero_point(d, d.bound["T1"], [])), d.maybe(zero_point(d, d.bound["T2"], d.pick([[], [n]]))
                                                                          if b.value.ndim == 2 else zero_point(d, d.bound["T2"], []))])


def qlinear_matmul(d):
    batch, m, k, n = matmul_dims(d)
    types = [d.dtype(f"T{i}", lambda t: t.kind in "iu") for i in (1, 2, 3)]
    float_type = d.dtype("TS", lambda t: t == np.float32) if d.version >= 21 else np.float32
    columns = d.pick([[], [n]]) if not batch else []
    return Node([d.operand("T1", batch + [m, k]), scale(d, (), float_type), zero_point(d, types[0], []),
                 d.operand("T2", batch + [k, n], 0.5), scale(d, columns, float_type), zero_point(d, types[1], columns),
                 scale(d, (), float_type), even_zero_point(d, types[2])])


def granularity(d, dims, attributes):
    """Dims of the scales: one, one for each entry of an axis, or one for each block."""
    how = d.random.random()
    if how < 0.5 or d.version < 13 or not dims:
        return []
    axis = d.axis(len(dims))
    attributes["axis"] = axis
    if how < 0.8 or not d.has("block_size") or dims[axis] == 0:
        return [dims[axis]]
    block = d.int(1, max(1, dims[axis]))
    attributes["block_size"] = block
    blocked = list(dims)
    blocked[axis] = -(-dims[axis] // block)
    return blocked


def quantize(d):
    label = {10: "T1", 13: "T1"}.get(d.version, "T1")
    x_type = d.dtype(label, lambda t: t.kind == "f" or t == np.int32 or t == ml_dtypes.bfloat16)
    target = d.dtype("T2" if d.version < 23 else "T3")
    dims = d.dims(0, 4)
    attributes = {}
    scales = granularity(d, dims, attributes)
    x = d.main(label, dims, values=lambda t, s: d.array(t, s, -12, 12) if d.chance(0.5) or t.kind == "i" else
               d.array(t, s, special=False))
    float_type = x_type if x_type.kind == "f" else np.dtype(np.float32)
    if d.version >= 23:
        d.bound["T2"] = float_type
    if x_type == ml_dtypes.bfloat16:
        float_type = x_type
    inputs = [x, scale(d, scales, float_type if d.version >= 19 else np.float32)]
    if target == np.uint8 and d.chance(0.3):
        return Node(inputs, attributes)
    if d.has("output_dtype") and d.chance(0.3):
        return Node(inputs, dict(attributes, output_dtype=element_type(target)))
    return Node(inputs + [zero_point(d, target, scales)], attributes)


def dequantize(d):
    source = d.dtype("T" if d.version < 19 else "T1")
    dims = d.dims(0, 4)
    attributes = {}
    scales = granularity(d, dims, attributes)
    float_type = np.dtype(np.float32) if d.version < 19 else d.dtype("T2", lambda t: t.kind == "f" or t == ml_dtypes.bfloat16)
    x = d.main("T" if d.version < 19 else "T1", dims)
    inputs = [x, scale(d, scales, float_type)]
    if d.chance(0.7):
        inputs.append(zero_point(d, source, scales))
    return Node(inputs, attributes)


def dynamic_quantize(d):
    return Node([d.main("T1", low=1, values=lambda t, s: d.array(t, s, -6, 6), fits=lambda s: 0 not in s)], outputs=3)


TABLE = {"MatMulInteger": matmul_integer, "QLinearMatMul": qlinear_matmul, "QuantizeLinear": quantize,
         "DequantizeLinear": dequantize, "DynamicQuantizeLinear": dynamic_quantize}
