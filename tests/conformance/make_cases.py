#!/usr/bin/env python3
"""Writes cases/*.json: single nodes with what ONNX Runtime's CPU provider gives for them; where it has no kernel,
what ONNX's reference evaluator or NumPy gives.

Needs onnx, numpy and onnxruntime. Nothing else in the project needs Python; the cases are committed.
"""
import json
import pathlib

import numpy as np
import ml_dtypes
import onnx
import onnx.reference
import onnxruntime
from onnx import TensorProto, helper

HERE = pathlib.Path(__file__).parent / "cases"
NAMES = {"float32": "f32", "float64": "f64", "float16": "f16", "int8": "i8", "uint8": "u8", "int32": "i32",
         "int64": "i64", "bool": "bool", "float8_e4m3fn": "f8e4m3fn", "float8_e5m2": "f8e5m2", "int4": "i4",
         "float4_e2m1fn": "f4e2m1", "float6_e2m3fn": "f6e2m3", "float6_e3m2fn": "f6e3m2", "float8_e8m0fnu": "f8e8m0",
         "uint64": "u64", "int16": "i16", "uint16": "u16", "uint32": "u32", "bfloat16": "bf16"}
random = np.random.RandomState(7)


def floats(*dims, scale=1.0, dtype=np.float32):
    return (random.randn(*dims) * scale).round(3).astype(dtype)


def integers(low, high, *dims, dtype=np.int64):
    return random.randint(low, high, dims).astype(dtype)


def constant(array):
    return ("constant", array)


def text_of(array):
    is_integer = array.dtype.kind in "iub" or str(array.dtype) == "int4"
    values = [int(v) if is_integer else float(v) for v in array.ravel()]
    if not is_integer:
        digits = 17 if str(array.dtype) in ("float64", "float8_e8m0fnu") else 8
        values = [float(f"%.{digits}g" % v) if np.isfinite(v) else str(v) for v in values]
    return {"type": NAMES[str(array.dtype)], "dims": list(array.shape), "values": values}


def evaluate(op, inputs, attributes, wanted, domain, opset, by_evaluator=False):
    """The wanted outputs, by ONNX Runtime or ONNX's reference evaluator."""
    names, graph_inputs, initializers, feeds = [], [], [], {}
    for i, value in enumerate(inputs):
        is_constant = isinstance(value, tuple)
        value = value[1] if is_constant else value
        names.append("" if value is None else f"i{i}")
        if value is None:
            continue
        if is_constant:
            initializers.append(onnx.numpy_helper.from_array(value, f"i{i}"))
        else:
            kind = helper.np_dtype_to_tensor_dtype(value.dtype)
            graph_inputs.append(helper.make_tensor_value_info(f"i{i}", kind, value.shape))
            feeds[f"i{i}"] = value
    results = [f"o{i}" if i in wanted else "" for i in range(max(wanted) + 1)]
    node = helper.make_node(op, names, results, domain=domain, **attributes)
    graph = helper.make_graph([node], "case", graph_inputs,
                              [helper.make_tensor_value_info(f"o{i}", TensorProto.UNDEFINED, None) for i in wanted],
                              initializers)
    for output in graph.output:
        output.ClearField("type")
    imports = [helper.make_opsetid("", opset if not domain else 21)]
    if domain:
        imports.append(helper.make_opsetid(domain, opset))
    model = helper.make_model(graph, opset_imports=imports, ir_version=10 if opset > 6 or domain else 3)
    if by_evaluator:
        return [np.asarray(value) for value in onnx.reference.ReferenceEvaluator(model).run(None, feeds)]
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def case(name, op, inputs, attributes=None, outputs=1, domain="com.microsoft", opset=1, given=None, **more):
    """`given`: the outputs, where ONNX Runtime has no kernel for the operator in this version."""
    attributes = attributes or {}
    texts = []
    for value in inputs:
        is_constant = isinstance(value, tuple)
        value = value[1] if is_constant else value
        texts.append(None if value is None else dict(text_of(value), **({"constant": True} if is_constant else {})))
    wanted = list(range(outputs)) if isinstance(outputs, int) else outputs
    got = dict(zip(wanted, evaluate(op, inputs, attributes, wanted, domain, opset) if given is None else given))
    return dict(name=name, domain=domain, op=op, opset=opset, attributes=attributes, inputs=texts,
                outputs=[text_of(got[i]) if i in got else None for i in range(max(wanted) + 1)], **more)


def write(family, cases):
    HERE.mkdir(exist_ok=True)
    lines = ",\n".join(json.dumps(c) for c in cases)
    (HERE / f"{family}.json").write_text(f"[\n{lines}\n]\n")


def fused():
    x, w = floats(1, 4, 4, 4), floats(6, 2, 3, 3)
    hidden, skip = floats(2, 3, 8), floats(2, 3, 8)
    scale, bias, other = floats(8), floats(8), floats(8)
    ids = integers(0, 10, 2, 4, dtype=np.int32)
    tables = [floats(10, 8), floats(6, 8), floats(2, 8)]
    mask = np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)
    yield case("conv_relu", "FusedConv", [x, w, floats(6)], {"activation": "Relu", "group": 2})
    yield case("conv_sum_leaky", "FusedConv", [x, floats(6, 4, 3, 3), floats(6), floats(1, 6, 4, 4)],
               {"activation": "LeakyRelu", "activation_params": [0.25], "pads": [1, 1, 1, 1]})
    yield case("conv_clip", "FusedConv", [x, floats(6, 4, 1, 1)],
               {"activation": "Clip", "activation_params": [-0.5, 1.0]})
    yield case("conv_hard_sigmoid", "FusedConv", [x, floats(6, 4, 1, 1)],
               {"activation": "HardSigmoid", "activation_params": [0.3, 0.6]})
    yield case("matmul", "FusedMatMul", [floats(3, 4), floats(5, 4)], {"alpha": 0.5, "transB": 1})
    yield case("matmul_batch", "FusedMatMul", [floats(2, 3, 4, 5), floats(2, 3, 4, 6)], {"transA": 1})
    yield case("matmul_batch_a", "FusedMatMul", [floats(4, 2, 3, 5), floats(2, 3, 5, 6)], {"transBatchA": 1})
    yield case("matmul_batch_b", "FusedMatMul", [floats(2, 3, 4, 5), floats(6, 2, 3, 5)],
               {"transBatchB": 1, "transB": 1, "alpha": 2.0})
    yield case("gemm_relu", "FusedGemm", [floats(3, 4), floats(4, 5), floats(5)], {"activation": "Relu", "alpha": 0.5})
    yield case("gemm_leaky", "FusedGemm", [floats(4, 3), floats(5, 4)],
               {"activation": "LeakyRelu", "activation_alpha": 0.3, "transA": 1, "transB": 1})
    yield case("gelu", "Gelu", [floats(3, 4)])
    yield case("bias_gelu", "BiasGelu", [hidden, bias])
    yield case("fast_gelu", "FastGelu", [hidden])
    yield case("fast_gelu_bias", "FastGelu", [hidden, bias])
    yield case("quick_gelu", "QuickGelu", [hidden])
    yield case("quick_gelu_alpha", "QuickGelu", [hidden], {"alpha": 1.0})
    yield case("skip", "SkipLayerNormalization", [hidden, skip, scale, bias], {"epsilon": 1e-5})
    yield case("skip_bias_sum", "SkipLayerNormalization", [hidden, skip, scale, None, other], {"epsilon": 1e-5},
               outputs=[0, 3])
    yield case("skip_broadcast", "SkipLayerNormalization", [hidden, floats(1, 3, 8), scale, bias], {"epsilon": 1e-5})
    yield case("skip_simplified", "SkipSimplifiedLayerNormalization", [hidden, skip, scale, other],
               {"epsilon": 1e-6}, outputs=[0, 3])
    yield case("simplified", "SimplifiedLayerNormalization", [hidden, scale], {"epsilon": 1e-6, "axis": -1},
               domain="")
    yield case("embed", "EmbedLayerNormalization",
               [ids, integers(0, 2, 2, 4, dtype=np.int32), *tables, scale, bias, mask], {"epsilon": 1e-5}, outputs=2)
    yield case("embed_positions", "EmbedLayerNormalization",
               [ids, None, tables[0], tables[1], None, scale, bias, None, integers(0, 6, 2, 4, dtype=np.int32)],
               {"epsilon": 1e-5}, outputs=3)
    yield case("trilu", "Trilu", [floats(2, 4, 5), np.array(1, np.int64)], {"upper": 0})
    yield case("inverse", "Inverse", [floats(3, 4, 4)], atol=1e-4)
    yield case("inverse_pivots", "Inverse", [np.array([[0, 2, 1], [1, 0, 0], [3, 1, 0]], np.float32)])


def attention():
    b, s, n, d = 2, 3, 2, 4
    h = n * d
    x, w, bias = floats(b, s, 6), floats(6, 3 * h), floats(3 * h)
    past = floats(2, b, n, 2, d)
    q, k, v = floats(b, s, h), floats(b, 5, h), floats(b, 5, h)
    heads = {"num_heads": n}
    yield case("attention", "Attention", [x, w, bias], heads)
    yield case("attention_lengths", "Attention", [x, w, bias, np.array([3, 2], np.int32)], heads)
    yield case("attention_mask", "Attention", [x, w, bias, np.array([[1, 1, 1], [1, 1, 0]], np.int32)], heads)
    yield case("attention_mask_3d", "Attention", [x, w, bias, integers(0, 2, b, s, s, dtype=np.int32)], heads)
    yield case("attention_causal_past", "Attention", [x, w, bias, None, past], dict(heads, unidirectional=1), outputs=2)
    yield case("attention_bias", "Attention", [x, w, bias, None, None, floats(b, n, s, s)], dict(heads, scale=0.3))
    yield case("attention_sizes", "Attention", [x, floats(6, 8 + 8 + 4), floats(20)],
               dict(heads, qkv_hidden_sizes=[8, 8, 4]))
    yield case("multi_head", "MultiHeadAttention", [q, k, v], heads)
    yield case("multi_head_bias", "MultiHeadAttention", [q, k, v, bias], dict(heads, scale=0.7))
    yield case("multi_head_padding", "MultiHeadAttention",
               [q, k, v, None, np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 0]], np.int32)], heads)
    yield case("multi_head_scores", "MultiHeadAttention", [q, k, v, None, None, floats(1, n, s, 5)], heads)
    yield case("multi_head_past", "MultiHeadAttention",
               [q, floats(b, s, h), floats(b, s, h), None, None, None, past[0], past[1]],
               dict(heads, unidirectional=1), outputs=3)
    yield case("multi_head_cross", "MultiHeadAttention", [q, floats(b, n, 5, d), floats(b, n, 5, d)], heads)
    positions = np.array([[0, 1, 2], [4, 5, 6]], np.int64)
    cosine, sine = floats(8, d // 2), floats(8, d // 2)
    yield case("rotary", "RotaryEmbedding", [q, positions, cosine, sine])
    yield case("rotary_offset", "RotaryEmbedding", [q, np.array([2], np.int64), cosine, sine], {"interleaved": 1})
    yield case("rotary_4d", "RotaryEmbedding", [floats(b, n, s, d), positions, cosine, sine])
    yield case("rotary_part", "RotaryEmbedding", [floats(b, s, 16), positions, cosine, sine],
               {"num_heads": 2, "rotary_embedding_dim": 4})
    n, m, d = 2, 1, 16
    shared = {"num_heads": n, "kv_num_heads": m}
    cosine, sine = floats(16, d // 2), floats(16, d // 2)

    def grouped(name, length, past_length, lengths, total, attributes=None, more=(), **rest):
        inputs = [floats(b, length, n * d), floats(b, length, m * d), floats(b, length, m * d),
                  floats(b, m, past_length, d), floats(b, m, past_length, d),
                  np.array(lengths, np.int32), np.array(total, np.int32)]
        return case(name, "GroupQueryAttention", inputs + list(more), dict(shared, **(attributes or {})), outputs=3, **rest)

    yield grouped("grouped_token", 1, 4, [4, 3], 5)
    # What lies behind a sequence in its cache is not specified: no case looks at it.
    yield grouped("grouped_prompt", 3, 0, [2, 2], 3)
    yield grouped("grouped_rotary", 1, 4, [4, 3], 5, {"do_rotary": 1}, [cosine, sine])
    yield grouped("grouped_window", 1, 6, [6, 5], 7, {"local_window_size": 3})
    yield grouped("grouped_softcap", 1, 4, [4, 4], 5, {"softcap": 2.0, "scale": 0.5})
    yield grouped("grouped_smooth", 1, 4, [4, 4], 5, {"smooth_softmax": 1})
    yield case("grouped_packed", "GroupQueryAttention",
               [floats(b, 1, (n + 2 * m) * d), None, None, floats(b, m, 4, d), floats(b, m, 4, d),
                np.array([4, 3], np.int32), np.array(5, np.int32), cosine, sine], dict(shared, do_rotary=1), outputs=3)


def quantized():
    def u8(*dims):
        return integers(0, 256, *dims, dtype=np.uint8)

    def i8(*dims):
        return integers(-128, 128, *dims, dtype=np.int8)

    def scale(value):
        return np.array(value, np.float32)

    def zero(value, dtype=np.uint8):
        return np.array(value, dtype)

    x = [u8(2, 3, 4), scale(0.02), zero(120)]
    to = [scale(0.03), zero(100)]
    image = [u8(1, 3, 6, 6), scale(0.02), zero(120)]
    yield case("add", "QLinearAdd", [*x, u8(2, 3, 4), scale(0.05), zero(130), *to])
    yield case("multiply_i8", "QLinearMul", [i8(2, 3), scale(0.02), zero(3, np.int8), i8(3), scale(0.03),
                                             zero(-4, np.int8), scale(0.01), zero(5, np.int8)])
    yield case("sigmoid", "QLinearSigmoid", [*x, scale(1 / 256), zero(0)])
    yield case("leaky", "QLinearLeakyRelu", [*x, *to], {"alpha": 0.2})
    yield case("concat", "QLinearConcat", [*to, *x, u8(2, 2, 4), scale(0.05), zero(99)], {"axis": 1})
    yield case("average_pool", "QLinearAveragePool", [*image, *to], {"kernel_shape": [2, 2], "strides": [2, 2]})
    yield case("average_pool_last", "QLinearAveragePool", [u8(1, 6, 6, 3), scale(0.021), zero(120), *to],
               {"kernel_shape": [2, 2], "channels_last": 1})
    yield case("global_pool", "QLinearGlobalAveragePool", [*image, *to])
    yield case("softmax", "QLinearSoftmax", [*x, scale(1 / 256), zero(0)], {"axis": -1, "opset": 13})
    yield case("where", "QLinearWhere", [integers(0, 2, 2, 3, 4).astype(bool), *x, u8(2, 3, 4), scale(0.05), zero(99),
                                         *to])
    yield case("gemm", "QGemm", [u8(3, 4), scale(0.02), zero(120), constant(i8(5, 4)), scale(0.01), zero(0, np.int8),
                                 integers(-900, 900, 5, dtype=np.int32), *to], {"transB": 1})
    yield case("gemm_float", "QGemm", [u8(3, 4), scale(0.02), zero(120), constant(u8(4, 5)), floats(5, scale=0.01),
                                       integers(100, 140, 5, dtype=np.uint8)], {"alpha": 0.5})
    yield case("to_float", "MatMulIntegerToFloat", [u8(2, 3, 4), i8(4, 5), scale(0.02), floats(5, scale=0.01), zero(120),
                                                    zero(0, np.int8), floats(5)])
    yield case("dynamic", "DynamicQuantizeMatMul", [floats(3, 8), constant(i8(8, 5)), scale(0.02), zero(3, np.int8),
                                                    floats(5)])
    # Data and states are quantized there, too.
    yield case("lstm", "DynamicQuantizeLSTM",
               [floats(4, 2, 3), constant(i8(1, 3, 20)), constant(i8(1, 5, 20)), constant(floats(1, 40)), None, None,
                None, None, constant(np.array([0.01], np.float32)), constant(np.zeros(1, np.int8)),
                constant(np.array([0.01], np.float32)), constant(np.zeros(1, np.int8))],
               {"hidden_size": 5}, outputs=3, atol=0.02)
    for bits in (2, 4, 8):
        rows, depth, block = 3, 40, 16
        blocks = (depth + block - 1) // block
        packed = integers(0, 256, rows, blocks, block * bits // 8, dtype=np.uint8)
        inputs = [floats(2, 2, depth), constant(packed), constant(floats(rows * blocks, scale=0.1))]
        sizes = {"N": rows, "K": depth, "bits": bits, "block_size": block}
        yield case(f"bits_{bits}", "MatMulNBits", inputs, sizes, atol=1e-3)
        zeros = integers(0, 256, rows * ((blocks * bits + 7) // 8), dtype=np.uint8)
        yield case(f"bits_{bits}_zero", "MatMulNBits", inputs + [constant(zeros)], sizes, atol=1e-3)


def old_versions():
    rois = np.array([[0, 0, 7, 7], [1.5, 2, 6.5, 5], [3, 3, 3.2, 3.2]], np.float32)
    image = floats(2, 3, 8, 9)
    of = np.array([0, 1, 1], np.int64)
    size = {"output_height": 2, "output_width": 3}
    yield case("roi_align_10", "RoiAlign", [image, rois, of], dict(size, spatial_scale=0.75), domain="", opset=10)
    yield case("roi_align_16_max", "RoiAlign", [image, rois, of], dict(size, mode="max", sampling_ratio=2), domain="",
               opset=16)
    yield case("roi_align_16", "RoiAlign", [image, rois, of],
               dict(size, coordinate_transformation_mode="output_half_pixel"), domain="", opset=16)
    pooled = np.array([[0, 0, 0, 7, 7], [1, 1.5, 2, 6.5, 5], [1, 9, 9, 12, 12]], np.float32)
    yield case("roi_pool", "MaxRoiPool", [image, pooled], {"pooled_shape": [2, 3], "spatial_scale": 0.75}, domain="",
               opset=1)
    yield case("det_11", "Det", [floats(2, 3, 5, 5)], domain="", opset=11)
    yield case("det_singular", "Det", [np.array([[1, 2], [2, 4]], np.float32)], domain="", opset=11)
    values, where = floats(1, 2, 2, 2), np.array([[[[0, 6], [24, 18]], [[25, 30], [40, 47]]]], np.int64)
    unpool = {"kernel_shape": [2, 2], "strides": [3, 3]}
    yield case("unpool_9", "MaxUnpool", [values, where], unpool, domain="", opset=9)
    yield case("deform_19", "DeformConv", [floats(2, 4, 6, 5), floats(6, 2, 3, 2), floats(2, 24, 3, 4, scale=2), floats(6),
                                           floats(2, 12, 3, 4)],
               {"group": 2, "offset_group": 2, "strides": [2, 1], "pads": [1, 0, 1, 0]}, domain="", opset=19, atol=1e-4)


def integer_products():
    """Constant weights: products of bytes where zero points allow it."""
    def u8(*dims):
        return integers(0, 256, *dims, dtype=np.uint8)

    def i8(*dims):
        return integers(-128, 128, *dims, dtype=np.int8)

    rows = [("u8_i8", u8(5, 19), np.array(131, np.uint8), i8(19, 37), np.array(0, np.int8)),
            ("i8_i8", i8(5, 19), np.array(-7, np.int8), i8(19, 37), np.array(0, np.int8)),
            ("i8_columns", u8(2, 3, 19), np.array(3, np.uint8), i8(19, 6) // 2, integers(-60, 60, 6, dtype=np.int8)),
            ("u8_middle", u8(5, 19), np.array(131, np.uint8), u8(19, 18), np.array(128, np.uint8)),
            ("u8_other", u8(2, 3, 19), np.array(131, np.uint8), u8(19, 18), np.array(90, np.uint8)),
            ("u8_columns", u8(5, 19), np.array(131, np.uint8), u8(19, 6), integers(0, 256, 6, dtype=np.uint8)),
            ("u8_none", u8(4, 70), None, i8(70, 20), None)]
    for name, x, zero, w, column_zeros in rows:
        yield case(name, "MatMulInteger", [x, constant(w), zero, None if column_zeros is None else constant(column_zeros)],
                   domain="", opset=10)
    image, window = u8(2, 6, 9, 8), {"pads": [1, 1, 1, 1], "strides": [1, 2]}
    yield case("window", "ConvInteger", [image, constant(i8(20, 6, 3, 3)), np.array(77, np.uint8)], window, domain="",
               opset=10)
    yield case("depthwise", "ConvInteger", [image, constant(i8(6, 1, 3, 3)), constant(np.array(77, np.uint8))],
               dict(window, group=6), domain="", opset=10)
    yield case("groups", "ConvInteger", [image, constant(u8(4, 3, 2, 2)), None, constant(np.array(128, np.uint8))],
               {"group": 2}, domain="", opset=10)

    def scales(*dims):
        return constant((np.abs(floats(*dims, scale=0.01)) + 0.001).astype(np.float32))

    yield case("qlinear_window", "QLinearConv",
               [image, np.array(0.02, np.float32), np.array(77, np.uint8), constant(i8(20, 6, 3, 3)), scales(20),
                constant(np.zeros(20, np.int8)), np.array(0.5, np.float32), np.array(100, np.uint8),
                constant(integers(-3000, 3000, 20, dtype=np.int32))], window, domain="", opset=10)
    yield case("qlinear_matmul", "QLinearMatMul",
               [u8(3, 4, 33), np.array(0.02, np.float32), np.array(120, np.uint8), constant(i8(33, 18)),
                constant(np.array(0.01, np.float32)), constant(np.array(0, np.int8)), np.array(0.2, np.float32),
                np.array(100, np.uint8)], domain="", opset=10)


def recurrent():
    """Everything at once: directions, lengths, first states, clips, peepholes, activations."""
    steps, batch, inputs, hidden = 5, 3, 4, 6

    def operands(gates, directions, *more):
        return [floats(steps, batch, inputs), constant(floats(directions, gates * hidden, inputs)),
                constant(floats(directions, gates * hidden, hidden)), floats(directions, 2 * gates * hidden),
                np.array([5, 2, 1], np.int32), *more]

    def state(directions):
        return floats(directions, batch, hidden)

    for direction, count in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
        common = {"hidden_size": hidden, "direction": direction}
        yield case(f"rnn_{direction}", "RNN", operands(1, count, state(count)),
                   dict(common, activations=["Relu"] * count, clip=1.5), outputs=2, domain="", opset=14)
        for linear in (0, 1):
            yield case(f"gru_{direction}_{linear}", "GRU", operands(3, count, state(count)),
                       dict(common, linear_before_reset=linear), outputs=2, domain="", opset=14)
        yield case(f"lstm_{direction}", "LSTM",
                   operands(4, count, state(count), state(count), floats(count, 3 * hidden)),
                   dict(common, activations=["HardSigmoid", "ScaledTanh", "Softsign"] * count, clip=2.0,
                        activation_alpha=[0.3, 1.2] * count, activation_beta=[0.4, 0.8] * count), outputs=3, domain="",
                   opset=14)


def first_versions():
    """Versions before those of the backend tests. What ONNX Runtime has no kernel for, it or NumPy gives in the
    words of a newer version."""
    def old(name, op, opset, inputs, attributes=None, **more):
        return case(name, op, inputs, attributes, domain="", opset=opset, **more)

    def newer(op, opset, inputs, attributes=None, outputs=1, domain=""):
        return evaluate(op, inputs, attributes or {}, list(range(outputs)), domain, opset)

    x, image = floats(2, 3, 4), floats(1, 3, 4, 5)
    yield old("affine", "Affine", 1, [x], {"alpha": 2.0, "beta": 0.5}, given=[x * np.float32(2) + np.float32(0.5)])
    bias = np.array([0.5, -1, 2], np.float32)
    yield old("image_scaler", "ImageScaler", 1, [image], {"scale": 2.0, "bias": bias.tolist()},
              given=[image * np.float32(2) + bias.reshape(3, 1, 1)])
    yield old("crop", "Crop", 1, [image], {"border": [1, 0, 2, 1]}, given=[image[:, :, :3, 1:3]])
    yield old("crop_scale", "Crop", 1, [image], {"border": [1, 2, 0, 0], "scale": [2, 3]}, given=[image[:, :, 2:4, 1:4]])
    for name in ("Prod", "SumSquare", "L1", "L2", "LogSum", "LogSumExp", "Sum", "Mean", "Max", "Min"):
        positive = np.abs(x) + np.float32(0.1)
        yield old(f"reduce_{name.lower()}", f"Reduce{name}", 11, [positive], {"axes": [0, -1]})
        yield old(f"reduce_{name.lower()}_1", f"Reduce{name}", 1, [positive], {"axes": [1], "keepdims": 0})
    yield old("reshape_1", "Reshape", 1, [x], {"shape": [0, -1]}, given=[x.reshape(2, 12)])
    two, one = np.array(2, np.float32), np.array(1, np.float32)
    yield old("tile_1", "Tile", 1, [x, constant(two), constant(one)], given=[np.tile(x, (1, 2, 1))])
    yield old("pad_1", "Pad", 1, [x], {"paddings": [0, 1, 2, 0, 0, 1], "value": 1.5},
              given=[np.pad(x, ((0, 0), (1, 0), (2, 1)), constant_values=np.float32(1.5))])
    yield old("pad_2", "Pad", 2, [x], {"pads": [0, 1, 2, 0, 0, 1], "mode": "reflect"})
    yield old("slice_1", "Slice", 1, [x], {"starts": [1, -3], "ends": [3, 100], "axes": [1, 2]})
    yield old("squeeze_1", "Squeeze", 1, [floats(1, 3, 1)], {"axes": [2]})
    yield old("unsqueeze_1", "Unsqueeze", 1, [x], {"axes": [0, 4]})
    yield old("split_2", "Split", 2, [x], {"axis": 2, "split": [1, 3]}, outputs=2)
    yield old("concat_1", "Concat", 1, [x, x], given=[np.concatenate([x, x], 1)])
    yield old("clip_6", "Clip", 6, [x], {"min": -0.5, "max": 0.25})
    yield old("global_lp_pool", "GlobalLpPool", 2, [image], {"p": 3})
    mean, deviation = image.mean((0, 2, 3), keepdims=True), image.std((0, 2, 3), keepdims=True)
    yield old("mean_variance_1", "MeanVarianceNormalization", 1, [image], {}, given=[(image - mean) / deviation])
    yield old("mean_variance_across", "MeanVarianceNormalization", 1, [image], {"across_channels": 1},
              given=[(image - image.mean()) / image.std()])
    scales = np.array([1, 1, 2, 1.6], np.float32)
    for mode in ("nearest", "linear"):
        yield old(f"resize_10_{mode}", "Resize", 10, [image, constant(scales)], {"mode": mode})
        yield old(f"upsample_7_{mode}", "Upsample", 7, [image], {"mode": mode, "scales": scales.tolist()})
        yield old(f"upsample_1_{mode}", "Upsample", 1, [image],
                  {"mode": "bilinear" if mode == "linear" else mode, "height_scale": 2.0, "width_scale": 1.5},
                  given=newer("Upsample", 7, [image], {"mode": mode, "scales": [1.0, 1.0, 2.0, 1.5]}))
    yield old("dropout_1", "Dropout", 1, [x], {"is_test": 1}, given=[x])
    yield old("top_k_1", "TopK", 1, [x], {"k": 2, "axis": 1}, outputs=2)
    for op, gates in (("RNN", 1), ("GRU", 3), ("LSTM", 4)):
        operands = [floats(3, 2, 4), floats(1, gates * 5, 4), floats(1, gates * 5, 5), floats(1, gates * 10)]
        states = 3 if op == "LSTM" else 2
        yield old(f"{op.lower()}_1", op, 1, operands, {"hidden_size": 5, "output_sequence": 1}, outputs=states,
                  given=newer(op, 7, operands, {"hidden_size": 5}, states))
    for op in ("Softmax", "LogSoftmax", "Hardmax"):
        yield old(f"{op.lower()}_11", op, 11, [x])  # over all axes from the second on
    yield old("softmax_11_axis", "Softmax", 11, [image], {"axis": 2})
    column = floats(3)
    for op, numpy_op in (("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Div", np.divide)):
        yield old(f"{op.lower()}_axis", op, 6, [x, column], {"broadcast": 1, "axis": 1},
                  given=[numpy_op(x, column.reshape(3, 1))])
    yield old("pow_axis", "Pow", 1, [np.abs(x), column], {"broadcast": 1, "axis": 1},
              given=[np.power(np.abs(x), column.reshape(3, 1))])
    yield old("less_axis", "Less", 1, [x, column], {"broadcast": 1, "axis": 1}, given=[x < column.reshape(3, 1)])
    factors = [floats(2, 3), floats(3, 4), floats(4)]
    yield old("gemm_6", "Gemm", 6, factors, {"broadcast": 1, "beta": 0.5}, given=newer("Gemm", 7, factors, {"beta": 0.5}))
    grouped, per_group = floats(2, 4, 3), [floats(2), floats(2)]
    spread = [np.repeat(each, 2) for each in per_group]
    yield old("group_norm_18", "GroupNormalization", 18, [grouped, *per_group], {"num_groups": 2},
              given=newer("GroupNormalization", 21, [grouped, *spread], {"num_groups": 2}))
    large = floats(2, 3, scale=20)
    yield old("cast_1", "Cast", 1, [large], {"to": "INT32"}, given=[large.astype(np.int32)])
    slopes = floats(3)
    yield old("prelu_6", "PRelu", 6, [image, slopes], given=[np.where(image < 0, image * slopes.reshape(3, 1, 1), image)])
    yield old("batch_norm_7", "BatchNormalization", 7, [image, floats(3), floats(3), floats(3), np.abs(floats(3))])
    yield case("quantize", "QuantizeLinear", [floats(2, 3, scale=20), constant(np.array(0.25, np.float32)),
                                              constant(np.array(3, np.uint8))])
    yield case("dequantize", "DequantizeLinear", [integers(-128, 128, 2, 3, dtype=np.int8),
                                                  constant(np.array(0.25, np.float32)), constant(np.array(3, np.int8))])
    nhwc, filters = floats(1, 5, 6, 2), floats(3, 3, 3, 2)
    yield case("nhwc_conv", "NhwcConv", [nhwc, filters, bias], {"pads": [1, 1, 1, 1]},
               given=[newer("Conv", 11, [nhwc.transpose(0, 3, 1, 2), filters.transpose(0, 3, 1, 2), bias],
                            {"pads": [1, 1, 1, 1]})[0].transpose(0, 2, 3, 1)])


def random_numbers():
    """By NumPy's generator, in the way of docs/random_numbers.md."""
    def uniform(seed, *dims):
        return np.random.RandomState(seed).random_sample(dims)

    def normal(seed, *dims):
        pairs = uniform(seed, int(np.prod(dims)), 2)
        return (np.sqrt(-2 * np.log(1 - pairs[:, 0])) * np.cos(2 * np.pi * pairs[:, 1])).reshape(dims)

    like = np.zeros((3, 5), np.float32)
    yield case("uniform", "RandomUniform", [], {"seed": 7.0, "shape": [3, 5], "low": -1.0, "high": 3.0}, domain="", opset=22,
               given=[(uniform(7, 3, 5) * 4 - 1).astype(np.float32)])
    yield case("uniform_like", "RandomUniformLike", [like], {"seed": 8.0}, domain="", opset=22,
               given=[uniform(8, 3, 5).astype(np.float32)])
    yield case("normal", "RandomNormal", [], {"seed": 7.0, "shape": [3, 5], "mean": 2.0, "scale": 0.5}, domain="", opset=22,
               given=[(normal(7, 3, 5) * 0.5 + 2).astype(np.float32)])
    yield case("normal_like", "RandomNormalLike", [like], {"seed": 8.0}, domain="", opset=22,
               given=[normal(8, 3, 5).astype(np.float32)])
    scores = np.log(np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]], np.float32))
    chances = np.exp(scores.astype(np.float64))
    sums = np.cumsum(chances / chances.sum(1, keepdims=True), 1)
    drawn = (sums[:, None, :] <= uniform(9, 2, 12)[:, :, None]).sum(2).astype(np.int32)
    yield case("multinomial", "Multinomial", [scores], {"seed": 9.0, "sample_size": 12}, domain="", opset=22, given=[drawn])


def further():
    """Statistics of training, and forms that came later than the families around them."""
    # Until opset 13 whoever wanted statistics trained, with the numbers of opset 14's training mode.
    x = floats(4, 3, 2)
    training = case("", "BatchNormalization", [x, floats(3), floats(3), floats(3), floats(3) ** 2],
                    {"momentum": 0.8, "epsilon": 1e-4, "training_mode": 1}, outputs=3, domain="", opset=14)
    del training["attributes"]["training_mode"]
    saved = [text_of(x.mean(axis=(0, 2))), text_of(x.var(axis=(0, 2)))]
    for opset in (1, 6, 7, 9):
        yield dict(training, name=f"batch_training_{opset}", opset=opset, outputs=training["outputs"] + saved)
    blocks, rows, depth, block = 3, 5, 48, 16
    inputs = [floats(2, depth), constant(integers(0, 256, rows, blocks, block // 2, dtype=np.uint8)),
              constant(floats(rows * blocks, scale=0.1)), constant(integers(0, 256, rows * 2, dtype=np.uint8)),
              constant(random.permutation(np.arange(depth) // block).astype(np.int32))]
    sizes = {"N": rows, "K": depth, "bits": 4, "block_size": block}
    # With zero points, too, ONNX Runtime leaves these out.
    yield case("bits_order", "MatMulNBits", inputs[:3] + [None, inputs[4]], sizes, atol=1e-3)
    yield case("attention_ends_starts", "Attention",
               [floats(2, 4, 6), floats(6, 24), floats(24), np.array([4, 3, 1, 0], np.int32)], {"num_heads": 2})
    for scale in (1.0, 2.0):
        yield case(f"rotary_scale_{scale}", "RotaryEmbedding",
                   [floats(1, 3, 8), np.array([0], np.int64), floats(8, 2), floats(8, 2)],
                   {"scale": scale, "num_heads": 2, "rotary_embedding_dim": 4})


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


def contributed():
    """Operators that ONNX Runtime has in ai.onnx although ONNX never had them, or not yet in that opset."""
    x = floats(3, 4, scale=2)
    for op, attributes in (("ParametricSoftplus", {"alpha": 2.0, "beta": 3.0}), ("ScaledTanh", {"alpha": 2.0, "beta": 0.3}),
                           ("Scale", {"scale": 0.3}), ("Affine", {"alpha": 2.0, "beta": -0.5})):
        for opset in (1, 9):
            yield case(f"{op.lower()}_{opset}", op, [x], attributes, domain="", opset=opset)
    for opset in (1, 9, 13):
        yield case(f"thresholded_relu_{opset}", "ThresholdedRelu", [x], {"alpha": 0.25}, domain="", opset=opset)
    data = floats(4, 5)
    yield case("dynamic_slice", "DynamicSlice", [data, np.array([1, -4]), np.array([3, 100])], domain="", opset=7)
    yield case("dynamic_slice_axes", "DynamicSlice", [data, np.array([-3], np.int32), np.array([-1], np.int32),
                                                      np.array([1], np.int32)], domain="", opset=9)
    for name in ("MemcpyFromHost", "MemcpyToHost"):
        yield case(name.lower(), name, [data], domain="", opset=17)
    hidden, scale, bias = floats(2, 3, 8), floats(8), floats(8)
    for opset in (1, 9, 16):
        for stash in ({}, {"stash_type": 0}, {"stash_type": 1}):
            name = f"layer_normalization_{opset}_{stash.get('stash_type', 'x')}"
            yield case(name, "LayerNormalization", [hidden, scale, bias], dict(stash, epsilon=1e-4), domain="", opset=opset)
    yield case("layer_normalization_statistics", "LayerNormalization", [hidden, floats(3, 8)], {"axis": 1}, outputs=3,
               domain="", opset=9)
    halves = floats(2, 8, dtype=np.float16)
    yield case("layer_normalization_half", "LayerNormalization", [halves, halves[0], halves[1]], {"stash_type": 0},
               domain="", opset=11, rtol=1e-2, atol=2e-3)
    yield case("simplified_stash", "SimplifiedLayerNormalization", [hidden, scale], {"stash_type": 0}, domain="", opset=13)
    yield case("simplified_deviation", "SimplifiedLayerNormalization", [hidden, scale], outputs=2, domain="", opset=9)
    # The axes are those of images: other data does not have them all.
    for dims in ((3, 4), (2, 3, 4), (2, 3, 2, 2, 2)):
        for opset, attributes in ((8, {}), (8, {"across_channels": 1}), (8, {"normalize_variance": 0}), (13, {}),
                                  (13, {"axes": [1, 2, 3]})):
            name = f"mean_variance_{len(dims)}_{opset}_" + "_".join(attributes)
            yield case(name, "MeanVarianceNormalization", [floats(*dims)], attributes, domain="", opset=opset)


def casts():
    """Floats beyond an integer's range. One number at a time: ONNX Runtime and ONNX's reference agree there, but for
    bf16 to bytes, where the reference goes through f32 and a table; several numbers to u32 come out otherwise in both."""
    numbers = [np.nan, np.inf, -np.inf, -0.5, 0.5, -1.5, 127.9, 128, -128.9, -129, 200, 255.9, 256, 300, -300, 32768, -32769,
               65535.5, 65536, 70000, -70000, 2147483520, 2147483648, -2147483648, -2147483904, 3e9, -3e9, 4294967040,
               4294967296, 5e9, -5e9, 9.2e18, 2.0**63, 9.3e18, -9.3e18, 1.8e19, 2.0**64, 1.9e19, 1e20, -1e20, 1e30, -1e30]
    types = {np.int8: TensorProto.INT8, np.uint8: TensorProto.UINT8, np.int16: TensorProto.INT16,
             np.uint16: TensorProto.UINT16, np.int32: TensorProto.INT32, np.uint32: TensorProto.UINT32,
             np.int64: TensorProto.INT64, np.uint64: TensorProto.UINT64, np.bool_: TensorProto.BOOL}
    for source in (np.float64, np.float32, np.float16, ml_dtypes.bfloat16):
        more = [-2147483648.5, -2147483649.0, 2147483647.5, 1e300] if source == np.float64 else []
        with np.errstate(over="ignore"):
            values = np.array(numbers + more, np.float64).astype(source)
        feed = values.astype(np.float32) if source == ml_dtypes.bfloat16 else values
        for target, code in types.items():
            to = {"to": int(code)}
            given = [np.concatenate([evaluate("Cast", [feed[i:i + 1]], to, [0], "", 21)[0] for i in range(len(feed))])]
            name = f"{NAMES[np.dtype(source).name]}_{NAMES[np.dtype(target).name]}"
            yield case(name, "Cast", [values], to, domain="", opset=21, given=given)
            yield case(name + "_folded", "Cast", [constant(values)], to, domain="", opset=21, given=given,
                       known_sizes_only=True)


def regions():
    """Regions of images with as many samples as their bins have elements, of which some lie outside."""
    images = np.random.default_rng(5).standard_normal((2, 3, 6, 7)).astype(np.float32)
    boxes = np.array([[0, 0, 5, 5], [-3, -2, 9, 8], [1, 2, 2.5, 3]], np.float32)
    for mode in ("avg", "max"):
        yield case(f"roi_align_{mode}", "RoiAlign", [images, boxes, np.array([0, 1, 0])],
                   {"mode": mode, "output_height": 4, "output_width": 3, "spatial_scale": 0.5}, domain="", opset=11)


def ranks():
    """Tensors of many dims, most of them of size 1: up to as many as a shape holds."""
    random.seed(32)

    def of(name, op, inputs, attributes=None, **more):
        return case(f"{name}_{rank}", op, inputs, attributes, **{"domain": "", "opset": 21, **more})

    def list_of(*values):
        return np.array(values, np.int64)

    for rank in (9, 12, 17, 32):
        order = np.random.default_rng(rank).permutation(rank)
        first, second, third, fourth, fifth = (int(axis) for axis in order[:5])
        middle = rank // 2
        dims = np.ones(rank, int)
        dims[order[:5]] = (2, 3, 2, 2, 2)

        wide = {"first": first, "second": second, "third": third, "fourth": fourth, "fifth": fifth}

        def with_sizes(**sizes):
            changed = dims.copy()
            for axis, size in sizes.items():
                changed[wide[axis]] = size
            return changed

        x = floats(*dims)
        yield of("add_broadcast", "Add", [x, floats(*with_sizes(second=1, fourth=1))])
        yield of("mul_grows", "Mul", [floats(*with_sizes(first=1, fifth=1)), floats(*with_sizes(second=1, third=1))])
        yield of("sub_fewer_dims", "Sub", [x, floats(*dims[rank - 3:])])
        yield of("where", "Where", [integers(0, 2, *with_sizes(second=1)) > 0, x, floats(*with_sizes(first=1))])
        yield of("cast", "Cast", [x * 9], {"to": int(TensorProto.INT32)})
        yield of("identity", "Identity", [x])
        yield of("sigmoid", "Sigmoid", [x])
        yield of("sum_of_three", "Sum", [x, floats(*with_sizes(fifth=1)), floats(1)])
        yield of("transpose", "Transpose", [x], {"perm": [int(axis) for axis in order]})
        yield of("transpose_reversed", "Transpose", [x])
        yield of("transpose_bytes", "Transpose", [integers(-99, 99, *dims, dtype=np.int8)],
                 {"perm": [int(axis) for axis in order]})
        yield of("reduce_sum", "ReduceSum", [x, constant(list_of(first, third, -1))], {"keepdims": 0})
        yield of("reduce_mean_kept", "ReduceMean", [x, constant(list_of(second, fourth))])
        yield of("reduce_max_all", "ReduceMax", [x], {"keepdims": 0})
        yield of("argmax", "ArgMax", [x], {"axis": second, "keepdims": 0})
        yield of("argmin_last", "ArgMin", [x], {"axis": first, "select_last_index": 1})
        yield of("softmax", "Softmax", [x], {"axis": second})
        yield of("log_softmax", "LogSoftmax", [x], {"axis": middle})
        yield of("hardmax", "Hardmax", [x], {"axis": third})
        yield of("cumsum", "CumSum", [x, constant(np.array(second, np.int64))], {"reverse": 1})
        yield of("reshape_to", "Reshape", [floats(6, 8), constant(list_of(*dims))])
        yield of("reshape_from", "Reshape", [x, constant(list_of(8, -1))])
        yield of("flatten", "Flatten", [x], {"axis": middle})
        ones = [axis for axis in range(rank) if dims[axis] == 1]
        yield of("squeeze", "Squeeze", [x, constant(list_of(*ones[1:]))])
        yield of("unsqueeze", "Unsqueeze", [floats(2, 3, 4), constant(list_of(*range(1, rank - 2)))])
        yield of("concat", "Concat", [x, floats(*with_sizes(second=2)), floats(*with_sizes(second=1))], {"axis": second})
        yield of("split", "Split", [floats(*with_sizes(second=5)), constant(list_of(2, 3))], {"axis": second}, outputs=2)
        yield of("slice", "Slice", [floats(*with_sizes(first=5, third=4)), constant(list_of(1, -1)),
                                    constant(list_of(4, -9)), constant(list_of(first, third)),
                                    constant(list_of(2, -1))])
        yield of("gather", "Gather", [x, list_of(2, 0, -1, 1)], {"axis": second})
        yield of("gather_adds_a_dim", "Gather", [floats(*np.delete(dims, ones[0])), integers(0, 2, 2, 3)],
                 {"axis": first - (ones[0] < first)})
        yield of("gather_elements", "GatherElements", [x, integers(0, 3, *dims)], {"axis": second})
        yield of("gather_tuples", "GatherND", [x, np.zeros((2, rank - 1), np.int64)])
        yield of("scatter_elements", "ScatterElements", [x, integers(0, 1, *with_sizes(second=1, first=1)),
                                                         floats(*with_sizes(second=1, first=1))], {"axis": second})
        yield of("scatter_tuples", "ScatterND", [x, np.zeros((1, 2), np.int64), floats(1, *dims[2:])])
        yield of("expand", "Expand", [floats(*with_sizes(first=1, second=1)), constant(list_of(*dims))])
        yield of("tile", "Tile", [x, constant(np.where(np.isin(np.arange(rank), (second, ones[0])), 2, 1))])
        pads = np.zeros((2, rank), np.int64)
        pads[0, second], pads[1, first], pads[0, fifth] = 1, 2, -1
        yield of("pad", "Pad", [x, constant(pads.ravel()), constant(np.array(0.5, np.float32))])
        yield of("pad_edge", "Pad", [x, constant(np.maximum(pads, 0).ravel())], {"mode": "edge"})
        yield of("pad_by", "Pad", [x, pads.ravel(), np.array(0.5, np.float32)])
        matrix = np.concatenate([with_sizes(first=2)[:rank - 2], [3, 4]])
        factor = np.concatenate([np.where(np.arange(rank - 2) % 2, matrix[:-2], 1), [4, 5]])
        yield of("matmul", "MatMul", [floats(*matrix), floats(*factor)])
        yield of("matmul_by_matrix", "MatMul", [floats(*matrix), constant(floats(4, 5))])
        yield of("shape", "Shape", [x], {"start": 1})
        yield of("size", "Size", [x])
        yield of("nonzero", "NonZero", [np.maximum(x, 0)])
        yield of("topk", "TopK", [x, constant(list_of(2))], {"axis": second}, outputs=2)
        yield of("layer_normalization", "LayerNormalization", [x, floats(*dims[middle:])], {"axis": middle})
        yield of("one_hot", "OneHot", [integers(0, 3, *np.delete(dims, ones[0])), constant(np.array(3, np.int64)),
                                       constant(np.array([0, 1], np.float32))], {"axis": middle})
        scales, zeros = np.array([0.25, 0.5, 0.125], np.float32), np.array([3, 0, 9], np.uint8)
        yield of("quantize", "QuantizeLinear", [x, scales, zeros], {"axis": second})
        yield of("reverse", "ReverseSequence", [floats(3, 2, *dims[2:]), list_of(1, 3)])
        yield of("compress", "Compress", [x, np.array([True, False, True])], {"axis": second})
        yield of("constant_of_shape", "ConstantOfShape", [constant(list_of(*dims))])
        yield of("constant_folded", "Transpose", [constant(x)])
        yield of("unique", "Unique", [x], {"axis": second}, outputs=4)
        yield of("resize", "Resize", [x, None, constant(np.where(np.arange(rank) == second, 2, 1).astype(np.float32))],
                 {"mode": "nearest"})


if __name__ == "__main__":
    for family in (fused, attention, quantized, old_versions, integer_products, recurrent, first_versions,
                   random_numbers, further, edges, contributed, casts, regions, ranks):
        write(family.__name__, list(family()))
