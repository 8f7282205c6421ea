"""torch tensors as inputs and outputs, without copies."""

import pytest

import tvm_vm


def test_torch_in_torch_out(torch, vm):
    x = torch.arange(3.0)
    z = vm(x, x)
    assert isinstance(z, torch.Tensor) and z.tolist() == [0, 2, 4]
    assert isinstance(vm.run({"x": x, "y": x})["z"], torch.Tensor)


def test_memory_is_shared(torch, vm):
    x, z = torch.ones(100), torch.zeros(100)
    assert vm.run({"x": x, "y": x}, out={"z": z})["z"] is z and z.tolist() == [2] * 100
    tensor = tvm_vm.Tensor(x)
    assert torch.from_dlpack(tensor).data_ptr() == x.data_ptr()


def test_what_needs_a_copy_or_a_gradient(torch, vm):
    x = torch.arange(6.0)
    assert vm(x[::2], x[1::2]).tolist() == [1, 5, 9]
    assert vm(x.requires_grad_(), torch.ones(6)).tolist() == [1, 2, 3, 4, 5, 6]
    with pytest.raises(tvm_vm.Error):
        vm.run({"x": x[:3], "y": x[:3]}, out={"z": torch.zeros(6)[::2]})
    with pytest.raises(tvm_vm.InvalidArgument, match="f64 given"):
        vm(x, x.double())


def test_views_that_owe_something(torch, vm, models):
    x = torch.tensor([1 + 2j, 3 - 4j]).conj().imag  # a negation that is not in the memory
    assert x.is_neg() and vm(x, x).tolist() == [-4, 8]
    assert vm(torch._neg_view(torch.ones(3)), torch.zeros(3)).tolist() == [-1, -1, -1]
    import onnx

    same = tvm_vm.Vm(tvm_vm.compile(models.identity(onnx.TensorProto.COMPLEX64)))
    assert same(torch.tensor([1 + 2j]).conj()).tolist() == [1 - 2j]


def test_tensors_live_as_long_as_they_are_needed(torch, vm):
    kept = [tvm_vm.Tensor(torch.full((1000,), float(i))) for i in range(100)]
    others = [torch.full((1000,), -1.0) for _ in range(100)]
    assert [vm(tensor, others[0])[0].item() for tensor in kept] == [i - 1 for i in range(100)]
    results = [vm(others[0], others[0]) for _ in range(100)]
    del kept, others
    assert all(result[7] == -2 and result.data_ptr() % 64 == 0 for result in results)


def test_parameters_and_empty_tensors(torch, vm):
    parameter = torch.nn.Parameter(torch.ones(3))
    assert vm(parameter, parameter).tolist() == [2, 2, 2]
    assert vm(torch.ones(0), torch.ones(0)).shape == (0,)
    with pytest.raises(BufferError):
        vm(torch.ones(3, device="meta"), torch.ones(3))


def test_mixed_with_numpy(np, torch, add):
    x = torch.ones(2)
    assert isinstance(tvm_vm.Vm(add)(x, x.numpy()), torch.Tensor)
    assert isinstance(tvm_vm.Vm(add, results="numpy")(x, x), np.ndarray)
    assert isinstance(tvm_vm.Vm(add, results="torch")(x.numpy(), x.numpy()), torch.Tensor)


@pytest.mark.parametrize("name", ["bfloat16", "float16", "int64", "bool", "float8_e4m3fn", "float8_e5m2"])
def test_types(torch, models, name):
    import onnx

    number = getattr(onnx.TensorProto, name.replace("_", "").upper())
    vm = tvm_vm.Vm(tvm_vm.compile(models.identity(number)))
    dtype = getattr(torch, name)
    x = torch.tensor([0, 1, 1]).to(dtype)
    y = vm(x)
    assert y.dtype == dtype and y.float().tolist() == [0, 1, 1]


def test_exported_program(torch):
    pytest.importorskip("onnxscript")

    class Model(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(4, 2)

        def forward(self, x):
            return torch.relu(self.layer(x))

    model = Model().eval()
    x = torch.rand(3, 4)
    exported = torch.onnx.export(model, (x,), dynamo=True, verbose=False)
    try:
        program = tvm_vm.compile(exported)
    except tvm_vm.NotFound as error:
        pytest.skip(str(error))
    torch.testing.assert_close(tvm_vm.Vm(program)(x), model(x).detach(), atol=1e-5, rtol=1e-5)
