import numpy as np

from case_maker import case, floats, integers


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
