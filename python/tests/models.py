"""Small ONNX models."""

import onnx
from onnx import TensorProto, helper


def value(name, dtype=TensorProto.FLOAT, dims=("n",)):
    return helper.make_tensor_value_info(name, dtype, dims)


def make(nodes, inputs, outputs, opset=21, initializers=()):
    graph = helper.make_graph(nodes, "graph", inputs, outputs, list(initializers))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)


def add(dtype=TensorProto.FLOAT):
    return make([helper.make_node("Add", ["x", "y"], ["z"])], [value("x", dtype), value("y", dtype)], [value("z", dtype)])


def identity(dtype, dims=("n",)):
    return make([helper.make_node("Identity", ["x"], ["y"])], [value("x", dtype, dims)], [value("y", dtype, dims)], 25)


def add_and_mul():
    nodes = [helper.make_node("Add", ["x", "y"], ["sum"]), helper.make_node("Mul", ["x", "y"], ["product"])]
    return make(nodes, [value("x"), value("y")], [value("sum"), value("product")])


def cast(to, dims=("n",)):
    return make([helper.make_node("Cast", ["x"], ["y"], to=to)], [value("x", dims=dims)], [value("y", to, dims)], 25)


def matmul():
    shape = value("x", dims=("n", "n"))
    return make([helper.make_node("MatMul", ["x", "x"], ["y"])], [shape], [value("y", dims=("n", "n"))])


def wide_inside():
    """What lies between the products is four times as large as what goes in and comes out."""
    weights = [helper.make_tensor(name, TensorProto.FLOAT, dims, [0.01] * (64 * 256)) for name, dims in (("v", [64, 256]), ("w", [256, 64]))]
    nodes = [
        helper.make_node("MatMul", ["x", "v"], ["a"]),
        helper.make_node("Tanh", ["a"], ["b"]),
        helper.make_node("MatMul", ["b", "w"], ["y"]),
    ]
    return make(nodes, [value("x", dims=("n", 64))], [value("y", dims=("n", 64))], initializers=weights)


def scale():
    """By 1, 2, 3, ..."""
    weights = helper.make_tensor("w", TensorProto.FLOAT, [1024], [float(i) for i in range(1, 1025)])
    return make([helper.make_node("Mul", ["x", "w"], ["y"])], [value("x", dims=(1024,))], [value("y", dims=(1024,))], initializers=[weights])


def loop():
    """Multiplies by a factor, `steps` times, one after the other."""
    body = helper.make_graph(
        [helper.make_node("Sin", ["before"], ["after"]), helper.make_node("Identity", ["go_on"], ["go_on_after"])],
        "body",
        [value("i", TensorProto.INT64, []), value("go_on", TensorProto.BOOL, []), value("before")],
        [value("go_on_after", TensorProto.BOOL, []), value("after")],
    )
    return make(
        [helper.make_node("Loop", ["steps", "", "x"], ["y"], body=body)],
        [value("steps", TensorProto.INT64, []), value("x")],
        [value("y")],
    )


def sequence_insert():
    sequence = helper.make_tensor_sequence_value_info
    return make(
        [helper.make_node("SequenceInsert", ["s", "x"], ["t"])],
        [sequence("s", TensorProto.FLOAT, ["k"]), value("x")],
        [sequence("t", TensorProto.FLOAT, ["k"])],
    )


def optional_or_zero():
    element = helper.make_tensor_type_proto(TensorProto.FLOAT, ["n"])
    optional = helper.make_value_info("x", helper.make_optional_type_proto(element))
    return make([helper.make_node("OptionalHasElement", ["x"], ["has"])], [optional], [value("has", TensorProto.BOOL, [])])


def strings_concat():
    strings = [value(name, TensorProto.STRING) for name in "xyz"]
    return make([helper.make_node("StringConcat", ["x", "y"], ["z"])], strings[:2], strings[2:])


def matches():
    return make(
        [helper.make_node("RegexFullMatch", ["x"], ["y"], pattern="a+b")],
        [value("x", TensorProto.STRING)],
        [value("y", TensorProto.BOOL)],
    )


def unsupported():
    return make([helper.make_node("NoSuchOperator", ["x"], ["y"])], [value("x")], [value("y")])


def grow(width=4):
    """As a cache of keys and values: what was there, with something behind it."""
    nodes = [helper.make_node("Concat", ["past", "x"], ["present"], axis=0)]
    return make(nodes, [value("past", dims=("p", width)), value("x", dims=("n", width))], [value("present", dims=("q", width))])
