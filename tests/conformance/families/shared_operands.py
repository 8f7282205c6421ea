"""Products of operands that are repeated for several batches, and those that multiply no matrices."""
from case_maker import case, constant, floats


def shared_operands():
    for name, left, right in (("one_matrix", (3, 5, 7), (1, 7, 9)), ("last_batch", (2, 3, 5, 7), (2, 1, 7, 9)),
                              ("both_batches", (2, 3, 1, 7), (1, 1, 7, 33)), ("first_batch", (2, 3, 4, 7), (1, 3, 7, 9)),
                              ("left_operand", (1, 4, 7), (3, 7, 9)), ("outer", (19, 1), (1, 37)), ("outer_batches", (2, 5, 1), (2, 1, 18)),
                              ("outer_shared", (3, 4, 1), (1, 1, 18)), ("dot", (301,), (301,)), ("dot_batches", (6, 1, 77), (6, 77, 1)),
                              ("one_number", (1, 1), (1, 1))):
        yield case(f"shared_{name}", "MatMul", [floats(*left), floats(*right)], domain="", opset=13, rtol=1e-5, atol=1e-5)
    yield case("shared_weights", "MatMul", [floats(3, 5, 48), constant(floats(1, 48, 40))], domain="", opset=13, rtol=1e-5, atol=1e-5)
