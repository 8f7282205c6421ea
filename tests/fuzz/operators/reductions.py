"""Reductions, scans, sorts and what is normalised along axes."""
import numpy as np
from onnx import defs

from draw import Impossible, Node, Operand, is_float, is_integer


def axes_of(d, rank, low=0):
    """Distinct axes, some of them negative where the version knows that."""
    axes = [a for a in range(rank) if d.chance(0.5)]
    while len(axes) < low:
        axes = [a for a in range(rank) if d.chance(0.5)]
    d.random.shuffle(axes)
    return [int(a) - (rank if d.version >= 11 and d.chance(0.3) else 0) for a in axes]


def steep(name):
    return name in ("ReduceProd", "ReduceLogSumExp", "ReduceSumSquare", "ReduceL2")


def reduce(d):
    name = d.schema.name
    calm = steep(name) or name == "ReduceMean" or d.chance(0.5)
    values = (lambda t, s: d.array(t, s, 1 if "Log" in name else 0, 3)) if calm else \
        (lambda t, s: d.array(t, s, special=None if name in ("ReduceMax", "ReduceMin") else False))
    # What a logarithm rounds to as an integer is left open.
    only = (lambda t: not is_integer(t)) if "Log" in name else None
    x = d.main("T", values=values, only=only, huge=not calm, nan=name not in ("ReduceMax", "ReduceMin") and "Log" not in name,
               fits=lambda s: (name != "ReduceProd" or np.prod(s) < 40 or len(s) > 1) and (name != "ReduceMean" or 0 not in s))
    rank = x.value.ndim
    attributes = d.some(keepdims=lambda: d.int(0, 1), noop_with_empty_axes=lambda: d.int(0, 1))
    inputs = [x]
    axes = axes_of(d, rank, 0 if d.version >= 18 or name == "ReduceSum" and d.version >= 13 else 1) if rank else []
    if d.has("axes"):
        if axes and d.chance(0.8):
            attributes["axes"] = axes
    else:
        inputs.append(d.maybe(d.list(axes), 0.8))
    return Node(inputs, attributes, rtol=2e-3 if is_float(x.value.dtype) and x.value.dtype.itemsize > 2 else None)


def arg_reduce(d):
    x = d.main("T", low=1, fits=lambda s: 0 not in s, nan=False)
    return Node([x], dict(d.some(keepdims=lambda: d.int(0, 1), select_last_index=lambda: d.int(0, 1)),
                          axis=d.axis(x.value.ndim)))


def is_noise(value, axes, least=1e-4):
    """Whether dividing by the size or the spread along the axes would amplify what rounding left: some part is less
    than `least` of the whole."""
    if not value.size or not is_float(value.dtype):
        return False
    value = value.astype(np.float64)
    with np.errstate(all="ignore"):
        spread, size = np.std(value, axis=axes), np.max(np.abs(value), axis=axes)
        return bool(np.any(np.minimum(spread, size) < least * np.max(np.abs(value))))


def along_axis(d):
    """Softmax and the like."""
    x = d.main("T", low=1 if d.version >= 13 else 2, nan=False,
               values=d.moderate if d.schema.name.startswith("L") else None)
    attributes = d.some(axis=lambda: d.axis(x.value.ndim), p=lambda: d.int(1, 2))
    if d.schema.name == "LpNormalization" and d.used_carried and is_noise(x.value, attributes.get("axis", -1)):
        raise Impossible("amplifies rounding")
    return Node([x], attributes)


def cumulative(d):
    x = d.main("T", low=1, values=lambda t, s: d.moderate(t, s) if d.schema.name == "CumSum" else d.array(t, s, 0, 2),
               only=lambda t: t.kind in "fiu")
    axis = Operand(np.array(d.axis(x.value.ndim) if d.version >= 11 else 0, d.dtype("T2")), 0.6)
    return Node([x, axis], d.some(exclusive=lambda: d.int(0, 1), reverse=lambda: d.int(0, 1)))


def top_k(d):
    x = d.main("T", low=1, nan=False)
    dims = x.value.shape
    axis = d.axis(len(dims))
    k = d.int(0 if d.version >= 10 else 1, max(1, dims[axis])) if dims[axis] else 0
    if not d.version >= 10:
        if k < 1:
            raise Impossible("nothing to take")
        return Node([x], {"axis": axis, "k": k}, outputs=2)
    return Node([x, d.list([k])], dict(d.some(largest=lambda: d.int(0, 1)), axis=axis), outputs=2)


def mean_variance(d):
    if d.version < 9:
        x = d.main("T", low=4, high=4, values=d.moderate)
        return Node([x], d.some(across_channels=lambda: d.int(0, 1), normalize_variance=lambda: d.int(0, 1)), atol=1e-3)
    x = d.main("T", low=2, high=4, values=d.moderate)
    rank = x.value.ndim
    axes = [0, 2, 3] if rank == 4 and d.chance(0.5) else [a % rank for a in axes_of(d, rank, 1)]
    if d.used_carried and is_noise(x.value, tuple(axes), 0.1):  # the variance is a difference of squares in a reference
        raise Impossible("amplifies rounding")
    if axes == [0, 2, 3] and rank == 4 and d.chance(0.6):
        return Node([x], atol=1e-3)
    return Node([x], {"axes": axes}, atol=1e-3)


def lrn(d):
    x = d.main("T", low=3, high=4, values=d.moderate)
    return Node([x], dict(d.some(alpha=lambda: 0.01, beta=lambda: 0.5, bias=lambda: 2.0), size=d.int(0, 3) * 2 + 1))


def batch_normalization(d):
    x = d.main("T", low=2, high=4, values=d.moderate)
    channels = x.value.shape[1]
    rest = ["T1", "T1", "T2", "T2"] if d.version >= 15 else ["T", "T", "U", "U"] if d.version >= 14 else ["T"] * 4
    if d.version >= 14:  # one type for all: mixtures are rare and no reference has them
        d.bound.update({label: x.value.dtype for label in rest})
    parts = [d.operand(label, [channels], 0.6, lambda t, s: d.array(t, s, 0.2, 2)) for label in rest]
    attributes = d.some(epsilon=lambda: 1e-3, momentum=lambda: 0.8)
    if d.version < 7:
        attributes["is_test"] = 1
    if d.version < 6:
        attributes["consumed_inputs"] = [0, 0, 0, 1, 1]
    outputs = 1
    if d.version >= 14 and d.chance(0.3) and np.prod(x.value.shape):
        attributes["training_mode"], outputs = 1, 3
    return Node([x] + parts, attributes, outputs, atol=1e-4 if x.value.dtype.itemsize > 2 else 2e-2)


def instance_normalization(d):
    x = d.main("T", low=3, high=4, values=d.moderate, fits=lambda s: np.prod(s) > 0)
    channels = x.value.shape[1]
    attributes = d.some(epsilon=lambda: 1e-3)
    if d.version < 6:
        attributes["consumed_inputs"] = [0, 0, 0]
    return Node([x, d.operand("T", [channels], 0.6), d.operand("T", [channels], 0.6)], attributes,
                atol=1e-3 if x.value.dtype.itemsize > 2 else 5e-2)


def layer_normalization(d):
    x = d.main("T", low=1, high=4, values=d.moderate, only=lambda t: t.itemsize >= 2)
    dims = list(x.value.shape)
    axis = d.axis(len(dims))
    shape = dims[axis:] if axis < 0 else dims[axis:]
    attributes = dict(d.some(epsilon=lambda: 1e-3), axis=axis)
    loose = 1e-3 if x.value.dtype.itemsize > 2 else 5e-2
    if d.schema.name == "RMSNormalization":
        d.bound.setdefault("V", x.value.dtype)
        return Node([x, d.operand("V", shape, 0.6, d.moderate)], attributes, atol=loose)
    return Node([x, d.operand("T", shape, 0.6, d.moderate), d.maybe(d.operand("T", shape, 0.6, d.moderate))], attributes,
                atol=loose)


def group_normalization(d):
    groups, each = d.int(1, 3), d.int(1, 3)
    dims = [d.int(1, 3), groups * each] + [d.int(1, 9) for _ in range(d.int(1, 2))]
    x = d.main("T", dims, values=d.moderate)
    parts = [groups * each] if d.version >= 21 else [groups]
    return Node([x, d.operand("T", parts), d.operand("T", parts)], dict(d.some(epsilon=lambda: 1e-3), num_groups=groups),
                atol=1e-3 if x.value.dtype.itemsize > 2 else 5e-2)


REDUCTIONS = sorted({s.name for s in defs.get_all_schemas_with_history() if s.name.startswith("Reduce")})

TABLE = {**{name: reduce for name in REDUCTIONS},
         **{name: arg_reduce for name in ("ArgMax", "ArgMin")},
         **{name: along_axis for name in ("Softmax", "LogSoftmax", "Hardmax", "LpNormalization")},
         "CumSum": cumulative, "CumProd": cumulative, "TopK": top_k, "MeanVarianceNormalization": mean_variance,
         "LRN": lrn, "BatchNormalization": batch_normalization, "InstanceNormalization": instance_normalization,
         "LayerNormalization": layer_normalization, "RMSNormalization": layer_normalization,
         "GroupNormalization": group_normalization}
