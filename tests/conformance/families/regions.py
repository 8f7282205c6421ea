import numpy as np

from case_maker import case


def regions():
    """Regions of images with as many samples as their bins have elements, of which some lie outside."""
    images = np.random.default_rng(5).standard_normal((2, 3, 6, 7)).astype(np.float32)
    boxes = np.array([[0, 0, 5, 5], [-3, -2, 9, 8], [1, 2, 2.5, 3]], np.float32)
    for mode in ("avg", "max"):
        yield case(f"roi_align_{mode}", "RoiAlign", [images, boxes, np.array([0, 1, 0])],
                   {"mode": mode, "output_height": 4, "output_width": 3, "spatial_scale": 0.5}, domain="", opset=11)
