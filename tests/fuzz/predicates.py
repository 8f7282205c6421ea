"""What a step of a case may be like for a reference to be wrong about it. The table: known_defects.py.

A predicate takes the step and the version of its operator; `step` alone where the version does not count."""
import pathlib
import re
import unicodedata

import numpy as np
from onnx import helper

from cases import ROUNDING
from draw import integer_range, is_float, is_integer

CPU_FLAGS = pathlib.Path("/proc/cpuinfo").read_text() if pathlib.Path("/proc/cpuinfo").exists() else ""


def first_rank(step):
    return step.operands[0].value.ndim


def has_attribute(*names):
    return lambda step, version: any(name in step.attributes for name in names)


def has_any(value, kind):
    """Some float is of that kind: np.isinf, np.isnan."""
    return is_float(value.dtype) and bool(np.any(kind(value.astype(np.float64))))


def holds_infinity(step, version):
    return has_any(step.operands[0].value, np.isinf)


def holds_nan(step, version):
    return has_any(step.operands[0].value, np.isnan)


def chooses_among_nans(step, version):
    """A scatter that keeps the least or the largest, where one of them is no number."""
    return step.attributes.get("reduction") in ("min", "max", b"min", b"max") and any(
        has_any(o.value, np.isnan) for o in (step.operands[0], step.operands[2]))


def pairs_of_bytes_saturate(step, version):
    """Of u8 by i8 without VNNI, two products may add up to more than 16 bits hold: vpmaddubsw."""
    weights = [o.value for o in step.operands if isinstance(o.value, np.ndarray) and o.value.dtype == np.int8 and o.value.ndim > 0]
    return (step.operands[0].value.dtype in (np.uint8, np.float32) and "vnni" not in CPU_FLAGS
            and any(np.any(2 * 255 * np.abs(w.astype(np.int64)) > np.iinfo(np.int16).max) for w in weights))


def holds_more_than_floats(step, version):
    value = step.operands[0].value
    finite = value[np.isfinite(value)] if value.dtype == np.float64 else value[:0]
    return bool(np.any(np.abs(finite) > np.finfo(np.float32).max))


def overflow_was_carried(step, version):
    """What the node before gives is a float16 that overflowed."""
    return any(o.value.dtype == np.float16 and np.any(np.isinf(o.value)) for o in step.operands
               if re.fullmatch(r"n\d+o\d+", o.name) and isinstance(o.value, np.ndarray))


def ceil_adds_a_window(step, version):
    kernel = step.attributes.get("kernel_shape", [])
    strides, dilations = (step.attributes.get(name, [1] * len(kernel)) for name in ("strides", "dilations"))
    pads = step.attributes.get("pads", [0] * 2 * len(kernel))
    rooms = (size + low + high - (window - 1) * dilation - 1 for size, low, high, window, dilation in
             zip(step.operands[0].value.shape[2:], pads, pads[len(kernel):], kernel, dilations))
    return step.attributes.get("ceil_mode", 0) == 1 and any(room % stride for room, stride in zip(rooms, strides))


def one_axis_moves_another(axes):
    """Where axes that count through the result are inserted one after the other."""
    return list(axes) != sorted(axes) or (len(axes) > 1 and axes[0] < 0)


def narrow(value):
    """A 16-bit float."""
    return value.dtype == np.float16 or value.dtype.name == "bfloat16"


def reduced_axes(step):
    """As numpy takes them: None is all."""
    axes = step.attributes.get("axes") or (np.ravel(step.operands[1].value).tolist() if len(step.operands) > 1 else None)
    return tuple(axes) if axes else None


def partial_products_overflow(step, version):
    """Some order of the factors gives products beyond the type in which they are multiplied, whatever the last one is."""
    value = step.operands[0].value
    if not is_float(value.dtype):
        return False
    with np.errstate(divide="ignore"):
        growth = np.maximum(np.log(np.abs(value.astype(np.float64))), 0)
    largest = np.finfo(np.float64 if value.dtype == np.float64 else np.float32).max
    return bool(np.any(np.sum(growth, axis=reduced_axes(step)) > np.log(float(largest))))


def many_products_are_rounded(step, version):
    """To bfloat16, so often that half a unit in the last place each time adds up to more than the tolerance."""
    value = step.operands[0].value
    if value.dtype.name != "bfloat16":
        return False
    factors = np.sum(np.ones(value.shape), axis=reduced_axes(step)).max(initial=0)
    return bool(factors * 2.0**-9 > ROUNDING["bfloat16"][0])


def running_products_overflow(step, version):
    """The products on the way are beyond float16."""
    value = step.operands[0].value
    if value.dtype != np.float16:
        return False
    axis = int(np.ravel(step.operands[1].value)[0])
    wide = value.astype(np.float64)
    if step.attributes.get("reverse"):
        wide = np.flip(wide, axis)
    return bool(np.any(np.abs(np.cumprod(wide, axis=axis)) > np.finfo(np.float16).max))


def has_equal_numbers(step, version):
    """A channel of large numbers that are almost equal: its variance is what rounding of their mean makes it."""
    value = step.operands[0].value
    channels = np.moveaxis(value.astype(np.float64), 1, 0).reshape(value.shape[1], -1) if value.ndim > 1 else value
    if channels.size == 0:
        return False
    largest = np.abs(channels).max(axis=-1)
    return bool(np.any((largest > 100) & (np.ptp(channels, axis=-1) < 1e-3 * largest)))


def sums_overflow(step, version):
    value = step.operands[0].value
    return value.dtype.kind == "i" and float(np.abs(value.astype(np.float64)).sum()) > np.iinfo(value.dtype).max


def pads_automatically(step, version):
    return step.attributes.get("auto_pad", "NOTSET").startswith("SAME")


def windows(step):
    """(size, kernel, stride, dilation) of each spatial axis of a node with windows."""
    sizes = step.operands[0].value.shape[2:]
    kernel = step.attributes.get("kernel_shape") or list(step.operands[1].value.shape[2:])
    ones = [1] * len(sizes)
    return list(zip(sizes, kernel, step.attributes.get("strides", ones), step.attributes.get("dilations", ones)))


def pads_below_zero(step, version):
    """SAME pads where strides are larger than the window."""
    return pads_automatically(step, version) and any(s > (k - 1) * d + 1 for _, k, s, d in windows(step))


def transposed_pads_below_zero(step, version):
    """The same for a transposed window, which the padding of the output makes longer."""
    more = step.attributes.get("output_padding", [0] * len(windows(step)))
    return pads_automatically(step, version) and any(
        s > (k - 1) * d + 1 + extra for (_, k, s, d), extra in zip(windows(step), more))


def axis_paddings(step):
    """(before, after) of each spatial axis."""
    axes = windows(step)
    if not pads_automatically(step, 0):
        pads = step.attributes.get("pads", [0] * 2 * len(axes))
        return list(zip(pads[:len(axes)], pads[len(axes):]))
    upper = step.attributes["auto_pad"] == "SAME_UPPER"
    result = []
    for size, kernel, stride, dilation in axes:
        total = max((-(-size // stride) - 1) * stride + (kernel - 1) * dilation + 1 - size, 0)
        small, large = total // 2, total - total // 2
        result.append((small, large) if upper else (large, small))
    return result


def has_window_of_padding(step, version):
    """Whether some window lies on padding alone: in it there is no largest element."""
    for (size, kernel, stride, dilation), (before, after) in zip(windows(step), axis_paddings(step)):
        room = size + before + after - ((kernel - 1) * dilation + 1)
        steps = -(-room // stride) if step.attributes.get("ceil_mode", 0) else room // stride
        for place in range(max(steps, 0) + 1):
            taps = [place * stride - before + k * dilation for k in range(kernel)]
            if not any(0 <= tap < size for tap in taps):
                return True
    return False


def pads_a_rounded_up_result(step, version):
    return step.attributes.get("ceil_mode", 0) == 1 and any(before + after for before, after in axis_paddings(step))


UNBOUNDED = {"relu", "leakyrelu", "thresholdedrelu", "affine", "elu", "softplus"}  # activations


def pads_differ_as_pairs(step, version):
    pads = list(step.attributes.get("pads", []))
    axes = len(pads) // 2
    return list(zip(pads[:axes], pads[axes:])) != list(zip(pads[::2], pads[1::2]))


def pads_a_single_axis(step, version):
    return len(windows(step)) == 1 and any(step.attributes.get("pads", []))


def symmetric_positions_tie(step, version):
    """Half-pixel positions that lie on an element or between two, where rounding of the scale decides."""
    if step.attributes.get("coordinate_transformation_mode") != "half_pixel_symmetric" or step.attributes.get("mode", "nearest") != "nearest":
        return False
    given = [operand.value for operand in step.operands[2:] if isinstance(operand.value, np.ndarray) and operand.value.size]
    if not given:
        return False
    shape = step.operands[0].value.shape
    axes = step.attributes.get("axes", range(len(shape)))
    for axis, wanted in zip(axes, given[-1]):
        size = shape[axis]
        count = int(wanted) if given[-1].dtype.kind == "i" else int(size * float(wanted))
        if count != size and any(((2 * x + 1) * size - count) % count == 0 for x in range(count)):
            return True
    return False


def positions_tie_in_floats(step, version):
    """Half-pixel positions halfway between two elements in the precision of the scales, and beside it in that of Python."""
    if step.attributes.get("coordinate_transformation_mode", "half_pixel") != "half_pixel" or step.attributes.get("mode", "nearest") != "nearest":
        return False
    scales = step.operands[2].value if len(step.operands) > 2 else None
    if not isinstance(scales, np.ndarray) or scales.dtype != np.float32 or scales.size == 0:
        return False
    shape = step.operands[0].value.shape
    half = np.float32(0.5)
    for axis, scale in zip(step.attributes.get("axes", range(len(shape))), scales):
        x = np.arange(int(shape[axis] * float(scale)))
        as_floats = (x.astype(np.float32) + half) / scale - half
        exact = (x + 0.5) / float(scale) - 0.5
        if np.any((as_floats % 1 == 0.5) != (exact % 1 == 0.5)):
            return True
    return False


def hardly_deviates(step, version):
    """Some group of numbers whose deviation is not far above 1e-9."""
    value = step.operands[0].value.astype(np.float64)
    axes = tuple(step.attributes.get("axes", (0, 2, 3)))
    with np.errstate(all="ignore"):
        return value.size == 0 or not bool(np.all(np.std(value, axis=axes) > 1e-5))


def hardly_vary(value, leading, share):
    """Some row of what the leading axes name has a deviation below `share` of its largest number."""
    if value.size == 0:
        return False
    rows = value.astype(np.float64).reshape(*leading, -1)
    with np.errstate(all="ignore"):
        return bool(np.any(np.std(rows, axis=-1) < share * np.abs(rows).max(axis=-1)))


def groups_hardly_vary(step, version):
    value = step.operands[0].value
    return hardly_vary(value, (value.shape[0], step.attributes.get("num_groups", 1)), 2**-6)


def planes_hardly_vary(step, version):
    value = step.operands[0].value
    return hardly_vary(value, value.shape[:2], 2**-6)


def planes_vary_by_few_steps(step, version):
    """Some plane of bfloat16 in which a step of the mean, 2**-8 of it, is over 2**-6 of the deviation."""
    value = step.operands[0].value
    return value.dtype.name == "bfloat16" and hardly_vary(value, value.shape[:2], 2**-2)


def starts_backward_before_the_first(step, version):
    """Some axis is sliced backward from a place before its first element."""
    if len(step.operands) < 5:
        return False
    starts, axes, steps = (step.operands[i].value for i in (1, 3, 4))
    sizes = step.operands[0].value.shape
    axes = range(len(starts)) if axes is None else axes
    return any(by < 0 and start < -sizes[axis] for start, axis, by in zip(starts.tolist(), axes, steps))


def gives_float8e8m0(step):
    return step.attributes.get("to") == 24 or (step.op == "CastLike" and "e8m0" in step.operands[1].value.dtype.name)


def is_number_beyond(text, low, high):
    try:
        return float(text) < low or float(text) > high
    except ValueError:
        return False


def reads_numbers_beyond_the_type(step, version):
    """Texts that are numbers, but none of the integer type that they are to become."""
    texts = step.operands[0].value
    if texts.dtype != object:
        return False
    to = (step.operands[1].value.dtype if step.op == "CastLike"
          else np.dtype(helper.tensor_dtype_to_np_dtype(step.attributes["to"])))
    return is_integer(to) and any(is_number_beyond(text, *integer_range(to)) for text in texts.ravel())


def has_accents(step, version):
    """Letters that are a plain one and a mark."""
    return any(unicodedata.combining(c) for w in step.operands[0].value.ravel() for c in unicodedata.normalize("NFKD", str(w)))
