"""The independent implementations: ONNX Runtime's CPU provider, and ONNX's reference evaluator."""
import warnings

import numpy as np
import onnx
import onnxruntime
from onnx.reference import ReferenceEvaluator

from draw import DTYPES, element_type

onnxruntime.set_default_logger_severity(4)


class Unable(Exception):
    """The implementation does not run the case."""


def typed(value, name):
    """ONNX Runtime hands floats of 8 bits out as bytes, and some that are packed, which nobody can tell apart."""
    dtype = DTYPES.get(name)
    if dtype is None or value.dtype == dtype:
        return value
    if name.startswith("tensor(float8") and value.dtype == np.uint8:
        return value.view(dtype)
    raise Unable(f"onnxruntime: hands {name} out as {value.dtype}")


def by_onnxruntime(model, feeds):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        return [typed(value, output.type) for value, output in zip(session.run(None, feeds), session.get_outputs())]
    except Unable:
        raise
    except Exception as error:  # its own exceptions share no base
        raise Unable(f"onnxruntime: {str(error)[:300]}") from None


def by_evaluator(model, feeds):
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return ReferenceEvaluator(model).run(None, feeds)
    except Exception as error:
        raise Unable(f"onnx.reference: {type(error).__name__}: {str(error)[:300]}") from None


REFERENCES = {"onnxruntime": by_onnxruntime, "onnx.reference": by_evaluator}


def is_value(value):
    if isinstance(value, list):
        return all(isinstance(v, np.ndarray) for v in value)
    return value is None or isinstance(value, (np.ndarray, np.generic))


def run(name, model, feeds):
    """Outputs by name."""
    values = REFERENCES[name](model, feeds)
    names = [o.name for o in model.graph.output]
    if len(values) != len(names) or not all(is_value(v) for v in values):
        raise Unable(f"{name}: no value for an output")
    outputs = {n: v if v is None or isinstance(v, list) else np.asarray(v) for n, v in zip(names, values)}
    if name == "onnx.reference":
        check_types(model, outputs)
    return outputs


def check_types(model, outputs):
    """numpy widens some types on the way (u32 becomes u64 in a sum): that is not what the operator is defined to
    give."""
    try:
        inferred = onnx.shape_inference.infer_shapes(model)
    except Exception:
        return
    for info in inferred.graph.output:
        kind = info.type.tensor_type.elem_type
        value = outputs[info.name]
        if kind and isinstance(value, np.ndarray) and kind != element_type_of(value):
            raise Unable(f"onnx.reference: gives {value.dtype} instead of the operator's type")


def element_type_of(value):
    return element_type(np.dtype(object) if value.dtype.kind in "OUS" else value.dtype)
