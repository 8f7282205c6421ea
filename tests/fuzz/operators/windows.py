"""Convolutions, pooling, and what samples pictures."""
import numpy as np

from draw import Impossible, Node, Operand

from .quantized import even_zero_point, scale, zero_point


def geometry(d, spatial, kernel, limit_pads=True):
    """strides, dilations and pads (or auto_pad) for a window that fits its input."""
    rank = len(spatial)
    attributes = {}
    if d.has("strides") and d.chance(0.6):
        attributes["strides"] = [d.int(1, 3) for _ in range(rank)]
    dilations = [1] * rank
    if d.has("dilations") and d.chance(0.4):
        dilations = [d.int(1, 3) for _ in range(rank)]
        attributes["dilations"] = dilations
    extents = [(k - 1) * s + 1 for k, s in zip(kernel, dilations)]
    if d.has("auto_pad") and d.chance(0.25):
        attributes["auto_pad"] = d.pick(["SAME_UPPER", "SAME_LOWER", "VALID", "NOTSET"])
    pads = [0] * (2 * rank)
    if attributes.get("auto_pad", "NOTSET") == "NOTSET" and d.chance(0.6):
        pads = [d.int(0, kernel[i % rank] - 1 if limit_pads else 3) for i in range(2 * rank)]
        attributes["pads"] = pads
    if attributes.get("auto_pad", "").startswith("SAME"):
        attributes.pop("dilations", None)
        return attributes
    for i in range(rank):
        if spatial[i] + pads[i] + pads[i + rank] < extents[i]:
            raise Impossible("the window is larger than its input")
    return attributes


def spatial_of(d, low=1, high=3):
    rank = d.pick([1, 2, 2, 2, 3])
    while not low <= rank <= high:
        rank = d.pick([1, 2, 2, 2, 3])
    sizes = {1: [1, 5, 16, 33], 2: [1, 2, 5, 7, 8, 17], 3: [1, 3, 4, 5]}[rank]
    if d.is_large:
        sizes = {1: [385, 600, 1025], 2: [1, 8, 20, 33, 400], 3: [1, 5, 9, 16]}[rank]
    spatial = [d.pick(sizes) for _ in range(rank)]
    while np.prod(spatial) > 4096:
        spatial[int(np.argmax(spatial))] = d.pick([1, 8, 9])
    return spatial


def conv_parts(d, integer=False):
    spatial = spatial_of(d)
    group = d.pick([1, 1, 1, 2, 3])
    each = d.pick([1, 8, 16, 24] if d.is_large else [1, 1, 2, 3, 8])
    outputs = d.pick([1, 2, 3, 8, 16, 17])
    kernel = [d.int(1, 3) if s < 5 else d.int(1, 5) for s in spatial]
    attributes = geometry(d, spatial, kernel)
    if group > 1 or d.chance(0.3):
        attributes["group"] = group
    if d.chance(0.6):
        attributes["kernel_shape"] = kernel
    batch = d.pick([1, 1, 2, 3, 0] if d.chance(0.1) else [1, 2])
    return [batch, group * each] + spatial, [group * outputs, each] + kernel, attributes


def conv(d):
    x, w, attributes = conv_parts(d)
    d.float_type()
    inputs = [d.main("T", x, values=d.moderate), d.operand("T", w, 0.5, d.moderate),
              d.maybe(d.operand("T", [w[0]], 0.5, d.moderate))]
    return Node(inputs, attributes, atol=1e-3 if d.bound["T"].itemsize > 2 else 0.2)


def conv_integer(d):
    x, w, attributes = conv_parts(d)
    inputs = [d.operand("T1", x), d.operand("T2", w, 0.5),
              d.maybe(zero_point(d, d.bound["T1"], [])),
              d.maybe(zero_point(d, d.bound["T2"], d.pick([[], [w[0]]])))]
    if inputs[2].value is None and d.chance(0.5):
        inputs[3] = Operand(None)
    return Node(inputs, attributes)


def qlinear_conv(d):
    x, w, attributes = conv_parts(d)
    channels = d.pick([[], [w[0]]])
    x_type, w_type = d.dtype("T1"), d.dtype("T2")
    d.bound["T3"] = x_type if d.chance(0.8) else d.dtype("T3")
    inputs = [d.operand("T1", x), scale(d), zero_point(d, x_type, []), d.operand("T2", w, 0.5), scale(d, channels),
              zero_point(d, w_type, channels) if w_type.kind == "u" else Operand(np.zeros(channels, w_type), 0.5),
              scale(d), even_zero_point(d, d.dtype("T3")),
              d.maybe(Operand(d.array(np.int32, [w[0]], -500, 500), 0.5))]
    return Node(inputs, attributes)


def conv_transpose(d):
    spatial = spatial_of(d)
    rank, group = len(spatial), d.pick([1, 1, 2])
    inputs, outputs = group * d.int(1, 3), d.pick([1, 2, 3, 8])
    kernel = [d.int(1, 4) for _ in spatial]
    attributes = {}
    strides = [d.int(1, 3) for _ in spatial] if d.chance(0.6) else [1] * rank
    dilations = [d.int(1, 2) for _ in spatial] if d.chance(0.3) else [1] * rank
    if strides != [1] * rank:
        attributes["strides"] = strides
    if dilations != [1] * rank:
        attributes["dilations"] = dilations
    if group > 1:
        attributes["group"] = group
    if d.chance(0.5):
        pads = [d.int(0, (kernel[i % rank] - 1) * dilations[i % rank] // 2) for i in range(2 * rank)]
        attributes["pads"] = pads
    elif d.chance(0.3) and dilations == [1] * rank:
        attributes["auto_pad"] = d.pick(["SAME_UPPER", "SAME_LOWER", "VALID"])
    if d.chance(0.3):
        attributes["output_padding"] = [d.int(0, s - 1) for s in strides]
    if d.chance(0.5):
        attributes["kernel_shape"] = kernel
    d.float_type()
    operands = [d.main("T", [d.int(1, 2), inputs] + spatial, values=d.moderate),
                d.operand("T", [inputs, outputs] + kernel, 0.5, d.moderate),
                d.maybe(d.operand("T", [outputs * group], 0.5, d.moderate))]
    return Node(operands, attributes, atol=1e-3 if d.bound["T"].itemsize > 2 else 0.2)


def pool(d):
    spatial = spatial_of(d)
    kernel = [d.int(1, 3) for _ in spatial]
    attributes = dict(geometry(d, spatial, kernel), kernel_shape=kernel)
    name = d.schema.name
    attributes.update(d.some(ceil_mode=lambda: d.int(0, 1) if d.chance(0.5) else None,
                             count_include_pad=lambda: d.int(0, 1), storage_order=lambda: d.int(0, 1)))
    if d.has("p") and d.chance(0.6):
        attributes["p"] = d.int(1, 3) if d.version > 1 else 2.0
    d.dtype("T", lambda t: t.kind in "fiu" or name != "LpPool")
    values = None if name == "MaxPool" else d.moderate
    outputs = d.int(1, 2) if name == "MaxPool" and d.version >= 8 else 1
    return Node([d.main("T", [d.int(1, 2), d.int(1, 4)] + spatial, values=values, nan=False)], attributes, outputs,
                atol=1e-3 if d.bound["T"].itemsize > 2 else 2e-2)


def global_pool(d):
    x = d.main("T", low=3, high=5, values=d.moderate, fits=lambda s: 0 not in s)
    return Node([x], d.some(p=lambda: d.int(1, 3) if d.version > 1 else 2.0),
                atol=1e-3 if x.value.dtype.itemsize > 2 else 2e-2)


def resize(d):
    rank = d.int(2, 4)
    dims = [d.int(1, 2) for _ in range(rank - 2)] + [d.int(1, 9), d.int(1, 9)]
    mode = d.pick(["nearest", "linear", "cubic"]) if d.version >= 11 else d.pick(["nearest", "linear"])
    if mode == "cubic":
        dims = ([1, 2] + dims[-2:])
        rank = 4
    label = "T" if d.version == 10 else "T1"
    x = d.main(label, dims, values=d.moderate, only=lambda t: t.kind == "f" or (t.kind in "iu" and mode == "nearest"))
    attributes = {"mode": mode} if mode != "nearest" or d.chance(0.5) else {}
    factors = [1.0] * (rank - 2) + [d.pick([0.5, 1.0, 2.0, 1.5, 0.75, 3.0, 0.3]) for _ in range(2)]
    if any(int(s * f) == 0 for s, f in zip(dims, factors)):
        raise Impossible("nothing left")
    scales = d.list(factors, 0.6, np.float32)
    loose = 1e-3 if x.value.dtype.itemsize > 2 else 2e-2
    if d.version == 10:
        return Node([x, scales], attributes, atol=loose)
    attributes.update(d.some(
        coordinate_transformation_mode=lambda: d.pick(
            ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"] +
            (["half_pixel_symmetric"] if d.version >= 19 else [])),
        nearest_mode=lambda: d.pick(["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]) if mode == "nearest" else None,
        cubic_coeff_a=lambda: -0.5 if mode == "cubic" else None,
        exclude_outside=lambda: d.int(0, 1) if mode == "cubic" else None,
        antialias=lambda: d.int(0, 1) if mode != "nearest" and d.chance(0.4) else None))
    if d.chance(0.5):
        sizes = dims[:-2] + [d.int(1, 12), d.int(1, 12)]
        empty = Operand(None) if d.version >= 13 else Operand(np.zeros([0], np.float32), 1.0)
        roi = Operand(None) if d.version >= 13 else Operand(np.zeros([0], np.float32), 1.0)
        return Node([x, roi, empty, d.list(sizes)], attributes, atol=loose)
    roi = Operand(None) if d.version >= 13 else Operand(np.zeros([0], np.float32), 1.0)
    return Node([x, roi, scales], attributes, atol=loose)


def upsample(d):
    x = d.main("T", [d.int(1, 2), d.int(1, 2), d.int(1, 6), d.int(1, 6)], values=d.moderate, only=lambda t: t.kind == "f")
    mode = {"mode": d.pick(["nearest", "linear" if d.version >= 7 else "nearest"])}
    factors = [1.0, 1.0, d.pick([1.0, 2.0, 1.5]), d.pick([1.0, 2.0, 3.0])]
    if d.version < 7:
        return Node([x], dict(mode, height_scale=factors[2], width_scale=factors[3]))
    if d.version < 9:
        return Node([x], dict(mode, scales=factors))
    return Node([x, d.list(factors, 0.6, np.float32)], mode)


def grid_sample(d):
    rank = 2 if d.version < 20 else d.int(2, 3)
    spatial = [d.int(1, 6) for _ in range(rank)]
    batch = d.int(1, 2)
    linear, cubic = ("bilinear", "bicubic") if d.version < 20 else ("linear", "cubic")
    mode = d.pick([linear, "nearest"] + ([cubic] if rank == 2 else []))
    d.dtype("T1", lambda t: t.kind == "f")
    d.bound["T2"] = d.bound["T1"]
    x = d.main("T1", [batch, d.int(1, 3)] + spatial, values=d.moderate)
    grid = d.operand("T2" if d.version >= 16 else "T1", [batch] + [d.int(1, 5) for _ in range(rank)] + [rank], 0.2,
                     lambda t, s: d.array(t, s, -1.4, 1.4))
    return Node([x, grid], dict(d.some(align_corners=lambda: d.int(0, 1),
                                       padding_mode=lambda: d.pick(["zeros", "border", "reflection"])), mode=mode),
                atol=2e-3 if x.value.dtype.itemsize > 2 else 5e-2)


def affine_grid(d):
    rank = d.int(2, 3)
    batch = d.int(1, 2)
    d.float_type("T1")
    return Node([d.main("T1", [batch, rank, rank + 1], values=d.moderate),
                 d.list([batch, d.int(1, 3)] + [d.int(2, 5) for _ in range(rank)])], d.some(align_corners=lambda: d.int(0, 1)),
                atol=1e-3 if d.bound["T1"].itemsize > 2 else 5e-2)


def col2im(d):
    rank = d.int(1, 3)
    image = [d.int(3, 7) for _ in range(rank)]
    block = [d.int(1, 3) for _ in range(rank)]
    strides, dilations = [d.int(1, 2) for _ in range(rank)], [1] * rank
    pads = [d.int(0, 1) for _ in range(2 * rank)]
    places = 1
    for i in range(rank):
        places *= (image[i] + pads[i] + pads[i + rank] - (block[i] - 1) - 1) // strides[i] + 1
    channels = d.int(1, 3)
    d.dtype("T", lambda t: t.kind == "f")
    x = d.main("T", [d.int(1, 2), channels * int(np.prod(block)), places], values=d.moderate)
    return Node([x, d.list(image), d.list(block)], {"strides": strides, "pads": pads, "dilations": dilations}, atol=1e-3)


def max_unpool(d):
    dims = [1, d.int(1, 2), d.int(1, 3), d.int(1, 3)]
    x = d.main("T1", dims, only=lambda t: t.kind == "f")
    out = [s * 2 for s in dims[2:]]
    where = d.random.permutation(int(np.prod(dims[:2]) * np.prod(out)))[:int(np.prod(dims))].reshape(dims)
    return Node([x, Operand(where.astype(np.int64), 0.2)], {"kernel_shape": [2, 2], "strides": [2, 2]})


def rois(d, dtype, count, size):
    corner = d.random.uniform(0, size / 2, (count, 2))
    return np.concatenate([corner, corner + d.random.uniform(0.5, size, (count, 2))], 1).round(2).astype(dtype)


def roi_align(d):
    batch, size, count = d.int(1, 2), d.int(3, 9), d.int(0, 3)
    d.dtype("T1", lambda t: t.kind == "f")
    x = d.main("T1", [batch, d.int(1, 3), size, size], values=d.moderate)
    of = d.list(d.random.integers(0, batch, count), 0.2)
    return Node([x, Operand(rois(d, x.value.dtype, count, size), 0.2), of],
                dict(d.some(sampling_ratio=lambda: d.int(0, 3), spatial_scale=lambda: 0.5, mode=lambda: d.pick(["avg", "max"]),
                            coordinate_transformation_mode=lambda: d.pick(["half_pixel", "output_half_pixel"])),
                     output_height=d.int(1, 4), output_width=d.int(1, 4)), atol=1e-3 if x.value.dtype.itemsize > 2 else 5e-2)


def max_roi_pool(d):
    batch, size, count = d.int(1, 2), d.int(3, 9), d.int(1, 3)
    d.dtype("T", lambda t: t == np.float32)
    x = d.main("T", [batch, d.int(1, 3), size, size], values=d.moderate)
    of = d.random.integers(0, batch, (count, 1)).astype(np.float32)
    return Node([x, Operand(np.concatenate([of, rois(d, np.float32, count, size)], 1), 0.2)],
                {"pooled_shape": [d.int(1, 3), d.int(1, 3)]})


def deform_conv(d):
    group, offsets = d.pick([1, 2]), d.pick([1, 2])
    size, kernel = d.int(4, 7), [d.int(1, 3), d.int(1, 3)]
    channels, outputs = 2 * d.int(1, 2), group * d.int(1, 2)
    strides = [d.int(1, 2), d.int(1, 2)]
    out = [(size - k) // s + 1 for k, s in zip(kernel, strides)]
    count = offsets * kernel[0] * kernel[1]
    d.dtype("T", lambda t: t.kind == "f")
    inputs = [d.main("T", [1, channels, size, size], values=d.moderate),
              d.operand("T", [outputs, channels // group] + kernel, 0.5, d.moderate),
              d.operand("T", [1, 2 * count] + out, 0.2, d.moderate), d.maybe(d.operand("T", [outputs], 0.5, d.moderate)),
              d.maybe(d.operand("T", [1, count] + out, 0.2, d.moderate))]
    return Node(inputs, {"group": group, "offset_group": offsets, "strides": strides, "kernel_shape": kernel,
                         "pads": [0, 0, 0, 0]}, atol=1e-3 if inputs[0].value.dtype.itemsize > 2 else 0.2)


def non_max_suppression(d):
    batch, classes, count = d.int(1, 2), d.int(1, 2), d.int(1, 8)
    boxes = np.stack([rois(d, np.float32, count, 8) for _ in range(batch)])
    scores = d.random.permutation(batch * classes * count).reshape(batch, classes, count).astype(np.float32) / 10
    limit = lambda v, t: d.maybe(Operand(np.array([v], t), 0.5), 0.8)
    return Node([Operand(boxes, 0.1), Operand(scores, 0.1), limit(d.int(0, 4), np.int64),
                 limit(d.pick([0.0, 0.3, 0.55]), np.float32), limit(d.pick([0.0, 0.45]), np.float32)],
                d.some(center_point_box=lambda: d.int(0, 1)))


TABLE = {"Conv": conv, "ConvInteger": conv_integer, "QLinearConv": qlinear_conv, "ConvTranspose": conv_transpose,
         "MaxPool": pool, "AveragePool": pool, "LpPool": pool, "GlobalAveragePool": global_pool,
         "GlobalMaxPool": global_pool, "GlobalLpPool": global_pool, "Resize": resize, "Upsample": upsample,
         "GridSample": grid_sample, "AffineGrid": affine_grid, "Col2Im": col2im, "MaxUnpool": max_unpool,
         "RoiAlign": roi_align, "MaxRoiPool": max_roi_pool, "DeformConv": deform_conv,
         "NonMaxSuppression": non_max_suppression}
