#!/usr/bin/env python3
"""Writes growing_sizes/*.onnx and *.json: models whose sizes are made of one another in many steps, as exporters write
them for dynamic height and width, with what ONNX Runtime gives for some sizes of a picture that counts from 0 to 1.

Needs onnx, numpy and onnxruntime. Nothing else in the project needs Python; the models are committed.
"""
import json
import pathlib

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper

HERE = pathlib.Path(__file__).parent / "growing_sizes"
CHANNELS = 2


class Model:
    """Nodes on a tensor `at`, which each of them replaces."""

    def __init__(self):
        self.nodes, self.initializers, self.count, self.at = [], [], 0, "x"

    def new(self):
        self.count += 1
        return f"v{self.count}"

    def add(self, op, *inputs, **attributes):
        result = self.new()
        self.nodes.append(helper.make_node(op, list(inputs), [result], **attributes))
        return result

    def ints(self, *values):
        name = self.new()
        self.initializers.append(onnx.numpy_helper.from_array(np.array(values, np.int64), name))
        return name

    def floats(self, *values):
        name = self.new()
        self.initializers.append(onnx.numpy_helper.from_array(np.array(values, np.float32), name))
        return name

    def weights(self, *dims):
        value = onnx.numpy_helper.from_array(np.array([1.5 / np.prod(dims[1:])], np.float32))
        return self.add("ConstantOfShape", self.ints(*dims), value=value)

    def size(self, value):
        return self.add("Shape", value, start=2, end=4)

    def conv(self, kernel, stride, **attributes):
        weights = self.weights(CHANNELS, CHANNELS, kernel, kernel)
        self.at = self.add("Conv", self.at, weights, kernel_shape=[kernel] * 2, strides=[stride] * 2, **attributes)

    def pool(self, op, kernel, stride, pads=(0, 0, 0, 0), ceil=0):
        self.at = self.add(op, self.at, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=list(pads), ceil_mode=ceil)

    def crop(self, value, size):
        """The middle of `value`, as large as `size` says."""
        low = self.add("Div", self.add("Sub", self.size(value), size), self.ints(2, 2))
        return self.add("Slice", value, low, self.add("Add", low, size), self.ints(2, 3))


def strided_convolutions(model):
    for _ in range(10):
        model.conv(4, 2, pads=[2, 2, 2, 2])
        model.conv(3, 1, pads=[0, 2, 2, 0])


def same_convolutions(model):
    for i in range(8):
        model.conv(3, 2 if i % 2 else 1, auto_pad="SAME_UPPER" if i % 3 else "SAME_LOWER")


def ceil_pools(model):
    for _ in range(16):
        model.pool("MaxPool", 3, 2, (1, 1, 1, 1), 1)


def average_pools(model):
    for _ in range(12):
        model.pool("AveragePool", 3, 2, (1, 0, 1, 1), 1)
        model.conv(1, 1)


def hourglasses(model):
    for _ in range(6):
        model.conv(3, 2, pads=[1, 1, 1, 1])
        model.at = model.add("ConvTranspose", model.at, model.weights(CHANNELS, CHANNELS, 3, 3), kernel_shape=[3, 3],
                             strides=[2, 2], pads=[1, 1, 1, 1], output_padding=[1, 1])
        model.pool("MaxPool", 2, 1, ceil=1)


def added_branches(model):
    """Two ways to halve a picture, which agree where the size is even."""
    for _ in range(6):
        start = model.at
        model.pool("MaxPool", 2, 2, ceil=1)
        pooled, model.at = model.at, start
        model.conv(2, 2, auto_pad="SAME_UPPER")
        model.at = model.add("Add", pooled, model.at)


def cropping_unet(model):
    skips = []
    for _ in range(3):
        model.conv(3, 1)
        skips.append(model.at)
        model.pool("MaxPool", 2, 2, ceil=1)
    for skip in reversed(skips):
        up = model.add("Resize", model.at, "", model.floats(1, 1, 2, 2), mode="nearest")
        size = model.add("Min", model.size(skip), model.size(up))
        joined = model.add("Concat", model.crop(skip, size), model.crop(up, size), axis=1)
        weights = model.weights(CHANNELS, 2 * CHANNELS, 3, 3)
        model.at = model.add("Conv", joined, weights, kernel_shape=[3, 3])


def padding_unet(model):
    skips = []
    for _ in range(4):
        model.conv(3, 1, pads=[1, 1, 1, 1])
        skips.append(model.at)
        model.pool("MaxPool", 2, 2)
    for skip in reversed(skips):
        up = model.add("ConvTranspose", model.at, model.weights(CHANNELS, CHANNELS, 2, 2), kernel_shape=[2, 2],
                       strides=[2, 2])
        missing = model.add("Sub", model.size(skip), model.size(up))
        low = model.add("Div", missing, model.ints(2, 2))
        zero = model.ints(0, 0)
        pads = model.add("Concat", zero, low, zero, model.add("Sub", missing, low), axis=0)
        model.at = model.add("Add", model.add("Pad", up, pads), skip)


def squared_sizes(model):
    """Sizes that occur more than once in the next one."""
    for _ in range(12):
        height = model.add("Shape", model.at, start=2, end=3)
        square = model.add("Div", model.add("Mul", height, height), model.ints(9))
        end = model.add("Min", model.add("Add", square, model.ints(3)), height)
        model.at = model.add("Slice", model.at, model.ints(0), end, model.ints(2))


def windows(model):
    """Rolled windows: padded to whole windows, cut out, put back, cropped."""
    for step in range(6):
        window = 4 + step % 3
        size = model.size(model.at)
        count = model.add("Div", model.add("Add", size, model.ints(window - 1, window - 1)), model.ints(window, window))
        missing = model.add("Sub", model.add("Mul", count, model.ints(window, window)), size)
        padded = model.add("Pad", model.at, model.add("Concat", model.ints(0, 0, 0, 0, 0, 0), missing, axis=0))
        rows = model.add("Gather", count, model.ints(0), axis=0)
        columns = model.add("Gather", count, model.ints(1), axis=0)
        whole, both = model.ints(window), model.ints(1, CHANNELS)
        cut = model.add("Reshape", padded, model.add("Concat", both, rows, whole, columns, whole, axis=0))
        moved = model.add("Transpose", cut, perm=[0, 2, 4, 1, 3, 5])
        mean = model.add("Softmax", moved, axis=5)
        back = model.add("Transpose", mean, perm=[0, 3, 1, 4, 2, 5])
        flat = model.add("Reshape", back, model.add("Concat", both, model.add("Mul", count, model.ints(window, window)),
                                                    axis=0))
        crop = model.add("Sub", size, model.ints(step % 2, (step + 1) % 2))
        model.at = model.add("Slice", flat, model.ints(0, 0), crop, model.ints(2, 3))


def write(build, sizes):
    model = Model()
    build(model)
    model.nodes.append(helper.make_node("Identity", [model.at], ["y"]))
    graph = helper.make_graph(model.nodes, build.__name__,
                              [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, CHANNELS, "height", "width"])],
                              [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", "c", "h", "w"])],
                              model.initializers)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    onnx.checker.check_model(proto)
    session = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    runs = []
    for height, width in sizes:
        dims = [1, CHANNELS, height, width]
        count = int(np.prod(dims))
        [y] = session.run(None, {"x": (np.arange(count) / count).astype(np.float32).reshape(dims)})
        assert 0 < y.size <= 2000, (build.__name__, y.shape)
        runs.append({"input": dims, "output": list(y.shape), "values": [float("%.7g" % v) for v in y.ravel()]})
    onnx.save(proto, HERE / f"{build.__name__}.onnx")
    (HERE / f"{build.__name__}.json").write_text(json.dumps({"runs": runs}, separators=(",", ":")) + "\n")


HERE.mkdir(exist_ok=True)
for build in (strided_convolutions, same_convolutions, ceil_pools, average_pools, hourglasses):
    write(build, [(40, 33), (97, 130)] if build is not hourglasses else [(20, 13), (17, 18)])
write(added_branches, [(64, 128), (256, 64)])
write(cropping_unet, [(47, 50), (53, 41)])
write(padding_unet, [(18, 27), (35, 16)])
write(squared_sizes, [(40, 5), (7, 11)])
write(windows, [(17, 22), (31, 13)])
