"""Operators that move, select, make and count elements."""
import math

import numpy as np
from onnx import helper, numpy_helper

from draw import Impossible, Node, Operand, element_type, is_float

from .reductions import axes_of

MOVED = 1200  # elements: results may be larger


def small(d, low=0, high=4, label="T", **limits):
    return d.main(label, low=low, high=high, fits=lambda s: np.prod(s) <= MOVED, **limits)


def factors(d, count, parts):
    """`parts` sizes whose product is `count`."""
    sizes = []
    for _ in range(parts - 1):
        sizes.append(d.pick([f for f in range(1, count + 1) if count % f == 0]) if count else d.int(0, 3))
        count = count // sizes[-1] if sizes[-1] else 0
    return sizes + [count] if parts else []


def reshape(d):
    x = d.main()
    count = x.value.size
    sizes = factors(d, count, d.int(0 if count == 1 else 1, 4))
    if math.prod(sizes) != count:
        raise Impossible("another count")
    dims = x.value.shape
    if count:
        for i, size in enumerate(sizes):  # 0 copies an input's size
            if i < len(dims) and dims[i] == size and d.chance(0.3):
                sizes[i] = 0
        if sizes and d.chance(0.5):
            sizes[d.int(0, len(sizes) - 1)] = -1
    attributes = {"allowzero": 1} if 0 in sizes and count == 0 and d.has("allowzero") else {}
    if count == 0 and not attributes and any(s == 0 and (i >= len(dims) or dims[i]) for i, s in enumerate(sizes)):
        raise Impossible("0 copies a size")
    if d.version < 5:
        return Node([x], {"shape": sizes})
    return Node([x, d.list(sizes)], attributes)


def flatten(d):
    x = d.main(low=1)
    return Node([x], d.some(axis=lambda: d.axis(x.value.ndim, 1)))


def with_axes(d, x, axes):
    if d.has("axes"):
        return Node([x], {"axes": axes} if axes is not None else {})
    return Node([x, d.list(axes, 0.7) if axes is not None else Operand(None)])


def squeeze(d):
    x = d.main(low=1)
    ones = [i for i, s in enumerate(x.value.shape) if s == 1]
    axes = [a - (x.value.ndim if d.version >= 11 and d.chance(0.3) else 0) for a in ones if d.chance(0.7)]
    return with_axes(d, x, None if d.chance(0.25) or not axes else axes)


def unsqueeze(d):
    x = d.main(high=3)
    count = d.int(1, 2)
    rank = x.value.ndim + count
    axes = [int(a) for a in d.random.permutation(rank)[:count]]
    return with_axes(d, x, [a - (rank if d.version >= 11 and d.chance(0.3) else 0) for a in axes])


def transpose(d):
    x = d.main()
    perm = [int(a) for a in d.random.permutation(x.value.ndim)]
    return Node([x], {"perm": perm} if perm and d.chance(0.8) else {})


def expand(d):
    x = small(d, high=3)
    dims = [d.int(0, 4) if s == 1 and d.chance(0.5) else s for s in x.value.shape]
    if d.chance(0.3):
        dims = [1 if d.chance(0.3) else s for s in dims]
    if d.chance(0.3):
        dims = [d.int(1, 3)] + dims
    return Node([x, d.list(dims)])


def tile(d):
    x = small(d, low=1, high=3)
    if d.version < 6:
        return Node([x, Operand(np.array(d.int(1, 3), x.value.dtype), 0.7),
                     Operand(np.array(d.int(0, x.value.ndim - 1), x.value.dtype), 0.7)])
    return Node([x, d.list([d.int(0, 3) for _ in range(x.value.ndim)])])


def concat(d):
    x = d.main(low=1)
    dims = list(x.value.shape)
    axis = d.axis(len(dims))
    parts = [x]
    for _ in range(d.int(0, 3)):
        part = list(dims)
        part[axis] = d.int(0, 5)
        parts.append(d.operand("T", part))
    return Node(parts, {"axis": axis} if d.version >= 4 or axis != 1 else {})


def split(d):
    x = d.main(low=1)
    size_of = x.value.shape
    axis = d.axis(len(size_of))
    total, count = size_of[axis], d.int(1, 4)
    cuts = sorted(d.int(0, total) for _ in range(count - 1))
    sizes = [int(v) for v in np.diff([0] + cuts + [total])]
    attributes = {"axis": axis}
    if d.version >= 18 and d.chance(0.4) and total:
        each = -(-total // count)
        if each * (count - 1) >= total:
            raise Impossible("an empty chunk")
        return Node([x], dict(attributes, num_outputs=count), outputs=count)
    if d.version == 1 or d.version >= 13:
        return Node([x, d.list(sizes)] if d.version > 1 or d.chance(0) else [x],
                    attributes if d.version > 1 else dict(attributes, split=sizes), outputs=count)
    return Node([x], dict(attributes, split=sizes), outputs=count)


def slices(d):
    x = d.main(low=1)
    dims = x.value.shape
    rank = len(dims)
    axes = [int(a) for a in d.random.permutation(rank)[:d.int(1, rank)]]
    starts, ends, steps = [], [], []
    for a in axes:
        step = d.pick([1, 1, 1, 2, 3, -1, -2, 17]) if d.version >= 10 else 1
        bounds = [d.pick([d.int(-dims[a] - 2, dims[a] + 2), 0, 2**31 - 1, 2**63 - 1, -2**63, -1]) for _ in range(2)]
        if d.version < 10:
            bounds = [max(b, -2**31) for b in bounds]
        starts.append(bounds[0])
        ends.append(bounds[1])
        steps.append(step)
    if d.version < 10:
        return Node([x], {"starts": starts, "ends": ends, "axes": axes})
    if d.version >= 11:
        axes = [a - (rank if d.chance(0.3) else 0) for a in axes]
    dtype, more = d.dtype("Tind"), []
    if dtype == np.int32:
        starts, ends = ([min(max(v, -2**31), 2**31 - 1) for v in b] for b in (starts, ends))
    constant = d.pick([0.0, 1.0, 0.5])
    return Node([x] + [d.list(v, constant, dtype) for v in (starts, ends, axes, steps)])


def pad(d):
    x = small(d, low=1, high=4, only=lambda t: t.kind in "fiub")
    dims = x.value.shape
    modes = ["constant", "reflect", "edge"] + (["wrap"] if d.version >= 19 else [])
    mode = d.pick(modes) if all(dims) else "constant"
    limit = {"reflect": lambda s: s - 1, "wrap": lambda s: s}.get(mode, lambda s: 4)

    def amount(size):
        return -min(d.int(1, 2), size // 2) if d.chance(0.15) else d.int(0, min(4, limit(size)))
    begins, ends = [amount(s) for s in dims], [amount(s) for s in dims]
    attributes = {"mode": mode} if mode != "constant" or d.chance(0.3) else {}
    if d.version < 11:
        value = {"value": 1.5} if d.chance(0.5) else {}
        return Node([x], dict(attributes, **value, **{"paddings" if d.version < 2 else "pads": begins + ends}))
    value = d.maybe(Operand(d.array(x.value.dtype, []), 0.5), 0.5) if mode == "constant" else Operand(None)
    if d.version >= 18 and d.chance(0.4):
        axes = [int(a) for a in d.random.permutation(len(dims))[:d.int(1, len(dims))]]
        chosen = [begins[a] for a in axes] + [ends[a] for a in axes]
        axes = [a - (len(dims) if d.chance(0.3) else 0) for a in axes]
        return Node([x, d.list(chosen), value, d.list(axes, 0.6, d.dtype("Tind"))], attributes)
    return Node([x, d.list(begins + ends), value], attributes)


def indices(d, dims, size, label, constant=0.3):
    """Indices into an axis; negative ones where the version knows them."""
    if size == 0 and np.prod(dims):
        raise Impossible("nothing to index")
    negative = d.version >= 11 or d.schema.name in ("GatherND", "ScatterND")
    dtype = d.dtype(label)
    return Operand(d.random.integers(-size if negative else 0, max(size, 1), dims).astype(dtype).reshape(dims), constant)


def gather(d):
    x = small(d, low=1)
    axis = d.axis(x.value.ndim)
    return Node([x, indices(d, d.dims(0, 2, limit=20), x.value.shape[axis], "Tind")],
                {"axis": axis} if axis or d.chance(0.5) else {})


def gather_elements(d):
    x = small(d, low=1)
    dims = list(x.value.shape)
    axis = d.axis(len(dims))
    at = [d.int(0, s) if i != axis % len(dims) else d.int(0, 5) for i, s in enumerate(dims)]
    return Node([x, indices(d, at, dims[axis], "Tind")], {"axis": axis})


def scatter_elements(d):
    """Each place at most once where the order of writes would show."""
    x = small(d, low=1, only=lambda t: t.kind in "fiubO")
    dims = list(x.value.shape)
    axis = d.axis(len(dims))
    at = axis % len(dims)
    reductions = (["none", "add", "mul"] + (["max", "min"] if d.version >= 18 else [])) if d.version >= 16 else ["none"]
    reduction = d.pick(reductions) if x.value.dtype.kind in "fiu" else "none"
    sizes = [d.int(0, s) if i != at else d.int(0, min(s, 6) if reduction == "none" else 6) for i, s in enumerate(dims)]
    if dims[at] == 0 and np.prod(sizes):
        raise Impossible("nothing to write")
    if reduction == "none":
        where = np.argsort(d.random.random(sizes[:at] + [dims[at]] + sizes[at + 1:]), axis=at)
        where = np.take(where, range(sizes[at]), axis=at)
        if d.version >= 11:
            where = where - np.where(d.random.random(where.shape) < 0.3, dims[at], 0)
        index = Operand(where.astype(d.dtype("Tind")), 0.3)
    else:
        index = indices(d, sizes, dims[at], "Tind")
    calm = (lambda t, s: d.array(t, s, -2, 2)) if reduction != "none" else None
    attributes = {"axis": axis} if axis or d.chance(0.5) else {}
    if reduction != "none":
        attributes["reduction"] = reduction
    return Node([x, index, d.operand("T", sizes, values=calm)], attributes, atol=1e-3)


def gather_nd(d):
    x = small(d, low=1, high=4)
    dims = list(x.value.shape)
    batch = d.int(0, len(dims) - 1) if d.has("batch_dims") and d.chance(0.5) else 0
    depth = d.int(1, len(dims) - batch)
    at = dims[:batch] + [d.int(0, 4) for _ in range(d.int(0, 2))]
    if any(s == 0 for s in dims[batch:batch + depth]) and np.prod(at):
        raise Impossible("nothing to index")
    index = np.stack([d.random.integers(-s, max(s, 1), at) for s in dims[batch:batch + depth]], -1) if at else \
        np.array([d.int(-s, s - 1) for s in dims[batch:batch + depth]])
    return Node([x, Operand(index.astype(np.int64), 0.3, static=True)], {"batch_dims": batch} if batch else {})


def scatter_nd(d):
    x = small(d, low=1, high=4, only=lambda t: t.kind in "fiubO")
    dims = list(x.value.shape)
    depth = d.int(1, len(dims))
    places = math.prod(dims[:depth])
    reductions = (["none", "add", "mul"] + (["max", "min"] if d.version >= 18 else [])) if d.version >= 16 else ["none"]
    reduction = d.pick(reductions) if x.value.dtype.kind in "fiu" else "none"
    count = d.int(0, min(5, places))
    chosen = d.random.permutation(places)[:count] if reduction == "none" else d.random.integers(0, max(places, 1), count)
    index = np.stack(np.unravel_index(chosen, dims[:depth]), -1).astype(np.int64) if count else \
        np.zeros([0, depth], np.int64)
    if d.chance(0.3):
        index = index - np.array(dims[:depth], np.int64) * d.random.integers(0, 2, index.shape)
    at = [count]
    if d.chance(0.3):
        index, at = index[None], [1, count]
    if d.chance(0.2) and count:
        index, at = index.reshape(-1, depth)[0], []
    calm = (lambda t, s: d.array(t, s, -2, 2)) if reduction != "none" else None
    return Node([x, Operand(index, 0.3), d.operand("T", at + dims[depth:], values=calm)],
                {"reduction": reduction} if reduction != "none" else {}, atol=1e-3)


def depth_to_space(d):
    block = d.int(1, 3)
    dims = [d.int(0, 2), d.int(1, 3) * block**2, d.int(1, 5), d.int(1, 5)]
    return Node([d.main("T", dims)], dict(d.some(mode=lambda: d.pick(["DCR", "CRD"])), blocksize=block))


def space_to_depth(d):
    block = d.int(1, 3)
    return Node([d.main("T", [d.int(0, 2), d.int(1, 4), d.int(1, 4) * block, d.int(1, 4) * block])], {"blocksize": block})


def reverse_sequence(d):
    x = d.main(low=2, fits=lambda s: s[0] > 0 and s[1] > 0)
    time = d.int(0, 1)
    lengths = [d.int(1, x.value.shape[time]) for _ in range(x.value.shape[1 - time])]
    return Node([x, d.list(lengths, 0.3)], {"time_axis": time, "batch_axis": 1 - time} if time or d.chance(0.5) else
                {"time_axis": 0, "batch_axis": 1})


def trilu(d):
    x = d.main(low=2, only=lambda t: t.kind in "fiub")
    return Node([x, d.maybe(Operand(np.array(d.pick([0, 1, -1, 3, -5, 100, -100]), np.int64), 0.5))],
                d.some(upper=lambda: d.int(0, 1)))


def eye_like(d):
    attributes = d.some(k=lambda: d.int(-4, 4))
    if d.chance(0.5):
        attributes["dtype"] = element_type(d.dtype("T2", lambda t: t.kind in "fiub"))
    return Node([d.main("T1", low=2, high=2, only=lambda t: t.kind in "fiub")], attributes)


def one_hot(d):
    depth = d.int(1, 7)
    dims = d.dims(0, 3, limit=200)
    index = d.main("T1", dims, only=lambda t: t in (np.int32, np.int64, np.float32, np.uint8),
                   values=lambda t, s: d.array(t, s, -depth - 1 if t.kind != "u" else 0, depth + 1).round())
    count = Operand(np.array(d.pick([depth, [depth]]), d.dtype("T2", lambda t: t in (np.int32, np.int64))), 0.6)
    values = Operand(d.array(d.dtype("T3"), [2]), 0.5)
    return Node([index, count, values], d.some(axis=lambda: d.axis(len(dims), 1)))


def center_crop_pad(d):
    x = small(d, low=1, only=lambda t: t.kind in "fiub")
    axes = [int(a) for a in d.random.permutation(x.value.ndim)[:d.int(1, x.value.ndim)]]
    if d.chance(0.4):
        return Node([x, d.list([d.int(0, 6) for _ in x.value.shape])])
    return Node([x, d.list([d.int(0, 6) for _ in axes])], {"axes": axes})


def compress(d):
    x = d.main(low=1)
    if d.chance(0.3):
        return Node([x, Operand(d.array(np.bool_, [d.int(0, x.value.size)]), 0.3)])
    axis = d.axis(x.value.ndim)
    return Node([x, Operand(d.array(np.bool_, [d.int(0, x.value.shape[axis])]), 0.3)], {"axis": axis})


def unique(d):
    x = d.main(low=1, only=lambda t: t.kind in "fiubO", nan=False)
    attributes = d.some(sorted=lambda: d.int(0, 1))
    if d.chance(0.4):
        attributes["axis"] = d.axis(x.value.ndim)
    return Node([x], attributes, outputs=d.int(1, 4))


def shape_of(d):
    return Node([d.main()], d.some(start=lambda: d.int(-4, 4), end=lambda: d.int(-4, 4)))


def constant_of_shape(d):
    attributes = {}
    if d.chance(0.7):
        dtype = d.dtype("T2", lambda t: t.kind in "fiubV")
        attributes["value"] = numpy_helper.from_array(d.array(dtype, [1]), "value")
    return Node([d.list([d.int(0, 4) for _ in range(d.int(0, 3))])], attributes)


def range_of(d):
    dtype = d.dtype("T", lambda t: t.kind in "fi")
    start = d.int(-5, 5)
    step = d.pick([1, 2, 3, -1, -2])
    parts = [start, start + step * d.int(-1, 12) + d.int(0, 1), step]
    if dtype.kind == "f" and d.chance(0.5):
        parts = [p / 2 for p in parts]
    return Node([Operand(np.array(p, dtype), d.pick([0.0, 1.0])) for p in parts])


def constant(d):
    dtype = d.dtype("T")
    return Node([], {"value": numpy_helper.from_array(d.array(dtype, d.dims()), "value")})


def tensor_scatter(d):
    batch, steps, length = d.int(1, 3), d.int(1, 4), d.int(4, 9)
    dims = [batch, d.int(1, 3), length, d.int(1, 4)]
    axis = d.pick([2, -2])
    mode = d.pick(["linear", "circular"])
    cache = d.main("T", dims)
    starts = d.list([d.int(0, length - steps if mode == "linear" else length - 1) for _ in range(batch)], 0.3)
    return Node([cache, d.operand("T", dims[:2] + [steps] + dims[3:]), d.maybe(starts)], {"axis": axis, "mode": mode})


TABLE = {"Reshape": reshape, "Flatten": flatten, "Squeeze": squeeze, "Unsqueeze": unsqueeze, "Transpose": transpose,
         "Expand": expand, "Tile": tile, "Concat": concat, "Split": split, "Slice": slices, "Pad": pad, "Gather": gather,
         "GatherElements": gather_elements, "ScatterElements": scatter_elements, "Scatter": scatter_elements,
         "GatherND": gather_nd, "ScatterND": scatter_nd, "DepthToSpace": depth_to_space, "SpaceToDepth": space_to_depth,
         "ReverseSequence": reverse_sequence, "Trilu": trilu, "EyeLike": eye_like, "OneHot": one_hot,
         "CenterCropPad": center_crop_pad, "Compress": compress, "Unique": unique, "Shape": shape_of,
         "Size": lambda d: Node([d.main()]), "NonZero": lambda d: Node([d.main(low=1, only=lambda t: t.kind != "c")]), "ConstantOfShape": constant_of_shape,
         "Range": range_of, "Constant": constant, "TensorScatter": tensor_scatter}
