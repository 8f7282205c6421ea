import numpy as np

from case_maker import case, floats


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
