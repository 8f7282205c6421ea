import numpy as np

from case_maker import case, constant, floats


def recurrent():
    """Everything at once: directions, lengths, first states, clips, peepholes, activations."""
    steps, batch, inputs, hidden = 5, 3, 4, 6

    def operands(gates, directions, *more):
        return [floats(steps, batch, inputs), constant(floats(directions, gates * hidden, inputs)),
                constant(floats(directions, gates * hidden, hidden)), floats(directions, 2 * gates * hidden),
                np.array([5, 2, 1], np.int32), *more]

    def state(directions):
        return floats(directions, batch, hidden)

    for direction, count in (("forward", 1), ("reverse", 1), ("bidirectional", 2)):
        common = {"hidden_size": hidden, "direction": direction}
        yield case(f"rnn_{direction}", "RNN", operands(1, count, state(count)),
                   dict(common, activations=["Relu"] * count, clip=1.5), outputs=2, domain="", opset=14)
        for linear in (0, 1):
            yield case(f"gru_{direction}_{linear}", "GRU", operands(3, count, state(count)),
                       dict(common, linear_before_reset=linear), outputs=2, domain="", opset=14)
        yield case(f"lstm_{direction}", "LSTM",
                   operands(4, count, state(count), state(count), floats(count, 3 * hidden)),
                   dict(common, activations=["HardSigmoid", "ScaledTanh", "Softsign"] * count, clip=2.0,
                        activation_alpha=[0.3, 1.2] * count, activation_beta=[0.4, 0.8] * count), outputs=3, domain="",
                   opset=14)
