"""GPUs, where there are any; those that run on the CPU count."""

import pytest

import tvm_vm


def gpus():
    return [device["name"] for device in tvm_vm.devices() if device["kind"] in ("opencl", "vulkan") and not device["unusable"]]


def test_listing():
    listed = tvm_vm.devices()
    assert any(device["name"] == "cpu" and not device["unusable"] for device in listed)
    assert {"name", "kind", "hardware", "driver", "api", "type", "memory_bytes", "features", "unusable"} <= set(listed[0])


def test_wrong_devices(add):
    with pytest.raises(tvm_vm.InvalidArgument, match="no kind of devices 'tpu'"):
        tvm_vm.Vm(add, device="tpu")
    with pytest.raises(tvm_vm.NotFound):
        tvm_vm.Device("vulkan:77")
    with pytest.raises(tvm_vm.NotFound):
        tvm_vm.Vm(add, device="vulkan:77")


@pytest.mark.parametrize("kind", ["opencl", "vulkan"])
def test_tensors_stay_on_the_device(np, models, kind):
    if not any(name.startswith(kind) for name in gpus()):
        pytest.skip(f"no device for {kind}")
    program = tvm_vm.compile(models.matmul(), device=[kind, "cpu"], prefer_gpu=True)
    device = tvm_vm.Device(kind)
    vm = tvm_vm.Vm(program, device=device)
    if vm.gpu is None:
        pytest.skip("the program runs on the CPU alone")
    assert vm.gpu.name == device.name
    x = np.random.rand(64, 64).astype("f4")
    np.testing.assert_allclose(vm(x), x @ x, rtol=1e-4)
    here = tvm_vm.Tensor(x, device=device)
    there = tvm_vm.Tensor.empty([64, 64], "float32", device)
    assert here.device == device.name
    assert vm.run({"x": here}, out={"y": there})["y"] is there
    np.testing.assert_allclose(there.numpy(), x @ x, rtol=1e-4)
    np.testing.assert_allclose(there.to(None).numpy(), x @ x, rtol=1e-4)
    with pytest.raises(BufferError):
        memoryview(there)
    assert device.statistics()["launches"] > 0
