"""The models of the bench: what dynamic models do, each small enough to be made and compiled in seconds. Weights are seeded.

A function with `@model` writes one; its inputs, and the sizes that are timed, stand beside it.
"""
import dataclasses
import zlib

import numpy as np

from graph_writer import GraphWriter

MODELS = []


@dataclasses.dataclass
class Input:
    """Random numbers: normal ones, or integers from a range, or `value`, where the sizes name it."""
    name: str
    dtype: str
    dims: tuple
    low: int = 0
    high: int = 2
    scale: float = 1.0

    def array(self, random, sizes):
        shape = [sizes.get(dim, dim) for dim in self.dims]
        if self.name in sizes:
            return np.full(shape, sizes[self.name], {"f32": np.float32, "i64": np.int64}[self.dtype])
        if self.dtype == "i64":
            return random.integers(self.low, self.high, shape, np.int64)
        return random.standard_normal(shape, np.float32) * np.float32(self.scale)


@dataclasses.dataclass
class Model:
    name: str
    write: object
    inputs: list
    sizes: list
    tolerance: float = None

    def model(self):
        g = GraphWriter(self.name)
        for given in self.inputs:
            g.input(given.name, given.dtype, list(given.dims))
        self.write(g)
        return g.model()

    def arrays(self, sizes):
        return {given.name: given.array(np.random.default_rng(zlib.crc32(f"{self.name}/{given.name}".encode())), sizes) for given in self.inputs}

    def case_name(self, sizes):
        return " ".join([self.name, *(f"{name}={size:g}" for name, size in sizes.items())])


def model(inputs, sizes, tolerance=None):
    def register(write):
        MODELS.append(Model(write.__name__, write, inputs, sizes, tolerance))
        return write
    return register


WIDTH, HEADS, LAYERS, WORDS = 384, 6, 6, 8000
HEAD = WIDTH // HEADS


def feed_forward(g, x):
    return g.dense(g.Gelu(g.dense(x, WIDTH, 4 * WIDTH)), 4 * WIDTH, WIDTH)


@model([Input("ids", "i64", ("batch", "length"), high=WORDS), Input("mask", "i64", ("batch", "length"), low=1)],
       [dict(batch=1, length=9), dict(batch=1, length=128), dict(batch=1, length=384), dict(batch=8, length=50)])
def text_encoder(g):
    """Layers of attention over all words that the mask leaves."""
    x = g.Add(g.Gather(g.weight(WORDS, WIDTH, scale=0.1), "ids"), g.Gather(g.weight(512, WIDTH, scale=0.1), g.positions(0, g.size("ids", 1))))
    x = g.normalize(x, WIDTH)
    hidden = g.Mul(g.Sub(1.0, g.Cast(g.Unsqueeze("mask", [1, 2]), to=1)), -1e4)
    for _ in range(LAYERS):
        q, k, v = (g.heads(g.dense(x, WIDTH, WIDTH), HEADS, HEAD) for _ in range(3))
        scores = g.Mul(g.MatMul(q, g.Transpose(k, perm=[0, 1, 3, 2])), HEAD**-0.5)
        mixed = g.MatMul(g.Softmax(g.Add(scores, hidden), axis=-1), v)
        x = g.normalize(g.Add(x, g.dense(g.Reshape(g.Transpose(mixed, perm=[0, 2, 1, 3]), [0, 0, WIDTH]), WIDTH, WIDTH)), WIDTH)
        x = g.normalize(g.Add(x, feed_forward(g, x)), WIDTH)
    g.output("states", x, "f32", ["batch", "length", WIDTH])


CACHES = [Input(f"{kind}_{layer}", "f32", ("batch", HEADS, "past", HEAD)) for layer in range(LAYERS) for kind in ("keys", "values")]


@model([Input("ids", "i64", ("batch", "new"), high=WORDS), *CACHES],
       [dict(batch=1, new=64, past=0), dict(batch=1, new=1, past=64), dict(batch=1, new=1, past=700), dict(batch=4, new=1, past=200)])
def text_decoder_step(g):
    """The next words behind those whose keys and values are there already."""
    past = g.size("keys_0", 2)
    end = g.Add(past, g.size("ids", 1))
    places = g.positions(past, end)
    seen = g.LessOrEqual(g.Unsqueeze(g.positions(0, end), [0]), g.Unsqueeze(places, [1]))
    words = g.weight(WORDS, WIDTH, scale=0.1)
    x = g.Add(g.Gather(words, "ids"), g.Gather(g.weight(1024, WIDTH, scale=0.1), places))
    for layer in range(LAYERS):
        q, k, v = (g.heads(part, HEADS, HEAD) for part in g.Split(g.dense(g.normalize(x, WIDTH), WIDTH, 3 * WIDTH), axis=-1, num_outputs=3, results=3))
        k, v = g.Concat(f"keys_{layer}", k, axis=2), g.Concat(f"values_{layer}", v, axis=2)
        g.output(f"new_keys_{layer}", k, "f32", ["batch", HEADS, "all", HEAD])
        g.output(f"new_values_{layer}", v, "f32", ["batch", HEADS, "all", HEAD])
        scores = g.Mul(g.MatMul(q, g.Transpose(k, perm=[0, 1, 3, 2])), HEAD**-0.5)
        mixed = g.MatMul(g.Softmax(g.Where(seen, scores, -1e4), axis=-1), v)
        x = g.Add(x, g.dense(g.Reshape(g.Transpose(mixed, perm=[0, 2, 1, 3]), [0, 0, WIDTH]), WIDTH, WIDTH))
        x = g.Add(x, feed_forward(g, g.normalize(x, WIDTH)))
    g.output("scores", g.MatMul(g.normalize(x, WIDTH), g.Transpose(words, perm=[1, 0])), "f32", ["batch", "new", WORDS])


PICTURES = [Input("pictures", "f32", ("batch", 3, "height", "width"))]
PICTURE_SIZES = [dict(batch=1, height=224, width=224), dict(batch=1, height=150, width=200), dict(batch=6, height=128, width=128)]


@model(PICTURES, PICTURE_SIZES)
def residual_network(g):
    """3 x 3 convolutions with ways around them, as in classifiers of pictures."""
    x = g.MaxPool(g.Relu(g.convolution("pictures", 3, 64, 7, stride=2)), kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    inner = 64
    for outer in (64, 128, 256, 512):
        for stride in (1 if outer == 64 else 2, 1):
            y = g.convolution(g.Relu(g.convolution(x, inner, outer, 3, stride)), outer, outer, 3)
            around = x if inner == outer else g.convolution(x, inner, outer, 1, stride)
            x, inner = g.Relu(g.Mul(g.Add(y, around), 0.7)), outer
    g.output("scores", g.dense(g.Flatten(g.GlobalAveragePool(x)), 512, 1000), "f32", ["batch", 1000])


@model(PICTURES, PICTURE_SIZES)
def separable_network(g):
    """Depthwise and 1 x 1 convolutions with gates over the channels, as in classifiers for telephones."""
    x = g.HardSwish(g.convolution("pictures", 3, 16, 3, stride=2))
    inner = 16
    for outer, stride, kernel in [(24, 2, 3), (24, 1, 3), (40, 2, 5), (40, 1, 5), (80, 2, 3), (80, 1, 3), (112, 1, 5), (160, 2, 5), (160, 1, 5)]:
        wide = inner * 4
        y = g.HardSwish(g.convolution(g.HardSwish(g.convolution(x, inner, wide, 1)), wide, wide, kernel, stride, group=wide))
        gate = g.HardSigmoid(g.convolution(g.Relu(g.convolution(g.GlobalAveragePool(y), wide, wide // 4, 1)), wide // 4, wide, 1))
        y = g.convolution(g.Mul(y, gate), wide, outer, 1)
        x, inner = (g.Add(x, y) if inner == outer else y), outer
    x = g.Flatten(g.GlobalAveragePool(g.HardSwish(g.convolution(x, inner, 960, 1))))
    g.output("scores", g.dense(g.normalize(x, 960), 960, 1000), "f32", ["batch", 1000])


def quantized(g, x, scale, zero=0):
    return g.DequantizeLinear(g.QuantizeLinear(x, scale, np.uint8(zero)), scale, np.uint8(zero))


def quantized_weight(g, *shape):
    """Bytes with a scale for each output channel."""
    array = g.random.standard_normal(shape, np.float32) * np.float32(np.sqrt(2 / np.prod(shape[1:])))
    scales = np.abs(array).max(axis=tuple(range(1, len(shape)))) / np.float32(127)
    codes = np.rint(array / scales.reshape(-1, *[1] * (len(shape) - 1))).astype(np.int8)
    return g.DequantizeLinear(codes, scales, np.zeros(shape[0], np.int8), axis=0)


@model(PICTURES, PICTURE_SIZES, tolerance=0.2)  # a code of 256 apart in an early layer moves all later ones
def quantized_network(g):
    """Convolutions of bytes, as tools for quantization write them."""
    x = quantized(g, "pictures", np.float32(0.03), 128)
    inner = 3
    for outer, stride in [(32, 2), (64, 2), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1)]:
        x = g.Conv(x, quantized_weight(g, outer, inner, 3, 3), g.weight(outer, scale=0.02), kernel_shape=[3, 3], strides=[stride] * 2, pads=[1] * 4)
        x, inner = quantized(g, g.Relu(x), np.float32(0.02)), outer
    g.output("scores", g.dense(g.Flatten(g.GlobalAveragePool(x)), 256, 100), "f32", ["batch", 100])


SERIES = [Input("series", "f32", ("length", "batch", 200))]
SERIES_SIZES = [dict(length=20, batch=1), dict(length=150, batch=1), dict(length=40, batch=6)]


@model(SERIES, SERIES_SIZES)
def recurrent_operators(g):
    """LSTM and GRU, in both directions and one."""
    x, _, _ = g.LSTM("series", g.weight(2, 512, 200, scale=0.07), g.weight(2, 512, 128, scale=0.09), g.weight(2, 1024, scale=0.05), direction="bidirectional",
                     hidden_size=128, results=3)
    x = g.Reshape(g.Transpose(x, perm=[0, 2, 1, 3]), [0, 0, 256])
    x, last = g.GRU(x, g.weight(1, 576, 256, scale=0.1), g.weight(1, 576, 192, scale=0.07), g.weight(1, 1152, scale=0.05), hidden_size=192,
                    linear_before_reset=1, results=2)
    g.output("states", g.Squeeze(x, [1]), "f32", ["length", "batch", 192])
    g.output("last", g.Squeeze(last, [0]), "f32", ["batch", 192])


def gated_step(g, x, state, inner, width):
    """A recurrent unit of few parts: how much of the state stays, and what is new."""
    both = g.Add(g.dense(x, inner, 2 * width), g.MatMul(state, g.weight(width, 2 * width)))
    stays, new = g.Split(both, axis=-1, num_outputs=2, results=2)
    stays = g.Sigmoid(stays)
    return g.Add(g.Mul(stays, state), g.Mul(g.Sub(1.0, stays), g.Tanh(new)))


@model(SERIES, SERIES_SIZES)
def recurrent_loop(g):
    """The same kind of thing written out as a Loop, as exporters do for units of one's own."""
    width = 160
    step = g.body("step")
    step.input("step_index", "i64", [])
    step.input("step_goes_on", "bool", [])
    step.input("step_state", "f32", ["batch", width])
    state = gated_step(step, step.Gather("series", "step_index", axis=0), "step_state", 200, width)
    step.output("step_still", "step_goes_on", "bool", [])
    step.output("step_next", state, "f32", ["batch", width])
    step.output("step_seen", state, "f32", ["batch", width])
    begin = g.Expand(0.0, g.Concat(g.Shape("series", start=1, end=2), [width], axis=0))
    last, states = g.Loop(g.size("series", 0), None, begin, body=step.graph(), results=2)
    g.output("states", states, "f32", ["length", "batch", width])
    g.output("last", last, "f32", ["batch", width])


@model([Input("x", "f32", ("length", 192)), Input("rates", "f32", ("length", 192), scale=0.5)], [dict(length=64), dict(length=1000)])
def state_space(g):
    """A Scan whose state is wide and whose step is elementwise."""
    step = g.body("step")
    step.input("held", "f32", [192, 16])
    step.input("x_row", "f32", [192])
    step.input("rate_row", "f32", [192])
    rate = step.Softplus("rate_row")
    kept = step.Exp(step.Mul(step.Unsqueeze(rate, [1]), np.linspace(-4, -0.1, 16, dtype=np.float32)))
    held = step.Add(step.Mul("held", kept), step.Mul(step.Unsqueeze(step.Mul(rate, "x_row"), [1]), step.weight(192, 16, scale=0.3)))
    step.output("held_next", held, "f32", [192, 16])
    step.output("y_row", step.ReduceSum(step.Mul(held, step.weight(192, 16, scale=0.3)), [1], keepdims=0), "f32", [192])
    _, y = g.Scan(np.zeros((192, 16), np.float32), "x", "rates", body=step.graph(), num_scan_inputs=2, results=2)
    g.output("y", g.Mul(y, g.Sigmoid("x")), "f32", ["length", 192])


@model([Input("begin", "f32", (1, 256)), Input("most", "i64", ())], [dict(most=20), dict(most=100)])
def word_by_word(g):
    """A Loop that picks the best word, feeds it back, and ends where a word says so, or at the most that was asked for."""
    words = 2000
    table = g.weight(words, 256, scale=1)
    back = g.weight(256, words)
    step = g.body("step")
    step.input("index", "i64", [])
    step.input("goes_on", "bool", [])
    step.input("word", "i64", [1])
    step.input("state", "f32", [1, 256])
    state = gated_step(step, step.Gather(table, "word"), "state", 256, 256)
    word = step.ArgMax(step.MatMul(state, back), axis=1, keepdims=0)
    step.output("still", step.Not(step.Squeeze(step.Equal(word, [words - 1]), [0])), "bool", [])
    step.output("next_word", word, "i64", [1])
    step.output("next_state", state, "f32", [1, 256])
    step.output("said", word, "i64", [1])
    _, _, said = g.Loop("most", True, np.array([1]), "begin", body=step.graph(), results=3)
    g.output("said", said, "i64", ["count", 1])


@model([Input("x", "f32", ("batch", 256)), Input("enough", "f32", ())], [dict(batch=1, enough=0), dict(batch=1, enough=2), dict(batch=32, enough=2)])
def early_exit(g):
    """Layers behind branches, which are left out where the one before was sure enough."""
    def layers(g, x):
        for _ in range(2):
            x = g.Relu(g.dense(x, 256, 256))
        return x

    x = layers(g, "x")
    for depth in range(3):
        sure = g.ReduceMax(g.Softmax(g.dense(x, 256, 10), axis=-1), keepdims=0)
        stop, go = g.body(f"stop_{depth}"), g.body(f"go_{depth}")
        stop.output(f"kept_{depth}", x, "f32", ["batch", 256])
        go.output(f"deeper_{depth}", layers(go, x), "f32", ["batch", 256])
        x = g.If(g.GreaterOrEqual(sure, "enough"), then_branch=stop.graph(), else_branch=go.graph())
    g.output("scores", g.dense(x, 256, 10), "f32", ["batch", 10])


@model([Input("nodes", "f32", ("nodes", 64)), Input("ends", "i64", (2, "edges"), high=300)], [dict(nodes=300, edges=900), dict(nodes=300, edges=6000)])
def graph_network(g):
    """Messages along the edges of a graph, added up where they arrive."""
    x = "nodes"
    begin, end = (g.Squeeze(part, [0]) for part in g.Split("ends", axis=0, num_outputs=2, results=2))
    for _ in range(3):
        message = g.Relu(g.dense(g.Concat(g.Gather(x, begin), g.Gather(x, end), axis=1), 128, 64))
        arrived = g.ScatterND(g.Mul(x, 0.0), g.Unsqueeze(end, [1]), message, reduction="add")
        x = g.normalize(g.Add(x, g.dense(arrived, 64, 64)), 64)
    g.output("states", x, "f32", ["nodes", 64])


@model([Input("features", "f32", (1, 64, "height", "width"))], [dict(height=20, width=20), dict(height=60, width=80)])
def detection_head(g):
    """Boxes at every place of a picture, of which the best that hardly overlap are kept: how many, the data say."""
    found = g.convolution(g.Relu(g.convolution("features", 64, 64, 3)), 64, 5, 1)
    rows = g.Transpose(g.Reshape(found, [1, 5, -1]), perm=[0, 2, 1])
    corner, extent, score = g.Split(rows, [2, 2, 1], axis=2, results=3)
    at = g.Mul(g.Cast(g.Unsqueeze(g.positions(0, g.size(rows, 1)), [0, 2]), to=1), 0.37)
    corner = g.Add(g.Mod(g.Concat(at, g.Mul(at, 1.7), axis=2), 40.0, fmod=1), corner)
    boxes = g.Concat(corner, g.Add(corner, g.Exp(extent)), axis=2)
    kept = g.NonMaxSuppression(boxes, g.Transpose(score, perm=[0, 2, 1]), 50, 0.5, 0.0)
    g.output("boxes", g.Gather(g.Squeeze(boxes, [0]), g.Gather(kept, 2, axis=1)), "f32", ["kept", 4])
