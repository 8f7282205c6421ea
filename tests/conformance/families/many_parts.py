"""Tensors joined of more parts than a kernel has loops for, some empty, some the same."""
import numpy as np

from case_maker import case, constant, floats


def many_parts():
    for count, axis, shape in ((9, 1, [2, 3, 5]), (17, 0, [2, 7]), (17, -1, [3, 4]), (70, 1, [3, 2]), (65, 0, [1]), (130, 2, [2, 2, 3])):
        parts = []
        for i in range(count):
            part = list(shape)
            part[axis] = (i * 5) % 4 if i % 3 else part[axis]
            parts.append(floats(*part))
        yield case(f"f32_{count}_axis_{axis % len(shape)}", "Concat", parts, {"axis": axis}, domain="", opset=13)
    for dtype in (np.int8, np.int64, np.float16, np.bool_):
        parts = [(floats(3, 1 + i % 3, scale=3)).astype(dtype) for i in range(11)]
        yield case(np.dtype(dtype).name, "Concat", parts, {"axis": 1}, domain="", opset=13)
    same = floats(2, 3)
    yield case("constants_between", "Concat", [same if i % 2 else constant(floats(2, 1 + i % 4)) for i in range(20)],
               {"axis": 1}, domain="", opset=13)
