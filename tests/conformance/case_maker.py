"""Makes cases: a node, its inputs, and what another implementation gives for it."""
import json
import pathlib

import numpy as np
import ml_dtypes
import onnx
import onnx.reference
import onnxruntime
from onnx import TensorProto, helper

HERE = pathlib.Path(__file__).parent / "cases"
NAMES = {"float32": "f32", "float64": "f64", "float16": "f16", "int8": "i8", "uint8": "u8", "int32": "i32",
         "int64": "i64", "bool": "bool", "float8_e4m3fn": "f8e4m3fn", "float8_e5m2": "f8e5m2", "int4": "i4",
         "float4_e2m1fn": "f4e2m1", "float6_e2m3fn": "f6e2m3", "float6_e3m2fn": "f6e3m2", "float8_e8m0fnu": "f8e8m0",
         "uint64": "u64", "int16": "i16", "uint16": "u16", "uint32": "u32", "bfloat16": "bf16"}
random = np.random.RandomState(7)


def floats(*dims, scale=1.0, dtype=np.float32):
    return (random.randn(*dims) * scale).round(3).astype(dtype)


def integers(low, high, *dims, dtype=np.int64):
    return random.randint(low, high, dims).astype(dtype)


def constant(array):
    return ("constant", array)


def text_of(array):
    is_integer = array.dtype.kind in "iub" or str(array.dtype) == "int4"
    values = [int(v) if is_integer else float(v) for v in array.ravel()]
    if not is_integer:
        digits = 17 if str(array.dtype) in ("float64", "float8_e8m0fnu") else 8
        values = [float(f"%.{digits}g" % v) if np.isfinite(v) else str(v) for v in values]
    return {"type": NAMES[str(array.dtype)], "dims": list(array.shape), "values": values}


def evaluate(op, inputs, attributes, wanted, domain, opset, by_evaluator=False):
    """The wanted outputs, by ONNX Runtime or ONNX's reference evaluator."""
    names, graph_inputs, initializers, feeds = [], [], [], {}
    for i, value in enumerate(inputs):
        is_constant = isinstance(value, tuple)
        value = value[1] if is_constant else value
        names.append("" if value is None else f"i{i}")
        if value is None:
            continue
        if is_constant:
            initializers.append(onnx.numpy_helper.from_array(value, f"i{i}"))
        else:
            kind = helper.np_dtype_to_tensor_dtype(value.dtype)
            graph_inputs.append(helper.make_tensor_value_info(f"i{i}", kind, value.shape))
            feeds[f"i{i}"] = value
    results = [f"o{i}" if i in wanted else "" for i in range(max(wanted) + 1)]
    node = helper.make_node(op, names, results, domain=domain, **attributes)
    graph = helper.make_graph([node], "case", graph_inputs,
                              [helper.make_tensor_value_info(f"o{i}", TensorProto.UNDEFINED, None) for i in wanted],
                              initializers)
    for output in graph.output:
        output.ClearField("type")
    imports = [helper.make_opsetid("", opset if not domain else 21)]
    if domain:
        imports.append(helper.make_opsetid(domain, opset))
    model = helper.make_model(graph, opset_imports=imports, ir_version=10 if opset > 6 or domain else 3)
    if by_evaluator:
        return [np.asarray(value) for value in onnx.reference.ReferenceEvaluator(model).run(None, feeds)]
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return session.run(None, feeds)


def case(name, op, inputs, attributes=None, outputs=1, domain="com.microsoft", opset=1, given=None, **more):
    """`given`: the outputs, where ONNX Runtime has no kernel for the operator in this version."""
    attributes = attributes or {}
    texts = []
    for value in inputs:
        is_constant = isinstance(value, tuple)
        value = value[1] if is_constant else value
        texts.append(None if value is None else dict(text_of(value), **({"constant": True} if is_constant else {})))
    wanted = list(range(outputs)) if isinstance(outputs, int) else outputs
    got = dict(zip(wanted, evaluate(op, inputs, attributes, wanted, domain, opset) if given is None else given))
    return dict(name=name, domain=domain, op=op, opset=opset, attributes=attributes, inputs=texts,
                outputs=[text_of(got[i]) if i in got else None for i in range(max(wanted) + 1)], **more)


def convolution(data, weights, attributes):
    """A case of a convolution with a bias, both constants; `data` and `weights` are their dims, which name it."""
    inputs = [floats(*data), constant(floats(*weights, scale=0.2)), constant(floats(weights[0]))]
    return case("conv_" + "x".join(str(size) for size in (*data, *weights)), "Conv", inputs, attributes, domain="", opset=11)


def chain(name, nodes, inputs, opset=17, **more):
    """A case of several nodes: (operator, inputs, outputs, attributes). They call the inputs input0, input1, ..., and their result output0."""
    graph_inputs, initializers, feeds, texts = [], [], {}, []
    for i, value in enumerate(inputs):
        is_constant = isinstance(value, tuple)
        value = value[1] if is_constant else value
        texts.append(dict(text_of(value), **({"constant": True} if is_constant else {})))
        if is_constant:
            initializers.append(onnx.numpy_helper.from_array(value, f"input{i}"))
        else:
            graph_inputs.append(helper.make_tensor_value_info(f"input{i}", helper.np_dtype_to_tensor_dtype(value.dtype), value.shape))
            feeds[f"input{i}"] = value
    made = [helper.make_node(op, reads, writes, **attributes) for op, reads, writes, attributes in nodes]
    graph = helper.make_graph(made, "case", graph_inputs, [onnx.ValueInfoProto(name="output0")], initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    parts = [{"op": op, "inputs": reads, "outputs": writes, "attributes": attributes} for op, reads, writes, attributes in nodes]
    return dict(name=name, domain="", opset=opset, nodes=parts, inputs=texts, outputs=[text_of(v) for v in session.run(None, feeds)], **more)


def write(family, cases):
    HERE.mkdir(exist_ok=True)
    lines = ",\n".join(json.dumps(c) for c in cases)
    (HERE / f"{family}.json").write_text(f"[\n{lines}\n]\n")
