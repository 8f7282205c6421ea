"""Operators of one element at a time, and those that broadcast."""
import numpy as np
from onnx import TensorProto, defs

from draw import DTYPES, Impossible, Node, Operand, bits_of, element_type, is_float, is_integer

NUMBERS = {defs.OpSchema.AttrType.FLOAT: lambda d: round(float(d.random.uniform(-2, 2)), 2),
           defs.OpSchema.AttrType.INT: lambda d: d.int(0, 1)}


def scalars(d, *but):
    """Random values for the attributes that are single numbers."""
    return d.some(**{name: (lambda kind=a.type: NUMBERS[kind](d)) for name, a in d.schema.attributes.items()
                     if a.type in NUMBERS and name not in but})


def unary(d):
    label = d.schema.inputs[0].type_str
    return Node([d.main(label)], scalars(d, "consumed_inputs"))


def limited(low, high):
    """Where the function is steep or its rounding depends on the library beyond. What an earlier node gives in 16
    bits is rounded so coarsely that a steep function makes something else of it."""
    def generate(d):
        x = d.main("T", values=lambda t, s: d.array(t, s, low, high))
        if x.name == "carried" and is_float(x.value.dtype) and x.value.dtype.itemsize < 4:
            numbers = x.value.astype(np.float64)
            if np.any(np.isfinite(numbers) & ((numbers < low) | (numbers > high))):
                raise Impossible("too steep")
        return Node([x], scalars(d, "consumed_inputs"))
    return generate


def pair(d, first=None, second=None, label=None):
    """Two operands that broadcast, as this version defines it."""
    label = label or d.schema.inputs[0].type_str
    other = d.schema.inputs[1].type_str
    x = d.main(label, values=first)
    dims, attributes = list(x.value.shape), {}
    if d.has("broadcast"):  # opset 1 to 6: the second operand's axes lie side by side in the first one's
        if d.chance(0.5):
            attributes["broadcast"] = 1
            begin = d.int(0, len(dims))
            end = d.int(begin, len(dims))
            if end == len(dims) and d.chance(0.5):
                dims = dims[begin:end]
            elif begin < end:
                dims, attributes["axis"] = dims[begin:end], begin
            else:
                dims = []
        return Node([x, d.operand(other, dims, values=second)], attributes)
    y = d.operand(other, d.broadcast(dims), values=second)
    inputs = [x, y]
    if d.chance(0.3) and x.name != "carried" and label == other:
        inputs.reverse()
    return Node(inputs)


def nonzero(d, dtype, dims):
    values = d.array(dtype, dims)
    if is_integer(np.dtype(dtype)):
        values = np.where(values.astype(np.int64) == 0, 1, values.astype(np.int64)) if dtype.kind == "V" else \
            np.where(values == 0, 1, values)
        if np.dtype(dtype).kind == "i":  # the lowest by -1 has no result
            values = np.where(values == -1, 3, values)
    return np.asarray(values, dtype).reshape(dims)


def divide(d):
    label = d.schema.inputs[0].type_str
    x = d.main(label)
    d.bound[label] = x.value.dtype
    node = pair_after(d, x, lambda t, s: nonzero(d, t, s))
    return node


def pair_after(d, x, second):
    dims, attributes = list(x.value.shape), {}
    if d.has("broadcast"):
        if d.chance(0.5):
            attributes["broadcast"] = 1
            dims = dims[d.int(0, len(dims)):]
    else:
        dims = d.broadcast(dims)
    return Node([x, d.operand(d.schema.inputs[1].type_str, dims, values=second)], attributes)


def mod(d):
    node = divide(d)
    if is_float(node.inputs[0].value.dtype):
        node.attributes["fmod"] = 1
    else:
        node.attributes = d.some(fmod=lambda: d.int(0, 1))
    return node


def power(d):
    x = d.main("T", only=lambda t: t.kind in "fi", huge=False, values=lambda t, s: d.array(t, s, -4, 4) if t.kind == "i" else
               d.array(t, s, 0.1, 4) if d.chance(0.5) else d.array(t, s))
    exponent = d.schema.inputs[1].type_str

    def exponents(t, s):
        return d.array(t, s, 0, 5) if is_integer(np.dtype(t)) or d.chance(0.5) else d.array(t, s, -3, 3)
    if is_integer(x.value.dtype):  # what an integer's inverse would be is left open
        exponents = lambda t, s: d.array(t, s, 0, 5).round()
    dtype = d.dtype(exponent, lambda t: t.kind in "fi")
    return pair_after(d, Operand(x.value, x.constant, x.name), lambda t, s: exponents(dtype, s))


def shift(d):
    node = pair_after(d, d.main("T"), lambda t, s: d.array(t, s, 0, np.dtype(t).itemsize * 8 - 1))
    node.attributes = {"direction": d.pick(["LEFT", "RIGHT"])}
    return node


def variadic(d):
    x = d.main("T")
    count, dims = d.int(0, 3), list(x.value.shape)
    return Node([x] + [d.operand("T", d.broadcast(dims) if d.version >= 8 else dims) for _ in range(count)])


def where(d):
    x = d.main("T", low=1)
    dims = list(x.value.shape)
    condition = Operand(d.array(np.bool_, d.broadcast(dims)), 0.2)
    return Node([condition, x, d.operand("T", d.broadcast(dims))])


def clip(d):
    if d.version < 11:
        return Node([d.main("T")], d.some(min=lambda: d.int(-3, 0) / 2, max=lambda: d.int(0, 6) / 2))
    x = d.main("T", only=lambda t: t.kind in "fiu")
    low, high = sorted([d.array(x.value.dtype, [], -9, 9), d.array(x.value.dtype, [], -9, 9)])
    return Node([x, d.maybe(Operand(np.asarray(low), 0.5)), d.maybe(Operand(np.asarray(high), 0.5))])


def prelu(d):
    x = d.main("T", low=2)
    dims = list(x.value.shape)
    if d.version < 7:
        return Node([x, d.operand("T", d.pick([[1], [dims[1]]]))])
    return Node([x, d.operand("T", d.broadcast(dims))])


OLD_CAST_NAMES = {np.dtype(np.float32): "FLOAT", np.dtype(np.float64): "DOUBLE", np.dtype(np.int32): "INT32",
                  np.dtype(np.int64): "INT64", np.dtype(np.float16): "FLOAT16", np.dtype(bool): "BOOL",
                  np.dtype(np.uint8): "UINT8", np.dtype(np.int8): "INT8"}


def castable(d, source, target, dims):
    """Values whose cast the specification defines: what an integer cannot hold is left open."""
    if source == np.dtype(object):
        texts = ["1", "-3", "7"] if target.kind != "f" else ["1", "-2.5", "1e3", "nan", "inf", "-inf", "0"]
        if target.kind in "uV" or target.kind == "b":
            texts = ["1", "0", "3"]
        return np.array([d.pick(texts) for _ in range(int(np.prod(dims)))], object).reshape(dims)
    if is_float(source) and is_integer(target):
        return d.array(source, dims, 0 if "uint" in target.name or source.name.endswith("e8m0fnu") else -7, 7)
    if target == np.dtype(object) and is_float(source):  # the digits of a fraction are the library's choice
        return d.array(source, dims, 0, 20).astype(np.float32).round().astype(source)
    return d.array(source, dims)


def cast(d):
    source = d.carried.dtype if d.carried is not None else d.dtype("T1")
    target = d.dtype("T2")
    if np.dtype(object) in (source, target) and (source.kind == "V" or target.kind == "V"):
        raise Impossible("text of a small type")
    if d.carried is not None and (is_float(source) and not is_float(target)):
        raise Impossible("what no integer holds")
    x = d.main("T1", values=lambda t, s: castable(d, t, target, s))
    if d.version < 6:
        if target not in OLD_CAST_NAMES:
            raise Impossible("no name")
        return Node([x], {"to": OLD_CAST_NAMES[target]})
    small = target.kind == "V" and "float" in target.name
    return Node([x], dict({"to": element_type(target)}, **(d.some(saturate=lambda: d.int(0, 1)) if small else {})))


def cast_like(d):
    node = cast(d)
    del node.attributes["to"]
    node.inputs.append(Operand(d.array(d.bound["T2"], d.dims(0, 2)), 0.4))
    return node


def bit_cast(d):
    source = d.dtype("T1", lambda t: t.kind in "iuf")
    target = d.dtype("T2", lambda t: t.kind in "iuf" and bits_of(t) == bits_of(source))
    return Node([d.main("T1")], {"to": element_type(target)})


def is_inf(d):
    return Node([d.main("T1", values=lambda t, s: d.array(t, s, special=True))], scalars(d))


def dropout(d):
    inputs, attributes = [d.main("T")], {}
    if d.version < 7:
        attributes = {"is_test": 1}
    if d.version >= 12:
        inputs.append(d.maybe(Operand(d.array(d.float_type("T1"), [], 0.1, 0.9), 0.5)))
    else:
        attributes.update(d.some(ratio=0.3))
    return Node(inputs, attributes, outputs=d.int(1, 2) if d.version >= 10 else 1)


def swiglu(d):
    x = d.main("T")
    return Node([x, d.operand("T", list(x.value.shape))], scalars(d))


def shrink(d):
    return Node([d.main("T", only=lambda t: t.kind in "fi")], scalars(d))


def erf(d):
    return Node([d.main("T", only=is_float)])  # what integers are cut to depends on the last bit


UNARY = """Abs Ceil Elu Floor HardSigmoid HardSwish Identity IsNaN LeakyRelu Mish Neg Not Relu Round Selu
    Sigmoid Sign Softplus Softsign Swish Tanh ThresholdedRelu Celu Gelu Reciprocal BitwiseNot Sqrt Log Acos Acosh Asin
    Asinh Atan Atanh Affine ParametricSoftplus ScaledTanh""".split()
PAIRS = """Add Sub Mul And Or Xor Equal Less Greater LessOrEqual GreaterOrEqual BitwiseAnd BitwiseOr BitwiseXor""".split()

TABLE = {**{name: unary for name in UNARY}, **{name: pair for name in PAIRS},
         **{name: limited(-6, 6) for name in ("Sin", "Cos", "Sinh", "Cosh", "Exp")}, "Tan": limited(-1.4, 1.4),
         **{name: variadic for name in ("Max", "Min", "Sum", "Mean")},
         "Div": divide, "Mod": mod, "Pow": power, "BitShift": shift, "Where": where, "Clip": clip, "PRelu": prelu,
         "Cast": cast, "CastLike": cast_like, "BitCast": bit_cast, "IsInf": is_inf, "Dropout": dropout, "SwiGLU": swiglu,
         "Shrink": shrink, "Erf": erf}
