"""Cases as text (cases/*.txt) and what is made of them: an ONNX model and its inputs.

    case NAME [opset=N] [tolerance=R] [ir=N]      R: of the largest number of an output; integers are off by R at most
      x: f32[rows=301, 77]                        an input; a dim with a name is symbolic, of the size given here
      i: i64[rows=301] in 0..5000                 numbers from a range, the end excluded
      i: i64[40] distinct in 0..5000              none of them twice
      b: f32[n=900, 4] boxes                      corners x1, y1, x2, y2 within 0..512
      m: f32[n=50, 60] sparse                     nine of ten elements are 0
      w: weight f32[77, 128]                      a constant with seeded random numbers; ranges as above
      axes: value i64[2] = 1, -1                  a constant with these numbers; value f32 = 0.5 is a scalar
      y = MatMul(x, w)                            nodes in ONNX's own text (onnx.parser); "com.microsoft.Gelu" works too
      z: output f16                               the type of an output that ONNX's shape inference does not know

Values that no node reads are the outputs.
"""
import dataclasses
import math
import pathlib
import re
import zlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper, parser

NUMPY = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16,
         "i32": np.int32, "u32": np.uint32, "i64": np.int64, "u64": np.uint64, "bool": np.bool_}
ONNX = {"f32": TensorProto.FLOAT, "f64": TensorProto.DOUBLE, "f16": TensorProto.FLOAT16, "bf16": TensorProto.BFLOAT16,
        "i8": TensorProto.INT8, "u8": TensorProto.UINT8, "i16": TensorProto.INT16, "u16": TensorProto.UINT16, "i32": TensorProto.INT32,
        "u32": TensorProto.UINT32, "i64": TensorProto.INT64, "u64": TensorProto.UINT64, "bool": TensorProto.BOOL}

HEADER = re.compile(r"case (\S+)((?: \w+=\S+)*)$")
DECLARATION = re.compile(r"(\w+): (?:(weight|value|output) )?(\w+)(?:\[([^\]]*)\])?(?: (distinct|boxes|sparse))?"
                         r"(?: in (-?[\d.e+-]+?)\.\.(-?[\d.e+-]+))?(?: = (.*))?$")


@dataclasses.dataclass
class Value:
    """A declared input, constant or output."""
    name: str
    role: str  # "input", "weight", "value", "output"
    dtype: str
    dims: list  # of (symbol or None, size)
    form: str = ""
    low: float = None
    high: float = None
    numbers: list = None

    @property
    def shape(self):
        return [size for _, size in self.dims]


@dataclasses.dataclass
class Case:
    name: str
    family: str
    values: list
    text: str  # of the nodes
    opset: int = 21
    tolerance: float = None
    ir: int = 10
    source: str = ""  # the lines that say all of it

    def model(self):
        nodes = parser.parse_graph("g () => () {\n" + self.text + "\n}").node
        for node in nodes:
            split_domain(node)
        made = [name for node in nodes for name in node.output if name]
        read = set(names_read(nodes))
        outputs = [name for name in made if name not in read]
        inputs = [helper.make_tensor_value_info(v.name, ONNX[v.dtype], [symbol or size for symbol, size in v.dims])
                  for v in self.values if v.role == "input"]
        constants = [numpy_helper.from_array(array_of(self.name, v), v.name) for v in self.values if v.role in ("weight", "value")]
        graph = helper.make_graph(list(nodes), self.name, inputs, [onnx.ValueInfoProto(name=name) for name in outputs], constants)
        domains = sorted({node.domain for node in nodes} - {""})
        imports = [helper.make_opsetid("", self.opset), *(helper.make_opsetid(domain, 1) for domain in domains)]
        model = helper.make_model(graph, opset_imports=imports, ir_version=self.ir)
        self.type_outputs(model)
        return model

    def type_outputs(self, model):
        known = {v.name: v for v in onnx.shape_inference.infer_shapes(model).graph.output}
        declared = {v.name: v.dtype for v in self.values if v.role == "output"}
        for output in model.graph.output:
            if output.name in declared:
                output.type.tensor_type.elem_type = ONNX[declared[output.name]]
            elif known[output.name].type.tensor_type.elem_type:
                output.CopyFrom(known[output.name])
            else:
                raise ValueError(f"the type of output '{output.name}' is not known: declare it")

    def inputs(self):
        return {v.name: array_of(self.name, v) for v in self.values if v.role == "input"}


def split_domain(node):
    """The parser knows domains of plain names only: "com.microsoft.Gelu" comes as it stands."""
    if not node.domain and "." in node.op_type:
        node.domain, node.op_type = node.op_type.rsplit(".", 1)


def names_read(nodes):
    for node in nodes:
        yield from node.input
        for attribute in node.attribute:
            yield from names_read(attribute.g.node)


def array_of(case, value):
    rng = np.random.default_rng(zlib.crc32(f"{case}/{value.name}".encode()))
    dtype, shape = NUMPY[value.dtype], value.shape
    if value.role == "value":
        return np.array(value.numbers, np.float64 if value.dtype.startswith("f") else np.int64).astype(dtype).reshape(shape)
    if value.form == "boxes":
        corner = rng.random((*shape[:-1], 2)) * 400
        return np.concatenate([corner, corner + 8 + rng.random(corner.shape) * 100], -1).astype(dtype)
    if value.form == "distinct":
        return rng.permutation(np.arange(value.low, value.high))[:math.prod(shape)].astype(dtype).reshape(shape)
    if value.dtype == "bool":
        return rng.random(shape) < 0.5
    if value.dtype.startswith("f"):
        array = rng.standard_normal(shape, np.float32) if value.low is None else rng.uniform(value.low, value.high, shape)
        if value.form == "sparse":
            array = array * (rng.random(shape) < 0.1)
        if value.role == "weight" and value.low is None:
            array = array / math.sqrt(max(1, math.prod(shape[1:])))
        return np.asarray(array).astype(dtype)
    limits = np.iinfo(dtype)
    low, high = (limits.min, limits.max) if value.low is None else (int(value.low), int(value.high) - 1)
    return rng.integers(low, high, shape, dtype=dtype, endpoint=True)


def parse_dim(text):
    symbol, _, size = text.rpartition("=")
    return (symbol.strip() or None, int(size))


def parse_value(line):
    name, role, dtype, dims, form, low, high, numbers = DECLARATION.match(line).groups()
    return Value(name, role or "input", dtype, [parse_dim(d) for d in dims.split(",") if d.strip()] if dims else [], form or "",
                 None if low is None else float(low), None if high is None else float(high),
                 None if numbers is None else [float(n) for n in numbers.split(",")])


def read_cases(path):
    """The cases of one file, in its order. ValueError where a line makes no sense."""
    return parse_cases(path.read_text(), path.stem)


def parse_cases(text, family):
    cases = []
    for number, line in enumerate(text.splitlines(), 1):
        stripped = line.split("#")[0].strip()
        if not stripped:
            continue
        if header := HEADER.match(stripped):
            options = dict(option.split("=") for option in header[2].split())
            cases.append(Case(header[1], family, [], ""))
            for name, kind in (("opset", int), ("tolerance", float), ("ir", int)):
                if name in options:
                    setattr(cases[-1], name, kind(options.pop(name)))
            cases[-1].source = line + "\n"
            if options:
                raise ValueError(f"{family}:{number}: {options}")
            continue
        cases[-1].source += line + "\n"
        if DECLARATION.match(stripped):
            cases[-1].values.append(parse_value(stripped))
        else:
            cases[-1].text += stripped + "\n"
    return cases


def all_cases():
    cases = [case for path in sorted((pathlib.Path(__file__).parent / "cases").glob("*.txt")) for case in read_cases(path)]
    names = [case.name for case in cases]
    if len(names) != len(set(names)):
        raise ValueError(f"twice: {sorted(n for n in set(names) if names.count(n) > 1)}")
    return cases
