"""What runs hold, before and while they run; memory that inputs and outputs share."""

import io
import os
import subprocess
import sys

import pytest

import tvm_vm


def address(array):
    return array.__array_interface__["data"][0]


def test_plans_are_what_a_run_takes(np, models):
    program = tvm_vm.compile(models.add_and_mul())
    vm = tvm_vm.Vm(program, threads=1)
    plan = vm.plan({"n": 1000})
    assert plan.is_exact and plan == program.plan({"n": 1000}) == program.plan({"n": (1000, 1000)})
    x = np.ones(1000, "f4")
    vm(x, x)
    assert plan.peak_bytes == (vm.peak_bytes,) * 2
    assert plan.output_bytes == (8000, 8000) and plan.unbounded == []
    assert plan.devices[0]["name"] == "cpu" and plan.values[0]["bytes"] == (4000, 4000)
    range_of = vm.plan({"n": (1, 10)})
    assert not range_of.is_exact and range_of.peak_bytes[0] <= 8 and range_of.peak_bytes[1] >= 80
    with pytest.raises(tvm_vm.InvalidArgument, match="no size is given"):
        vm.plan()
    with pytest.raises(tvm_vm.InvalidArgument, match="'m'"):
        program.plan({"n": 1, "m": 2})


def test_a_pool_bounds_several(np, add):
    pool = tvm_vm.MemoryPool(1 << 20, "the models of one customer")
    first, second = (tvm_vm.Vm(add, threads=1, memory=pool) for _ in range(2))
    assert pool.max_bytes == 1 << 20
    x = np.ones(1 << 16, "f4")  # a result of 256 KiB
    kept = [first(x, x), second(x, x), first(x, x)]
    assert pool.held_bytes <= pool.max_bytes and pool.peak_bytes >= first.held_bytes
    with pytest.raises(MemoryError, match="the models of one customer"):
        big = np.ones(1 << 20, "f4")
        first(big, big)
    assert second(x, x)[0] == 2 and kept[0][0] == 2
    first.trim()
    second.trim()
    assert first.held_bytes == 0


def test_donated_memory(np, models):
    vm = tvm_vm.Vm(tvm_vm.compile(models.grow(), donate={"past": "present"}), threads=1)
    assert vm.donations == {"past": "present"}
    cache = np.zeros((10, 4), "f4")
    for step in range(10):
        row = np.full((1, 4), step, "f4")
        result = vm.run({"past": cache[:step], "x": row}, out={"present": cache[: step + 1]})["present"]
        assert address(result) == address(cache)
    assert cache[:, 0].tolist() == list(range(10))
    assert tvm_vm.Vm(tvm_vm.compile(models.grow())).donations == {}
    with pytest.raises(tvm_vm.InvalidArgument, match="nothing"):
        tvm_vm.compile(models.grow(), donate={"nothing": "present"})


def test_values_inside(np, models):
    program = tvm_vm.compile(models.loop(), keep_values=["after"])
    assert [output.name for output in program.outputs] == ["y", "after_steps"]
    last, steps = tvm_vm.Vm(program)(3, np.ones(2, "f4"))
    assert steps.shape == (3, 2)
    np.testing.assert_allclose(steps[:, 0], [np.sin(1), np.sin(np.sin(1)), np.sin(np.sin(np.sin(1)))], rtol=1e-5)
    np.testing.assert_array_equal(last, steps[-1])
    with pytest.raises(tvm_vm.InvalidArgument, match="no value or node named 'nobody'"):
        tvm_vm.compile(models.loop(), keep_values=["nobody"])


def test_schedules(models, tmp_path):
    path, text = tmp_path / "a.schedule", io.StringIO()
    program = tvm_vm.compile(models.matmul(), write_schedule=path)
    tvm_vm.compile(models.matmul(), write_schedule=text)
    assert text.getvalue() == path.read_text() != ""
    again = tvm_vm.compile(models.matmul(), schedule=path)
    assert again.to_bytes() == program.to_bytes() == tvm_vm.compile(models.matmul(), schedule=io.StringIO(text.getvalue())).to_bytes()
    with pytest.raises(tvm_vm.InvalidArgument, match="schedule"):
        tvm_vm.compile(models.matmul(), schedule=io.StringIO("this is none"))
    assert tvm_vm.compile(models.matmul(), exact_convolutions=True).inputs == program.inputs


def test_dlpack_shares_both_ways(np, vm):
    class Other:
        """An array of somebody who speaks DLPack alone."""

        def __init__(self, array):
            self.array, self.taken = array, 0

        def __dlpack__(self, **options):
            self.taken += 1
            return self.array.__dlpack__()

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    x, z = np.ones(100, "f4"), np.zeros(100, "f4")
    other, memory = Other(x), Other(z)
    assert vm.run({"x": other, "y": other}, out={"z": memory})["z"] is memory
    assert z.tolist() == [2] * 100 and other.taken == 2 and memory.taken == 1
    tensor = tvm_vm.Tensor(other)
    assert address(tensor.numpy()) == address(x) == address(np.from_dlpack(tensor))
    references = sys.getrefcount(x)
    view = np.from_dlpack(tensor)
    del tensor, other
    assert view.tolist() == [1] * 100
    del view
    assert sys.getrefcount(x) <= references
    results = tvm_vm.Vm(vm.program, results="tensor", threads=1)(x, x)
    assert np.from_dlpack(results).ctypes.data == address(results.numpy())


def test_capsules_that_nobody_takes(np):
    tensor = tvm_vm.Tensor(np.ones(1000, "f4"))
    for _ in range(1000):
        capsule = tensor.__dlpack__()
    del capsule
    assert np.from_dlpack(tensor)[0] == 1


LEAKS = """
import random, sys, threading
import numpy as np, tvm_vm

loop, add = tvm_vm.Vm(sys.argv[1], threads=1), tvm_vm.Vm(sys.argv[2], threads=1)
x = np.ones(1 << 14, "f4")

def work(seed, calls):
    choose = random.Random(seed)
    for _ in range(calls):
        token = tvm_vm.CancelToken()
        try:
            kind = choose.randrange(5)
            if kind == 0:
                loop.run({"steps": 1 << 40, "x": x[:8]}, timeout=0.001)
            elif kind == 1:
                token.cancel()
                loop.run({"steps": 3, "x": x}, cancel=token)
            elif kind == 2:
                add(x, x[: choose.randrange(1, 9)])
            elif kind == 3:
                add.cancel()
                add.run({"x": x, "y": x}, out={"z": np.empty_like(x)}, cancel=token)
            else:
                add(tvm_vm.Tensor(x), memoryview(x))
        except (tvm_vm.Cancelled, tvm_vm.DeadlineExceeded, tvm_vm.InvalidArgument):
            pass

def round(calls):
    threads = [threading.Thread(target=work, args=(seed, calls)) for seed in range(4)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096

begin = [round(100) for _ in range(3)][-1]
end = round(600)
print(end - begin)
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="nothing says how large a process is")
def test_nothing_leaks_under_cancels(np, endless, add, tmp_path):
    """2,400 calls of 64 KiB each: kept arrays, runners or results would be 40 MB and more."""
    endless.program.save(tmp_path / "loop.vmexe")
    add.save(tmp_path / "add.vmexe")
    shown = subprocess.run(
        [sys.executable, "-c", LEAKS, tmp_path / "loop.vmexe", tmp_path / "add.vmexe"], capture_output=True, text=True, timeout=300
    )
    assert shown.returncode == 0, shown.stderr
    assert int(shown.stdout) < 16 << 20
    assert "leak" not in shown.stderr, shown.stderr  # nanobind counts what is left
