import numpy as np

from case_maker import case, constant, evaluate, floats, integers


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
