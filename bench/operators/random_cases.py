"""Cases that nobody chose: operators and patterns at random sizes, as the text of cases/*.txt. Most dims are symbolic, and some of
them are 1 or a few when the model runs, which is where a kernel that was made for many is slow."""
import math
import random

MOST_OPERATIONS = 5e8  # of a product


class Draw(random.Random):
    def size(self, low, high):
        """Small ones as often as large ones."""
        return round(math.exp(self.uniform(math.log(low), math.log(high))))

    def shape(self, elements, rank):
        """Dims whose product is about that."""
        cuts = [0, *sorted(self.random() for _ in range(rank - 1)), 1]
        return [max(1, round(elements ** (high - low))) for low, high in zip(cuts, cuts[1:])]

    def any_shape(self, most=3_000_000, least_rank=1, most_rank=4):
        return self.shape(self.size(500, most), self.randint(least_rank, most_rank))


def listed(values):
    return "[" + ", ".join(str(value) for value in values) + "]"


def dims(shape):
    return listed(f"d{i}={size}" for i, size in enumerate(shape))


def elementwise(draw):
    op = draw.choice("Relu Sigmoid Tanh Exp Erf Gelu Sqrt Sin Softplus HardSwish Elu Round Neg Mish Abs LeakyRelu".split())
    return f"x: f32{dims(draw.any_shape())} in 0.1..4\ny = {op}(x)"


def broadcast(draw):
    shape = draw.any_shape()
    other = [f"d{i}={size}" if draw.random() < 0.6 else "1" for i, size in enumerate(shape)]
    op = draw.choice("Add Sub Mul Div Max Min".split())
    return f"x: f32{dims(shape)}\nb: f32{listed(other)} in 0.5..2\ny = {op}(x, b)"


def reduction(draw):
    shape = draw.any_shape()
    axes = sorted(draw.sample(range(len(shape)), draw.randint(1, len(shape))))
    op = draw.choice("ReduceSum ReduceMean ReduceMax ReduceL2 ReduceLogSumExp".split())
    return f"x: f32{dims(shape)}\naxes: value i64[{len(axes)}] = {str(axes)[1:-1]}\ny = {op}(x, axes)"


def place_of_largest(draw):
    shape = draw.any_shape()
    return f"x: f32{dims(shape)}\ny = {draw.choice(['ArgMax', 'ArgMin'])} <axis = {draw.randrange(len(shape))}> (x)"


def softmax(draw):
    shape = draw.any_shape(least_rank=2)
    return f"x: f32{dims(shape)}\ny = {draw.choice(['Softmax', 'LogSoftmax'])} <axis = {draw.randrange(len(shape))}> (x)"


def layer_norm(draw):
    *rows, width = draw.any_shape(least_rank=2, most_rank=3)
    return f"x: f32{dims(rows)[:-1]}, {width}]\ng: weight f32[{width}]\nb: weight f32[{width}]\ny = LayerNormalization(x, g, b)"


def product_with_weights(draw):
    rows, columns, depth = draw.size(1, 600), draw.size(1, 2000), draw.size(1, 2000)
    rows = max(1, min(rows, int(MOST_OPERATIONS / columns / depth)))
    return f"x: f32[m={rows}, {depth}]\nw: weight f32[{depth}, {columns}]\ny = MatMul(x, w)"


def product_of_inputs(draw):
    batch, rows, columns, depth = draw.size(1, 64), draw.size(1, 400), draw.size(1, 400), draw.size(1, 400)
    batch = max(1, min(batch, int(MOST_OPERATIONS / rows / columns / depth)))
    if draw.random() < 0.5:
        return f"x: f32[b={batch}, m={rows}, k={depth}]\nz: f32[b={batch}, k={depth}, n={columns}]\ny = MatMul(x, z)"
    return f"x: f32[b={batch}, m={rows}, {depth}]\nz: f32[b={batch}, n={columns}, {depth}]\nt = Transpose <perm = [0, 2, 1]> (z)\ny = MatMul(x, t)"


def convolution(draw):
    kernel, stride, groups = draw.choice([1, 2, 3, 3, 5, 7]), draw.choice([1, 1, 2]), draw.choice([1, 1, 1, 2, 4])
    channels, outputs = groups * draw.size(2, 64), groups * draw.size(2, 64)
    side = max(kernel, int(min(draw.size(6, 150), math.sqrt(MOST_OPERATIONS / (channels * outputs / groups * kernel**2)))))
    pads = listed([draw.choice([0, kernel // 2])] * 4)
    return (f"x: f32[n=1, {channels}, h={side}, w={side + draw.randint(0, 9)}]\nw: weight f32[{outputs}, {channels // groups}, {kernel}, {kernel}]\n"
            f"b: weight f32[{outputs}]\ny = Conv <group = {groups}, pads = {pads}, strides = [{stride}, {stride}]> (x, w, b)")


def depthwise_convolution(draw):
    kernel, stride, channels, side = draw.choice([3, 3, 5, 7]), draw.choice([1, 1, 2]), draw.size(4, 400), draw.size(7, 100)
    pads = listed([kernel // 2] * 4)
    return (f"x: f32[n=1, {channels}, h={side}, w={side}]\nw: weight f32[{channels}, 1, {kernel}, {kernel}]\n"
            f"y = Conv <group = {channels}, pads = {pads}, strides = [{stride}, {stride}]> (x, w)")


def transposed_convolution(draw):
    kernel, stride, channels, outputs = draw.choice([2, 3, 4, 5]), draw.choice([1, 2, 2, 3]), draw.size(4, 256), draw.size(1, 128)
    side = max(3, int(min(draw.size(4, 64), math.sqrt(MOST_OPERATIONS / (channels * outputs * kernel**2)))))
    return (f"x: f32[n=1, {channels}, h={side}, w={side + 1}]\nw: weight f32[{channels}, {outputs}, {kernel}, {kernel}]\n"
            f"y = ConvTranspose <strides = [{stride}, {stride}]> (x, w)")


def pool(draw):
    op, kernel, stride = draw.choice(["MaxPool", "AveragePool"]), draw.choice([2, 3, 5]), draw.choice([1, 2, 3])
    channels, side = draw.size(1, 200), draw.size(8, 120)
    return f"x: f32[n=1, {channels}, h={side}, w={side}]\ny = {op} <kernel_shape = [{kernel}, {kernel}], strides = [{stride}, {stride}]> (x)"


def transpose(draw):
    shape = draw.any_shape(least_rank=2, most_rank=5)
    axes = list(range(len(shape)))
    draw.shuffle(axes)
    return f"x: {draw.choice(['f32', 'f32', 'u8', 'i64'])}{dims(shape)}\ny = Transpose <perm = {axes}> (x)"


def concat(draw):
    shape, count = draw.any_shape(most=1_000_000), draw.randint(2, 5)
    axis = draw.randrange(len(shape))
    lines = []
    for i in range(count):
        sizes = [f"a{i}={draw.size(1, 2 * size)}" if at == axis else f"d{at}={size}" for at, size in enumerate(shape)]
        lines.append(f"x{i}: f32[{', '.join(sizes)}]")
    return "\n".join(lines) + f"\ny = Concat <axis = {axis}> ({', '.join(f'x{i}' for i in range(count))})"


def slices(draw):
    shape = draw.any_shape()
    axis = draw.randrange(len(shape))
    first, step = draw.randint(0, shape[axis] // 2), draw.choice([1, 1, 2, 3])
    return (f"x: f32{dims(shape)}\nfirst: value i64[1] = {first}\nend: value i64[1] = {shape[axis]}\naxis: value i64[1] = {axis}\n"
            f"step: value i64[1] = {step}\ny = Slice(x, first, end, axis, step)")


def gather(draw):
    shape = draw.any_shape(least_rank=2, most_rank=3)
    axis = draw.randrange(len(shape))
    return f"x: f32{dims(shape)}\ni: i64[k={draw.size(1, 1000)}] in 0..{shape[axis]}\ny = Gather <axis = {axis}> (x, i)"


def topk(draw):
    shape = draw.any_shape(most=1_000_000, most_rank=3)
    axis = draw.randrange(len(shape))
    count = min(draw.size(1, 500), shape[axis])
    return f"x: f32{dims(shape)}\nk: value i64[1] = {count}\nv, i = TopK <axis = {axis}> (x, k)"


def attention(draw):
    heads, queries, keys, width = draw.size(1, 16), draw.size(1, 500), draw.size(1, 700), draw.choice([32, 40, 64, 128])
    queries = max(1, min(queries, int(MOST_OPERATIONS / heads / keys / width)))
    return (f"q: f32[b=1, {heads}, t={queries}, {width}]\nk: f32[b=1, {heads}, {width}, u={keys}]\nv: f32[b=1, {heads}, u={keys}, {width}]\n"
            "scale: value f32 = 0.125\na = MatMul(q, k)\ns = Mul(a, scale)\np = Softmax <axis = -1> (s)\ny = MatMul(p, v)")


def recurrent(draw):
    op, gates = draw.choice([("LSTM", 4), ("GRU", 3), ("RNN", 1)])
    steps, batch, width, hidden = draw.size(1, 80), draw.size(1, 12), draw.size(4, 200), draw.size(4, 250)
    return (f"x: f32[t={steps}, b={batch}, {width}]\nw: weight f32[1, {gates * hidden}, {width}]\nr: weight f32[1, {gates * hidden}, {hidden}]\n"
            f"y = {op} <hidden_size = {hidden}> (x, w, r)")


KINDS = (elementwise, broadcast, reduction, place_of_largest, softmax, layer_norm, product_with_weights, product_of_inputs, convolution,
         depthwise_convolution, transposed_convolution, pool, transpose, concat, slices, gather, topk, attention, recurrent)


def text_of_cases(seed, count):
    """`count` cases, each the same whatever the others are."""
    cases = []
    for i in range(count):
        kind = KINDS[i % len(KINDS)]
        lines = kind(Draw(f"{seed}/{i}")).splitlines()
        cases.append("\n".join([f"case {kind.__name__}_{seed}_{i}", *(f"  {line}" for line in lines)]))
    return "\n\n".join(cases) + "\n"
