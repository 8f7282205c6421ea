#!/usr/bin/env python3
"""Writes gradients/*.json: graphs with Gradient nodes, and the derivatives of their values by central differences.

The graphs run in double precision in ONNX's reference evaluator, operators of which it lacks forms in ONNX Runtime; a Gradient node is evaluated by moving each element
of its variables a little to both sides. Needs onnx, numpy and onnxruntime. The cases are committed.
"""
import json
import math
import pathlib

import numpy as np
import onnxruntime
from onnx import helper
from onnx.reference import ReferenceEvaluator

HERE = pathlib.Path(__file__).parent / "gradients"
NAMES = {"float32": "f32", "float64": "f64", "int64": "i64", "bool": "bool"}
RUNTIME = {"Pad", "GatherElements", "ScatterElements", "MaxPool"}
STEP = 1e-4
random = np.random.RandomState(11)


def floats(*dims, low=None, high=None):
    values = random.randn(*dims) if low is None else random.uniform(low, high, dims)
    return np.asarray(values, np.float64).round(3)


def ints(*values):
    return np.array(values, np.int64)


def node(op, inputs, outputs, domain="", **attributes):
    return dict(op=op, domain=domain, inputs=inputs.split(), outputs=outputs.split(), attributes=attributes)


def gradient(xs, y, outputs, zs="", inputs=None):
    attributes = {"xs": xs.split(), "y": y}
    if zs:
        attributes["zs"] = zs.split()
    return node("Gradient", inputs or f"{xs} {zs}", outputs, domain="ai.onnx.preview.training", **attributes)


def run_node(n, values, opset):
    inputs = ["" if name == "_" else name for name in n["inputs"]]
    outputs = ["" if name == "_" else name for name in n["outputs"]]
    made = helper.make_node(n["op"], inputs, outputs, **n["attributes"])
    wanted = [name for name in outputs if name]
    graph = helper.make_graph([made], "node", [helper.make_tensor_value_info(i, 0, None) for i in inputs if i],
                              [helper.make_tensor_value_info(o, 0, None) for o in wanted])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])
    feeds = {i: np.asarray(values[i]) for i in inputs if i}
    if n["op"] == "Erf":  # ONNX's evaluator rounds it to single precision
        return {wanted[0]: np.vectorize(math.erf, otypes=[np.float64])(feeds[inputs[0]])}
    if n["op"] in RUNTIME:
        for value in graph.input:
            value.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(feeds[value.name].dtype)
            value.type.tensor_type.ClearField("shape")
        for value in graph.output:
            value.ClearField("type")
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
        session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
        return dict(zip(wanted, session.run(None, feeds)))
    return dict(zip(wanted, ReferenceEvaluator(model).run(None, feeds)))


def evaluate(nodes, feeds, opset):
    """All values of the graph; what `feeds` holds stays, whatever computes it."""
    values = dict(feeds)
    for k, n in enumerate(nodes):
        if all(name in values for name in n["outputs"] if name != "_"):
            continue
        if n["op"] == "Gradient":
            made = differences(n, nodes[:k], values, feeds, opset)
        else:
            made = run_node(n, values, opset)
        for name, value in made.items():
            values.setdefault(name, value)
    return values


def differences(n, before, values, feeds, opset):
    xs, zs = n["attributes"]["xs"], n["attributes"].get("zs", [])
    fixed = dict(feeds)
    fixed.update(zip(xs + zs, (values[name] for name in n["inputs"])))
    results = {}
    for x, output in zip(xs, n["outputs"]):
        if output == "_":
            continue
        slopes = np.zeros(np.shape(fixed[x]))
        for at in np.ndindex(*slopes.shape):
            sides = []
            for step in (STEP, -STEP):
                moved = np.array(fixed[x])
                moved[at] += step
                sides.append(np.sum(evaluate(before, dict(fixed, **{x: moved}), opset)[n["attributes"]["y"]]))
            slopes[at] = (sides[0] - sides[1]) / (2 * STEP)
        results[output] = slopes
    return results


def text_of(array):
    array = np.asarray(array)
    values = [int(v) if array.dtype.kind in "iub" else float("%.10g" % v) for v in array.ravel()]
    return {"type": NAMES[str(array.dtype)], "dims": list(array.shape), "values": values}


def case(name, inputs, nodes, outputs, initializers=None, opset=21, **more):
    initializers = initializers or {}
    values = evaluate(nodes, dict(inputs, **initializers), opset)
    return dict(name=name, opset=opset, inputs={k: text_of(v) for k, v in inputs.items()},
                initializers={k: text_of(v) for k, v in initializers.items()}, nodes=nodes,
                outputs={k: text_of(values[k]) for k in outputs.split()}, **more)


def weighted(name, op, inputs, attributes=None, xs=None, initializers=None, outputs="y", **more):
    """One node; its result weighted with numbers that differ, so that elements in wrong places show."""
    attributes, initializers = attributes or {}, initializers or {}
    names = list(inputs) + list(initializers)
    order = more.pop("order", " ".join(names))
    first = node(op, order, outputs, **attributes)
    y = first["outputs"][0]
    shape = run_node(first, dict(inputs, **initializers), more.get("opset", 21))[y].shape
    xs = xs or " ".join(k for k, v in inputs.items() if v.dtype.kind == "f")
    results = " ".join(f"d{x}" for x in xs.split())
    nodes = [first, node("Mul", f"{y} weights", "weighted"), gradient(xs, "weighted", results)]
    return case(name, dict(inputs, weights=floats(*shape)), nodes, results, initializers, **more)


def write(family, cases):
    HERE.mkdir(exist_ok=True)
    lines = ",\n".join(json.dumps(c) for c in cases)
    (HERE / f"{family}.json").write_text(f"[\n{lines}\n]\n")


def elementwise():
    for op in ("Neg", "Abs", "Exp", "Sin", "Cos", "Sinh", "Cosh", "Tanh", "Asinh", "Atan", "Erf", "Sigmoid",
               "Softplus", "Softsign", "Elu", "Selu", "Mish", "HardSwish", "Floor", "Ceil", "Round", "Relu", "LeakyRelu",
               "HardSigmoid"):
        yield weighted(op.lower(), op, {"x": floats(2, 3)})
    for op in ("Asin", "Acos", "Atanh", "Tan"):
        yield weighted(op.lower(), op, {"x": floats(2, 3, low=-0.9, high=0.9)})
    for op, low in (("Log", 0.1), ("Sqrt", 0.1), ("Reciprocal", 0.3), ("Acosh", 1.1)):
        yield weighted(op.lower(), op, {"x": floats(2, 3, low=low, high=3)})
    for op in ("Add", "Sub", "Mul", "Div", "Min", "Max"):
        yield weighted(op.lower(), op, {"a": floats(2, 3), "b": floats(2, 3)})
        yield weighted(f"{op.lower()}_broadcast", op, {"a": floats(4, 1, 3), "b": floats(2, 1)})
    yield weighted("div_scalar", "Div", {"a": floats(), "b": floats(3, low=0.5, high=2)})
    yield weighted("pow", "Pow", {"a": floats(2, 3, low=0.2, high=2), "b": floats(3)})
    yield weighted("pow_square", "Pow", {"a": floats(5)}, initializers={"b": np.array(2.0)})
    yield weighted("fmod", "Mod", {"a": floats(6, low=1, high=9), "b": floats(6, low=0.5, high=3)}, {"fmod": 1})
    yield weighted("where", "Where", {"c": random.rand(2, 3) < 0.5, "a": floats(2, 3), "b": floats(3)})
    yield weighted("clip", "Clip", {"x": floats(2, 6)}, initializers={"low": np.array(-0.5), "high": np.array(0.6)})
    # Without a kink as a whole, although its parts have one at 0.
    yield weighted("softplus_zero", "Softplus", {"x": np.array([0.0, 1.0, -1.0])})
    yield weighted("max_of_equals", "Max", {"a": np.array([1.0, 2.0]), "b": np.array([1.0, 2.0])})


def reductions():
    axes = ints(1)
    for op in ("ReduceSum", "ReduceMean", "ReduceProd", "ReduceMax", "ReduceMin", "ReduceL1", "ReduceL2",
               "ReduceLogSumExp", "ReduceSumSquare"):
        yield weighted(op.lower(), op, {"x": floats(2, 3, 4)}, {"keepdims": 0}, initializers={"axes": axes})
    yield weighted("reducelogsum", "ReduceLogSum", {"x": floats(2, 3, low=0.5, high=2)}, initializers={"axes": axes})
    yield weighted("all_axes", "ReduceSum", {"x": floats(2, 3)})
    yield weighted("product_zeros", "ReduceProd", {"x": np.array([[0.0, 2, 3], [0, 0, 3], [1, 2, 3]])},
                   initializers={"axes": axes})
    yield weighted("product_outer", "ReduceProd", {"x": floats(2, 3, 2)}, initializers={"axes": ints(0, 2)})
    yield weighted("softmax", "Softmax", {"x": floats(2, 5)}, {"axis": -1})
    yield weighted("log_softmax", "LogSoftmax", {"x": floats(2, 3, 2)}, {"axis": 1})
    yield weighted("layer_norm", "LayerNormalization", {"x": floats(2, 3, 4), "scale": floats(4), "bias": floats(4)})
    yield weighted("batch_norm", "BatchNormalization",
                   {"x": floats(2, 3, 4), "scale": floats(3), "bias": floats(3), "mean": floats(3),
                    "variance": floats(3, low=0.5, high=2)})
    for attributes in ({}, {"exclusive": 1}, {"reverse": 1}, {"exclusive": 1, "reverse": 1}):
        yield weighted("_".join(["cumsum", *attributes]), "CumSum", {"x": floats(2, 4)}, attributes,
                       initializers={"axis": np.array(1, np.int64)})


def movement():
    yield weighted("transpose", "Transpose", {"x": floats(2, 3, 4)}, {"perm": [2, 0, 1]})
    yield weighted("reshape", "Reshape", {"x": floats(2, 6)}, initializers={"shape": ints(3, -1)})
    yield weighted("expand", "Expand", {"x": floats(3, 1)}, initializers={"shape": ints(2, 1, 4)})
    yield weighted("concat", "Concat", {"a": floats(2, 3), "b": floats(2, 1), "c": floats(2, 2)}, {"axis": 1})
    yield weighted("split", "Split", {"x": floats(2, 7)}, {"axis": 1}, initializers={"sizes": ints(2, 5)},
                   outputs="y other")
    yield weighted("slice", "Slice", {"x": floats(5, 6)},
                   initializers={"starts": ints(1, 2), "ends": ints(4, 5), "axes": ints(0, 1)})
    yield weighted("slice_steps", "Slice", {"x": floats(7, 6)},
                   initializers={"starts": ints(0, -1), "ends": ints(7, -7), "axes": ints(0, 1), "steps": ints(3, -2)})
    yield weighted("pad", "Pad", {"x": floats(2, 3), "value": floats()}, {"mode": "constant"},
                   initializers={"pads": ints(1, 0, 0, 2)}, order="x pads value")
    yield weighted("pad_crop", "Pad", {"x": floats(3, 4)}, initializers={"pads": ints(-1, 1, 0, -2)})
    for mode in ("edge", "reflect", "wrap"):
        yield weighted(f"pad_{mode}", "Pad", {"x": floats(3, 4)}, {"mode": mode}, initializers={"pads": ints(2, 1, 1, 3)})
    yield weighted("tile", "Tile", {"x": floats(2, 3)}, initializers={"repeats": ints(2, 2)})
    yield weighted("depth_to_space", "DepthToSpace", {"x": floats(1, 4, 2, 3)}, {"blocksize": 2})
    yield weighted("resize", "Resize", {"x": floats(1, 1, 3, 4)}, {"mode": "linear"},
                   initializers={"sizes": ints(1, 1, 5, 6)}, order="x _ _ sizes")


def indexing():
    indices = np.array([[0, 2], [-1, 2]], np.int64)
    for axis in (0, 1, 2):
        yield weighted(f"gather_{axis}", "Gather", {"x": floats(3, 4, 3), "i": indices}, {"axis": axis})
    yield weighted("gather_one", "Gather", {"x": floats(3, 4)}, {"axis": 1}, initializers={"i": np.array(2, np.int64)})
    yield weighted("gather_elements", "GatherElements", {"x": floats(3, 4), "i": np.array([[0, 1, 1], [3, -1, 0]], np.int64)},
                   {"axis": 1})
    yield weighted("gather_nd", "GatherND", {"x": floats(3, 4, 2)},
                   initializers={"i": np.array([[0, 1], [2, 3], [0, 1]], np.int64)})
    yield weighted("gather_nd_batch", "GatherND", {"x": floats(2, 4, 3)}, {"batch_dims": 1},
                   initializers={"i": np.array([[[1]], [[3]]], np.int64)})
    target = np.array([[1], [3], [1]], np.int64)
    for reduction in ("none", "add"):
        yield weighted(f"scatter_nd_{reduction}", "ScatterND", {"x": floats(4, 2), "u": floats(3, 2)},
                       {"reduction": reduction}, initializers={"i": target}, order="x i u")
        yield weighted(f"scatter_elements_{reduction}", "ScatterElements",
                       {"x": floats(3, 4), "i": np.array([[0, 2, 0, 1], [0, 1, 2, 1]], np.int64), "u": floats(2, 4)},
                       {"axis": 0, "reduction": reduction})
    yield weighted("topk", "TopK", {"x": floats(3, 5)}, {"axis": 1}, initializers={"k": ints(2)}, outputs="y where")


def products():
    yield weighted("matmul", "MatMul", {"a": floats(3, 4), "b": floats(4, 5)})
    yield weighted("matmul_batch", "MatMul", {"a": floats(2, 1, 3, 4), "b": floats(5, 4, 2)})
    yield weighted("matmul_vector", "MatMul", {"a": floats(4), "b": floats(2, 4, 3)})
    yield weighted("gemm", "Gemm", {"a": floats(4, 3), "b": floats(5, 4), "c": floats(5)},
                   {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0})
    yield weighted("einsum", "Einsum", {"a": floats(2, 3, 4), "b": floats(4, 5, 2)}, {"equation": "bij,jkb->kbi"})
    yield weighted("einsum_trace", "Einsum", {"a": floats(3, 3)}, {"equation": "ii->i"})
    x, w = floats(2, 3, 5, 6), floats(4, 3, 3, 2)
    yield weighted("conv", "Conv", {"x": x, "w": w, "b": floats(4)})
    yield weighted("conv_strides", "Conv", {"x": x, "w": w}, {"strides": [2, 3], "pads": [1, 0, 2, 1]})
    yield weighted("conv_dilations", "Conv", {"x": x, "w": w}, {"dilations": [2, 2], "pads": [1, 1, 1, 1]})
    yield weighted("conv_groups", "Conv", {"x": floats(2, 4, 6), "w": floats(6, 2, 3)}, {"group": 2, "strides": [2]})
    yield weighted("conv_depthwise", "Conv", {"x": floats(1, 3, 5, 5), "w": floats(3, 1, 3, 3)},
                   {"group": 3, "pads": [1, 1, 1, 1]})
    yield weighted("conv_transpose", "ConvTranspose", {"x": floats(2, 3, 3), "w": floats(3, 2, 3)},
                   {"strides": [2], "pads": [1, 0]})
    yield weighted("max_pool", "MaxPool", {"x": floats(1, 2, 5, 6)}, {"kernel_shape": [3, 2], "strides": [2, 2]})
    yield weighted("max_pool_pads", "MaxPool", {"x": floats(1, 2, 5)}, {"kernel_shape": [3], "pads": [1, 1]})
    for counts in (0, 1):
        yield weighted(f"average_pool_{counts}", "AveragePool", {"x": floats(1, 2, 5, 4)},
                       {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 1, 1, 0], "count_include_pad": counts})
    yield weighted("global_pool", "GlobalAveragePool", {"x": floats(1, 2, 3, 3)})
    yield weighted("det", "Det", {"x": floats(2, 3, 3)})


def graphs():
    a, b = floats(2, 3), floats(3)
    yield case("unused", {"a": a, "b": b}, [node("Exp", "a", "y"), gradient("b a", "y", "db da")], "da db")
    yield case("skipped", {"a": a, "b": b}, [node("Mul", "a b", "y"), gradient("a b", "y", "_ db")], "db")
    yield case("repeated", {"a": a}, [node("Sin", "a", "s"), node("Mul", "s a", "p"), node("Mul", "p s", "y"),
                                      node("Add", "y y", "z"), gradient("a", "z", "da")], "da")
    yield case("itself", {"a": a}, [gradient("a", "a", "da")], "da")
    mlp = [node("MatMul", "x w", "h"), node("Tanh", "h", "t"), node("MatMul", "t v", "o"), node("Sub", "o l", "e"),
           node("Mul", "e e", "q"), node("ReduceMean", "q", "loss", keepdims=0)]
    values = {"x": floats(4, 3), "w": floats(3, 5), "v": floats(5, 2), "l": floats(4, 2)}
    yield case("network", values, [*mlp, gradient("w v", "loss", "dw dv", zs="x l")], "dw dv")
    yield case("intermediate", values, [*mlp, gradient("t v", "loss", "dt dv")], "dt dv")
    inputs = {k: values[k] for k in "xl"}
    yield case("initializers", inputs, [*mlp, gradient("w v", "loss", "dw dv", zs="x l")], "dw dv",
               {k: values[k] for k in "wv"})
    small = {"s": np.array(1.5), "t": np.array(0.5)}
    yield case("folded", {"a": a}, [node("Exp", "s", "e"), node("Mul", "e t", "p"), node("Mul", "a p", "y"),
                                    gradient("s t", "y", "ds dt")], "ds dt", small)
    views = [node("Reshape", "a first", "h"), node("Reshape", "h second", "k"), node("Identity", "k", "i"),
             node("Mul", "i i", "y"), gradient("h", "y", "dh"), gradient("i", "y", "di"), gradient("a", "y", "da")]
    yield case("views", {"a": a}, views, "dh di da", {"first": ints(6), "second": ints(3, 2)})
    elsewhere = [node("Mul", "a b", "m"), node("Exp", "m", "y"), gradient("a", "y", "da", zs="b", inputs="other b"),
                 gradient("a b", "y", "ea eb", inputs="other row")]
    yield case("elsewhere", {"a": a, "b": b, "other": floats(2, 3), "row": floats(3)}, elsewhere, "da ea eb")
    yield case("second", {"a": a, "b": b}, [node("Mul", "a b", "m"), node("Sin", "m", "y"), gradient("a b", "y", "da db"),
                                            gradient("a b", "da", "daa dab")], "da db daa dab", atol=1e-5)
    yield case("third", {"a": floats(3)}, [node("Tanh", "a", "y"), gradient("a", "y", "d1"), gradient("a", "d1", "d2"),
                                           gradient("a", "d2", "d3")], "d1 d2 d3", atol=1e-3)
    yield case("second_conv", {"x": floats(1, 2, 5), "w": floats(3, 2, 2)},
               [node("Conv", "x w", "c", strides=[2]), node("Mul", "c c", "q"), node("Mul", "q c", "y"),
                gradient("w", "y", "dw"), gradient("x w", "dw", "dwx dww")], "dw dwx dww", atol=1e-4)
    yield case("second_pool", {"x": floats(1, 1, 6)},
               [node("MaxPool", "x", "c", kernel_shape=[3], strides=[2]), node("Mul", "c c", "q"), node("Mul", "q c", "y"),
                gradient("x", "y", "dx"), gradient("x", "dx", "dxx")], "dx dxx", atol=1e-4)
    yield case("second_product", {"x": np.array([[0.0, 2, 3], [1, 2, 3]])},
               [node("ReduceProd", "x", "p", keepdims=0), node("ReduceProd", "x axes", "q", keepdims=0), node("Mul", "q q", "r"),
                gradient("x", "r", "dx"), gradient("x", "dx", "dxx")], "dx dxx", {"axes": ints(1)}, atol=1e-4)
    for name, columns, places, attributes in (("plain", 6, 12, {}), ("steps", 12, 6, {"strides": [2, 1], "pads": [1, 0, 0, 1]}),
                                              ("spread", 12, 2, {"dilations": [2, 2], "strides": [2, 3], "pads": [1, 0, 1, 0]})):
        x, block = floats(1, columns, places), ints(columns // 3, 3)
        if name != "plain":
            block = ints(2, 3)
        image = {"plain": ints(5, 5), "steps": ints(4, 4), "spread": ints(4, 6)}[name]
        yield case(f"fold_{name}", {"x": x}, [node("Col2Im", "x image block", "y", **attributes), node("Mul", "y y", "q"),
                                              gradient("x", "q", "dx")], "dx", {"image": image, "block": block}, atol=1e-4)


if __name__ == "__main__":
    for family in (elementwise, reductions, movement, indexing, products, graphs):
        write(family.__name__, list(family()))
