"""Fourier transforms of lengths beyond those that a product with a matrix serves: powers of two, large prime factors, cut signals.
What NumPy gives in double precision: ONNX Runtime's own are off by up to a hundredth at the lengths with large prime factors."""
import numpy as np

from case_maker import case, constant, floats


def transform(signal, taken, inverse=0, onesided=0):
    x = signal.astype(np.float64)
    x = x[..., 0] + (1j * x[..., 1] if signal.shape[2] == 2 else 0)
    y = (np.fft.ifft if inverse else np.fft.fft)(x, taken, axis=1)
    y = y[:, :y.shape[1] // 2 + 1] if onesided else y
    return np.stack([y.real, y.imag], -1).astype(np.float32)


def long_transforms():
    for name, rows, length, parts, attributes, taken in (
            ("prime", 2, 601, 1, {}, None), ("power", 2, 1024, 2, {}, None), ("halves", 1, 1030, 2, {"inverse": 1}, None),
            ("cut", 2, 700, 1, {"onesided": 1}, 523)):
        signal = floats(rows, length, parts)
        inputs = [signal, constant(np.int64(taken)) if taken else None, constant(np.int64(1))]
        yield case(f"transform_{name}", "DFT", inputs, attributes, domain="", opset=20, given=[transform(signal, taken, **attributes)],
                   rtol=1e-4, atol=2e-4)
