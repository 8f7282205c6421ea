"""A case: one node or a chain of them as a model, its inputs, and the folder that `tvm-vm test` reads."""
import dataclasses
import json
import pathlib

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from draw import element_type, is_float

# Rounding of one operator, by what its numbers are stored in: relative, absolute.
ROUNDING = {"float64": (1e-5, 1e-7), "float32": (1e-3, 1e-5), "float16": (1e-2, 4e-3), "bfloat16": (3e-2, 3e-2)}
IR_OF_OPSET = {9: 4, 10: 5, 11: 6, 12: 7, 15: 8, 19: 9, 21: 10, 23: 11, 25: 12}


@dataclasses.dataclass
class Step:
    """A node whose operands have names: what a Case is made of."""
    op: str
    domain: str
    operands: list  # draw.Operand, its name set; the value of a carried one is what the node before gives
    attributes: dict
    outputs: list


@dataclasses.dataclass
class Case:
    name: str
    opsets: dict  # domain -> version
    steps: list
    dims: dict = dataclasses.field(default_factory=dict)  # input -> its dims in the model; None: no rank either
    tolerance: dict = dataclasses.field(default_factory=dict)
    is_wild: bool = False  # the specification may forbid it: only a clean end is wanted

    @property
    def operators(self):
        return [step.op for step in self.steps]

    def given(self):
        """Operands that are neither absent nor carried, by name: (value, is it a constant)."""
        made = {o for step in self.steps for o in step.outputs}
        return {o.name: o for step in self.steps for o in step.operands if o.name and o.name not in made}

    def feeds(self):
        return {name: o.value for name, o in self.given().items() if not o.constant}

    def model(self):
        nodes = [helper.make_node(s.op, [o.name for o in s.operands], s.outputs, domain=s.domain, **s.attributes)
                 for s in self.steps]
        inputs, initializers = [], []
        for name, operand in self.given().items():
            if operand.constant:
                initializers.append(numpy_helper.from_array(operand.value, name))
            else:
                inputs.append(self.value_info(name, operand))
        # The last node's outputs, and those of earlier ones that nobody reads.
        read = {o.name for s in self.steps for o in s.operands}
        wanted = [o for s in self.steps for o in s.outputs if o and (o not in read or s is self.steps[-1])]
        outputs = [onnx.ValueInfoProto(name=name) for name in wanted]
        graph = helper.make_graph(nodes, self.name, inputs, outputs, initializers)
        opset = self.opsets[""]
        ir = max([v for o, v in IR_OF_OPSET.items() if o <= opset], default=4)
        if any(_needs_later_ir(o.value) for o in self.given().values()):
            ir = max(ir, 10)
        imports = [helper.make_opsetid(domain, version) for domain, version in self.opsets.items()]
        return helper.make_model(graph, opset_imports=imports, ir_version=ir, producer_name="fuzz")

    def value_info(self, name, operand):
        value = operand.value
        if isinstance(value, list):
            element = helper.make_tensor_type_proto(element_type(value[0].dtype), None)
            info = onnx.helper.make_value_info(name, helper.make_sequence_type_proto(element))
        else:
            info = helper.make_tensor_value_info(name, element_type(value.dtype), self.dims.get(name, value.shape))
        if operand.optional:
            info = helper.make_value_info(name, helper.make_optional_type_proto(info.type))
        return info

    def write(self, folder, outputs=None):
        """`outputs`: what the model has to give, by name; None: only a clean end is wanted."""
        folder = pathlib.Path(folder)
        data = folder / "test_data_set_0"
        data.mkdir(parents=True, exist_ok=True)
        (folder / "model.onnx").write_bytes(self.model().SerializeToString())
        for i, (name, value) in enumerate(self.feeds().items()):
            (data / f"input_{i}.pb").write_bytes(proto_of(name, value))
        self.write_outputs(folder, outputs)

    def write_outputs(self, folder, outputs):
        data = pathlib.Path(folder) / "test_data_set_0"
        for old in data.glob("output_*.pb"):
            old.unlink()
        for i, (name, value) in enumerate((outputs or {}).items()):
            (data / f"output_{i}.pb").write_bytes(proto_of(name, value))
        (pathlib.Path(folder) / "data.json").write_text(json.dumps(self.tolerance))


def _needs_later_ir(value):
    return isinstance(value, np.ndarray) and value.dtype.kind == "V"


def proto_of(name, value):
    if isinstance(value, list):
        return numpy_helper.from_list(value, name).SerializeToString()
    if value is None:
        optional = onnx.OptionalProto(name=name)
        return optional.SerializeToString()
    array = np.asarray(value)
    if array.dtype.kind == "U":
        array = array.astype(object)
    return numpy_helper.from_array(array, name).SerializeToString()


def rounding(steps):
    """What may differ through rounding: by the coarsest type among the operands, and how large they are."""
    rtol, atol, scale = 1e-5, 1e-7, 1.0
    for step in steps:
        for operand in step.operands:
            value = operand.value
            if not isinstance(value, np.ndarray) or not is_float(value.dtype):
                continue
            r, a = ROUNDING.get(value.dtype.name, (1e-3, 1e-5))
            rtol, atol = max(rtol, r), max(atol, a)
            finite = np.abs(value.astype(np.float64))
            finite = finite[np.isfinite(finite)]
            if finite.size:
                scale = max(scale, float(finite.max()))
    more = 1 if len(steps) == 1 else 10
    return {"rtol": rtol * (1 if len(steps) == 1 else 3), "atol": atol * scale * more}
