"""MatMulNBits whose accuracy_level lets the data be rounded to bytes, block by block. Fewer weights than these are computed when a model is
compiled."""
import numpy as np

from case_maker import case, constant, floats, integers


def products_in_bytes():
    def weights(rows, depth, bits, block):
        return constant(integers(0, 256, rows, -(-depth // block), block * bits // 8, dtype=np.uint8))

    for bits, rows, depth, block, count, zero in (
            (4, 83, 200, 32, 1, True), (4, 66, 256, 16, 11, False), (4, 130, 160, 128, 100, True), (4, 90, 192, 64, 3, False),
            (8, 66, 250, 64, 3, True), (8, 192, 96, 32, 14, False), (4, 66, 512, 256, 5, False), (8, 130, 140, 16, 2, True)):
        blocks = -(-depth // block)
        inputs = [floats(count, depth), weights(rows, depth, bits, block),
                  constant(np.abs(floats(rows * blocks, scale=0.01)) + np.float32(0.001))]
        if zero:
            inputs.append(constant(integers(0, 256, rows * -(-blocks * bits // 8), dtype=np.uint8)))
        yield case(f"bytes_{bits}_{block}", "MatMulNBits", inputs,
                   {"N": rows, "K": depth, "bits": bits, "block_size": block, "accuracy_level": 4}, rtol=1e-4, atol=1e-4)
    data = floats(2, 5, 128)
    data[0, 1] = 0  # a block, and a row, of zeros
    data[1, 2, 32:64] = 0
    yield case("bytes_zeros", "MatMulNBits",
               [data, weights(140, 128, 4, 32), constant(np.abs(floats(560, scale=0.01)) + np.float32(0.001)), None, None, constant(floats(140))],
               {"N": 140, "K": 128, "bits": 4, "block_size": 32, "accuracy_level": 4}, rtol=1e-4, atol=1e-4)
