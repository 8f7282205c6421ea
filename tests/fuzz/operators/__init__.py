"""Generators of nodes, by (domain, operator)."""
import onnxruntime.capi.onnxruntime_pybind11_state as runtime
from onnx import defs

from . import (elementwise, linear, microsoft, microsoft_language, microsoft_values, ml, movement, quantized, reductions, values,
               windows)

FAMILIES = [elementwise, reductions, movement, quantized, windows, linear, values, ml, microsoft, microsoft_language,
            microsoft_values]

GENERATORS = {}
for family in FAMILIES:
    GENERATORS.update({("", name) if isinstance(name, str) else name: make for name, make in family.TABLE.items()})

# ONNX Runtime describes its own operators; they have one version.
SCHEMAS = list(defs.get_all_schemas_with_history())
SCHEMAS += [s for s in runtime.get_all_operator_schema() if s.domain == "com.microsoft"]

# Where rounding of what comes before would show as another answer altogether.
STEPS = set("""Round Ceil Floor Sign Cast CastLike BitCast Equal Less Greater LessOrEqual GreaterOrEqual Not And Or Xor ArgMax
    ArgMin TopK Hardmax Unique NonZero OneHot IsInf IsNaN Mod ThresholdedRelu Shrink QuantizeLinear DynamicQuantizeLinear
    BitShift Reciprocal Div Log Sqrt Pow ReduceLogSum Tan Acosh Atanh Asin Acos Compress Where ReduceProd Det""".split())
# What rounds nothing.
EXACT = set(movement.TABLE) | set("""Abs Neg Relu Identity Max Min Clip Where Not And Or Xor Equal Less Greater LessOrEqual
    GreaterOrEqual BitwiseAnd BitwiseOr BitwiseXor BitwiseNot BitShift Sign Ceil Floor Round IsInf IsNaN Cast CastLike
    BitCast ReduceMax ReduceMin ArgMax ArgMin TopK Hardmax""".split())

# What may follow in a chain, where it takes the operand that it is given.
CHAINED = [("", name) for family in (elementwise, reductions, movement, linear) for name in family.TABLE
           if not name.startswith("Random") and name not in ("Bernoulli", "Multinomial")]
