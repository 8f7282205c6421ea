"""What lies between convolutions, and behind them, in the layout that they compute in."""
import numpy as np

from case_maker import chain, constant, floats


def layouts():
    def weights(*dims):
        return constant(floats(*dims, scale=0.2))

    def convolution(source, weight, result, **attributes):
        return ("Conv", [source, weight], [result], attributes)

    def between(name, nodes, *inputs):
        """Nodes from "before" to "behind", of 20 channels both."""
        last = len(inputs)
        first = convolution("input0", f"input{last + 1}", "before", pads=[1, 1, 1, 1])
        end = convolution("behind", f"input{last + 2}", "output0")
        return chain(name, [first, *nodes, end], [floats(1, 4, 5, 6), *inputs, weights(20, 4, 3, 3), weights(13, 20, 1, 1)])

    for mode, coordinates, by in (("linear", "half_pixel", 1.5), ("linear", "align_corners", 2), ("cubic", "half_pixel", 1.5),
                                  ("nearest", "asymmetric", 1.5)):
        scales = constant(np.array([1, 1, by, 3], np.float32))
        yield between(f"resized_{mode}_{coordinates}", [("Resize", ["before", "", "input1"], ["behind"], {
            "mode": mode, "coordinate_transformation_mode": coordinates})], scales)
    sizes = [("Shape", ["before"], ["shape"], {"start": 0, "end": 2}), ("Concat", ["shape", "input1"], ["sizes"], {"axis": 0}),
             ("Resize", ["before", "", "", "sizes"], ["behind"], {"mode": "linear", "coordinate_transformation_mode": "align_corners"})]
    yield between("resized_to_sizes", sizes, constant(np.array([11, 4], np.int64)))
    yield between("channels_shuffled", [("Gather", ["before", "input1"], ["behind"], {"axis": 1})],
                  constant(np.arange(20).reshape(4, 5).T.ravel().astype(np.int64)))
    yield between("rows_gathered", [("Gather", ["before", "input1"], ["behind"], {"axis": -2})], np.array([3, 0, -1, 3], np.int64))
    for groups, channels in ((5, 4), (10, 2)):
        yield between(f"groups_of_{channels}", [convolution("before", "input1", "grouped", group=groups, pads=[1, 1, 1, 1]),
                                                ("Relu", ["grouped"], ["behind"], {})], weights(20, channels, 3, 3))
    yield between("groups_of_five_to_two", [convolution("before", "input1", "grouped", group=4, strides=[2, 1], pads=[0, 2, 1, 2], dilations=[1, 2]),
                                            convolution("grouped", "input2", "behind")], weights(8, 5, 2, 3), weights(20, 8, 1, 1))
    # A convolution of each picture of a film.
    yield chain("films", [convolution("input0", "input1", "before"), convolution("before", "input2", "made", pads=[0, 1, 1, 0, 1, 1]),
                          ("Relu", ["made"], ["behind"], {}), convolution("behind", "input3", "output0")],
                [floats(1, 4, 3, 5, 7), weights(32, 4, 1, 1, 1), weights(32, 32, 1, 3, 3), weights(13, 32, 1, 1, 1)], rtol=1e-5, atol=1e-4)
    # Resized to be a result.
    yield chain("resized_last", [convolution("input0", "input1", "made"), ("Resize", ["made", "", "input2"], ["output0"], {"mode": "linear"})],
                [floats(1, 5, 6, 8), weights(19, 5, 1, 1), constant(np.array([1, 1, 3, 2], np.float32))])
    regions = np.array([[0, 0, 6, 6], [1.5, 2, 9, 7], [-3, -2, 4, 30], [5, 5, 5.5, 5.25]], np.float32)
    for operator, more in (("RoiAlign", {"sampling_ratio": 2, "mode": "avg"}), ("RoiAlign", {"sampling_ratio": 0, "mode": "avg"}),
                           ("RoiAlign", {"sampling_ratio": 2, "mode": "max", "coordinate_transformation_mode": "output_half_pixel"})):
        pool = (operator, ["made", "input2", "input3"], ["pooled"], {"output_height": 3, "output_width": 2, "spatial_scale": 0.75, **more})
        name = f"regions_{'_'.join(str(value) for value in more.values())}"
        yield chain(name, [convolution("input0", "input1", "made", pads=[1, 1, 1, 1]), pool, convolution("pooled", "input4", "output0")],
                    [floats(2, 2, 9, 8), weights(70, 2, 3, 3), regions, np.array([0, 1, 1, 0], np.int64), weights(14, 70, 1, 1)])
    # The operator takes corners after the number of the image.
    pool = ("MaxRoiPool", ["made", "input2"], ["output0"], {"pooled_shape": [2, 3], "spatial_scale": 0.5})
    numbered = np.concatenate([np.array([[0], [1], [1]], np.float32), np.array([[0, 0, 6, 6], [2, 4, 12, 8], [1, 1, 2, 20]], np.float32)], 1)
    yield chain("regions_pooled", [convolution("input0", "input1", "made", pads=[1, 1, 1, 1]), pool],
                [floats(2, 3, 9, 8), weights(33, 3, 3, 3), numbered])
    # Groups of which vectors of channels would hold parts.
    for channels, outputs, groups, attributes in (
            (1, 3, 11, {"pads": [1, 1, 1, 1]}), (1, 16, 3, {"pads": [0, 1, 2, 1]}), (3, 3, 7, {"strides": [2, 1], "pads": [1, 1, 1, 1]}),
            (2, 3, 5, {"dilations": [2, 1], "pads": [2, 1, 2, 1]}), (6, 6, 4, {"pads": [1, 1, 1, 1]}), (24, 24, 2, {"pads": [1, 1, 1, 1]}),
            (17, 1, 3, {"pads": [1, 0, 1, 0]}), (32, 8, 2, {})):
        grouped = convolution("made", "input2", "grouped", group=groups, **attributes)
        yield chain(f"groups_of_{channels}_to_{outputs}", [convolution("input0", "input1", "made"), grouped, ("Relu", ["grouped"], ["kept"], {}),
                                                          convolution("kept", "input3", "output0")],
                    [floats(1, 5, 6, 7), weights(channels * groups, 5, 1, 1), weights(outputs * groups, channels, 3, 3),
                     weights(9, outputs * groups, 1, 1)], rtol=1e-5, atol=1e-4)
    # Channels that came last before they came first.
    yield chain("from_pixels", [("Relu", ["input0"], ["kept"], {}), ("Transpose", ["kept"], ["turned"], {"perm": [0, 2, 1]}),
                                ("Reshape", ["turned", "input2"], ["picture"], {}),
                                ("Resize", ["picture", "", "input3"], ["resized"], {"mode": "linear"}),
                                ("Transpose", ["input1"], ["other"], {"perm": [0, 3, 1, 2]}), ("Concat", ["resized", "other"], ["both"], {"axis": 1}),
                                convolution("both", "input4", "made"), ("Relu", ["made"], ["behind"], {}), convolution("behind", "input5", "output0")],
                [floats(2, 12, 18), floats(2, 6, 8, 5), constant(np.array([2, 18, 3, 4], np.int64)), constant(np.array([1, 1, 2, 2], np.float32)),
                 weights(21, 23, 1, 1), weights(7, 21, 1, 1)], rtol=1e-5, atol=1e-4)
    # Depthwise convolutions whose channels are wanted last, beside what they read.
    def block(data, weight, result):
        return [("Conv", [data, weight], [f"{result}_deep"], {"group": 19, "pads": [1, 2, 1, 2]}),
                ("Transpose", [f"{result}_deep"], [f"{result}_last"], {"perm": [0, 2, 3, 1]}), ("Sigmoid", [f"{result}_last"], [f"{result}_kept"], {}),
                ("Transpose", [f"{result}_kept"], [f"{result}_first"], {"perm": [0, 3, 1, 2]}), ("Add", [f"{result}_first", data], [result], {})]
    yield chain("blocks_of_depthwise", block("input0", "input1", "first") + block("first", "input2", "output0"),
                [floats(2, 19, 6, 7), weights(19, 1, 3, 5), weights(19, 1, 3, 5)], rtol=1e-5, atol=1e-4)
