"""16-bit floats whose results fit, though squares or sums on the way do not: computed here in 64 bits."""
import numpy as np

from case_maker import case, floats


def normalized(x, scale, bias, mean, variance, epsilon, momentum):
    """The results of training BatchNormalization: y, and the running mean and variance."""
    axes = tuple(a for a in range(x.ndim) if a != 1)
    shape = [-1 if a == 1 else 1 for a in range(x.ndim)]
    wide = x.astype(np.float64)
    now = wide.mean(axes), wide.var(axes)
    y = (wide - now[0].reshape(shape)) / np.sqrt(now[1].reshape(shape) + epsilon) * scale.reshape(shape) + bias.reshape(shape)
    return [y, *(before * momentum + after * (1 - momentum) for before, after in zip((mean, variance), now))]


def halves():
    for name, dims, size in (("rows", (6, 3), 400), ("pictures", (2, 3, 5, 7), 900), ("small", (4, 2, 3), 1)):
        x = floats(*dims, scale=size, dtype=np.float16)
        parameters = [floats(dims[1]), floats(dims[1]), floats(dims[1]), np.abs(floats(dims[1]))]
        y, *running = normalized(x, *parameters, epsilon=1e-5, momentum=0.75)
        yield case(f"batch_normalization_{name}", "BatchNormalization", [x, *parameters],
                   {"training_mode": 1, "momentum": 0.75, "epsilon": 1e-5}, outputs=3, domain="", opset=15,
                   given=[y.astype(np.float16), *(value.astype(np.float32) for value in running)], rtol=2e-3, atol=2e-3)
