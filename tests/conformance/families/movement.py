import numpy as np

from case_maker import case, constant, floats, integers


def movement():
    """Sides of tiles that are transposed in registers, elements repeated and picked, and what shares its positions."""
    def onnx_case(name, op, inputs, attributes=None, opset=20, **more):
        return case(name, op, inputs, attributes, domain="", opset=opset, **more)

    # Wide and narrow, whole tiles and what is left of them, rows shorter than a vector.
    shapes = [
        ((7, 5), (1, 0)), ((16, 16), (1, 0)), ((33, 20), (1, 0)), ((3, 50), (1, 0)), ((50, 3), (1, 0)), ((1, 17), (1, 0)),
        ((2, 19, 18), (0, 2, 1)), ((1, 2, 5, 9), (0, 2, 3, 1)), ((1, 4, 5, 9), (0, 2, 3, 1)), ((1, 8, 3, 11), (0, 2, 3, 1)),
        ((1, 6, 7, 4), (0, 3, 1, 2)), ((17, 3, 18), (2, 1, 0)), ((2, 3, 4, 5, 6), (4, 1, 0, 3, 2)), ((2, 3, 2, 9), (0, 3, 1, 2)),
        ((2, 2, 5, 2, 9), (0, 2, 4, 1, 3)), ((4, 3, 2, 16), (0, 2, 1, 3)), ((20, 0), (1, 0)),
    ]
    for dims, perm in shapes:
        for dtype in (np.float32, np.uint8, np.float16, np.int64):
            x = integers(0, 99, *dims).astype(dtype)
            name = f"transpose_{'x'.join(map(str, dims))}_{''.join(map(str, perm))}_{np.dtype(dtype).name}"
            yield onnx_case(name, "Transpose", [x], {"perm": list(perm)})
    yield onnx_case("transpose_bool", "Transpose", [integers(0, 2, 19, 35).astype(bool)])
    yield onnx_case("transpose_double", "Transpose", [floats(2, 9, 11, dtype=np.float64)], {"perm": [0, 2, 1]})
    for mode in ("DCR", "CRD"):
        for block in (2, 3, 4):
            yield onnx_case(f"spread_{mode}_{block}", "DepthToSpace", [floats(1, 2 * block * block, 3, 7)],
                            {"blocksize": block, "mode": mode})
    yield onnx_case("gathered", "SpaceToDepth", [floats(1, 3, 4, 38)], {"blocksize": 2})

    for coordinates in ("asymmetric", "half_pixel", "pytorch_half_pixel", "tf_half_pixel_for_nn", "align_corners"):
        for rounding in ("floor", "ceil", "round_prefer_floor", "round_prefer_ceil"):
            attributes = {"mode": "nearest", "coordinate_transformation_mode": coordinates, "nearest_mode": rounding}
            for scales in ((1, 1, 2, 2), (1, 2, 3, 1), (1, 1, 1, 4), (1, 1, 1.5, 2)):
                if coordinates == "tf_half_pixel_for_nn" and rounding != "floor":
                    continue
                if coordinates == "align_corners" and scales[2] == 1.5:  # sizes that scales give with a fraction
                    continue
                inputs = [floats(1, 2, 3, 9), None, constant(np.array(scales, np.float32))]
                yield onnx_case(f"nearest_{coordinates}_{rounding}_{'_'.join(map(str, scales))}", "Resize", inputs,
                                attributes, opset=19)
    yield onnx_case("nearest_bytes", "Resize", [integers(0, 255, 1, 3, 5, 21, dtype=np.uint8), None,
                                                constant(np.array([1, 1, 2, 2], np.float32))],
                    {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}, opset=19)

    for batch in (0, 1):
        lengths = np.array([5, 1, 4], np.int64)
        dims = (3, 5, 6) if batch == 0 else (5, 3, 6)
        yield onnx_case(f"reverse_{batch}", "ReverseSequence", [floats(*dims), lengths],
                        {"batch_axis": batch, "time_axis": 1 - batch}, opset=10)
    for beta in (0.75, 0.5, 1.0, 0.6):
        for bias in (1.0, 0.001):
            yield onnx_case(f"lrn_{beta}_{bias}", "LRN", [floats(2, 7, 3, 5)],
                            {"size": 5, "beta": beta, "bias": bias, "alpha": 0.01}, opset=13)
    for dims, axis in (((3, 41), 1), ((2, 41, 5), 1), ((2, 3, 16), 2)):
        for op in ("Softmax", "LogSoftmax"):
            yield onnx_case(f"{op}_{axis}_{len(dims)}", op, [floats(*dims, scale=8)], {"axis": axis}, opset=13)
    far = np.array([[-200, 5, -np.inf], [np.nan, 1, 2], [-np.inf, np.nan, 0], [3e38, -3e38, 1]], np.float32)
    yield onnx_case("Softmax_far", "Softmax", [far], {"axis": 1}, opset=13)
    for dtype in (np.float32, np.int64, np.int8):
        for is_sorted in (0, 1):
            values = integers(0, 60, 300).astype(dtype)
            yield onnx_case(f"unique_{np.dtype(dtype).name}_{is_sorted}", "Unique", [values], {"sorted": is_sorted}, outputs=4,
                            opset=11)
    yield onnx_case("unique_rows", "Unique", [integers(0, 3, 70, 2).astype(np.float32)], {"axis": 0, "sorted": 1}, outputs=4,
                    opset=11)
    yield onnx_case("elements", "GatherElements", [floats(4, 50), integers(-50, 50, 4, 37)], {"axis": 1}, opset=13)
    for mode in ("linear", "nearest", "cubic"):
        inputs = [floats(2, 3, 5, 6), floats(2, 4, 9, 2, scale=0.8)]
        yield onnx_case(f"sampled_{mode}", "GridSample", inputs, {"mode": mode}, opset=20)

    regions = np.array([[0, 0, 9, 9], [3.3, 1.7, 30, 12.5], [-4, -3, 8, 40]], np.float32)
    images = np.array([0, 1, 1], np.int64)
    for mode in ("avg", "max"):
        for samples in (0, 2):
            for channels in (2, 67):
                x = integers(-4, 5, 2, channels, 7, 8).astype(np.float32) + 4 * (mode == "max")
                yield onnx_case(f"regions_{mode}_{samples}_{channels}", "RoiAlign", [x, regions, images],
                                {"mode": mode, "output_height": 2, "output_width": 3, "sampling_ratio": samples,
                                 "spatial_scale": 0.25}, opset=16)
