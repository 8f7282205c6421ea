"""Where a reference contradicts the specification. Each entry: operator, the reference it concerns, for which
cases, and what the specification says. Such a case is not compared with that reference."""
import dataclasses
from typing import Callable

import numpy as np

from draw import is_float, is_integer
from predicates import (
    UNBOUNDED, ceil_adds_a_window, chooses_among_nans, first_rank, gives_float8e8m0, groups_hardly_vary, hardly_deviates, has_accents,
    has_attribute, has_equal_numbers, has_window_of_padding, holds_infinity, holds_more_than_floats, holds_nan, many_products_are_rounded,
    narrow, one_axis_moves_another, overflow_was_carried, pads_a_rounded_up_result, pads_a_single_axis, pads_automatically,
    pads_below_zero, pads_differ_as_pairs, pairs_of_bytes_saturate, partial_products_overflow, planes_hardly_vary,
    planes_vary_by_few_steps, positions_tie_in_floats, reads_numbers_beyond_the_type, running_products_overflow,
    starts_backward_before_the_first, sums_overflow, symmetric_positions_tie, transposed_pads_below_zero)


@dataclasses.dataclass
class Defect:
    operators: str  # "*": every operator
    reference: str
    reason: str
    concerns: Callable = lambda step, version: True  # of a step of the case


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
