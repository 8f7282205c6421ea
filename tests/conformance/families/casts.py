import ml_dtypes
import numpy as np
from onnx import TensorProto

from case_maker import NAMES, case, constant, evaluate


def casts():
    """Floats beyond an integer's range. One number at a time: ONNX Runtime and ONNX's reference agree there, but for
    bf16 to bytes, where the reference goes through f32 and a table; several numbers to u32 come out otherwise in both."""
    numbers = [np.nan, np.inf, -np.inf, -0.5, 0.5, -1.5, 127.9, 128, -128.9, -129, 200, 255.9, 256, 300, -300, 32768, -32769,
               65535.5, 65536, 70000, -70000, 2147483520, 2147483648, -2147483648, -2147483904, 3e9, -3e9, 4294967040,
               4294967296, 5e9, -5e9, 9.2e18, 2.0**63, 9.3e18, -9.3e18, 1.8e19, 2.0**64, 1.9e19, 1e20, -1e20, 1e30, -1e30]
    types = {np.int8: TensorProto.INT8, np.uint8: TensorProto.UINT8, np.int16: TensorProto.INT16,
             np.uint16: TensorProto.UINT16, np.int32: TensorProto.INT32, np.uint32: TensorProto.UINT32,
             np.int64: TensorProto.INT64, np.uint64: TensorProto.UINT64, np.bool_: TensorProto.BOOL}
    for source in (np.float64, np.float32, np.float16, ml_dtypes.bfloat16):
        more = [-2147483648.5, -2147483649.0, 2147483647.5, 1e300] if source == np.float64 else []
        with np.errstate(over="ignore"):
            values = np.array(numbers + more, np.float64).astype(source)
        feed = values.astype(np.float32) if source == ml_dtypes.bfloat16 else values
        for target, code in types.items():
            to = {"to": int(code)}
            given = [np.concatenate([evaluate("Cast", [feed[i:i + 1]], to, [0], "", 21)[0] for i in range(len(feed))])]
            name = f"{NAMES[np.dtype(source).name]}_{NAMES[np.dtype(target).name]}"
            yield case(name, "Cast", [values], to, domain="", opset=21, given=given)
            yield case(name + "_folded", "Cast", [constant(values)], to, domain="", opset=21, given=given,
                       known_sizes_only=True)
