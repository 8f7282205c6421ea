#!/usr/bin/env python3
"""Writes hostile/values.json: values that no shape, axis, count or limit should have, and what ONNX Runtime says of
each: its first output, or that it refuses. Each attempt is a process of its own, for some crash or never end.

Needs onnx, numpy and onnxruntime, as make_cases.py does.
"""
import json
import multiprocessing
import pathlib
import resource
import warnings

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

from case_maker import text_of

I = np.int64
LOW, HIGH = -2**63, 2**63 - 1
N = [LOW, LOW + 1, -2**32, -2**31, -10**9, -65, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 64, 10**9, 2**31 - 1, 2**31,
     2**32, 2**62, HIGH]
nan, inf = float("nan"), float("inf")
F = [nan, inf, -inf, 1e30, -1e30, 3e38, 1e10, -1.0, -0.0, 0.0, 1e-30, 0.3, 0.5, 1.0, 1.5, 2.0, 2.5]

def x(*dims, dtype=np.float32):
    return (np.arange(int(np.prod(dims))) + 1).astype(dtype).reshape(dims)

def i(*values, dtype=I):
    return np.array(values, dtype)

def s(value, dtype=I):
    return np.array(value, dtype)

def singles(dtype=I, values=N):
    info = np.iinfo(dtype) if np.dtype(dtype).kind in "iu" else None
    return [np.array([v], dtype) for v in values if info is None or info.min <= v <= info.max]

def scalars(dtype=I, values=N):
    return [v.reshape(()) for v in singles(dtype, values)]

def pairs(first, second, dtype=I):
    return [np.array([a, b], dtype) for a in first for b in second]

SMALL = [LOW, -2**32, -3, -2, -1, 0, 1, 2, 3, 6, 10**9, 2**32, 2**62, HIGH]

def at(template, position, values, dtype=I):
    out = []
    for v in values:
        row = list(template); row[position] = v
        out.append(np.array(row, dtype))
    return out

P = []


def probe(name, op, inputs, which, tries, attributes=None, opset=21, outputs=1, nodes=None):
    """An operator, and values to try as its input `which`."""
    P.append(dict(name=name, op=op, inputs=inputs, which=which, tries=tries, attributes=attributes or {}, opset=opset,
                  outputs=outputs, nodes=nodes))


probe("cumsum_axis", "CumSum", [x(2, 3), None], 1, scalars(), opset=14)
probe("cumsum_axis_list", "CumSum", [x(2, 3), None], 1, singles(np.int32), opset=14)
probe("unsqueeze_one", "Unsqueeze", [x(2, 3), None], 1, singles())
probe("unsqueeze_two", "Unsqueeze", [x(2), None], 1, pairs(SMALL, [0, 1, -1]))
probe("squeeze_one", "Squeeze", [x(1, 3), None], 1, singles())
probe("squeeze_two", "Squeeze", [x(1, 3, 1), None], 1, pairs(SMALL, [0, 2, -1]))
for op in ["Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare"]:
    probe(f"reduce_{op.lower()}", f"Reduce{op}", [x(2, 3), None], 1, singles(), opset=18)
probe("reduce_flat", "ReduceSum", [x(2, 3), None], 1, singles(), {"keepdims": 0})
probe("reduce_two", "ReduceSum", [x(2, 3, 2), None], 1, pairs(SMALL, [0, 2, -1]))
probe("reduce_two_flat", "ReduceSum", [x(2, 3, 2), None], 1, pairs(SMALL, [0, 2, -1]), {"keepdims": 0})
probe("expand_one", "Expand", [x(1), None], 1, singles())
probe("expand_kept", "Expand", [x(3), None], 1, singles())
probe("expand_two", "Expand", [x(2, 1), None], 1, pairs(SMALL, [0, -1, 1, 3, 2**32]))
probe("reshape_one", "Reshape", [x(2, 3), None], 1, singles())
probe("reshape_two", "Reshape", [x(2, 3), None], 1, pairs(SMALL, SMALL))
probe("reshape_zero", "Reshape", [x(2, 3), None], 1, pairs(SMALL, [0, -1, 3]), {"allowzero": 1})
probe("reshape_three", "Reshape", [x(2, 3), None], 1, at([1, 1, 6], 1, N) + at([-1, 1, 6], 1, N) + at([2, 1, 0], 1, N) + at([2, 3, 1], 2, N))
probe("reshape_empty", "Reshape", [np.zeros((0, 3), np.float32), None], 1, pairs(SMALL, [0, -1, 3]))
probe("reshape_empty_zero", "Reshape", [np.zeros((0, 3), np.float32), None], 1, pairs(SMALL, [0, -1, 3]), {"allowzero": 1})
probe("tile_one", "Tile", [x(2), None], 1, singles())
probe("tile_two", "Tile", [x(1, 2), None], 1, pairs(SMALL, [0, -1, 2, 2**62]))
probe("tile_length", "Tile", [x(1, 2), None], 1, [i(), i(1), i(1, 2, 1)])
probe("slice_start", "Slice", [x(4), None, i(3)], 1, singles())
probe("slice_end", "Slice", [x(4), i(1), None], 2, singles())
probe("slice_end_i32", "Slice", [x(4), i(1, dtype=np.int32), None], 2, singles(np.int32))
probe("slice_axis", "Slice", [x(2, 3), i(0), i(1), None], 3, singles())
probe("slice_axes", "Slice", [x(2, 3), i(0, 0), i(1, 1), None], 3, pairs(SMALL, [0, 1, -1]))
probe("slice_step", "Slice", [x(4), i(0), i(4), i(0), None], 4, singles())
probe("slice_step_back", "Slice", [x(4), i(3), i(-5), i(0), None], 4, singles())
probe("slice_start_back", "Slice", [x(4), None, i(-10), i(0), i(-1)], 1, singles())
probe("slice_end_back", "Slice", [x(4), i(10), None, i(0), i(-1)], 2, singles())
probe("pad_low", "Pad", [x(2, 3), None], 1, at([0, 0, 0, 0], 0, N) + at([0, 0, 0, 0], 3, N))
probe("pad_both", "Pad", [x(3), None], 1, pairs(SMALL, [-3, -1, 0, 1, HIGH]))
for mode in ["reflect", "edge", "wrap"]:
    probe(f"pad_{mode}", "Pad", [x(3), None], 1, pairs(SMALL, [-4, -1, 0, 1, 3]), {"mode": mode})
probe("pad_axis", "Pad", [x(2, 3), i(1, 1), s(0.0, np.float32), None], 3, singles())
probe("pad_axes", "Pad", [x(2, 3), i(1, 2, 3, 4), s(0.0, np.float32), None], 3, pairs(SMALL, [0, 1, -1]))
probe("pad_length", "Pad", [x(2, 3), None], 1, [i(), i(1), i(1, 1), i(1, 1, 1), i(0, 0, 0, 1, 1)])
probe("split_two", "Split", [x(6), None], 1, pairs(SMALL, [0, 3, 6, -1, HIGH]) + [i(7, -1), i(-1, 7), i(2, 4)], outputs=2)
probe("split_axis1", "Split", [x(2, 3), None], 1, pairs(SMALL, [0, 1, 2]), {"axis": 1}, outputs=2)
probe("topk", "TopK", [x(2, 3), None], 1, singles(), outputs=2)
probe("topk_smallest", "TopK", [x(4), None], 1, singles(), {"largest": 0}, outputs=2)
probe("onehot_depth", "OneHot", [i(0, 1, -1), None, x(2)], 1, scalars())
probe("onehot_depth_list", "OneHot", [i(0, 1, -1), None, x(2)], 1, singles())
probe("onehot_depth_f32", "OneHot", [i(0, 1, -1), None, x(2)], 1, scalars(np.float32, F + [2.9, -2.5, 3e9, 1e19]))
probe("onehot_indices", "OneHot", [None, s(3), x(2)], 0, singles())
probe("range_start", "Range", [None, s(3), s(1)], 0, scalars())
probe("range_limit", "Range", [s(0), None, s(1)], 1, scalars())
probe("range_delta", "Range", [s(0), s(5), None], 2, scalars())
probe("range_delta_down", "Range", [s(5), s(0), None], 2, scalars())
probe("range_wide", "Range", [s(LOW), None, s(2**62)], 1, scalars())
probe("range_wide_delta", "Range", [s(LOW), s(HIGH), None], 2, scalars())
probe("range_i32", "Range", [s(-2**31, np.int32), None, s(2**30, np.int32)], 1, scalars(np.int32))
probe("range_f32_start", "Range", [None, s(3, np.float32), s(1, np.float32)], 0, scalars(np.float32, F))
probe("range_f32_limit", "Range", [s(0, np.float32), None, s(1, np.float32)], 1, scalars(np.float32, F))
probe("range_f32_delta", "Range", [s(0, np.float32), s(3, np.float32), None], 2, scalars(np.float32, F))
probe("range_f64_limit", "Range", [s(0, np.float64), None, s(1, np.float64)], 1, scalars(np.float64, F + [1e300]))
probe("constant_of_shape_one", "ConstantOfShape", [None], 0, singles())
probe("constant_of_shape_two", "ConstantOfShape", [None], 0, pairs(SMALL, [0, 1, 3, -1, 2**32]))
probe("constant_of_shape_none", "ConstantOfShape", [None], 0, [i(), i(2, 3, 2)])
probe("resize_sizes", "Resize", [x(1, 1, 2, 2), None, None, None], 3, at([1, 1, 3, 3], 2, N) + at([1, 1, 3, 3], 0, N), opset=19)
probe("resize_sizes_linear", "Resize", [x(1, 1, 2, 2), None, None, None], 3, at([1, 1, 3, 3], 3, N), {"mode": "linear"}, opset=19)
probe("resize_sizes_cubic", "Resize", [x(1, 1, 4, 4), None, None, None], 3, at([1, 1, 3, 3], 3, N), {"mode": "cubic"}, opset=19)
probe("resize_scales", "Resize", [x(1, 1, 2, 2), None, None], 2, at([1, 1, 2, 2], 2, F, np.float32) + at([1, 1, 2, 2], 0, F, np.float32), opset=19)
probe("resize_scales_linear", "Resize", [x(1, 1, 2, 2), None, None], 2, at([1, 1, 2, 2], 3, F, np.float32), {"mode": "linear"}, opset=19)
probe("resize_length", "Resize", [x(1, 1, 2, 2), None, None], 2, [np.ones(n, np.float32) for n in (1, 2, 3, 4, 5)], opset=19)
for policy in ["not_larger", "not_smaller"]:
    probe(f"resize_{policy}", "Resize", [x(2, 4), None, None, None], 3, at([3, 3], 0, N), {"axes": [0, 1], "keep_aspect_ratio_policy": policy}, opset=19)
probe("resize_crop", "Resize", [x(1, 1, 4, 4), None, None, i(1, 1, 3, 3)], 1, at([0, 0, 0, 0, 1, 1, 1, 1], 2, F[7:], np.float32) + at([0, 0, 0, 0, 1, 1, 1, 1], 6, F[7:], np.float32), {"coordinate_transformation_mode": "tf_crop_and_resize", "mode": "linear"}, opset=19)
probe("upsample", "Upsample", [x(1, 1, 2, 2), None], 1, at([1, 1, 2, 2], 2, F, np.float32), opset=9)
probe("upsample_linear", "Upsample", [x(1, 1, 2, 2), None], 1, at([1, 1, 2, 2], 2, F, np.float32), {"mode": "linear"}, opset=9)
probe("compress_length", "Compress", [x(3), None], 1, [np.array(v, bool) for v in ([], [1], [1, 0, 1], [1, 1, 1, 1], [0, 0, 0, 1])])
probe("compress_axis", "Compress", [x(3, 2), None], 1, [np.array(v, bool) for v in ([], [1], [1, 0, 1], [1, 1, 1, 1], [0, 0, 0, 1])], {"axis": 0})
probe("reverse_sequence", "ReverseSequence", [x(3, 2), None], 1, pairs(SMALL, [1, 3, 0, -1, 4]), {"time_axis": 0, "batch_axis": 1})
probe("gather", "Gather", [x(3, 2), None], 1, singles())
probe("gather_two", "Gather", [x(3, 2), None], 1, pairs(N, [0]), {"axis": 0})
probe("gather_axis1", "Gather", [x(3, 2), None], 1, pairs(N, [0]), {"axis": 1})
probe("gather_i32", "Gather", [x(3, 2), None], 1, singles(np.int32) + [i(0, 5, dtype=np.int32)])
probe("gather_elements", "GatherElements", [x(3, 2), None], 1, [np.array([[v, 0]], I) for v in N], {"axis": 0})
probe("gather_nd", "GatherND", [x(3, 2), None], 1, [np.array([[v, 0]], I) for v in N] + [np.array([[0, v]], I) for v in N])
probe("gather_nd_batch", "GatherND", [x(2, 3), None], 1, [np.array([[v], [0]], I) for v in N], {"batch_dims": 1})
probe("scatter_elements", "ScatterElements", [x(3, 2), None, x(1, 2)], 1, [np.array([[v, 0]], I) for v in N], {"axis": 0})
probe("scatter_elements_add", "ScatterElements", [x(3, 2), None, x(1, 2)], 1, [np.array([[v, 0]], I) for v in N], {"axis": 1, "reduction": "add"})
probe("scatter_nd", "ScatterND", [x(3, 2), None, x(1)], 1, [np.array([[v, 0]], I) for v in N] + [np.array([[0, v]], I) for v in N])
probe("scatter_nd_max", "ScatterND", [x(3, 2), None, x(1, 2)], 1, [np.array([[v]], I) for v in N], {"reduction": "max"})
probe("nms_most", "NonMaxSuppression", [np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 10, 1, 11]]], np.float32), np.array([[[.9, .75, .6]]], np.float32), None, i(0.5, dtype=np.float32), i(0, dtype=np.float32)], 2, singles())
probe("nms_iou", "NonMaxSuppression", [np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 10, 1, 11]]], np.float32), np.array([[[.9, .75, .6]]], np.float32), i(3), None, i(0, dtype=np.float32)], 3, singles(np.float32, F))
probe("nms_score", "NonMaxSuppression", [np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 10, 1, 11]]], np.float32), np.array([[[.9, .75, .6]]], np.float32), i(3), i(.5, dtype=np.float32), None], 4, singles(np.float32, F))
for upper in (0, 1):
    probe(f"trilu_{upper}", "Trilu", [x(3, 3), None], 1, scalars(), {"upper": upper})
probe("trilu_list", "Trilu", [x(3, 3), None], 1, singles())
probe("center_crop_pad", "CenterCropPad", [x(3, 3), None], 1, pairs(SMALL, [3, 1, 5, -1]))
probe("center_crop_pad_axes", "CenterCropPad", [x(3, 3), None], 1, singles(), {"axes": [1]})
theta = np.array([[[1, 0, 0], [0, 1, 0]]], np.float32)
probe("affine_grid", "AffineGrid", [theta, None], 1, at([1, 1, 2, 2], 2, SMALL) + at([1, 1, 2, 2], 0, SMALL) + at([1, 1, 2, 2], 1, SMALL) + [i(1, 1, 2, 2, 2), i(1, 1, 2)], opset=20)
probe("col2im_image", "Col2Im", [x(1, 4, 4), None, i(2, 2)], 1, pairs(SMALL, [3, 2, 0, -1, 5]))
probe("col2im_block", "Col2Im", [x(1, 4, 4), i(3, 3), None], 2, pairs(SMALL, [2, 1, 0, -1, 4]))
probe("max_unpool_shape", "MaxUnpool", [x(1, 1, 1, 1), np.array([[[[3]]]], I), None], 2, at([1, 1, 2, 2], 2, N) + at([1, 1, 2, 2], 0, SMALL) + at([1, 1, 4, 4], 1, SMALL), {"kernel_shape": [2, 2], "strides": [2, 2]})
probe("max_unpool_indices", "MaxUnpool", [x(1, 1, 1, 1), None], 1, [np.array([[[[v]]]], I) for v in N], {"kernel_shape": [2, 2], "strides": [2, 2]})
probe("stft_step", "STFT", [x(1, 8, 1), None, None, s(4)], 1, scalars(), opset=17)
probe("stft_length", "STFT", [x(1, 8, 1), s(2), None, None], 3, scalars(), opset=17)
probe("stft_length_window", "STFT", [x(1, 8, 1), s(2), x(4), None], 3, scalars(), opset=17)
probe("dft_length", "DFT", [x(1, 4, 1), None], 1, scalars(), opset=17)
probe("dft_axis", "DFT", [x(1, 4, 2, 1), None, None], 2, scalars(), opset=20)
probe("dft_length_20", "DFT", [x(1, 4, 1), None], 1, scalars(), opset=20)
for w in ["Hann", "Hamming", "Blackman"]:
    probe(f"{w.lower()}_size", f"{w}Window", [None], 0, scalars(), opset=17)
    probe(f"{w.lower()}_symmetric", f"{w}Window", [None], 0, scalars(), {"periodic": 0}, opset=17)
mel = [s(3), s(8), s(16), s(0.0, np.float32), s(8.0, np.float32)]
def but(inputs, k):
    return [None if j == k else v for j, v in enumerate(inputs)]
for k, part in enumerate(["bins", "dft", "rate"]):
    probe(f"mel_{part}", "MelWeightMatrix", but(mel, k), k, scalars(), opset=17)
for k, part in ((3, "low"), (4, "high")):
    probe(f"mel_{part}", "MelWeightMatrix", but(mel, k), k, scalars(np.float32, F + [4.0, 8.0, 100.0]), opset=17)
probe("dropout_ratio", "Dropout", [x(2), None, s(False, bool)], 1, scalars(np.float32, F))
probe("dropout_ratio_training", "Dropout", [x(2), None, s(True, bool)], 1, scalars(np.float32, [nan, inf, -inf, -0.5, 1.0, 1.5, 0.0]), {"seed": 1})
probe("eye_like_k", "EyeLike", [x(3, 3)], 0, [x(3, 3)], {"k": 10**9})
probe("tensor_scatter", "TensorScatter", [x(2, 4, 1), x(2, 2, 1), None], 2, pairs(SMALL, [0, 2, 3, -1]), opset=24)
probe("roi_batch", "RoiAlign", [x(1, 1, 4, 4), np.array([[0, 0, 2, 2]], np.float32), None], 2, singles(), {"output_height": 2, "output_width": 2, "sampling_ratio": 1}, opset=16)
probe("roi_region", "RoiAlign", [x(1, 1, 4, 4), None, i(0)], 1, [np.array([[0, 0, v, 2]], np.float32) for v in F] + [np.array([[v, 0, 2, 2]], np.float32) for v in F], {"output_height": 2, "output_width": 2, "sampling_ratio": 0}, opset=16)
probe("roi_region_fixed", "RoiAlign", [x(1, 1, 4, 4), None, i(0)], 1, [np.array([[0, 0, v, 2]], np.float32) for v in F], {"output_height": 2, "output_width": 2, "sampling_ratio": 2}, opset=16)
probe("max_roi_pool", "MaxRoiPool", [x(1, 1, 4, 4), None], 1, [np.array([[0, 0, 0, v, 2]], np.float32) for v in F] + [np.array([[v, 0, 0, 2, 2]], np.float32) for v in F], {"pooled_shape": [2, 2]})
probe("bit_shift_left", "BitShift", [i(1, 3, dtype=np.uint8), None], 1, [i(v, 1, dtype=np.uint8) for v in (0, 1, 7, 8, 9, 255)], {"direction": "LEFT"})
probe("multinomial", "Multinomial", [x(1, 2)], 0, [x(1, 2)], {"sample_size": 0})
probe("gather_block", "GatherElements", [x(3, 2), None], 1, [np.zeros(d, I) for d in ((3, 2), (4, 2), (3, 3), (0, 2), (1, 1))], {"axis": 0})
probe("expand_length", "Expand", [x(2, 1), None], 1, [i(), i(1), i(2), i(3), i(1, 1, 1), i(5, 1, 3)])
probe("reshape_length", "Reshape", [x(2, 3), None], 1, [i(), i(6), i(2, 3), i(1, 2, 3), i(1, 6, 1, -1), i(0, 0), i(0, 0, 0), i(0, -1, 0)])
probe("unsqueeze_length", "Unsqueeze", [x(2, 3), None], 1, [i(), i(0), i(0, 1), i(0, 3), i(2, 4), i(0, 0), i(0, 5), i(1, 1), i(-1, -1), i(0, -4)])
probe("squeeze_length", "Squeeze", [x(1, 3, 1), None], 1, [i(), i(0), i(2), i(1), i(0, 2), i(-1, 0), i(0, 0), i(2, -1), i(0, 3), i(0, 1)])
for keep in (0, 1):
    for op in ["Sum", "Mean", "Max", "Min", "Prod", "L1", "L2", "LogSum", "LogSumExp", "SumSquare"]:
        probe(f"reduce_{op.lower()}_length_{keep}", f"Reduce{op}", [x(2, 3, 2), None], 1, [i(), i(0), i(-1), i(0, 2), i(2, 0), i(0, 1, 2), i(1, 3), i(-4), i(1, 1), i(0, -3), i(0, 1, 2, 0)], {"keepdims": keep}, opset=18)
    probe(f"reduce_noop_length_{keep}", "ReduceSum", [x(2, 3, 2), None], 1, [i(), i(0), i(0, 2)], {"keepdims": keep, "noop_with_empty_axes": 1}, opset=18)


def node(op, inputs, outputs, **attributes):
    return dict(op=op, inputs=inputs, outputs=outputs, attributes=attributes)


row = node("SequenceConstruct", ["input0", "input0", "input0"], ["row"])
joined = node("ConcatFromSequence", ["changed"], ["output0"], axis=0)
probe("sequence_at", "", [x(2), None], 1, scalars(), nodes=[row, node("SequenceAt", ["row", "input1"], ["output0"])])
probe("sequence_erase", "", [x(2), None], 1, scalars(),
      nodes=[row, node("SequenceErase", ["row", "input1"], ["changed"]), joined])
probe("sequence_insert", "", [x(2), None], 1, scalars(),
      nodes=[row, node("SequenceInsert", ["row", "input0", "input1"], ["changed"]), joined])
probe("split_to_sequence", "", [x(4), None], 1, scalars(),
      nodes=[node("SplitToSequence", ["input0", "input1"], ["changed"]), joined])
probe("split_to_sequence_sizes", "", [x(4), None], 1, pairs(SMALL, [1, 2, 4, -1, HIGH]),
      nodes=[node("SplitToSequence", ["input0", "input1"], ["changed"]), joined])


# What ONNX Runtime does and the specification does not ask for, and what is wanted here instead.
ANY, REFUSED = {"any": True}, {"refused": True}
LARGE = 2**32


def wanted(p, text, given):
    """`given`, but where ONNX Runtime is no measure."""
    name, values = p["name"], text["values"]
    numbers = [v for v in values if not isinstance(v, str)]
    large = any(abs(v) >= LARGE for v in numbers)
    negative = any(v < 0 for v in numbers)
    if name.startswith("topk") and large:
        return REFUSED  # it takes the low 32 bits of k
    if name.startswith("center_crop_pad") and negative:
        return REFUSED  # it leaves out what it has no size for
    if name.startswith(("dft_length", "stft_length_window")) and negative:
        return REFUSED
    if name == "slice_end_back" and numbers[0] >= 2**31 - 1:
        return {"gives": {"type": "f32", "dims": [0], "values": []}}  # NumPy, and ONNX's reference: no "to the end"
    if name == "squeeze_length" and not values:
        return {"gives": {"type": "f32", "dims": [1, 3, 1], "values": [1.0, 2.0, 3.0]}}  # as ONNX's reference
    if name == "reshape_empty_zero" and -1 in values and 0 in values:
        return REFUSED  # the specification forbids it
    if name.startswith("reshape_empty") and (-1 in values or large):
        return ANY  # no element either way; it counts what -1 stands for otherwise
    if name in ("tile_two", "constant_of_shape_two", "pad_both") and large:
        return ANY  # no element, or too many
    if name.startswith("pad_") and "gives" not in given and text["values"] in ([-3, 0], [-2, -1]):
        return ANY  # everything is cropped and nothing padded
    if name == "max_unpool_shape" and values == [1, 1, 4, 4]:
        return ANY  # it places elements in the larger image, ONNX's reference pads the smaller one
    if name == "max_roi_pool" and not all(abs(v) < 1e9 for v in numbers + [0] * 5) or (
            name == "max_roi_pool" and len(numbers) < 5):
        return ANY if values[0] == 0 else given  # its corners overflow integers
    if name.startswith("roi_region") and (len(numbers) < 4 or max(numbers) == 1e10):
        return ANY  # corners that are no numbers, or far away: bounded work and 0 here
    if name in ("mel_bins", "mel_dft") and "gives" in given and numbers[0] < 1:
        return REFUSED
    if name == "resize_not_smaller" and numbers[0] < 1:
        return REFUSED
    if "gives" in given and ((name.startswith("range_") and large) or name.startswith("range_wide") or name.startswith(("slice_step", "mel_rate"))):
        return dict(given, or_refused=True)  # beyond what sizes are computed in
    places = [v % 3 for v in numbers]
    if "gives" in given and name.startswith(("reduce_", "squeeze_")) and len(set(places)) < len(places):
        return dict(given, or_refused=True)  # an axis twice: refused where the number of axes gives the rank
    return given


def model_of(p, value):
    inputs = [value if k == p["which"] else v for k, v in enumerate(p["inputs"])]
    names = ["" if v is None else f"input{k}" for k, v in enumerate(inputs)]
    results = [f"output{k}" for k in range(p["outputs"])]
    parts = p["nodes"] or [node(p["op"], names, results, **p["attributes"])]
    nodes = [helper.make_node(n["op"], n["inputs"], n["outputs"], **n["attributes"]) for n in parts]
    graph = helper.make_graph(
        nodes, "probe",
        [helper.make_tensor_value_info(f"input{k}", helper.np_dtype_to_tensor_dtype(v.dtype), v.shape)
         for k, v in enumerate(inputs) if v is not None],
        [helper.make_tensor_value_info(r, TensorProto.UNDEFINED, None) for r in results])
    for output in graph.output:
        output.ClearField("type")
    feeds = {f"input{k}": v for k, v in enumerate(inputs) if v is not None}
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", p["opset"])], ir_version=10), feeds


def attempt(p, value, connection):
    warnings.filterwarnings("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (5 << 30, 5 << 30))
    try:
        model, feeds = model_of(p, value)
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        result = session.run(None, feeds)[0]
        connection.send({"any": True} if result.size > 1000 else {"gives": text_of(result)})
    except Exception:
        connection.send({"refused": True})
    connection.close()


def outcome(p, value):
    """What ONNX Runtime gives; any outcome is good where it crashes, does not end, or gives very much."""
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("fork").Process(target=attempt, args=(p, value, theirs))
    process.start()
    theirs.close()
    try:
        result = ours.recv() if ours.poll(20) else {"any": True}
    except EOFError:
        result = {"any": True}
    process.kill()
    process.join()
    return result


def line(p):
    tries = []
    for value in p["tries"]:
        text = text_of(value)
        tries.append(dict(dims=text["dims"], values=text["values"], **wanted(p, text, outcome(p, value))))
    inputs = [None if v is None or k == p["which"] else text_of(v) for k, v in enumerate(p["inputs"])]
    more = {"nodes": p["nodes"]} if p["nodes"] else {}
    return json.dumps(dict(name=p["name"], op=p["op"], opset=p["opset"], attributes=p["attributes"], inputs=inputs,
                           which=p["which"], type=text_of(p["tries"][0])["type"], outputs=p["outputs"], tries=tries,
                           **more))


if __name__ == "__main__":
    onnxruntime.set_default_logger_severity(4)
    path = pathlib.Path(__file__).parent / "hostile" / "values.json"
    path.write_text("[\n" + ",\n".join(line(p) for p in P) + "\n]\n")
