import numpy as np

from case_maker import case


def random_numbers():
    """By NumPy's generator, in the way of docs/random_numbers.md."""
    def uniform(seed, *dims):
        return np.random.RandomState(seed).random_sample(dims)

    def normal(seed, *dims):
        pairs = uniform(seed, int(np.prod(dims)), 2)
        return (np.sqrt(-2 * np.log(1 - pairs[:, 0])) * np.cos(2 * np.pi * pairs[:, 1])).reshape(dims)

    like = np.zeros((3, 5), np.float32)
    yield case("uniform", "RandomUniform", [], {"seed": 7.0, "shape": [3, 5], "low": -1.0, "high": 3.0}, domain="", opset=22,
               given=[(uniform(7, 3, 5) * 4 - 1).astype(np.float32)])
    yield case("uniform_like", "RandomUniformLike", [like], {"seed": 8.0}, domain="", opset=22,
               given=[uniform(8, 3, 5).astype(np.float32)])
    yield case("normal", "RandomNormal", [], {"seed": 7.0, "shape": [3, 5], "mean": 2.0, "scale": 0.5}, domain="", opset=22,
               given=[(normal(7, 3, 5) * 0.5 + 2).astype(np.float32)])
    yield case("normal_like", "RandomNormalLike", [like], {"seed": 8.0}, domain="", opset=22,
               given=[normal(8, 3, 5).astype(np.float32)])
    scores = np.log(np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3]], np.float32))
    chances = np.exp(scores.astype(np.float64))
    sums = np.cumsum(chances / chances.sum(1, keepdims=True), 1)
    drawn = (sums[:, None, :] <= uniform(9, 2, 12)[:, :, None]).sum(2).astype(np.int32)
    yield case("multinomial", "Multinomial", [scores], {"seed": 9.0, "sample_size": 12}, domain="", opset=22, given=[drawn])
