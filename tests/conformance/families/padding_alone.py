"""Windows and convolutions along an axis of size 1 whose taps all lie in the padding."""
from case_maker import case, floats


def padding_alone():
    apart = {"kernel_shape": [2, 1, 2], "dilations": [2, 2, 1], "pads": [1, 0, 1, 1, 0, 0]}
    yield case("lp_pool", "LpPool", [floats(1, 2, 1, 4, 4)], apart, domain="", opset=22)
    yield case("lp_pool_partly", "LpPool", [floats(1, 2, 1, 4, 4)], dict(apart, kernel_shape=[3, 1, 2], pads=[2, 0, 1, 2, 0, 0]), domain="", opset=22)
    for name, channels, group in (("convolution", 2, 1), ("depthwise", 6, 6), ("many_channels", 40, 1)):
        yield case(name, "Conv", [floats(1, channels, 1, 4, 20), floats(channels, channels // group, 2, 1, 2), floats(channels)],
                   dict(apart, group=group), domain="", opset=22, rtol=1e-4, atol=1e-5)
    yield case("rows", "Conv", [floats(1, 3, 1, 30), floats(5, 3, 2, 3), floats(5)],
               {"kernel_shape": [2, 3], "dilations": [2, 1], "pads": [1, 1, 1, 1]}, domain="", opset=22, rtol=1e-4, atol=1e-5)
    for name, dims, attributes in (("average_pool", (1, 2, 1, 4, 4), apart),
                                   ("average_pool_of_planes", (2, 3, 20, 1), {"kernel_shape": [3, 2], "dilations": [1, 2], "pads": [1, 1, 1, 1]}),
                                   ("average_pool_of_rows", (1, 20, 2), {"kernel_shape": [2], "dilations": [3], "pads": [1, 1]})):
        yield case(name, "AveragePool", [floats(*dims)], attributes, domain="", opset=22)
