"""Recurrent operators of f16 over many steps: rounding states at every step would lead them elsewhere."""
import numpy as np

from case_maker import case, constant, floats, integers


def recurrent_halves():
    def half(*dims, scale=1.0):
        return np.clip(floats(*dims, scale=scale), -2, 2).astype(np.float16)

    for op, gates, states in (("LSTM", 4, 2), ("GRU", 3, 1), ("RNN", 1, 1)):
        for name, directions, batch, steps, attributes in (
                ("forward", 1, 1, 120, {}), ("both", 2, 1, 80, {"direction": "bidirectional"}), ("reverse", 1, 2, 40, {"direction": "reverse"})):
            hidden = 12
            lengths = integers(1, steps, batch, dtype=np.int32) if name == "reverse" else None
            inputs = [half(steps, batch, 5), constant(half(directions, gates * hidden, 5)), constant(half(directions, gates * hidden, hidden, scale=0.7)),
                      constant(half(directions, 2 * gates * hidden, scale=0.3)), lengths]
            inputs += [half(directions, batch, hidden) for _ in range(states)]
            yield case(f"{op.lower()}_{name}", op, inputs, dict(attributes, hidden_size=hidden), outputs=1 + states, domain="", opset=14, rtol=1e-3, atol=2e-3)
