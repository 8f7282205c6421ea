import numpy as np
from onnx import TensorProto

from case_maker import case, constant, floats, integers, random


def ranks():
    """Tensors of many dims, most of them of size 1: up to as many as a shape holds."""
    random.seed(32)

    def of(name, op, inputs, attributes=None, **more):
        return case(f"{name}_{rank}", op, inputs, attributes, **{"domain": "", "opset": 21, **more})

    def list_of(*values):
        return np.array(values, np.int64)

    for rank in (9, 12, 17, 32):
        order = np.random.default_rng(rank).permutation(rank)
        first, second, third, fourth, fifth = (int(axis) for axis in order[:5])
        middle = rank // 2
        dims = np.ones(rank, int)
        dims[order[:5]] = (2, 3, 2, 2, 2)

        wide = {"first": first, "second": second, "third": third, "fourth": fourth, "fifth": fifth}

        def with_sizes(**sizes):
            changed = dims.copy()
            for axis, size in sizes.items():
                changed[wide[axis]] = size
            return changed

        x = floats(*dims)
        yield of("add_broadcast", "Add", [x, floats(*with_sizes(second=1, fourth=1))])
        yield of("mul_grows", "Mul", [floats(*with_sizes(first=1, fifth=1)), floats(*with_sizes(second=1, third=1))])
        yield of("sub_fewer_dims", "Sub", [x, floats(*dims[rank - 3:])])
        yield of("where", "Where", [integers(0, 2, *with_sizes(second=1)) > 0, x, floats(*with_sizes(first=1))])
        yield of("cast", "Cast", [x * 9], {"to": int(TensorProto.INT32)})
        yield of("identity", "Identity", [x])
        yield of("sigmoid", "Sigmoid", [x])
        yield of("sum_of_three", "Sum", [x, floats(*with_sizes(fifth=1)), floats(1)])
        yield of("transpose", "Transpose", [x], {"perm": [int(axis) for axis in order]})
        yield of("transpose_reversed", "Transpose", [x])
        yield of("transpose_bytes", "Transpose", [integers(-99, 99, *dims, dtype=np.int8)],
                 {"perm": [int(axis) for axis in order]})
        yield of("reduce_sum", "ReduceSum", [x, constant(list_of(first, third, -1))], {"keepdims": 0})
        yield of("reduce_mean_kept", "ReduceMean", [x, constant(list_of(second, fourth))])
        yield of("reduce_max_all", "ReduceMax", [x], {"keepdims": 0})
        yield of("argmax", "ArgMax", [x], {"axis": second, "keepdims": 0})
        yield of("argmin_last", "ArgMin", [x], {"axis": first, "select_last_index": 1})
        yield of("softmax", "Softmax", [x], {"axis": second})
        yield of("log_softmax", "LogSoftmax", [x], {"axis": middle})
        yield of("hardmax", "Hardmax", [x], {"axis": third})
        yield of("cumsum", "CumSum", [x, constant(np.array(second, np.int64))], {"reverse": 1})
        yield of("reshape_to", "Reshape", [floats(6, 8), constant(list_of(*dims))])
        yield of("reshape_from", "Reshape", [x, constant(list_of(8, -1))])
        yield of("flatten", "Flatten", [x], {"axis": middle})
        ones = [axis for axis in range(rank) if dims[axis] == 1]
        yield of("squeeze", "Squeeze", [x, constant(list_of(*ones[1:]))])
        yield of("unsqueeze", "Unsqueeze", [floats(2, 3, 4), constant(list_of(*range(1, rank - 2)))])
        yield of("concat", "Concat", [x, floats(*with_sizes(second=2)), floats(*with_sizes(second=1))], {"axis": second})
        yield of("split", "Split", [floats(*with_sizes(second=5)), constant(list_of(2, 3))], {"axis": second}, outputs=2)
        yield of("slice", "Slice", [floats(*with_sizes(first=5, third=4)), constant(list_of(1, -1)),
                                    constant(list_of(4, -9)), constant(list_of(first, third)),
                                    constant(list_of(2, -1))])
        yield of("gather", "Gather", [x, list_of(2, 0, -1, 1)], {"axis": second})
        yield of("gather_adds_a_dim", "Gather", [floats(*np.delete(dims, ones[0])), integers(0, 2, 2, 3)],
                 {"axis": first - (ones[0] < first)})
        yield of("gather_elements", "GatherElements", [x, integers(0, 3, *dims)], {"axis": second})
        yield of("gather_tuples", "GatherND", [x, np.zeros((2, rank - 1), np.int64)])
        yield of("scatter_elements", "ScatterElements", [x, integers(0, 1, *with_sizes(second=1, first=1)),
                                                         floats(*with_sizes(second=1, first=1))], {"axis": second})
        yield of("scatter_tuples", "ScatterND", [x, np.zeros((1, 2), np.int64), floats(1, *dims[2:])])
        yield of("expand", "Expand", [floats(*with_sizes(first=1, second=1)), constant(list_of(*dims))])
        yield of("tile", "Tile", [x, constant(np.where(np.isin(np.arange(rank), (second, ones[0])), 2, 1))])
        pads = np.zeros((2, rank), np.int64)
        pads[0, second], pads[1, first], pads[0, fifth] = 1, 2, -1
        yield of("pad", "Pad", [x, constant(pads.ravel()), constant(np.array(0.5, np.float32))])
        yield of("pad_edge", "Pad", [x, constant(np.maximum(pads, 0).ravel())], {"mode": "edge"})
        yield of("pad_by", "Pad", [x, pads.ravel(), np.array(0.5, np.float32)])
        matrix = np.concatenate([with_sizes(first=2)[:rank - 2], [3, 4]])
        factor = np.concatenate([np.where(np.arange(rank - 2) % 2, matrix[:-2], 1), [4, 5]])
        yield of("matmul", "MatMul", [floats(*matrix), floats(*factor)])
        yield of("matmul_by_matrix", "MatMul", [floats(*matrix), constant(floats(4, 5))])
        yield of("shape", "Shape", [x], {"start": 1})
        yield of("size", "Size", [x])
        yield of("nonzero", "NonZero", [np.maximum(x, 0)])
        yield of("topk", "TopK", [x, constant(list_of(2))], {"axis": second}, outputs=2)
        yield of("layer_normalization", "LayerNormalization", [x, floats(*dims[middle:])], {"axis": middle})
        yield of("one_hot", "OneHot", [integers(0, 3, *np.delete(dims, ones[0])), constant(np.array(3, np.int64)),
                                       constant(np.array([0, 1], np.float32))], {"axis": middle})
        scales, zeros = np.array([0.25, 0.5, 0.125], np.float32), np.array([3, 0, 9], np.uint8)
        yield of("quantize", "QuantizeLinear", [x, scales, zeros], {"axis": second})
        yield of("reverse", "ReverseSequence", [floats(3, 2, *dims[2:]), list_of(1, 3)])
        yield of("compress", "Compress", [x, np.array([True, False, True])], {"axis": second})
        yield of("constant_of_shape", "ConstantOfShape", [constant(list_of(*dims))])
        yield of("constant_folded", "Transpose", [constant(x)])
        yield of("unique", "Unique", [x], {"axis": second}, outputs=4)
        yield of("resize", "Resize", [x, None, constant(np.where(np.arange(rank) == second, 2, 1).astype(np.float32))],
                 {"mode": "nearest"})
