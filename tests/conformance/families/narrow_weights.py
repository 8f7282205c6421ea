import numpy as np

from case_maker import case, constant, floats, integers, random


def narrow_weights():
    """Weights that are too many to be computed when a model is compiled: products read them as codes."""
    def packed(rows, depth, bits, block):
        return constant(integers(0, 256, rows, -(-depth // block), block * bits // 8, dtype=np.uint8))

    for bits, rows, depth, block, count, zero in ((4, 83, 200, 32, 1, True), (4, 66, 256, 16, 11, False), (8, 66, 250, 64, 3, True)):
        blocks = -(-depth // block)
        scales = constant(np.abs(floats(rows * blocks, scale=0.01)) + np.float32(0.001))
        sizes = {"N": rows, "K": depth, "bits": bits, "block_size": block}
        inputs = [floats(count, depth), packed(rows, depth, bits, block), scales]
        if zero:
            inputs.append(constant(integers(0, 256, rows * -(-blocks * bits // 8), dtype=np.uint8)))
        yield case(f"bits_{bits}_{block}", "MatMulNBits", inputs, sizes, rtol=1e-4, atol=1e-5)
    rows, depth, block = 64, 288, 32
    order = constant(random.permutation(np.arange(depth) // block).astype(np.int32))
    yield case("bits_order", "MatMulNBits",
               [floats(4, depth), packed(rows, depth, 4, block),
                constant(np.abs(floats(rows * depth // block, scale=0.01)) + np.float32(0.001)), None, order],
               {"N": rows, "K": depth, "bits": 4, "block_size": block}, rtol=1e-4, atol=1e-5)
    table = [constant(integers(0, 256, 300, 32, dtype=np.uint8)), np.array([[0, 299], [-1, 7]], np.int64),
             constant(floats(300, 2, scale=0.01)), constant(integers(0, 256, 300, 1, dtype=np.uint8))]
    yield case("rows", "GatherBlockQuantized", table, {"bits": 4, "block_size": 32, "quantize_axis": 1})
