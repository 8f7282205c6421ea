import numpy as np

from case_maker import case, constant, floats, integers, random, text_of


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
