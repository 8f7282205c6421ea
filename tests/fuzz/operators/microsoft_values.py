"""com.microsoft: what moves elements, compares tokens or hashes."""
import numpy as np

from draw import Node, Operand

from .microsoft import KEY, calm

F32, I32, I64 = np.float32, np.int32, np.int64


def same(d):
    return Node([d.operand("T", d.dims(0, 4), 0.1)])


def triangle(d):
    return Node([d.operand("T", d.dims(2, 4), 0.1), d.maybe(Operand(np.asarray(d.int(-3, 3), I64), 0.5))], {"upper": d.int(0, 1)})


def expand_dims(d):
    dims = d.dims(0, 3)
    return Node([d.operand("T", dims, 0.1), Operand(np.asarray(d.int(-len(dims) - 1, len(dims)), I32), 0.7)])


def gather_nd(d):
    dims = d.dims(1, 3, zero=0)
    depth = d.int(1, len(dims))
    rows = d.dims(0, 2, zero=0, limit=40)
    index = np.stack([d.random.integers(-size, size, rows) for size in dims[:depth]], -1)
    return Node([d.operand("T", dims, 0.1), Operand(index.astype(d.pick([I32, I64])), 0.3)])


def pad(d):
    dims = [d.int(2, 6) for _ in range(d.int(1, 3))]
    pads = [d.int(-1, 1) for _ in range(2 * len(dims))]
    mode = d.pick(["constant", "reflect", "edge"])
    pads = np.array([pads] if d.chance(0.3) else pads, I64)
    return Node([calm(d, dims), Operand(pads, 0.6), d.maybe(Operand(d.array(F32, d.pick([[], [1]])), 0.5), 0.4)], {"mode": mode})


def count(d):
    dtype = d.pick([np.int16, I32, I64, F32])
    dims = d.pick([[], [1]])
    numbers = [np.full(dims, n, dtype) for n in (d.int(-5, 5), d.int(-5, 20), d.pick([1, 2, 3]))]
    return Node([Operand(numbers[0], 0.5), Operand(numbers[1], 0.5), d.maybe(Operand(numbers[2], 0.5))])


def unique(d):
    return Node([Operand(d.random.integers(0, 6, [d.int(1, 20)]).astype(F32), 0.1)], outputs=3)


def unfold(d):
    dims = d.dims(1, 3, zero=0)
    axis = d.int(0, len(dims) - 1)
    return Node([d.operand("T", dims, 0.1)], {"dim": d.pick([axis, axis - len(dims)]), "size": d.int(1, dims[axis]), "step": d.int(1, 3)})


def distance(d):
    depth, dtype = d.size(zero=0), d.pick([F32, np.float64])
    rows = lambda: Operand(d.array(dtype, [d.size(zero=0), depth], -2, 2), 0.2)
    return Node([rows(), rows()], {"metric": d.pick(["sqeuclidean", "euclidean"])}, atol=1e-2)


def repeat_block(d):
    size, length, vocabulary = d.int(1, 4), d.int(1, 9), d.int(2, 6)
    batch = d.int(1, 3)
    return Node([Operand(d.random.integers(0, vocabulary, [batch, length]).astype(I64), 0.1), calm(d, [batch, vocabulary])],
                {"ngram_size": size})


def murmur(d):
    dtype = d.dtype("T1", lambda t: t != np.dtype(object))
    return Node([Operand(d.array(dtype, d.dims(0, 3)), 0.1)], {"positive": d.int(0, 1), "seed": d.int(0, 99)})


def sample(d):
    mode = d.pick(["bilinear", "nearest", "bicubic"])
    batch, height, width = d.int(1, 2), d.int(2, 6), d.int(2, 6)
    return Node([calm(d, [batch, d.int(1, 3), height, width]), Operand(d.array(F32, [batch, d.int(1, 4), d.int(1, 4), 2], -1.2, 1.2), 0.2)],
                {"mode": mode, "padding_mode": d.pick(["zeros", "border", "reflection"]), "align_corners": d.int(0, 1)}, atol=5e-3)


def crops(d):
    batch, rois = d.int(1, 3), d.int(1, 4)
    return Node([calm(d, [batch, d.int(1, 3), d.int(2, 6), d.int(2, 6)]), Operand(d.array(F32, [rois, 4], -0.2, 1.2), 0.2),
                 Operand(d.random.integers(0, batch, [rois]).astype(I32), 0.2), d.list([d.int(1, 4), d.int(1, 4)], dtype=I32)],
                {"mode": d.pick(["bilinear", "nearest"]), "extrapolation_value": 7.0}, atol=5e-3)


TABLE = {(KEY, name): make for name, make in {
    "SampleOp": same, "Trilu": triangle, "ExpandDims": expand_dims, "GatherND": gather_nd, "Pad": pad, "Range": count,
    "Unique": unique, "UnfoldTensor": unfold, "CDist": distance, "NGramRepeatBlock": repeat_block, "MurmurHash3": murmur,
    "GridSample": sample, "CropAndResize": crops}.items()}
