#!/usr/bin/env python3
"""Writes cases/microsoft_*.json: operators of com.microsoft with what ONNX Runtime's CPU provider gives for them, as
make_cases.py does."""
import ml_dtypes
import numpy as np

import case_maker
from case_maker import case, constant, floats, integers, write

case_maker.NAMES.update(int16="i16", uint32="u32", uint4="u4")
HALF = np.float16


def u8(*dims):
    return integers(0, 256, *dims, dtype=np.uint8)


def i8(*dims):
    return integers(-128, 128, *dims, dtype=np.int8)


def i32(*values):
    return np.array(values, np.int32)


def i64(*values):
    return np.array(values, np.int64)


def one(value, dtype=np.float32):
    return np.array(value, dtype)


def positive(*dims, scale=0.1):
    return np.abs(floats(*dims, scale=scale)) + np.float32(0.01)


def microsoft_attention():
    b, s, n, d = 2, 3, 2, 4
    h = n * d
    heads = {"num_heads": n}
    x, w, bias = floats(b, s, 6), floats(6, 3 * h), floats(3 * h)
    # Of such lengths the first ones count, as of lengths alone.
    yield case("packed_lengths", "Attention", [x, w, bias, i32(3, 2, 0, 3, 5, 0, 3, 5)], heads)
    data = [u8(b, s, 6), i8(6, 3 * h), bias, one(0.02), one(0.01)]
    yield case("quantized", "QAttention", data + [None, one(120, np.uint8), one(3, np.int8)], heads)
    columns = positive(3 * h, scale=0.01)
    yield case("quantized_columns", "QAttention",
               data[:4] + [columns, np.array([[1, 1, 1], [1, 1, 0]], np.int32), one(120, np.uint8), np.zeros(3 * h, np.int8)],
               dict(heads, unidirectional=1))
    yield case("quantized_past", "QAttention", data + [i32(5, 4), one(120, np.uint8), one(0, np.int8), floats(2, b, n, 2, d)],
               dict(heads, unidirectional=1), outputs=2)
    q, k, v = floats(b, s, h), floats(b, s, h), floats(b, s, h)
    past = [floats(b, n, 6, d), floats(b, n, 6, d)]
    yield case("multi_head_shared", "MultiHeadAttention", [q, k, v, None, None, None, *past, i32(2)], heads, outputs=3)
    yield case("multi_head_lengths", "MultiHeadAttention", [q, k, v, floats(3 * h), i32(3, 2)], heads)
    token = [floats(b, 1, h) for _ in range(3)]
    shared = dict(heads, past_present_share_buffer=1)
    yield case("masked_self", "DecoderMaskedMultiHeadAttention", token + [None, None, *past, i32(2)], shared, outputs=3)
    beams = np.array([[[0, 1, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0]]], np.int32)
    yield case("masked_beams", "DecoderMaskedMultiHeadAttention", token + [None, None, *past, i32(2), i32(2), beams], shared,
               outputs=3)
    yield case("masked_cross", "DecoderMaskedMultiHeadAttention",
               [token[0], floats(b, n, 5, d), floats(b, n, 5, d), np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)], heads)
    sections = {"mrope_section": [1, 2, 1], "num_heads": 2}
    three = integers(0, 8, 3, 2, 3)
    for layout in (0, 1):
        yield case(f"three_positions_{layout}", "MRotaryEmbedding", [floats(2, 3, 16), three, floats(8, 4), floats(8, 4)],
                   dict(sections, mrope_layout=layout))
    yield case("three_positions_apart", "MRotaryEmbedding", [floats(2, 2, 3, 8), three, floats(8, 4), floats(8, 4)],
               {"mrope_section": [2, 1, 1], "mrope_layout": 1, "interleaved": 1})


def microsoft_grouped():
    b, n, m, d = 2, 2, 1, 16
    heads = {"num_heads": n, "kv_num_heads": m}

    def grouped(name, length, cache, lengths, total, attributes=None, more=(), outputs=3, batch=b, dtype=np.float32, **rest):
        x = [floats(batch, length, k * d).astype(dtype) for k in (n, m, m)]
        return case(name, "GroupQueryAttention", x + list(cache) + [i32(*lengths), one(total, np.int32), *more],
                    dict(heads, **(attributes or {})), outputs=outputs, **rest)

    def cache(room, batch=b):
        return [floats(batch, m, room, d), floats(batch, m, room, d)]

    none = [None, None]
    yield grouped("scores", 1, cache(4), (4, 4), 5, {"qk_output": 1, "softcap": 3.0}, outputs=4)
    yield grouped("weights", 3, none, (2, 2), 3, {"qk_output": 2, "local_window_size": 2}, outputs=4)
    yield grouped("not_causal", 3, cache(2, 1), (4,), 5, {"causal": 0}, batch=1)
    yield grouped("bias_and_sink", 1, cache(4), (4, 4), 5, more=[None, None, None, floats(1, n, 1, 5), floats(n)])
    angles = [floats(12, d // 2), floats(12, d // 2)]
    positions = np.array([[7], [2]], np.int64)
    yield grouped("given_positions", 1, cache(4), (4, 4), 5, {"do_rotary": 1}, [*angles, positions])
    # Of the first prompt only the first position counts.
    yield grouped("prompt_positions", 3, none, (2, 2), 3, {"do_rotary": 1, "rotary_interleaved": 1},
                  [*angles, integers(0, 8, b, 3)])
    chunk = grouped("chunk", 2, cache(8), (4, 3), 6, {"do_rotary": 1}, angles + [None] * 7 + [i32(2, 2)])
    # What lies behind the sequences in their cache is not specified.
    yield dict(chunk, outputs=chunk["outputs"][:1] + [None] * 2)
    scales = {"PER_TENSOR": one([0.05]), "PER_CHANNEL": positive(1, m, 1, d)}
    for bits in (8, 4):
        for kind, scale in scales.items():
            codes = [i8(b, m, 4, d) if bits == 8 else u8(b, m, 4, d // 2) for _ in range(2)]
            yield grouped(f"codes_{bits}_{kind.lower()}", 1, codes, (4, 4), 5,
                          {"k_quant_type": kind, "v_quant_type": kind, "kv_cache_bit_width": bits}, [None] * 5 + [scale, scale])
    window = {"sliding_window_cache": 1, "local_window_size": 4}
    # After so many steps the whole cache is in use.
    yield grouped("window", 1, cache(6), (8, 11), 12, window)
    yield grouped("window_full", 1, cache(4), (8, 7), 9, window)
    yield grouped("window_steps", 3, cache(6, 1), (8,), 9, window, batch=1)
    yield grouped("window_bias", 1, cache(6), (8, 8), 9, window, [None, None, None, floats(1, 1, 1, 9)])


def microsoft_quantized():
    to = [one(0.37), one(100, np.uint8)]
    data = [u8(1, 6, 5, 3), one(0.02), one(120, np.uint8)]
    yield case("conv_last", "QLinearConv", data + [constant(i8(4, 3, 3, 3)), constant(positive(4)), constant(np.zeros(4, np.int8)), *to,
                                                   constant(integers(-900, 900, 4, dtype=np.int32))],
               {"channels_last": 1, "pads": [1, 1, 1, 1], "strides": [2, 1]}, atol=1)
    yield case("max_pool_last", "NhwcMaxPool", [u8(1, 6, 5, 3)], {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 0, 1]})
    yield case("product_16", "MatMulInteger16", [integers(-99, 99, 3, 4, dtype=np.int16), integers(-99, 99, 4, 5, dtype=np.int16)])
    ids = integers(0, 6, 2, 4, dtype=np.int32)
    tables = [u8(10, 8), u8(6, 8), u8(6, 8), u8(8), u8(8)]
    yield case("embed", "QEmbedLayerNormalization",
               [ids, ids, *tables, np.array([[1, 1, 1, 0], [1, 1, 0, 0]], np.int32)] + [one(v) for v in (0.1, 0.2, 0.3, 0.01, 0.02)]
               + [one(v, np.uint8) for v in (120, 121, 122, 90, 80)], {"epsilon": 1e-5}, outputs=2, atol=1e-4)
    for kind in (0, 1):
        yield case(f"four_bits_{kind}", "MatMulBnb4", [floats(2, 3, 36), constant(u8(90)), constant(positive(12))],
                   {"N": 5, "K": 36, "block_size": 16, "quant_type": kind}, atol=1e-4)
    # Turned, ONNX Runtime multiplies other memory than the weights: these are what it gives for unit vectors.
    weights = [constant(u8(90)), constant(positive(12))]
    sizes = {"N": 5, "K": 36, "block_size": 16, "quant_type": 0}
    columns = case_maker.evaluate("MatMulBnb4", [np.eye(36, dtype=np.float32), *weights], sizes, [0], "com.microsoft", 1)[0]
    left = floats(2, 5)
    yield case("four_bits_turned", "MatMulBnb4", [left, *weights], dict(sizes, transB=0), given=[left @ columns.T], atol=1e-4)
    index = np.array([[0, 4, 7], [2, -1, -9]], np.int64)
    for bits in (2, 4, 8):
        yield case(f"rows_{bits}", "GatherBlockQuantized",
                   [constant(u8(5, 48 * bits // 8)), index, constant(positive(5, 3)), constant(u8(5, -(-3 * bits // 8)))],
                   {"bits": bits, "block_size": 16, "quantize_axis": 1})
    nibbles = integers(-8, 8, 4, 20, 3, dtype=np.int8).astype(ml_dtypes.int4)
    scales = positive(4, 2, 3)
    for axis in (0, 1, 2):
        yield case(f"slices_{axis}", "GatherBlockQuantized", [constant(nibbles), i32(2, 0, 1), constant(scales)],
                   {"block_size": 16, "quantize_axis": 1, "gather_axis": axis})
    yield case("slices_f16", "GatherBlockQuantized", [constant(nibbles), i32(2, 0), constant(scales.astype(HALF))],
               {"block_size": 16, "quantize_axis": 1})


def microsoft_experts():
    tokens, size, inner = 5, 32, 32
    x = floats(tokens, size)
    for count, kind in ((4, "relu"), (4, "gelu"), (20, "silu"), (4, "swiglu"), (4, "identity")):
        double = 2 if kind == "swiglu" else 1
        small = lambda *dims: floats(*dims, scale=0.2)
        layers = [small(count, double * 8, 4), small(count, double * 8), small(count, 4, 8), small(count, 4)]
        attributes = {"k": 2, "activation_type": kind, "swiglu_fusion": double - 1, "normalize_routing_weights": int(count == 20)}
        if double == 2:
            attributes.update(activation_alpha=1.7, activation_beta=1.0, swiglu_limit=0.5)
        yield case(f"experts_{kind}", "MoE", [floats(6, 4), floats(6, count), *layers], attributes, atol=1e-4)
    for bits, block, count, zeros in ((4, 32, 3, True), (4, 0, 3, True), (2, 16, 3, False)):
        scales = [[count, rows, size // block] if block else [count, rows] for rows in (2 * inner, size)]
        codes = [constant(u8(count, rows, size * bits // 8)) for rows in (2 * inner, size)]
        zero = [constant(u8(*s[:-1], -(-s[-1] * bits // 8))) if zeros else None for s in scales]
        inputs = [x, floats(tokens, count)]
        for layer in range(2):
            inputs += [codes[layer], constant(positive(*scales[layer], scale=0.01)), None]
        attributes = {"k": 2, "activation_type": "swiglu", "swiglu_fusion": 1, "expert_weight_bits": bits, "weights_prepacked": 0}
        if block:
            attributes["block_size"] = block
        yield case(f"experts_of_{bits}_{block}", "QMoE", inputs + [None] * 3 + zero, attributes, rtol=1e-3, atol=2e-2)
    router = {"top_k": 3, "n_group": 4, "topk_group": 2}
    yield case("router", "MoEGroupRouter", [floats(5, 8), floats(8)], router)
    yield case("router_of_one_group", "MoEGroupRouter", [floats(2, 3, 8), floats(8)], {"top_k": 2, "router_sentinel": -7.0})
    yield case("router_scores", "MoEGroupRouter", [floats(5, 8), floats(8)], {"top_k": 2}, outputs=[1, 2])


def microsoft_gates():
    x, streams = floats(2, 3, 8), floats(2, 3, 4, 8)
    yield case("scaled_silu", "ScaledSiLU", [x], {"alpha": 1.5})
    yield case("scaled_silu_f16", "ScaledSiLU", [x.astype(HALF), one(0.7)], rtol=2e-3, atol=1e-3)
    yield case("gated_add", "GatedAdd", [x, floats(2, 3, 8), floats(2, 3, 1)])
    yield case("gated_norm", "GatedRMSNorm", [x, floats(4), floats(2, 3, 8)])
    yield case("gated_norm_sigmoid", "GatedRMSNorm", [x, floats(8), floats(2, 3, 8)], {"activation": "sigmoid", "epsilon": 1e-3})
    for name, scale in (("one", floats(8)), ("each", floats(4, 8)), ("flat", floats(32))):
        yield case(f"branch_norm_{name}", "BranchwiseRMSNorm", [streams, scale])
    yield case("branch_norm_joined", "BranchwiseRMSNorm", [x, floats(4)], {"num_branches": 2})
    for name, gates in (("branch", floats(2, 3, 4)), ("column", floats(2, 3, 4, 1)), ("each", floats(2, 3, 4, 8))):
        yield case(f"pre_mix_{name}", "HyperConnectionPreMix", [streams, gates], {"reduction_scale": 0.5})
        yield case(f"post_mix_{name}", "HyperConnectionPostMix", [streams, x, gates, floats(2, 3, 4, 4)])
    yield case("pre_mix_flat", "HyperConnectionPreMix", [streams.reshape(2, 3, 32), floats(2, 3, 32)], {"num_branches": 4})
    yield case("engram", "EngramGate", [streams, floats(2, 3, 4, 8), x, floats(4, 8), floats(4, 8), floats(4, 8)], outputs=2, atol=1e-4)
    yield case("decay", "LinearAttentionGate", [floats(2, 3, 4), floats(4), floats(4), floats(2, 3, 4)], outputs=2)
    small = lambda *dims: floats(*dims, scale=0.5)
    for rule, heads, states in (("linear", 2, 2), ("gated", 4, 2), ("delta", 2, 4), ("gated_delta", 2, 2)):
        inputs = [small(2, 6, heads * 4), small(2, 6, states * 4), small(2, 6, states * 3), None,
                  -positive(2, 6, states) if "gated" in rule else None, positive(2, 6, states) if "delta" in rule else None]
        yield case(f"linear_{rule}", "LinearAttention", inputs, {"update_rule": rule, "q_num_heads": heads, "kv_num_heads": states},
                   outputs=2, atol=1e-4)
    yield case("linear_step", "LinearAttention", [small(2, 1, 8), small(2, 1, 8), small(2, 1, 6), small(2, 2, 4, 3), -positive(2, 1, 8),
                                                  positive(2, 1, 1)], {"q_num_heads": 2, "kv_num_heads": 2}, outputs=2, atol=1e-4)
    taps = constant(floats(6, 1, 4))
    yield case("causal", "CausalConvWithState", [floats(2, 6, 7), taps, floats(6), floats(2, 6, 6)],
               {"dilation": 2, "activation": "silu"}, outputs=2)
    yield case("causal_last", "CausalConvWithState", [floats(2, 7, 2, 3), taps, None, floats(2, 3, 2, 3)], {"channels_last": 1}, outputs=2)


def microsoft_values():
    yield case("expand", "ExpandDims", [floats(2, 3), constant(one(-1, np.int32))])
    yield case("pad_row", "Pad", [floats(2, 3), np.array([[0, 1, 2, 0]], np.int64), one([7.0])])
    yield case("pad_reflect", "Pad", [floats(4, 3), i64(0, -1, 2, 0)], {"mode": "reflect"})
    yield case("range_by_one", "Range", [one(1, np.int16), one(7, np.int16)])
    yield case("range_by_two", "Range", [one([1.0]), one([6.0]), one([2.0])])
    yield case("unique", "Unique", [np.array([2, 1, 1, 3, 4, 3], np.float32)], outputs=3)
    yield case("unfold", "UnfoldTensor", [floats(3, 7, 2)], {"dim": 1, "size": 3, "step": 2})
    yield case("unfold_last", "UnfoldTensor", [floats(3, 7)], {"size": 2})
    yield case("sample_cubic", "GridSample", [floats(1, 2, 4, 4), floats(1, 3, 3, 2, scale=0.5)],
               {"mode": "bicubic", "padding_mode": "border", "align_corners": 1}, atol=1e-4)
    yield case("gather_nd", "GatherND", [floats(3, 4), np.array([[0, 1], [2, -1]], np.int64)])
    for metric in ("euclidean", "sqeuclidean"):
        yield case(f"distance_{metric}", "CDist", [floats(3, 4), floats(5, 4)], {"metric": metric}, atol=1e-4)
    tokens = np.array([[1, 2, 1, 2, 1], [3, 3, 3, 3, 3]], np.int64)
    for size in (1, 3, 6):
        yield case(f"repeat_{size}", "NGramRepeatBlock", [tokens, floats(2, 6)], {"ngram_size": size})
    for dtype in (np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64):
        yield case(f"hash_{np.dtype(dtype).name}", "MurmurHash3", [np.array([3, 5, 100], dtype)], {"seed": 42})
    yield case("hash_signed", "MurmurHash3", [i32(3, -5)], {"positive": 0})
    yield case("unpooled", "ConvTransposeWithDynamicPads", [floats(1, 2, 5, 5), floats(2, 3, 3, 3), i64(1, 0, 1, 1), floats(3)],
               {"strides": [2, 2], "output_padding": [1, 1]}, atol=1e-4)
    boxes = np.array([[0, 0, 1, 1], [0.2, 0.3, 0.9, 1.4], [0.5, 0.5, 0.5, 0.5], [0.9, 0.8, 0.1, 0.2]], np.float32)
    for mode in ("bilinear", "nearest"):
        yield case(f"crop_{mode}", "CropAndResize", [floats(2, 3, 6, 5), boxes, i32(0, 1, 1, 0), i32(3, 2)],
                   {"mode": mode, "extrapolation_value": 7.0}, atol=1e-4)
    for a, b in ((0, 0), (0, 1), (1, 0)):
        x, y = floats(*((4, 3) if a else (3, 4))), floats(*((5, 4) if b else (4, 5)))
        yield case(f"transpose_matmul_{a}{b}", "TransposeMatMul", [x, y], {"transA": a, "transB": b, "alpha": 0.5})
    yield case("sample_op", "SampleOp", [floats(2, 3)])
    yield case("crop_point", "CropAndResize", [floats(2, 3, 6, 5), boxes, i32(0, 1, 1, 0), i32(1, 1)], atol=1e-4)


if __name__ == "__main__":
    for family in (microsoft_attention, microsoft_grouped, microsoft_quantized, microsoft_experts, microsoft_gates,
                   microsoft_values):
        case_maker.random.seed(11)
        write(family.__name__, list(family()))
