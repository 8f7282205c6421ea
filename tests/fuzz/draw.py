"""Random choices for one operator: sizes, element types and values within what its schema allows."""
import dataclasses

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper

# Sizes where mistakes hide: empty, broadcast, around the widths of vectors (4, 8, 16 lanes) and of their tails.
SIZES = [1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 33]
LARGE = [32, 63, 64, 65, 100, 127, 129]
ELEMENTS = 6000  # of one tensor, at most: a case has to be quick
# Some cases are large, so that kernels of another kind, several blocks and what is left of the last one are met.
BEYOND_BLOCKS = [200, 256, 257, 385, 513, 600, 1000, 1025, 2050, 4099]
ELEMENTS_OF_LARGE = 60000


class Impossible(Exception):
    """These choices lead nowhere (a type that nothing can hold, a chain that does not fit): draw again."""


@dataclasses.dataclass
class Operand:
    """One input of a node. `constant`: how likely it is a constant of the model."""
    value: object  # an array, a list of arrays (a sequence), None (absent)
    constant: float = 0.2
    name: str = ""
    optional: bool = False
    static: bool = False  # the model names its sizes: they say how the result's axes lie


@dataclasses.dataclass
class Node:
    """What a generator gives. `rtol`, `atol` stand for rounding: where None, from the type and the values."""
    inputs: list
    attributes: dict = dataclasses.field(default_factory=dict)
    outputs: int = 1
    atol: float = None
    rtol: float = None
    shape_only: bool = False


# The words of schemas, "tensor(float16)", and the array types that hold them.
def type_names():
    names = {"tensor(string)": np.dtype(object)}
    for name, number in TensorProto.DataType.items():
        if number in (TensorProto.UNDEFINED, TensorProto.STRING):
            continue
        try:
            names[f"tensor({name.lower()})"] = np.dtype(helper.tensor_dtype_to_np_dtype(number))
        except (KeyError, TypeError):
            pass
    return names


DTYPES = type_names()
COMMON = [np.dtype(t) for t in (np.float32, np.float32, np.float32, np.int64, np.int32, np.float64, np.float16)]


def is_float(dtype):
    return dtype.kind == "f" or (dtype.kind == "V" and "float" in dtype.name)


def is_integer(dtype):
    return dtype.kind in "iu" or (dtype.kind == "V" and "int" in dtype.name)


def bits_of(dtype):
    """Of an element; numpy keeps one of fewer than 8 in a byte of its own."""
    return (ml_dtypes.finfo if is_float(dtype) else ml_dtypes.iinfo)(dtype).bits


def integer_range(dtype):
    info = np.iinfo(dtype) if dtype.kind in "iu" else ml_dtypes.iinfo(dtype)
    return int(info.min), int(info.max)


def element_type(dtype):
    if dtype == np.dtype(object):
        return TensorProto.STRING
    return helper.np_dtype_to_tensor_dtype(dtype)


WORDS = ["", "a", "b", "ab", "A b", "  x ", "été", "日本", "a,b", "1", "-2.5", "nan", "zebra", "a b c", "\t", "x\ny"]


class Draw:
    def __init__(self, random, schema, carried=None):
        self.random = random  # numpy.random.Generator
        self.schema = schema
        self.version = schema.since_version
        self.bound = {}
        self.is_large = random.random() < 0.1
        self.carried = carried  # an array that an earlier node of a chain gives: to be the main operand
        self.used_carried = False
        self.constraints = {c.type_param_str: c.allowed_type_strs for c in getattr(schema, "type_constraints", [])
                            if hasattr(c, "type_param_str")}

    # -- choices
    def chance(self, probability):
        return self.random.random() < probability

    def int(self, low, high):
        """Between low and high, both possible."""
        return int(self.random.integers(low, high + 1))

    def pick(self, options):
        return options[self.int(0, len(options) - 1)]

    def has(self, attribute):
        return attribute in self.schema.attributes

    def some(self, **attributes):
        """Each attribute that this version knows, with probability 0.6. Values may be functions."""
        result = {}
        for name, value in attributes.items():
            if self.has(name) and self.chance(0.6):
                value = value() if callable(value) else value
                if value is not None:
                    result[name] = value
        return result

    # -- shapes
    def size(self, zero=0.03):
        if self.chance(zero):
            return 0
        if self.is_large and self.chance(0.4):
            return self.pick(BEYOND_BLOCKS)
        return self.pick(LARGE if self.chance(0.08) else SIZES)

    def length(self, low, high):
        """Of a sequence: few steps, or, in large cases, more than a block of a kernel takes."""
        return self.pick([17, 33, 64, 97, 130, 257]) if self.is_large else self.int(low, high)

    def dims(self, low=0, high=4, zero=0.03, limit=ELEMENTS):
        if self.is_large and limit == ELEMENTS:
            limit = ELEMENTS_OF_LARGE
        rank = self.int(low, high)
        dims = [self.size(zero) for _ in range(rank)]
        while np.prod(dims, dtype=float) > limit:
            dims[int(np.argmax(dims))] = self.int(1, 4)
        return dims

    def broadcast(self, dims):
        """Dims that broadcast to `dims`."""
        dims = dims[self.int(0, len(dims)):] if self.chance(0.4) else list(dims)
        return [1 if self.chance(0.25) else d for d in dims]

    def axis(self, rank, end=0):
        """Of [-rank, rank + end)."""
        low = 0 if self.schema.domain == "" and self.version < 11 else -rank
        if rank + end - 1 < low:
            raise Impossible("no axis")
        return self.int(low, rank + end - 1)

    # -- types
    def allowed(self, label):
        """Array types that a type constraint (or a single type) allows."""
        names = self.constraints.get(label, [label])
        return [DTYPES[n] for n in names if n in DTYPES]

    def dtype(self, label="T", only=None):
        """The type that a constraint stands for in this node."""
        if label not in self.bound:
            options = [t for t in self.allowed(label) if only is None or only(t)]
            if not options:
                raise Impossible(f"no type for {label}")
            common = [t for t in COMMON if t in options]
            self.bound[label] = self.pick(common if common and self.chance(0.6) else options)
        return self.bound[label]

    def float_type(self, label="T"):
        return self.dtype(label, lambda t: t.kind == "f" or t == ml_dtypes.bfloat16)

    # -- values
    def array(self, dtype, dims, low=None, high=None, special=None):
        """Values of any kind: small numbers, ties, extremes; in floats NaN and infinities where `special` allows."""
        dtype = np.dtype(dtype)
        count = int(np.prod(dims, dtype=np.int64))
        if dtype == np.dtype(object):
            values = np.array([self.pick(WORDS) for _ in range(count)], object)
        elif dtype.kind == "b":
            values = self.random.integers(0, 2, count).astype(bool)
        elif is_integer(dtype):
            values = self.integers(dtype, count, low, high)
        elif dtype.kind == "c":
            values = self.floats(count, low, high, special) + 1j * self.floats(count, low, high, special)
        else:
            values = self.floats(count, low, high, special, dtype)
        with np.errstate(all="ignore"):
            return values.astype(dtype).reshape(dims)

    def integers(self, dtype, count, low, high):
        first, last = integer_range(dtype)
        if low is None and self.chance(0.15):
            low, high = first, last
        low = max(first, -9 if low is None else low)
        high = min(last, 9 if high is None else high)
        return self.random.integers(low, high, count, dtype=np.int64, endpoint=True) if high < 2**63 else \
            self.random.integers(low, high, count, dtype=np.uint64, endpoint=True)

    def floats(self, count, low=None, high=None, special=None, dtype=np.dtype(np.float32)):
        if low is not None or high is not None:
            return self.random.uniform(0.0 if low is None else low, 1.0 if high is None else high, count)
        kind = self.random.random()
        if kind < 0.35:  # halves: many ties, exact sums
            values = self.random.integers(-8, 9, count) / 2
        else:
            values = self.random.normal(0, 1 if kind < 0.8 else 20, count)
        if (self.chance(0.12) if special is None else special) and count:
            extremes = [np.nan, np.inf, -np.inf, 0.0, -0.0, 0.5, -0.5, 1.5, 2.5, 1e-4, -1e4]
            where = self.random.integers(0, count, self.int(1, 4))
            values[where] = [self.pick(extremes) for _ in where]
        return values

    def moderate(self, dtype, dims):
        """For operators that multiply and add up: finite, small."""
        dtype = np.dtype(dtype)
        if is_float(dtype):
            return self.array(dtype, dims, -2, 2) if self.chance(0.7) else self.array(dtype, dims, special=False)
        return self.array(dtype, dims, -9 if dtype.kind != "u" else 0, 9)

    # -- operands
    def main(self, label=None, dims=None, low=0, high=4, values=None, only=None, fits=lambda dims: True,
             nan=True, huge=True):
        """The operand that a chain hands on. Without `dims` of a rank from `low` to `high`. `nan`, `huge`: may
        hold NaN and infinities, large integers."""
        label = label or self.schema.inputs[0].type_str
        if self.carried is not None and not self.used_carried:
            array = self.carried
            options = [t for t in self.allowed(label) if only is None or only(t)]
            if dims is None and low <= array.ndim <= high and fits(array.shape) and array.dtype in options and (
                    nan or not (is_float(array.dtype) and not np.isfinite(array.astype(np.float64)).all())):
                if not huge and array.dtype.kind in "iu" and np.any(np.abs(array.astype(np.float64)) > 1000):
                    raise Impossible("overflows")
                self.used_carried = True
                self.bound[label] = array.dtype
                return Operand(array, 0.0, name="carried")
            raise Impossible("the chain does not fit")
        dtype = self.dtype(label, only)
        if not nan and values is None:
            values = lambda t, s: self.array(t, s, special=False)
        if dims is None:
            dims = self.dims(low, high)
            for _ in range(20):
                if fits(dims):
                    break
                dims = self.dims(low, high)
            else:
                raise Impossible("no dims fit")
        return Operand((values or self.array)(dtype, dims), 0.1)

    def operand(self, label, dims, constant=0.3, values=None, **limits):
        return Operand((values or self.array)(self.dtype(label), dims, **limits), constant)

    def list(self, numbers, constant=0.6, dtype=np.int64):
        """A short list that shapes the result: axes, sizes, pads."""
        return Operand(np.array(numbers, dtype), constant)

    def maybe(self, operand, probability=0.6):
        return operand if self.chance(probability) else Operand(None)
