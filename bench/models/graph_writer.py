"""ONNX graphs written as expressions: `g.MatMul(x, g.weight(384, 384))` adds a node and gives the name of its output."""
import functools
import math
import zlib

import numpy as np
from onnx import TensorProto, helper, numpy_helper

DTYPES = {"f32": TensorProto.FLOAT, "i64": TensorProto.INT64, "bool": TensorProto.BOOL, "u8": TensorProto.UINT8, "i8": TensorProto.INT8}


class GraphWriter:
    """A graph, or the body of a node in one, which sees what is around it. Weights follow from the model's name alone."""

    def __init__(self, name, around=None):
        self.name, self.around = name, around
        self.nodes, self.constants, self.inputs, self.outputs = [], [], [], []
        self.counter = around.counter if around else [0]
        self.random = around.random if around else np.random.default_rng(zlib.crc32(name.encode()))

    def __getattr__(self, kind):
        if not kind[:1].isupper():
            raise AttributeError(kind)
        return functools.partial(self.node, kind)

    def node(self, kind, *operands, results=1, **attributes):
        """Operands are names, numbers, lists and arrays; None is left out. The names of the results, where there are several."""
        names = [self.fresh(kind) for _ in range(results)]
        inputs = ["" if operand is None else operand if isinstance(operand, str) else self.constant(operand) for operand in operands]
        self.nodes.append(helper.make_node(kind, inputs, names, name=names[0], **attributes))
        return names[0] if results == 1 else names

    def fresh(self, kind):
        self.counter[0] += 1
        return f"{kind}_{self.counter[0]}"

    def constant(self, value):
        array = np.asarray(value)
        if array.dtype == np.float64:
            array = array.astype(np.float32)
        name = self.fresh("constant")
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array) if array.ndim else array, name))
        return name

    def weight(self, *shape, scale=None):
        """Normal numbers; without a scale such that what is added up of them keeps its size."""
        summed = shape[0] if len(shape) == 2 else math.prod(shape[1:])
        return self.constant(self.random.standard_normal(shape, np.float32) * np.float32(scale or 1 / math.sqrt(max(1, summed))))

    def input(self, name, dtype, dims):
        self.inputs.append(helper.make_tensor_value_info(name, DTYPES[dtype], dims))
        return name

    def output(self, name, value, dtype, dims):
        self.nodes.append(helper.make_node("Identity", [value], [name], name=name))
        self.outputs.append(helper.make_tensor_value_info(name, DTYPES[dtype], dims))

    def body(self, name):
        return GraphWriter(name, self)

    def graph(self):
        return helper.make_graph(self.nodes, self.name, self.inputs, self.outputs, self.constants)

    def model(self):
        return helper.make_model(self.graph(), opset_imports=[helper.make_opsetid("", 20)], ir_version=9, producer_name="tvm-vm bench")

    # What models are made of.
    def dense(self, x, inner, outer):
        return self.Add(self.MatMul(x, self.weight(inner, outer)), self.weight(outer, scale=0.02))

    def normalize(self, x, width):
        return self.LayerNormalization(x, np.ones(width, np.float32), np.zeros(width, np.float32), axis=-1)

    def heads(self, x, count, width):
        """[batch, length, count * width] as [batch, count, length, width]"""
        return self.Transpose(self.Reshape(x, [0, 0, count, width]), perm=[0, 2, 1, 3])

    def size(self, x, axis):
        return self.Squeeze(self.Shape(x, start=axis, end=axis + 1), [0])

    def positions(self, begin, end):
        return self.Range(begin, end, 1)

    def convolution(self, x, inner, outer, kernel, stride=1, group=1):
        scale = math.sqrt(2 * group / (inner * kernel * kernel))
        return self.Conv(x, self.weight(outer, inner // group, kernel, kernel, scale=scale), self.weight(outer, scale=0.02),
                         kernel_shape=[kernel, kernel], strides=[stride, stride], pads=[kernel // 2] * 4, group=group)
