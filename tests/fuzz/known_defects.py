"""Where a reference contradicts the specification. Each entry: operator, the reference it concerns, for which
cases, and what the specification says. Such a case is not compared with that reference."""
import dataclasses
import pathlib
import re
import unicodedata
from typing import Callable

import numpy as np
from onnx import helper

from cases import ROUNDING
from draw import integer_range, is_float, is_integer

CPU_FLAGS = pathlib.Path("/proc/cpuinfo").read_text() if pathlib.Path("/proc/cpuinfo").exists() else ""


@dataclasses.dataclass
class Defect:
    operators: str  # "*": every operator
    reference: str
    reason: str
    concerns: Callable = lambda step, version: True  # of a step of the case


def first_rank(step):
    return step.operands[0].value.ndim


def has_attribute(*names):
    return lambda step, version: any(name in step.attributes for name in names)


def holds_infinity(step, version):
    value = step.operands[0].value
    return is_float(value.dtype) and bool(np.any(np.isinf(value.astype(np.float64))))


def holds_nan(step, version):
    value = step.operands[0].value
    return is_float(value.dtype) and bool(np.any(np.isnan(value.astype(np.float64))))


def chooses_among_nans(step, version):
    """A scatter that keeps the least or the largest, where one of them is no number."""
    return step.attributes.get("reduction") in ("min", "max", b"min", b"max") and any(
        is_float(o.value.dtype) and bool(np.any(np.isnan(o.value.astype(np.float64))))
        for o in (step.operands[0], step.operands[2]))


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


EVALUATOR, RUNTIME = "onnx.reference", "onnxruntime"

DEFECTS = [
    Defect("Softmax LogSoftmax Hardmax", EVALUATOR, "before opset 13 the input is coerced to two axes",
           lambda step, version: version < 13),
    Defect("GlobalMaxPool", EVALUATOR, "reduces other axes where there are not two spatial ones",
           lambda step, version: first_rank(step) != 4),
    Defect("LRN", EVALUATOR, "takes the number of batch entries for that of channels",
           lambda step, version: step.operands[0].value.shape[0] != step.operands[0].value.shape[1]),
    Defect("RNN GRU LSTM", EVALUATOR, "ignores sequence_lens, activations, clip and input_forget",
           lambda step, version: has_attribute("activations", "clip", "input_forget")(step, version)
           or (len(step.operands) > 4 and step.operands[4].value is not None)),
    Defect("QLinearConv ConvInteger Conv", EVALUATOR, "gives another shape for one spatial axis, and automatic pads on one side",
           lambda step, version: first_rank(step) != 4 or pads_automatically(step, version)),
    Defect("MaxPool AveragePool LpPool", EVALUATOR, "with SAME pads the result has ceil(size / stride) places",
           pads_automatically),
    Defect("AveragePool", EVALUATOR, "before opset 7 padding does not count", lambda step, version: version < 7),
    Defect("Scaler LinearRegressor AffineGrid", EVALUATOR, "the result is always of type float",
           lambda step, version: step.operands[0].value.dtype != np.float32),
    Defect("LpNormalization", EVALUATOR, "p = 1 adds up values, not their magnitudes",
           lambda step, version: step.attributes.get("p", 2) == 1),
    Defect("MeanVarianceNormalization", RUNTIME, "leaves out the small number that keeps zero from being divided by zero",
           hardly_deviates),
    Defect("ReduceMax ReduceMin ReduceSum ReduceMean ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum "
           "ReduceLogSumExp", RUNTIME,
           "negative axes of an empty input stay", lambda step, version: step.operands[0].value.size == 0),
    Defect("ConvTranspose", EVALUATOR, "adds the first bias in every group", lambda step, version: step.attributes.get("group", 1) > 1),
    Defect("DeformConv", EVALUATOR, "samples doubles with the precision of floats",
           lambda step, version: step.operands[0].value.dtype == np.float64),
    Defect("MaxPool", EVALUATOR, "numbers the elements of each plane from 0", lambda step, version: len(step.outputs) > 1),
    Defect("RoiAlign", EVALUATOR, "takes the largest of weighted corners", lambda step, version: step.attributes.get("mode") == "max"),
    Defect("Selu", EVALUATOR, "opset 1 has other defaults", lambda step, version: version < 6),
    Defect("BatchNormalization", EVALUATOR, "adds up in bfloat16 where it trains, and a sum of some hundred elements stops to grow",
           lambda step, version: bool(step.attributes.get("training_mode")) and step.operands[0].value.dtype.name == "bfloat16"),
    Defect("LayerNormalization RMSNormalization GroupNormalization", EVALUATOR, "adds up in bfloat16 whatever stash_type says",
           lambda step, version: step.operands[0].value.dtype.name == "bfloat16"),
    Defect("ReduceSum ReduceMean ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum ReduceLogSumExp", EVALUATOR,
           "adds up in bfloat16, where a sum of some hundred elements stops to grow",
           lambda step, version: step.operands[0].value.dtype.name == "bfloat16"),
    Defect("ReduceSumSquare", EVALUATOR, "of integers below 64 bits has 64",
           lambda step, version: is_integer(step.operands[0].value.dtype) and step.operands[0].value.dtype.itemsize < 8),
    Defect("GroupNormalization", EVALUATOR, "takes the square of the mean off the mean of squares, in floats", groups_hardly_vary),
    Defect("GroupNormalization", RUNTIME, "adds up doubles in floats, as stash_type says it may",
           lambda step, version: step.operands[0].value.dtype == np.float64),
    Defect("Shrink", RUNTIME, "converts numbers outside of an integer type as C leaves it open",
           lambda step, version: step.operands[0].value.dtype.kind in "iu"),
    Defect("Shrink", RUNTIME, "doubles beyond the floats become infinite", holds_more_than_floats),
    Defect("Dropout", RUNTIME, "before opset 12 the mask of a copy is false, which the specification leaves open",
           lambda step, version: version < 12 and len(step.outputs) > 1),
    Defect("GridSample", RUNTIME, "cubic taps are clamped to the border one by one, positions are not",
           lambda step, version: "cubic" in step.attributes.get("mode", "") and step.attributes.get("padding_mode") == "border"),
    Defect("ConvTranspose", RUNTIME, "SAME pads below 0 are left out", transposed_pads_below_zero),
    Defect("ConvTranspose", EVALUATOR, "SAME pads below 0 go to the other side", transposed_pads_below_zero),
    Defect("MaxPool", EVALUATOR, "counts pads twice where ceil_mode is 1", pads_a_rounded_up_result),
    Defect("RNN GRU LSTM", RUNTIME, "keeps the state of f16 in f32, where activations without bound do not overflow",
           lambda step, version: step.operands[0].value.dtype == np.float16
           and UNBOUNDED.intersection(name.lower() for name in step.attributes.get("activations", []))),
    Defect("MaxPool AveragePool", EVALUATOR, "takes pads for pairs, one of each axis", pads_differ_as_pairs),
    Defect("MaxPool", EVALUATOR, "pads of a single axis do not count for the result's shape", pads_a_single_axis),
    Defect("LpPool AveragePool", EVALUATOR, "with VALID pads dilations do not count for the result's shape",
           lambda step, version: step.attributes.get("auto_pad") == "VALID" and any(d != 1 for d in step.attributes.get("dilations", []))),
    Defect("MaxPool", EVALUATOR, "gives 0 for windows of padding alone", has_window_of_padding),
    Defect("OneHot", EVALUATOR, "computes on values that are only chosen",
           lambda step, version: step.operands[2].value.dtype.kind not in "iub"
           and not np.all(np.isfinite(step.operands[2].value.astype(np.float64)))),
    Defect("StringNormalizer", EVALUATOR, "compares stop words as they are where case does not count",
           lambda step, version: step.attributes.get("is_case_sensitive", 0) == 0 and "stopwords" in step.attributes),
    Defect("LRN", RUNTIME, "takes what leaves the window off its sum, where infinity stays as NaN",
           lambda step, version: not np.all(np.isfinite(step.operands[0].value.astype(np.float64)))),
    Defect("Slice", EVALUATOR, "the start of a backward slice is clamped to the first element",
           starts_backward_before_the_first),
    Defect("LpPool AveragePool", EVALUATOR, "reads other elements where ceil_mode adds a window", ceil_adds_a_window),
    Defect("Gemm", EVALUATOR, "adds C where beta is 0", lambda step, version: step.attributes.get("beta", 1) == 0),
    Defect("BatchNormalization", EVALUATOR, "before opset 14 it trains", lambda step, version: version < 14),
    Defect("Gather", RUNTIME, "of blocks of strings copies the first ones only",
           lambda step, version: step.operands[0].value.dtype == object),
    Defect("StringSplit", RUNTIME, "leaves out white space behind the last split", has_attribute("maxsplit")),
    Defect("MaxPool AveragePool LpPool Conv", RUNTIME, "SAME pads below 0 leave elements out", pads_below_zero),
    Defect("StringSplit", RUNTIME, "takes blanks alone for white space",
           lambda step, version: any("\t" in w or "\n" in w for w in step.operands[0].value.ravel())),
    Defect("Unsqueeze", EVALUATOR, "axes are those of the result, whatever their order and from whichever end they count",
           lambda step, version: version < 13 and one_axis_moves_another(step.attributes.get("axes", []))),
    Defect("StringNormalizer", EVALUATOR, "takes accents off letters",
           has_accents),
    Defect("And Or Xor Equal Greater Less Add Sub Mul Div Pow PRelu", EVALUATOR, "before opset 7 broadcasting went by an axis",
           lambda step, version: version < 7),
    Defect("Unique", EVALUATOR, "sorts where sorted is 0", lambda step, version: step.attributes.get("sorted", 1) == 0),
    Defect("Cast CastLike", EVALUATOR, "writes whole numbers with a fraction",
           lambda step, version: is_float(step.operands[0].value.dtype)
           and (step.attributes.get("to") == 8 or (step.op == "CastLike" and step.operands[1].value.dtype == object))),
    Defect("Cast CastLike", RUNTIME, "texts of numbers outside of an integer type wrap", reads_numbers_beyond_the_type),
    Defect("Slice", RUNTIME, "2147483647 and more as the end of a backward slice is clamped to the last element",
           lambda step, version: len(step.operands) == 5
           and np.any((step.operands[2].value > 2**30) & (step.operands[4].value < 0))),
    Defect("StringSplit", RUNTIME, "a delimiter splits the empty string into one empty string",
           lambda step, version: "" in list(step.operands[0].value.ravel())),
    Defect("LogSoftmax", EVALUATOR, "takes the logarithm of quotients that underflow",
           lambda step, version: step.operands[0].value.size and np.ptp(step.operands[0].value.astype(np.float64))
           > (8 if step.operands[0].value.dtype == np.float16 else 80)),
    Defect("Sigmoid", RUNTIME, "is 0 where the exact number is small",
           lambda step, version: np.any(step.operands[0].value.astype(np.float64) < -15)),
    Defect("RNN GRU LSTM", RUNTIME, "Softplus overflows from 89 on",
           lambda step, version: b"Softplus" in [a if isinstance(a, bytes) else a.encode()
                                                 for a in step.attributes.get("activations", [])]),
    Defect("Shape", EVALUATOR, "an end before the first axis is clamped to another one",
           lambda step, version: step.attributes.get("end", 0) < -first_rank(step)),
    *(Defect("ThresholdedRelu", reference, "compares with an alpha that is not of the operand's type",
             lambda step, version: step.operands[0].value.dtype.itemsize < 4) for reference in (EVALUATOR, RUNTIME)),
    Defect("RoiAlign", EVALUATOR, "before opset 16 places lie between the corners of elements",
           lambda step, version: version < 16),
    Defect("Cast CastLike", EVALUATOR, "without saturation what float8e8m0 cannot hold is not NaN",
           lambda step, version: step.attributes.get("saturate", 1) == 0),
    Defect("Cast CastLike", EVALUATOR, "with saturation infinity becomes NaN in float8e8m0, not its largest number",
           lambda step, version: gives_float8e8m0(step) and holds_infinity(step, version)),
    Defect("Gemm", EVALUATOR, "before opset 7 C without broadcasting is not scaled", lambda step, version: version < 7),
    Defect("Gemm", EVALUATOR, "multiplies integers as floats",
           lambda step, version: any(o.value is not None and o.value.dtype.kind in "iu"
                                     and np.any(np.abs(o.value.astype(np.float64)) > 2**20) for o in step.operands)),
    Defect("Gemm", RUNTIME, "without a depth C is not scaled", lambda step, version: step.operands[0].value.size == 0),
    Defect("InstanceNormalization", RUNTIME, "takes mean times scale off the bias, which leaves their rounding where planes hardly vary",
           planes_hardly_vary),
    Defect("InstanceNormalization", RUNTIME, "takes mean times scale off the bias, which an infinite scale makes NaN",
           lambda step, version: not np.all(np.isfinite(step.operands[1].value.astype(np.float64)))),
    Defect("InstanceNormalization", EVALUATOR, "rounds the mean to bfloat16, which is coarse beside a small deviation",
           planes_vary_by_few_steps),
    Defect("Expand", EVALUATOR, "multiplies by ones", lambda step, version: step.operands[0].value.dtype.kind == "c"),
    Defect("Cast CastLike", EVALUATOR, "writes bools as words",
           lambda step, version: step.operands[0].value.dtype.kind == "b"),
    Defect("PRelu", EVALUATOR, "multiplies zero with its slope",
           lambda step, version: not np.all(np.isfinite(step.operands[1].value.astype(np.float64)))),
    Defect("InstanceNormalization GroupNormalization BatchNormalization LpNormalization MeanVarianceNormalization LRN "
           "LayerNormalization ReduceL2 ReduceSumSquare ReduceMean ReduceLogSum GlobalAveragePool LpPool AveragePool", EVALUATOR,
           "computes in float16, where squares and sums overflow",
           lambda step, version: step.operands[0].value.dtype == np.float16
           and (np.any(np.abs(step.operands[0].value.astype(np.float64)) > (5 if step.attributes.get("p", 2) > 2 else 100))
                or np.sum(step.operands[0].value.astype(np.float64) ** 2) > np.finfo(np.float16).max)),
    *(Defect("ReduceProd", reference, "what overflows on the way depends on the order of the factors, which is left open",
             partial_products_overflow) for reference in (EVALUATOR, RUNTIME)),
    Defect("CumProd", RUNTIME, "lacks float16 and multiplies in float32, where nothing overflows on the way", running_products_overflow),
    Defect("ReduceLogSumExp", RUNTIME, "of float16 does not subtract the largest, whose exponential overflows",
           lambda step, version: step.operands[0].value.dtype == np.float16
           and bool(np.any(step.operands[0].value.astype(np.float64) > 88))),
    Defect("Sign", RUNTIME, "of a float16 that is no number is 0",
           lambda step, version: step.operands[0].value.dtype == np.float16 and bool(np.any(np.isnan(step.operands[0].value)))),
    Defect("Clip", RUNTIME, "lacks float16: an absent bound is the largest float32",
           lambda step, version: step.operands[0].value.dtype == np.float16 and holds_infinity(step, version)),
    Defect("Celu", EVALUATOR, "takes alpha as it is, where the specification's function converts it to the type of the input",
           lambda step, version: narrow(step.operands[0].value)),
    Defect("ReduceProd", EVALUATOR, "multiplies in float16, where products overflow on the way to a smaller one",
           lambda step, version: step.operands[0].value.dtype == np.float16),
    Defect("ReduceProd", EVALUATOR, "multiplies in bfloat16", many_products_are_rounded),
    *(Defect("BatchNormalization", reference, "the variance of equal numbers is not 0",
             lambda step, version: len(step.outputs) > 1 and has_equal_numbers(step, version))
      for reference in (EVALUATOR, RUNTIME)),
    Defect("*", RUNTIME, "operators that it lacks in float16 pass float32 on, where nothing overflows", overflow_was_carried),
    Defect("Clip", EVALUATOR, "an absent bound is not the type's largest number", holds_infinity),
    Defect("ReduceL1 ReduceSum", RUNTIME, "sums of integers saturate", sums_overflow),
    Defect("TreeEnsembleClassifier TreeEnsembleRegressor", EVALUATOR, "a missing value does not differ from a number",
           lambda step, version: np.any(np.isnan(step.operands[0].value.astype(np.float64)))),
    Defect("TreeEnsembleClassifier", RUNTIME, "of two classes the votes for one are written with both signs",
           lambda step, version: any(len(step.attributes.get(name, [])) == 2
                                     for name in ("classlabels_int64s", "classlabels_strings"))),
    Defect("TreeEnsembleRegressor TreeEnsemble", RUNTIME, "of no votes the least, the largest and what a base value adds to are 0",
           lambda step, version: step.attributes.get("aggregate_function") in ("MIN", "MAX", 2, 3)
           or (step.attributes.get("n_targets", 1) > 1 and "base_values" in step.attributes)),
    Defect("Resize", EVALUATOR, "asks for the size before it is rounded, and takes whole positions for the ones below",
           lambda step, version: step.attributes.get("coordinate_transformation_mode") in ("pytorch_half_pixel", "half_pixel_symmetric")),
    Defect("Resize", EVALUATOR, "positions are computed in doubles from scales that are floats", positions_tie_in_floats),
    Defect("Resize", RUNTIME, "symmetric positions are computed from a rounded scale", symmetric_positions_tie),
    Defect("MaxPool", RUNTIME, "a window of padding alone gives the lowest finite number, not minus infinity",
           has_window_of_padding),
    Defect("ReduceMin ReduceMax", RUNTIME, "NaN is left out, or not, by where it stands", holds_nan),
    *(Defect("BlackmanWindow", reference, "of one element, which is 0, rounding decides the sign",
             lambda step, version: np.all(step.operands[0].value == 1)) for reference in (EVALUATOR, RUNTIME)),
    Defect("ScatterND", RUNTIME, "the least and the largest are compared so that an update replaces NaN", chooses_among_nans),
    *(Defect("ScatterElements", reference, "whether NaN is less than a number depends on where it stands", chooses_among_nans)
      for reference in (EVALUATOR, RUNTIME)),
    Defect("ConvInteger DynamicQuantizeMatMul MatMulInteger MatMulIntegerToFloat QGemm QLinearConv QLinearMatMul", RUNTIME,
           "without VNNI it adds pairs of products up in 16 bits, which saturate", pairs_of_bytes_saturate),
    Defect("MatMulBnb4", RUNTIME, "with transB = 0 it multiplies other memory than the weights",
           lambda step, version: step.attributes.get("transB") == 0),
]

# Operators that no reference can be compared with, and why. ops.py fails for any other one that was never compared.
INCOMPARABLE = {
    ("", "Multinomial"): "which classes are drawn is left open",
}


def reference_is_wrong(case, reference):
    """The reason why `reference` does not count for this case; None: it does."""
    for step in case.steps:
        for defect in DEFECTS:
            if (defect.operators == "*" or step.op in defect.operators.split()) and reference == defect.reference:
                if defect.concerns(step, case.opsets[step.domain]):
                    return defect.reason
    return None
