"""The benches beside peers: models are what they say, comparisons find what differs, and a run leaves figures and a page.

Given: the tool, where there is one that compiles. Needs numpy and onnx from PyPI."""

import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench/models")]

try:
    import numpy as np
    import onnx
    from model_list import MODELS
    from peers import comparison, runners
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

TOOL = sys.argv.pop() if len(sys.argv) > 1 else None


class Models(unittest.TestCase):
    def test_are_valid_and_the_same_each_time(self):
        for model in MODELS:
            with self.subTest(model.name):
                made = model.model()
                onnx.checker.check_model(made, full_check=True)
                self.assertEqual(made.SerializeToString(), model.model().SerializeToString())

    def test_have_inputs_of_every_size(self):
        names = [model.case_name(sizes) for model in MODELS for sizes in model.sizes]
        self.assertEqual(len(names), len(set(names)))
        for model in MODELS:
            dims = {given.name: [d.dim_param or d.dim_value for d in given.type.tensor_type.shape.dim] for given in model.model().graph.input}
            for sizes in model.sizes:
                arrays = model.arrays(sizes)
                self.assertEqual({name: [sizes.get(d, d) for d in dims[name]] for name in dims}, {name: list(a.shape) for name, a in arrays.items()})


class Comparison(unittest.TestCase):
    def test_finds_what_differs(self):
        wanted = {"y": np.array([1.0, -8.0], "f4")}
        comparison.compare({"y": np.array([1.01, -8.0], "f4")}, wanted, None)  # within 2e-3 of 8
        for got in ({}, {"y": np.zeros((2, 1), "f4")}, {"y": np.array([1.02, -8.0], "f4")}, {"y": np.array([np.nan, -8.0], "f4")}):
            with self.assertRaises(runners.Failed):
                comparison.compare(got, wanted, None)
        with self.assertRaises(runners.Failed):
            comparison.compare({"y": np.array([3])}, {"y": np.array([4])}, None)

    def test_says_who_is_slow(self):
        rows = [{"name": "fast", "ratio": 4.0, "limit": 0.5}, {"name": "slow", "ratio": 0.25, "limit": None}, {"name": "alone", "ratio": None, "limit": 1}]
        text, low = comparison.summary(rows, [], 0.9)
        self.assertIn("3 cases, 0 wrong, geometric mean 1.000, 1 slower than a peer, 1 below 0.9", text)
        self.assertEqual([row["name"] for row in low], ["slow"])


@unittest.skipUnless(TOOL, "no tool that compiles")
class Run(unittest.TestCase):
    def test_leaves_figures_and_a_page(self):
        with tempfile.TemporaryDirectory() as folder:
            files = [pathlib.Path(folder) / name for name in ("figures.json", "page.html")]
            done = subprocess.run([sys.executable, ROOT / "bench/models/models.py", "early_exit", "--tool", TOOL, "--seconds", "0.001", "--rounds", "1",
                                   "--json", files[0], "--page", files[1]], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertIn("3 cases, 0 wrong", done.stdout)
            figures = json.loads(files[0].read_text())
            self.assertEqual([case["family"] for case in figures["cases"]], ["early_exit"] * 3)
            self.assertTrue(all(case["best_ms"]["tvm-vm"] > 0 and case["kernels"] for case in figures["cases"]))
            self.assertIn("<h2>1 thread</h2>", files[1].read_text())


if __name__ == "__main__":
    unittest.main()
