import numpy as np

from case_maker import case, floats


def old_versions():
    rois = np.array([[0, 0, 7, 7], [1.5, 2, 6.5, 5], [3, 3, 3.2, 3.2]], np.float32)
    image = floats(2, 3, 8, 9)
    of = np.array([0, 1, 1], np.int64)
    size = {"output_height": 2, "output_width": 3}
    yield case("roi_align_10", "RoiAlign", [image, rois, of], dict(size, spatial_scale=0.75), domain="", opset=10)
    yield case("roi_align_16_max", "RoiAlign", [image, rois, of], dict(size, mode="max", sampling_ratio=2), domain="",
               opset=16)
    yield case("roi_align_16", "RoiAlign", [image, rois, of],
               dict(size, coordinate_transformation_mode="output_half_pixel"), domain="", opset=16)
    pooled = np.array([[0, 0, 0, 7, 7], [1, 1.5, 2, 6.5, 5], [1, 9, 9, 12, 12]], np.float32)
    yield case("roi_pool", "MaxRoiPool", [image, pooled], {"pooled_shape": [2, 3], "spatial_scale": 0.75}, domain="",
               opset=1)
    yield case("det_11", "Det", [floats(2, 3, 5, 5)], domain="", opset=11)
    yield case("det_singular", "Det", [np.array([[1, 2], [2, 4]], np.float32)], domain="", opset=11)
    values, where = floats(1, 2, 2, 2), np.array([[[[0, 6], [24, 18]], [[25, 30], [40, 47]]]], np.int64)
    unpool = {"kernel_shape": [2, 2], "strides": [3, 3]}
    yield case("unpool_9", "MaxUnpool", [values, where], unpool, domain="", opset=9)
    yield case("deform_19", "DeformConv", [floats(2, 4, 6, 5), floats(6, 2, 3, 2), floats(2, 24, 3, 4, scale=2), floats(6),
                                           floats(2, 12, 3, 4)],
               {"group": 2, "offset_group": 2, "strides": [2, 1], "pads": [1, 0, 1, 0]}, domain="", opset=19, atol=1e-4)
