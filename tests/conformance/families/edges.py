import ml_dtypes
import numpy as np
from onnx import TensorProto

from case_maker import NAMES, case, constant, evaluate, floats, integers


def edges():
    """What random cases (tests/fuzz) found."""
    def onnx_case(name, op, inputs, attributes=None, opset=21, by_evaluator=False, **more):
        given = evaluate(op, inputs, attributes or {}, [0], "", opset, True) if by_evaluator else None
        return case(name, op, inputs, attributes, domain="", opset=opset, given=given, **more)

    def list_of(*values):
        return np.array(values, np.int64)

    for dtype in (np.float32, np.float64):
        yield onnx_case(f"softmax_of_one_{NAMES[np.dtype(dtype).name]}", "Softmax", [floats(17, 1, dtype=dtype)])
    yield onnx_case("shrink_integers", "Shrink", [integers(-9, 9, 4, 5, dtype=np.int32)], {"bias": 0.6, "lambd": 0.7})
    yield onnx_case("shrink_at_the_bound_f16", "Shrink", [np.array([1.95, -1.95, 1.9, 2], np.float16)], {"bias": 0.5, "lambd": 1.95})
    far = 2**63 - 1
    yield onnx_case("slice_far", "Slice", [floats(5, 4, 3), list_of(-2**63, 1, -1), list_of(far, far, -2**63),
                                           list_of(0, 1, 2), list_of(2, 1, -1)])
    yield onnx_case("slice_far_back", "Slice", [floats(6, 4), list_of(far), list_of(-2**63), list_of(0), list_of(-2)])
    backward = [constant(list_of(n)) for n in (-2**63, -1, 1, -2)]
    yield onnx_case("slice_of_nothing", "Slice", [np.zeros((4, 0), np.float32), *backward])
    yield onnx_case("pow_f16_f32", "Pow", [np.array([-4, -4, 1.5, 3], np.float16),
                                           np.array([1, 1.0001, 2.0004, -2.5], np.float32)])
    yield onnx_case("squeeze_all", "Squeeze", [floats(1, 3, 1, 2)])
    yield onnx_case("squeeze_nothing", "Squeeze", [floats(4, 3)])
    yield onnx_case("gather_tuples", "GatherND", [floats(3, 4, 5), integers(0, 3, 2, 3, 2)])
    yield onnx_case("gather_tuples_batch", "GatherND", [floats(2, 4, 5), integers(0, 4, 2, 3, 1)], {"batch_dims": 1})
    yield onnx_case("scatter_tuples", "ScatterND", [floats(3, 4, 5), np.array([[0, 1], [2, 3]]), floats(2, 5)])
    yield onnx_case("deform", "DeformConv", [floats(1, 2, 5, 5), floats(3, 2, 2, 2), floats(1, 8, 4, 4)],
                    {"kernel_shape": [2, 2], "pads": [0, 0, 0, 0]}, atol=1e-4)
    yield onnx_case("stft", "STFT", [floats(2, 20, 1), np.array(4, np.int64), None, np.array(8, np.int64)], atol=1e-4)
    yield onnx_case("resize_scales", "Resize", [floats(1, 2, 4, 4), None, np.array([1, 1, 0.5, 2], np.float32)],
                    {"mode": "linear"})
    yield onnx_case("power_of_integers", "Pow", [np.arange(24).reshape(4, 6), np.array([[3], [2], [0], [1]], np.float32)])
    for bounds in ({"min": -0.5}, {"max": 0.5}):
        far_numbers = np.array([np.inf, -np.inf, 0, 1, -1, np.nan], np.float32)
        yield onnx_case(f"clip_6_{next(iter(bounds))}", "Clip", [far_numbers], bounds, opset=6)
    yield onnx_case("erf_integers", "Erf", [integers(-3, 4, 3, 5, dtype=np.int32)], by_evaluator=True)
    for dtype in (ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2):
        numbers = np.array([1, np.nan, -np.inf, np.inf, -0.0]).astype(dtype)
        yield onnx_case(f"is_nan_{np.dtype(dtype).name}", "IsNaN", [numbers], by_evaluator=True)
        yield onnx_case(f"is_inf_{np.dtype(dtype).name}", "IsInf", [numbers], {"detect_negative": 0}, by_evaluator=True)
    for dtype in (ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e5m2):
        yield onnx_case(f"cast_{np.dtype(dtype).name}", "Cast", [np.array([1, -0.5, 6]).astype(dtype)],
                        {"to": int(TensorProto.FLOAT4E2M1)}, opset=24, by_evaluator=True)
    yield onnx_case("blocks_of_a_list", "QuantizeLinear", [floats(10), np.array([0.5, 0.25, 2], np.float32)],
                    {"axis": 0, "block_size": 4, "output_dtype": int(TensorProto.INT8)}, opset=23, by_evaluator=True)
    yield onnx_case("resize_10_smaller", "Resize", [floats(3, 4), np.array([1, 0.75], np.float32)], {"mode": "nearest"},
                    opset=10)
    yield onnx_case("resize_10_both", "Resize", [floats(1, 1, 5, 3), np.array([1, 1, 0.5, 2], np.float32)],
                    {"mode": "nearest"}, opset=10)
    ends = np.array([np.inf, -np.inf, 1, -1, 0], np.float32)
    yield onnx_case("clip_13_no_high", "Clip", [ends, np.array(-0.5, np.float32)], opset=13)
    yield onnx_case("clip_13_no_low", "Clip", [ends, None, np.array(0.5, np.float32)], opset=13)
    large = np.array([2**63 + 5, 2**64 - 1, 3], np.uint64)
    yield onnx_case("reduce_l1_u64", "ReduceL1", [constant(large)], {"axes": [0]}, opset=1, by_evaluator=True)
    # Sums that f16 does not hold.
    far_halves = np.array([[[-42.75, 60000, 300, -300, 2, 60000, 60000, 3]]], np.float16)
    yield onnx_case("lp_pool_f16", "LpPool", [far_halves], {"kernel_shape": [2], "p": 3}, opset=18)
    for op in ("ReduceMean", "ReduceL2", "ReduceLogSum"):
        yield onnx_case(f"{op.lower()}_f16", op, [np.abs(far_halves)], {"axes": [-1]}, opset=13)
    yield onnx_case("global_average_f16", "GlobalAveragePool", [np.abs(far_halves)])
    yield onnx_case("celu_f16", "Celu", [np.array([-3, -36.72, 1, -0.1], np.float16)], {"alpha": -0.25}, opset=24, by_evaluator=True)
    for op in ("Gelu", "Softplus", "Elu"):
        halves = np.array([-7.5, -1.3, -0.01, 0.02, 0.7, 3.3, 40, -300], np.float16)
        yield onnx_case(f"{op.lower()}_f16", op, [halves], opset=22)
    small = np.array([np.inf, -np.inf, 0, -0.0, 0.06, 0.0625, 0.1, 7.3, 7.6, 28, 30, -29, 0.3125, 1.0625], np.float32)
    for dtype, code in ((ml_dtypes.float6_e2m3fn, TensorProto.FLOAT6E2M3), (ml_dtypes.float6_e3m2fn, TensorProto.FLOAT6E3M2)):
        name = np.dtype(dtype).name
        every = np.arange(64, dtype=np.uint8).view(dtype)
        yield onnx_case(f"cast_to_{name}", "Cast", [small], {"to": int(code)}, opset=28, by_evaluator=True)
        yield onnx_case(f"cast_from_{name}", "Cast", [every], {"to": int(TensorProto.FLOAT16)}, opset=28, by_evaluator=True)
        yield onnx_case(f"cast_constant_{name}", "Cast", [constant(every[:61])], {"to": int(TensorProto.FLOAT)}, opset=28,
                        by_evaluator=True)
    scales = np.array([1, 1.4, 1.5, 1.6, 2, 2**-127 * 1.5, 2**-126, 3e38, 0.7, np.nan], np.float32)
    for rounding in ("up", "down", "nearest"):
        yield onnx_case(f"cast_scale_{rounding}", "Cast", [scales],
                        {"to": int(TensorProto.FLOAT8E8M0), "round_mode": rounding}, opset=25, by_evaluator=True)
    yield onnx_case("clip_13_double", "Clip", [ends.astype(np.float64)], opset=13)
