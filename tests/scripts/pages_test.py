"""The scripts that write pages: what they are given is on them."""

import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def case(name, family, ratio, intensity):
    kernel = {"source_node": f"{name} (Conv)", "flops": 1000 * intensity, "bytes": 1000, "nanoseconds": 100}
    best = {"tvm-vm": 1.0, "onnxruntime": ratio, "openvino": ratio * 2} if ratio else {"tvm-vm": 1.0}
    return {
        "name": name,
        "family": family,
        "ratio": ratio,
        "limit": 0.5 if ratio else None,
        "best_ms": best,
        "kernels": [kernel],
        "machine": {"cpu": "a <CPU>", "level": "x86-64-v3", "gflops": {"f32": 100.0}, "bandwidths": [{"bytes": 8192, "gbytes_per_s": 200.0}]},
    }


class BenchPage(unittest.TestCase):
    def page(self, cases, wrong=()):
        with tempfile.TemporaryDirectory() as folder:
            figures, page = pathlib.Path(folder) / "figures.json", pathlib.Path(folder) / "page.html"
            figures.write_text(json.dumps({"threads": 1, "cases": cases, "wrong": list(wrong)}))
            subprocess.run([sys.executable, ROOT / "bench/peers/page.py", figures, page], check=True)
            return page.read_text()

    def test_every_case_is_there(self):
        text = self.page([case("conv_a", "conv", 2.0, 10), case("conv_b", "conv", 0.5, 3), case("sum", "rows", 40.0, 0.01)], [{"name": "bad", "problem": "is <wrong>"}])
        for shown in ("conv_a: 2.00", "geometric mean 3.42", "1 below 1", "a &lt;CPU&gt;", "bad: is &lt;wrong&gt;", "<td>40.0000</td>"):
            self.assertIn(shown, text)
        plots = [part.split("</svg>")[0] + "</svg>" for part in text.split("<svg ")[1:]]
        self.assertEqual(len(plots), 2)
        for plot in plots:
            self.assertGreaterEqual(len(xml.etree.ElementTree.fromstring("<svg " + plot).findall("circle")), 3)

    def test_without_peers(self):
        self.assertIn("nothing to compare", self.page([case("conv_a", "conv", None, 1)]))

    def test_wrong_use(self):
        done = subprocess.run([sys.executable, ROOT / "bench/peers/page.py"], capture_output=True, text=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("usage:", done.stderr)


class Site(unittest.TestCase):
    def test_the_python_reference_is_complete(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, ROOT / "docs/make_pages.py", folder], check=True)
            pages = pathlib.Path(folder)
            text = (pages / "docs/python_reference.md").read_text()
            listed = (pages / "mkdocs.yml").read_text()
        for shown in ("## Vm", "Vm.run(", "cancel: a CancelToken", "## compile", "weights: \"int8\"", "MemoryPlan.is_exact: bool", "async Vm.run_async("):
            self.assertIn(shown, text)
        self.assertIn("python_reference.md", listed)
        self.assertIn("embedding.md", listed)

    @unittest.skipUnless(shutil.which("mkdocs"), "mkdocs is not installed")
    def test_is_built_without_a_warning(self):
        with tempfile.TemporaryDirectory() as folder:
            pages, site = pathlib.Path(folder) / "pages", pathlib.Path(folder) / "site"
            subprocess.run([sys.executable, ROOT / "docs/make_pages.py", pages], check=True)
            subprocess.run(["mkdocs", "build", "--quiet", "--strict", "--config-file", pages / "mkdocs.yml", "--site-dir", site], check=True)
            self.assertIn("signed_constants", (site / "python_reference.html").read_text())
            self.assertTrue((site / "index.html").exists())


if __name__ == "__main__":
    unittest.main()
