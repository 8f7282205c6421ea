"""com.microsoft: attention, weights of few bits, experts and gates of language models."""
import numpy as np
import onnx

from draw import DTYPES, Impossible, Node, Operand

from .microsoft import KEY, calm, calm_bytes, scale, zero_point

F32, I32, I64 = np.float32, np.int32, np.int64


def bytes_of(d, dims, constant=0.7):
    return Operand(d.random.integers(0, 256, dims).astype(np.uint8), constant)


def numbers(d, high, dims, dtype=I64):
    return Operand(d.random.integers(0, high, dims).astype(dtype), 0.1)


def positive(d, dims, constant=0.7):
    return Operand(d.array(F32, dims, 0.01, 0.1), constant)


def as_float(d, operands, dtype):
    for operand in operands:
        if operand.value is not None and operand.value.dtype == F32:
            operand.value = operand.value.astype(dtype)
    return operands


def matmul_nbits(d):
    n, k, bits = d.pick([1, 3, 8, 17]), d.pick([16, 32, 40, 48]), d.pick([2, 4, 4, 8])
    block = d.pick([16, 32])
    blocks = -(-k // block)
    packed = d.random.integers(0, 256, [n, blocks, block * bits // 8]).astype(np.uint8)
    zero = d.pick([Operand(None), bytes_of(d, [n, -(-blocks * bits // 8)])])
    return Node([calm(d, [d.int(1, 3), d.int(1, 4), k]), Operand(packed, 0.7),
                 Operand(d.array(F32, [n, blocks], 0.01, 0.1), 0.7), zero, Operand(None), d.maybe(calm(d, [n], 0.7), 0.4)],
                {"N": n, "K": k, "bits": bits, "block_size": block}, atol=2e-2)


def matmul_bnb4(d):
    n, k, block = d.pick([1, 3, 8, 17]), d.pick([16, 30, 33, 48]), d.pick([16, 32])
    trans = d.int(0, 1)
    return Node([calm(d, [d.int(1, 4), k if trans else n]), bytes_of(d, [(n * k + 1) // 2], 1), positive(d, [-(-n * k // block)], 1)],
                {"N": n, "K": k, "block_size": block, "quant_type": d.int(0, 1), "transB": trans}, atol=1e-3)


def gather_block_quantized(d):
    """An index out of range gives zeros."""
    dtype = d.dtype("T1", lambda t: t in (np.uint8, DTYPES["tensor(int4)"], DTYPES["tensor(uint4)"]))
    bits, block, blocks = d.pick([2, 4, 8]), 16, d.int(1, 3)
    index = Operand(d.random.integers(-7, 8, d.dims(0, 2, zero=0)).astype(d.pick([I32, I64])), 0.2)
    if dtype == np.uint8:
        rows, columns = 5, block * blocks
        zero = d.maybe(bytes_of(d, [rows, -(-blocks * bits // 8)], 1), 0.5)
        return Node([bytes_of(d, [rows, columns * bits // 8], 1), index, positive(d, [rows, blocks], 1), zero],
                    {"bits": bits, "block_size": block, "quantize_axis": 1, "gather_axis": 0}, atol=1e-3)
    dims = [d.int(1, 4), d.int(1, 3), d.int(1, 3)]
    along, axis = d.int(0, 2), d.int(0, 2)
    dims[along] = block * blocks - d.int(0, 3)
    scales = list(dims)
    scales[along] = blocks
    four = lambda dims: Operand(d.array(dtype, dims), 1)
    return Node([four(dims), index, positive(d, scales, 1), d.maybe(four(scales), 0.5)],
                {"block_size": block, "quantize_axis": along, "gather_axis": axis}, atol=1e-3)


def rotary(d):
    batch, heads, length, size = d.int(1, 2), d.int(1, 3), d.length(1, 4), d.pick([8, 16])
    is_apart = d.chance(0.3)
    x = [batch, heads, length, size] if is_apart else [batch, length, heads * size]
    attributes = dict(d.some(interleaved=lambda: d.int(0, 1)))
    part = size
    if d.chance(0.3):
        part = size // 2
        attributes["rotary_embedding_dim"] = part
    if not is_apart or part != size:
        attributes["num_heads"] = heads
    if d.schema.name == "MRotaryEmbedding":
        first = d.int(0, part // 2)
        second = d.int(0, part // 2 - first)
        attributes.update(mrope_section=[first, second, part // 2 - first - second], mrope_layout=d.int(0, 1))
        positions = numbers(d, 8, [3, batch, length])
    else:
        positions = d.pick([numbers(d, 8, [batch, length]), numbers(d, 5, [1])])
    return Node([calm(d, x), positions, calm(d, [8, part // 2], 0.6), calm(d, [8, part // 2], 0.6)], attributes, atol=2e-3)


def mask_for(d, batch, queries, keys, with_lengths=True):
    kinds = [Operand(None), numbers(d, 2, [batch, keys], I32), numbers(d, 2, [batch, queries, keys], I32)]
    if with_lengths:
        kinds.append(Operand(d.random.integers(1, keys + 1, [batch]).astype(I32), 0.1))
    return d.pick(kinds)


def attention(d):
    batch, heads, length, size, inner, past = d.int(1, 3), d.int(1, 3), d.length(1, 4), d.pick([2, 4, 8]), d.pick([3, 8]), d.int(0, 3)
    hidden = heads * size
    last = hidden if past else heads * d.pick([2, 4, 8])
    attributes = dict(d.some(unidirectional=lambda: d.int(0, 1), scale=lambda: 0.4, mask_filter_value=lambda: -100.0), num_heads=heads)
    if last != hidden:
        attributes["qkv_hidden_sizes"] = [hidden, hidden, last]
    before = calm(d, [2, batch, heads, past, size]) if past else Operand(None)
    bias = d.maybe(calm(d, [d.pick([1, batch]), d.pick([1, heads]), length, length]), 0 if past else 0.3)
    return Node([calm(d, [batch, length, inner]), calm(d, [inner, 2 * hidden + last], 0.7), d.maybe(calm(d, [2 * hidden + last], 0.7)),
                 mask_for(d, batch, length, length + past), before, bias], attributes, outputs=2 if past else 1, atol=2e-3)


def quantized_attention(d):
    batch, heads, length, size, inner, past = d.int(1, 3), d.int(1, 3), d.length(1, 4), d.pick([2, 4, 8]), d.pick([3, 8]), d.int(0, 3)
    columns = 3 * heads * size
    weights = d.pick([np.uint8, np.int8])
    each = d.pick([[], [columns]])
    attributes = dict(d.some(unidirectional=lambda: d.int(0, 1)), num_heads=heads)
    small = lambda dims: Operand(d.array(F32, dims, 0.005, 0.02), 0.7)
    return Node([calm_bytes(d, np.uint8, [batch, length, inner]), calm_bytes(d, weights, [inner, columns], 0.7), calm(d, [columns], 0.7),
                 small([]), small(each), mask_for(d, batch, length, length + past), d.maybe(zero_point(d, np.uint8, [])),
                 d.maybe(zero_point(d, weights, each)), calm(d, [2, batch, heads, past, size]) if past else Operand(None)],
                attributes, outputs=2 if past else 1, atol=2e-3)


def multi_head(d):
    batch, heads, length, size = d.int(1, 2), d.int(1, 3), d.length(1, 4), d.pick([2, 4, 8])
    hidden = heads * size
    past = d.pick([0, 0, 2, 5])
    keys = length if past else d.length(1, 5)
    attributes = dict(d.some(scale=lambda: 0.4, mask_filter_value=lambda: -100.0), num_heads=heads)
    if past and d.chance(0.5):
        attributes["unidirectional"] = 1
    is_cross = not past and d.chance(0.3)
    kv = [calm(d, [batch, heads, keys, size] if is_cross else [batch, keys, hidden]) for _ in range(2)]
    inputs = [calm(d, [batch, length, hidden])] + kv + [d.maybe(calm(d, [3 * hidden], 0.6), 0.4)]
    shared = past and d.chance(0.5)
    used = d.int(0, past) if shared else past
    inputs.append(mask_for(d, batch, length, used + keys, not past))
    inputs.append(d.maybe(calm(d, [d.pick([1, batch]), d.pick([1, heads]), length, used + keys]), 0.3))
    if past:
        room = past + keys if shared else past
        inputs += [calm(d, [batch, heads, room, size]) for _ in range(2)]
        if shared:
            inputs.append(Operand(np.array([used], I32), 0.2))
    return Node(inputs, attributes, outputs=3 if past else 1, atol=2e-3)


def decoder_masked(d):
    beams, heads, size = d.pick([1, 1, 2]), d.int(1, 3), d.pick([4, 8])
    batch, hidden, room = beams * d.int(1, 2), heads * size, 6
    attributes = {"num_heads": heads}
    bias = d.maybe(calm(d, [3 * hidden], 0.6), 0.4)
    if d.chance(0.3):
        keys = d.int(1, 5)
        return Node([calm(d, [batch, 1, hidden])] + [calm(d, [batch, heads, keys, size]) for _ in range(2)]
                    + [d.maybe(numbers(d, 2, [batch, keys], I32))] + [Operand(None)] * 6 + [bias], attributes, atol=2e-3)
    past = d.int(0, room - 1)
    inputs = [calm(d, [batch, 1, hidden]) for _ in range(3)] + [Operand(None), Operand(None)]
    inputs += [calm(d, [batch, heads, room, size]) for _ in range(2)] + [Operand(np.array([past], I32), 0.2)]
    if beams > 1:
        inputs += [Operand(np.array([beams], I32), 0.5), numbers(d, beams, [batch // beams, beams, room], I32)]
    else:
        inputs += [Operand(None), Operand(None)]
    return Node(inputs + [bias], dict(attributes, past_present_share_buffer=1), outputs=3, atol=2e-3)


def grouped(d):
    """Whole sequences only, or one token more: what lies behind a sequence is not specified."""
    batch, heads, shared, size = d.int(1, 3), d.pick([2, 4]), d.pick([1, 2]), 16
    length, past = d.pick([(1, 3), (1, 6), (3, 0), (5, 0)])
    if batch == 1 and d.chance(0.3):
        length, past = 2, 4
    total = length + past
    attributes = dict(d.some(softcap=lambda: 2.0, smooth_softmax=lambda: 1, local_window_size=lambda: d.int(2, 4)),
                      num_heads=heads, kv_num_heads=shared)
    if d.chance(0.3):
        attributes["scale"] = 0.4
    rotates = d.chance(0.5)
    angles = [calm(d, [total + 2, size // 2], 0.6) for _ in range(2)] if rotates else [Operand(None)] * 2
    if rotates:
        attributes.update(do_rotary=1, rotary_interleaved=d.int(0, 1))
    if d.chance(0.3):
        x = [calm(d, [batch, length, (heads + 2 * shared) * size]), Operand(None), Operand(None)]
    else:
        x = [calm(d, [batch, length, heads * size])] + [calm(d, [batch, length, shared * size]) for _ in range(2)]
    lengths = Operand(np.full([batch], total - 1, I32), 0.1)
    scales = [Operand(None)] * 2
    bits = d.pick([0, 0, 0, 4, 8])
    if bits:
        channel = d.pick([[1], [1, shared, 1, size]])
        kind = "PER_TENSOR" if channel == [1] else "PER_CHANNEL"
        scales = [positive(d, channel) for _ in range(2)]
        dtype = np.int8 if bits == 8 else np.uint8
        cache = [calm_bytes(d, dtype, [batch, shared, past, size * bits // 8]) for _ in range(2)]
        attributes.update(k_quant_type=kind, v_quant_type=kind, kv_cache_bit_width=bits)
    else:
        cache = [calm(d, [batch, shared, past, size]) for _ in range(2)] if past else [Operand(None)] * 2
    bias = d.maybe(calm(d, [d.pick([1, batch]), d.pick([1, heads]), length, total]), 0.25)
    sink = d.maybe(calm(d, [heads], 0.7), 0.25)
    inputs = x + cache + [lengths, Operand(np.array(total, I32), 0.3)] + angles + [Operand(None), bias, sink] + scales
    outputs = 3
    if d.chance(0.3) and not bits:
        attributes["qk_output"] = d.int(1, 2)
        outputs = 4
    if sink.value is not None:
        attributes.pop("smooth_softmax", None)
    return Node(inputs, attributes, outputs=outputs, atol=5e-3)


def experts(d):
    count, size, inner, tokens = d.pick([2, 4, 20]), 32, 32, d.int(1, 5)
    kind = d.pick(["relu", "gelu", "silu", "swiglu", "identity"])
    double = 2 if kind == "swiglu" else 1
    attributes = dict(k=d.int(1, 2), activation_type=kind, swiglu_fusion=double - 1, normalize_routing_weights=d.int(0, 1))
    if double == 2:
        attributes.update(d.some(activation_alpha=lambda: 1.7, activation_beta=lambda: 1.0, swiglu_limit=lambda: 2.0))
    x = [calm(d, d.pick([[tokens, size], [1, tokens, size]])), calm(d, [tokens, count])]
    if d.schema.name == "MoE":
        layer = lambda rows, columns: [Operand(d.array(F32, [count, rows, columns], -0.3, 0.3), 0.7),
                                       d.maybe(calm(d, [count, rows], 0.7))]
        return Node(x + layer(double * inner, size) + layer(size, inner), attributes, atol=2e-2)
    bits, block = d.pick([2, 4]), d.pick([0, 16, 32])
    attributes.update(expert_weight_bits=bits, weights_prepacked=0)
    if block:
        attributes["block_size"] = block

    def layer(rows, columns):
        scales = [count, rows, columns // block] if block else [count, rows]
        zeros = scales[:-1] + [-(-scales[-1] * bits // 8)]
        return ([bytes_of(d, [count, rows, columns * bits // 8], 1), Operand(d.array(F32, scales, 0.005, 0.02), 1),
                 d.maybe(calm(d, [count, rows], 1), 0.3)], bytes_of(d, zeros, 1))
    first, zero = layer(double * inner, size)
    second, other_zero = layer(size, inner)
    zeros = [zero, other_zero] if d.chance(0.5) else [Operand(None)] * 2
    return Node(x + first + second + [Operand(None)] * 3 + zeros, attributes, atol=2e-2)


def linear_attention(d):
    batch, steps, size, value = d.int(1, 2), d.pick([1, 3, 6]), 8, d.pick([4, 8])
    heads, states = d.pick([(2, 2), (4, 2), (2, 4)])
    rule = d.pick(["linear", "gated", "delta", "gated_delta"])
    decay = Operand(d.array(F32, [batch, steps, states * d.pick([1, size])], -1, 0), 0.1) if "gated" in rule else Operand(None)
    beta = Operand(d.array(F32, [batch, steps, d.pick([1, states])], 0, 1), 0.1) if "delta" in rule else Operand(None)
    small = lambda dims: Operand(d.array(F32, dims, -0.5, 0.5), 0.1)
    return Node([small([batch, steps, heads * size]), small([batch, steps, states * size]), small([batch, steps, states * value]),
                 d.maybe(small([batch, states, size, value]), 0.5), decay, beta],
                {"q_num_heads": heads, "kv_num_heads": states, "update_rule": rule}, outputs=2, atol=2e-3)


def causal_convolution(d):
    batch, channels, length, taps, dilation = d.int(1, 2), d.int(1, 6), d.int(1, 8), d.int(2, 4), d.int(1, 2)
    last = d.int(0, 1)
    order = lambda size: [batch, size, channels] if last else [batch, channels, size]
    return Node([calm(d, order(length)), calm(d, [channels, 1, taps], 0.7), d.maybe(calm(d, [channels], 0.7)),
                 d.maybe(calm(d, order((taps - 1) * dilation)))],
                {"activation": d.pick(["none", "silu"]), "dilation": dilation, "channels_last": last}, outputs=2, atol=2e-3)


def gate(d):
    name = d.schema.name
    outer, branches, size = d.dims(1, 2, zero=0, limit=12), d.int(1, 4), d.pick([1, 4, 8, 17])
    if name == "ScaledSiLU":
        return Node([calm(d, outer + [size]), d.maybe(Operand(np.asarray(0.7, F32), 0.5))], {"alpha": 1.5}, atol=1e-3)
    if name == "GatedAdd":
        return Node([calm(d, outer + [size]), calm(d, outer + [size]), calm(d, outer + [1])], atol=1e-3)
    if name == "GatedRMSNorm":
        return Node([calm(d, outer + [branches * size]), calm(d, [size]), calm(d, outer + [branches * size])],
                    {"activation": d.pick(["silu", "sigmoid"]), "epsilon": 1e-3}, atol=2e-3)
    joined = d.chance(0.5)
    streams = outer + ([branches * size] if joined else [branches, size])
    attributes = {"num_branches": branches} if joined else {}
    gates = d.pick([outer + [branches], outer + [branches, 1], outer + [branches, size]])
    if name == "BranchwiseRMSNorm":
        return Node([calm(d, streams), d.maybe(calm(d, d.pick([[branches * size], [branches, size], [size]])))],
                    dict(attributes, epsilon=1e-3), atol=2e-3)
    if name == "HyperConnectionPreMix":
        return Node([calm(d, streams), calm(d, gates)], dict(attributes, reduction_scale=0.5), atol=2e-3)
    return Node([calm(d, streams), calm(d, outer + [size]), calm(d, gates), d.maybe(calm(d, outer + [branches, branches]))],
                attributes, atol=2e-3)


def engram(d):
    batch, length, branches, size = d.int(1, 2), d.int(1, 3), d.int(1, 4), d.pick([4, 8, 17])
    whole = [batch, length, branches, size]
    return Node([calm(d, whole), calm(d, whole), calm(d, [batch, length, size])] + [calm(d, [branches, size], 0.6) for _ in range(3)],
                {"epsilon": 1e-3}, outputs=2, atol=2e-2)


def attention_gate(d):
    dims = [d.int(1, 2), d.int(1, 4), d.int(1, 5)]
    return Node([calm(d, dims), calm(d, dims[2:]), calm(d, dims[2:]), calm(d, dims)], outputs=2, atol=1e-3)


def group_router(d):
    groups, each = d.int(1, 4), d.pick([2, 3, 4])
    kept = d.int(1, groups)
    return Node([calm(d, [d.int(1, 5), groups * each]), calm(d, [groups * each])],
                {"n_group": groups, "topk_group": kept, "top_k": d.int(1, kept * each), "group_topk": d.int(1, 2)}, atol=1e-3)


TABLE = {(KEY, name): make for name, make in {
    "MatMulNBits": matmul_nbits, "MatMulBnb4": matmul_bnb4, "GatherBlockQuantized": gather_block_quantized,
    "RotaryEmbedding": rotary, "MRotaryEmbedding": rotary, "Attention": attention, "QAttention": quantized_attention,
    "MultiHeadAttention": multi_head, "DecoderMaskedMultiHeadAttention": decoder_masked, "GroupQueryAttention": grouped,
    "MoE": experts, "QMoE": experts, "LinearAttention": linear_attention, "CausalConvWithState": causal_convolution,
    "ScaledSiLU": gate, "GatedAdd": gate, "GatedRMSNorm": gate, "BranchwiseRMSNorm": gate, "HyperConnectionPreMix": gate,
    "HyperConnectionPostMix": gate, "EngramGate": engram, "LinearAttentionGate": attention_gate,
    "MoEGroupRouter": group_router}.items()}
