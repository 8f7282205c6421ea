"""Products of matrices, attention, losses, signals, recurrences, training."""
import math

import ml_dtypes
import numpy as np

from draw import Impossible, Node, Operand

SIZES = [1, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65]
BEYOND_BLOCKS = [16, 48, 65, 96, 97, 130, 385, 1030]
MOST_ELEMENTS, MOST_OF_LARGE = 8000, 150000


def loose(d, label="T", wide=1e-3, narrow=0.1):
    return wide if d.bound[label].itemsize > 2 else narrow


def size(d):
    return d.pick(BEYOND_BLOCKS if d.is_large and d.chance(0.7) else SIZES)


def number(t):
    return t.kind in "fiu" or t == ml_dtypes.bfloat16


def matmul(d):
    a = d.main("T", low=1, high=4, values=d.moderate, only=number)
    dims = list(a.value.shape)
    n = 0 if d.chance(0.01) else size(d)
    how = d.random.random()
    if how < 0.15:
        b = [dims[-1]]
    elif how < 0.6 or len(dims) < 3:
        b = [dims[-1], n]
    else:
        b = d.broadcast(dims[:-2]) + [dims[-1], n]
    if math.prod(b) > (MOST_OF_LARGE if d.is_large else MOST_ELEMENTS):
        raise Impossible("too large")
    return Node([a, d.operand("T", b, 0.5, d.moderate)], atol=loose(d))


def gemm(d):
    a = d.main("T", low=2, high=2, values=d.moderate, only=number)
    trans_a, trans_b = d.int(0, 1), d.int(0, 1)
    m, k = a.value.shape[::-1] if trans_a else a.value.shape
    n = size(d)
    b = [n, k] if trans_b else [k, n]
    attributes = {name: value for name, value in (("transA", trans_a), ("transB", trans_b)) if value or d.chance(0.2)}
    if a.value.dtype.kind == "f":
        attributes.update(d.some(alpha=lambda: 0.5, beta=lambda: d.pick([0.0, 1.5])))
    shapes = [[m, n]]
    if d.version >= 7:
        shapes += [[n], [1, n], [m, 1], [], [1, 1]]
    elif d.chance(0.5):
        attributes["broadcast"] = 1
        shapes = [[n], []]
    c = d.operand("T", d.pick(shapes), 0.5, d.moderate)
    return Node([a, d.operand("T", b, 0.5, d.moderate), c if d.version < 11 else d.maybe(c)], attributes, atol=loose(d))


def einsum(d):
    letters = "ijklm"
    sizes = {c: d.int(1, 6) for c in letters}
    terms = ["".join(d.random.permutation(list(letters))[:d.int(0 if i else 1, 3)]) for i in range(d.int(1, 3))]
    if d.chance(0.15) and terms[0]:
        terms[0] += terms[0][0]  # a diagonal
    present = sorted(set("".join(terms)))
    out = [c for c in present if d.chance(0.5)]
    d.random.shuffle(out)
    equation = ",".join(terms) + ("->" + "".join(out) if d.chance(0.8) else "")
    if d.chance(0.2) and "->" in equation:
        equation = ",".join("..." + t for t in terms) + "->..." + "".join(out)
        extra = [d.int(1, 3)]
    else:
        extra = []
    d.dtype("T", lambda t: t.kind in "f" or t in (np.int32, np.int64))
    return Node([d.operand("T", extra + [sizes[c] for c in t], values=d.moderate) for t in terms], {"equation": equation},
                atol=loose(d, wide=2e-3))


def det(d):
    n = d.int(1, 5)
    return Node([d.main("T", [d.int(1, 3) for _ in range(d.int(0, 2))] + [n, n], values=d.moderate,
                        only=lambda t: t.kind == "f")], atol=loose(d, wide=1e-2, narrow=0.5))


def cross_entropy(d):
    batch, classes = d.int(1, 4), d.int(1, 7)
    rest = [d.int(1, 4) for _ in range(d.int(0, 2))]
    x = d.main("T", [batch, classes] + rest, values=lambda t, s: d.array(t, s, -3, 0), only=lambda t: t.kind == "f")
    target = d.random.integers(0, classes, [batch] + rest)
    target = Operand(np.asarray(target, d.dtype("Tind")), 0.2)
    weight = d.maybe(d.operand("T", [classes], 0.4, lambda t, s: d.array(t, s, 0.2, 1)))
    attributes = d.some(reduction=lambda: d.pick(["none", "sum", "mean"]), ignore_index=lambda: d.int(0, classes - 1))
    if attributes.get("reduction", "mean") == "mean" and np.all(target.value == attributes.get("ignore_index", -1)):
        raise Impossible("a mean of nothing")
    outputs = d.int(1, 2) if d.schema.name.startswith("Softmax") else 1
    return Node([x, target, weight], attributes, outputs, atol=loose(d))


BOUNDED = ["Tanh", "Sigmoid", "HardSigmoid", "Softsign"]
UNBOUNDED = ["Relu", "Softplus", "LeakyRelu", "Elu"]  # states grow with each step, in the end beyond what floats hold


def recurrent(gates, states):
    def generate(d):
        steps, batch, width = d.length(1, 5), d.int(1, 4), d.int(1, 6)
        hidden = d.pick([16, 33, 40] if d.is_large else [1, 2, 3, 5, 8, 9])
        direction = d.pick(["forward", "reverse", "bidirectional"])
        count = 2 if direction == "bidirectional" else 1
        layout = d.int(0, 1) if d.has("layout") and d.chance(0.3) else 0
        batch_first = lambda dims: [dims[1], dims[0]] + dims[2:] if layout else dims
        d.dtype("T", lambda t: t.kind == "f")
        attributes = {"hidden_size": hidden, "direction": direction}
        if layout:
            attributes["layout"] = 1
        attributes.update(d.some(linear_before_reset=lambda: d.int(0, 1), input_forget=lambda: d.int(0, 1) if d.chance(0.3) else None,
                                 clip=lambda: 0.7 if d.chance(0.3) else None))
        if d.chance(0.3):
            activations = BOUNDED if steps > 8 else BOUNDED + UNBOUNDED
            attributes["activations"] = [d.pick(activations) for _ in range({1: 1, 3: 2, 4: 3}[gates] * count)]
        calm = lambda t, s: d.array(t, s, -1, 1)
        most = min(1.0, 1.5 / math.sqrt(hidden))  # so that what is rounded does not grow from step to step
        inputs = [d.main("T", batch_first([steps, batch, width]), values=calm),
                  d.operand("T", [count, gates * hidden, width], 0.6, calm),
                  d.operand("T", [count, gates * hidden, hidden], 0.6, lambda t, s: d.array(t, s, -most, most)),
                  d.maybe(d.operand("T", [count, 2 * gates * hidden], 0.6, calm)),
                  d.maybe(Operand(d.random.integers(1, steps + 1, batch).astype(np.int32), 0.3), 0.4)]
        for _ in range(states):
            inputs.append(d.maybe(d.operand("T", batch_first([count, batch, hidden]), 0.3, calm), 0.4))
        if gates == 4:
            inputs.append(d.maybe(d.operand("T", [count, 3 * hidden], 0.6, calm), 0.3))
        return Node(inputs, attributes, outputs=d.int(1, 1 + states), atol=loose(d, narrow=2e-2))
    return generate


def dft(d):
    complex_in = d.chance(0.5)
    dims = [d.int(1, 3)] + [d.pick([1, 2, 3, 4, 7, 8, 9, 16]) for _ in range(d.int(1, 2))] + [2 if complex_in else 1]
    d.dtype("T1", lambda t: t.kind == "f" and t.itemsize > 2)
    x = d.main("T1", dims, values=d.moderate)
    axis = d.int(1, len(dims) - 2)
    length = d.maybe(Operand(np.array(d.pick([1, 3, 4, 8, 10]), d.dtype("T2")), 0.7), 0.4)
    inverse = d.int(0, 1) if complex_in else 0
    attributes = d.some(inverse=lambda: inverse, onesided=lambda: 0 if complex_in else d.int(0, 1))
    if d.version < 20:
        return Node([x, length], dict(attributes, axis=axis), atol=5e-3)
    return Node([x, length, Operand(np.array(axis, np.int64), 0.6)], attributes, atol=5e-3)


def stft(d):
    length, frame = d.int(16, 40), d.pick([4, 8, 9, 16])
    d.dtype("T1", lambda t: t == np.float32)
    d.bound["T2"] = np.dtype(np.int64)
    signal = d.main("T1", [d.int(1, 2), length, 1], values=d.moderate)
    window = d.maybe(d.operand("T1", [frame], 0.5, lambda t, s: d.array(t, s, 0, 1)))
    return Node([signal, Operand(np.array(d.int(1, 6), np.int64), 0.6), window, Operand(np.array(frame, np.int64), 0.6)],
                d.some(onesided=lambda: d.int(0, 1)), atol=5e-3)


def window(d):
    return Node([Operand(np.array(d.int(1, 33), d.dtype("T1")), 0.5)], d.some(periodic=lambda: d.int(0, 1)))


def mel(d):
    bins, length, rate = d.int(1, 6), d.pick([16, 32, 64]), 8000
    parts = [Operand(np.array(v, np.int64), 0.6) for v in (bins, length, rate)]
    d.bound.update(T1=np.dtype(np.int64), T2=np.dtype(np.float32))
    return Node(parts + [Operand(np.array(v, np.float32), 0.6) for v in (0.0, 3000.0)])


def attention(d):
    batch, heads, shared = d.int(1, 2), d.pick([1, 2, 4]), d.pick([1, 1, 2])
    if heads % shared:
        shared = 1
    kv_heads, length, past = heads // shared, d.length(1, 5), d.int(1, 3)
    keys, size, value_size = d.length(1, 6), d.pick([2, 4, 8, 16]), d.pick([2, 3, 8, 16])
    d.dtype("T1", lambda t: t.kind == "f")
    d.bound["T2"] = d.bound["T1"]
    flat = d.chance(0.4)
    attributes = d.some(is_causal=lambda: d.int(0, 1), scale=lambda: 0.4, softcap=lambda: 2.0 if d.chance(0.3) else None)
    shape = lambda n, steps, width: [batch, steps, n * width] if flat else [batch, n, steps, width]
    if flat:
        attributes.update(q_num_heads=heads, kv_num_heads=kv_heads)
    has_past = d.chance(0.3)
    inputs = [d.main("T1", shape(heads, length, size), values=d.moderate),
              d.operand("T1", shape(kv_heads, keys, size), 0.1, d.moderate),
              d.operand("T2", shape(kv_heads, keys, value_size), 0.1, d.moderate)]
    total = keys + (past if has_past else 0)
    mask = Operand(None)
    if d.chance(0.4):
        dims = d.pick([[length, total], [1, 1, length, total], [batch, heads, length, total]])
        if d.chance(0.5):
            allowed = d.array(np.bool_, dims)
            allowed[..., 0] = True  # a row of nothing has no softmax
            mask = Operand(allowed, 0.2)
        else:
            mask = Operand(d.moderate(d.bound["T1"], dims), 0.2)
    inputs.append(mask)
    outputs = 1
    if has_past:
        inputs += [d.operand("T1", [batch, kv_heads, past, size], 0.1, d.moderate),
                   d.operand("T2", [batch, kv_heads, past, value_size], 0.1, d.moderate)]
        outputs = 3
    return Node(inputs, attributes, outputs, atol=loose(d, "T1", 2e-3, 5e-2))


def rotary(d):
    batch, heads, length, size = d.int(1, 2), d.int(1, 3), d.int(1, 4), d.pick([2, 4, 8])
    flat = d.chance(0.5)
    d.dtype("T", lambda t: t.kind == "f")
    x = d.main("T", [batch, length, heads * size] if flat else [batch, heads, length, size], values=d.moderate)
    attributes = d.some(interleaved=lambda: d.int(0, 1))
    if flat:
        attributes["num_heads"] = heads
    if d.chance(0.5):
        table = [8, size // 2]
        ids = Operand(d.random.integers(0, 8, (batch, length)), 0.2)
    else:
        table, ids = [batch, length, size // 2], Operand(None)
    return Node([x, d.operand("T", table, 0.5, d.moderate), d.operand("T", table, 0.5, d.moderate), ids], attributes,
                atol=loose(d, narrow=5e-2))


def random_numbers(d):
    attributes = d.some(mean=0.5, scale=2.0, low=-1.0, high=3.0, seed=7.0)
    inputs = []
    if d.has("shape"):
        attributes["shape"] = d.dims(1, 3)
    elif d.schema.name == "Bernoulli":
        inputs = [d.main("T1", values=lambda t, s: d.array(t, s, 0, 1))]
    elif d.schema.name == "Multinomial":
        inputs = [d.main("T1", [d.int(1, 3), d.int(1, 5)], values=lambda t, s: d.array(t, s, 0, 1))]
        attributes["sample_size"] = d.int(1, 4)
    else:
        inputs = [d.main("T1", only=lambda t: t.kind == "f")]
    return Node(inputs, attributes, shape_only=True)


TABLE = {"MatMul": matmul, "Gemm": gemm, "Einsum": einsum, "Det": det, "NegativeLogLikelihoodLoss": cross_entropy,
         "SoftmaxCrossEntropyLoss": cross_entropy, "RNN": recurrent(1, 1), "GRU": recurrent(3, 1), "LSTM": recurrent(4, 2),
         "DFT": dft, "STFT": stft, **{n: window for n in ("HannWindow", "HammingWindow", "BlackmanWindow")},
         "MelWeightMatrix": mel, "Attention": attention, "RotaryEmbedding": rotary,
         **{n: random_numbers for n in ("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike",
                                        "Bernoulli", "Multinomial")}}
