"""Runs with NumPy arrays: what goes in, what comes out, and what is refused."""

import gc
import sys

import pytest

import tvm_vm


def address(array):
    return array.__array_interface__["data"][0]


def test_positions_and_names(np, vm):
    x, y = np.arange(3, dtype="f4"), np.ones(3, "f4")
    for z in (vm(x, y), vm(x, y=y), vm(y=y, x=x), vm.run({"x": x, "y": y})["z"]):
        assert type(z) is np.ndarray and z.dtype == np.float32
        np.testing.assert_array_equal(z, [1, 2, 3])


def test_several_outputs_are_a_tuple(np, models):
    vm = tvm_vm.Vm(tvm_vm.compile(models.add_and_mul()))
    x = np.full(2, 3, "f4")
    total, product = vm(x, x)
    assert total.tolist() == [6, 6] and product.tolist() == [9, 9]
    assert list(vm.run({"x": x, "y": x}, outputs=["product"])) == ["product"]


def test_every_call_may_have_other_dims(np, vm):
    for n in (0, 1, 7, 4096):
        x = np.random.rand(n).astype("f4")
        np.testing.assert_array_equal(vm(x, x), x + x)


def test_inputs_are_not_copied_and_outputs_go_where_they_should(np, models):
    vm = tvm_vm.Vm(tvm_vm.compile(models.add()), threads=1)
    x, z = np.ones(1000, "f4"), np.zeros(1000, "f4")
    result = vm.run({"x": x, "y": x}, out={"z": z})["z"]
    assert result is z and z.tolist() == [2] * 1000
    tensor = tvm_vm.Tensor(x)
    assert address(tensor.numpy()) == address(x)
    assert address(np.asarray(tensor)) == address(x)


def test_results_live_longer_than_what_made_them(np, add):
    vm = tvm_vm.Vm(add)
    z = vm(np.ones(5, "f4"), np.ones(5, "f4"))
    again = vm(np.zeros(5, "f4"), np.zeros(5, "f4"))
    del vm
    gc.collect()
    assert z.tolist() == [2] * 5 and again.tolist() == [0] * 5
    z[0] = 7  # it is the caller's
    assert z.flags.writeable and address(z) % 64 == 0


def test_strided_misaligned_and_foreign_arrays_are_copied(np, vm):
    x = np.arange(6, dtype="f4")
    assert vm(x[::-1], x[::-1]).tolist() == [10, 8, 6, 4, 2, 0]
    misaligned = np.frombuffer(b"\0" + x.tobytes(), dtype=np.uint8)[1:].view("f4")
    assert vm(misaligned, x).tolist() == (x + x).tolist()
    assert vm(x.astype(">f4"), x).tolist() == (x + x).tolist()


def test_lists_numbers_and_read_only_arrays_are_taken(np, vm):
    x = np.ones(2, "f4")
    x.flags.writeable = False
    assert vm(x, [1, 2]).tolist() == [2, 3]
    assert vm(np.float32([4, 5]), memoryview(x)).tolist() == [5, 6]


@pytest.mark.parametrize("name", "float64 float16 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool complex64 complex128".split())
def test_types_of_numpy(np, models, name):
    import onnx

    dtype = np.dtype(name)
    vm = tvm_vm.Vm(tvm_vm.compile(models.identity(onnx.helper.np_dtype_to_tensor_dtype(dtype))))
    x = np.array([0, 1, 0, 1, 1], dtype)
    y = vm(x)
    assert y.dtype == dtype and y.tolist() == x.tolist() and address(y) != address(x)
    assert vm.program.inputs[0].dtype == name


@pytest.mark.parametrize(
    "name", "bfloat16 float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu int4 uint4 float4_e2m1fn int2 uint2".split()
)
def test_types_of_ml_dtypes(np, ml_dtypes, models, name):
    import onnx

    number = getattr(onnx.TensorProto, {"float8_e8m0fnu": "FLOAT8E8M0", "float4_e2m1fn": "FLOAT4E2M1"}.get(name, name.replace("_", "").upper()), None)
    if number is None:
        pytest.skip(f"onnx {onnx.__version__} has no {name}")
    dtype = np.dtype(getattr(ml_dtypes, name))
    vm = tvm_vm.Vm(tvm_vm.compile(models.identity(number, (3, "n"))))
    x = np.array([[1, 2, 1, 1, 0.5]] * 3, np.float32)
    if name in ("int4", "int2"):
        x[0] = [-1, 1, -2, 0, 1]
    if name in ("uint2", "uint4"):
        x = np.floor(x)
    x = x.astype(dtype)
    y = vm(x)
    assert y.dtype == dtype and y.shape == (3, 5)
    np.testing.assert_array_equal(y.astype("f4"), x.astype("f4"))
    np.testing.assert_array_equal(vm(x.T.copy().T).astype("f4"), x.astype("f4"))  # strided


def test_strings(np, models):
    vm = tvm_vm.Vm(tvm_vm.compile(models.strings_concat()))
    expected = ["ac", "bäd"]
    for x in (["a", "bä"], np.array(["a", "bä"]), np.array(["a", "bä"], object), [b"a", "bä".encode()]):
        z = vm(x, np.array(["c", "d"]))
        assert z.dtype == object and z.tolist() == expected
    with pytest.raises(tvm_vm.InvalidArgument, match="element type f64 given, wanted string"):
        vm(np.ones(2), ["a", "b"])


def test_libraries_that_are_opened_on_demand(np, models):
    vm = tvm_vm.Vm(tvm_vm.compile(models.matches()))
    assert vm(np.array(["aab", "b"])).tolist() == [True, False]


def test_sequences_are_lists(np, models):
    vm = tvm_vm.Vm(tvm_vm.compile(models.sequence_insert()))
    x = np.ones(2, "f4")
    assert [part.tolist() for part in vm([], x)] == [[1, 1]]
    assert [part.tolist() for part in vm([np.zeros(1, "f4"), x], x)] == [[0], [1, 1], [1, 1]]
    assert str(vm.program.inputs[0]).startswith("s: sequence(float32[")
    with pytest.raises(TypeError, match="input 's': a sequence is a list"):
        vm(x, x)
    with pytest.raises(tvm_vm.InvalidArgument, match="input 's', element 1"):
        vm([x, x.astype("f8")], x)


def test_optionals_are_none(np, models):
    vm = tvm_vm.Vm(tvm_vm.compile(models.optional_or_zero()))
    assert vm(None).tolist() is False
    assert vm().tolist() is False
    assert vm(np.ones(1, "f4")).tolist() is True


@pytest.mark.parametrize("wrong", ["dtype", "shape", "missing", "unknown", "many", "twice", "none", "object"])
def test_wrong_inputs(np, vm, wrong):
    x = np.ones(3, "f4")
    calls = {
        "dtype": (lambda: vm(x, x.astype("f8")), ValueError, "input 'y': element type f64 given, wanted f32"),
        "shape": (lambda: vm(x, x[:2]), ValueError, "dimension 0 must be n = 3"),
        "missing": (lambda: vm(x), ValueError, "input 'y' is missing"),
        "unknown": (lambda: vm(x, q=x), ValueError, "no input 'q'; there are: 'x', 'y'"),
        "many": (lambda: vm(x, x, x), ValueError, "3 inputs given, the program has 2"),
        "twice": (lambda: vm(x, x, y=x), ValueError, "'y' is given twice"),
        "none": (lambda: vm(x, None), ValueError, "None is no value of it"),
        "object": (lambda: vm(x, object()), TypeError, "input 'y'"),
    }
    call, kind, message = calls[wrong]
    with pytest.raises(kind, match=message):
        call()
    assert vm(x, x).tolist() == [2, 2, 2]


def test_wrong_outputs(np, vm):
    x = {"x": np.ones(3, "f4"), "y": np.ones(3, "f4")}
    read_only = np.ones(3, "f4")
    read_only.flags.writeable = False
    for memory in (np.ones(2, "f4"), np.ones(3, "f8"), np.ones(6, "f4")[::2], read_only, x["x"]):
        with pytest.raises(tvm_vm.InvalidArgument):
            vm.run(x, out={"z": memory})
    with pytest.raises(TypeError):
        vm.run(x, out={"z": [1, 2, 3]})
    with pytest.raises(tvm_vm.InvalidArgument, match="no output 'q'; there are: 'z'"):
        vm.run(x, out={"q": np.ones(3, "f4")})
    with pytest.raises(tvm_vm.InvalidArgument, match="no output 'q'"):
        vm.run(x, outputs=["q"])


def test_nothing_is_kept_of_a_call(np, vm):
    x, z = np.ones(3, "f4"), np.zeros(3, "f4")
    inputs = {"x": x, "y": x}
    before = sys.getrefcount(x), sys.getrefcount(z), sys.getrefcount(inputs)
    for _ in range(100):
        vm(x, x)
        vm.run(inputs, out={"z": z})
        with pytest.raises(ValueError):
            vm(x)
        with pytest.raises(ValueError):
            vm(x, x[:1])
    assert (sys.getrefcount(x), sys.getrefcount(z), sys.getrefcount(inputs)) == before
    assert vm.peak_bytes >= 0
    vm.trim()
    assert vm(x, x).tolist() == [2, 2, 2]


def test_memory_of_results_comes_back(np, vm):
    import resource

    x = np.ones(1 << 20, "f4")
    for _ in range(20):
        vm(x, x)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(200):
        vm(x, x)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 40_000  # KiB; each result has 4 MiB


def test_profile(np, vm):
    profile = vm.profile({"x": np.ones(3, "f4"), "y": np.ones(3, "f4")}, runs=5, trace=True)
    assert profile.runs == 5 and profile.kernels[0].launches == 5 and profile.kernels[0].nanoseconds >= 0
    assert "Add" in profile.kernels[0].node and "add" in str(profile) and profile.chrome_trace[0] in "[{"
    with pytest.raises(tvm_vm.InvalidArgument):
        vm.profile({})


def test_tensor(np, vm):
    x = tvm_vm.Tensor(np.arange(6, dtype="f4").reshape(2, 3))
    assert (x.dtype, x.shape, x.device, x.nbytes) == ("float32", (2, 3), "cpu", 24)
    assert memoryview(x).tolist() == [[0, 1, 2], [3, 4, 5]] and memoryview(x).shape == (2, 3)
    assert np.from_dlpack(x).tolist() == x.numpy().tolist()
    assert x.to(None).numpy().tolist() == x.numpy().tolist()
    y = tvm_vm.Tensor.empty([6], "float32")
    ones = tvm_vm.Tensor(np.ones(6, "f4"))
    vm.run({"x": ones, "y": ones}, out={"z": y})
    assert np.asarray(y).tolist() == [2] * 6
    with pytest.raises(tvm_vm.InvalidArgument):
        tvm_vm.Tensor.empty([-1], "float32")
    with pytest.raises(tvm_vm.InvalidArgument, match="no element type 'float99'"):
        tvm_vm.Tensor.empty([1], "float99")


def test_results_as_asked(np, add):
    x = np.ones(2, "f4")
    tensor = tvm_vm.Vm(add, results="tensor")(x, x)
    assert isinstance(tensor, tvm_vm.Tensor) and memoryview(tensor).tolist() == [2, 2]
    with pytest.raises(tvm_vm.InvalidArgument):
        tvm_vm.Vm(add, results="lists")
