import numpy as np

from case_maker import case, floats, integers


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
