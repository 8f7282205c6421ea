"""The Python of docs/python.md runs, in a folder that holds the files which it names."""

import pathlib
import re

import pytest

import tvm_vm

DOCUMENT = pathlib.Path(__file__).resolve().parent.parent.parent / "docs/python.md"


def blocks():
    if not DOCUMENT.exists():
        return []
    return re.findall(r"^```python\n(.*?)^```", DOCUMENT.read_text(), re.M | re.S)


def test_there_are_some():
    if not DOCUMENT.exists():
        pytest.skip("there are no docs here")
    assert len(blocks()) >= 2


@pytest.mark.parametrize("number", range(len(blocks())))
def test_runs(np, models, tmp_path, monkeypatch, number):
    onnx = pytest.importorskip("onnx")
    onnx.save(models.identity(1, ("batch", "length", 64)), tmp_path / "model.onnx")
    onnx.save(models.grow(64), tmp_path / "step.onnx")
    monkeypatch.chdir(tmp_path)
    code = blocks()[number]
    try:
        import torch  # noqa: F401
    except ImportError:
        code = code.split("import torch")[0]
    rows = [np.full((1, 64), step, "f4") for step in range(3)]
    names = {"np": np, "tvm_vm": tvm_vm, "rows": rows}
    exec(compile(code, f"{DOCUMENT.name}, block {number + 1}", "exec"), names)
    if "cache" in names:
        assert [row[0] for row in names["cache"][:4]] == [0, 1, 2, 0]
