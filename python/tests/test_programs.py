"""Programs: compiled, saved, loaded, and what is wrong with others."""

import os
import pickle
import subprocess
import sys

import pytest

import tvm_vm


def test_signature_and_metadata(add):
    x = add.inputs[0]
    assert (x.name, x.kind, x.dtype, x.dims) == ("x", "tensor", "float32", ("n",))
    assert [parameter.name for parameter in add.outputs] == ["z"]
    assert add.metadata["producer"].startswith("tvm-vm ") and add.metadata["kernels"] == 1
    assert repr(add) == "tvm_vm.Program((x: float32[n], y: float32[n]) -> (z: float32[n]))"


def test_round_trips(np, add, tmp_path):
    path = tmp_path / "add.vmexe"
    add.save(path)
    x = np.ones(2, "f4")
    for program in (
        tvm_vm.load(path),
        tvm_vm.load(str(path)),
        tvm_vm.load(path.read_bytes()),
        tvm_vm.load(bytearray(add.to_bytes())),
        pickle.loads(pickle.dumps(add)),
    ):
        assert program.inputs == add.inputs
        assert tvm_vm.Vm(program)(x, x).tolist() == [2, 2]
    assert tvm_vm.Vm(path)(x, x).tolist() == [2, 2]


def test_models_of_every_kind(np, models, tmp_path):
    model = models.add()
    path = tmp_path / "add.onnx"
    path.write_bytes(model.SerializeToString())
    x = np.ones(2, "f4")
    for kind in (path, str(path), path.read_bytes(), memoryview(path.read_bytes()), model):
        assert tvm_vm.Vm(tvm_vm.compile(kind))(x, x).tolist() == [2, 2]
    with pytest.raises(TypeError):
        tvm_vm.compile(5)


def test_options(np, models):
    fixed = tvm_vm.compile(models.add(), dims={"n": 3})
    assert fixed.inputs[0].dims == (3,)
    stages = []
    tvm_vm.compile(models.add(), dims={"n": (1, 8)}, targets=["x86-64-v3"], threads=1, progress=lambda s, f: stages.append(f))
    assert stages and all(0 <= fraction <= 1 for fraction in stages)
    for wrong in ({"weights": "int3"}, {"precision": "fp8"}, {"dims": {"m": 3}}, {"device": "tpu"}, {"targets": ["z80"]}):
        with pytest.raises(tvm_vm.InvalidArgument):
            tvm_vm.compile(models.add(), **wrong)
    with pytest.raises(TypeError):
        tvm_vm.compile(models.add(), no_such_option=1)


def test_models_that_do_not_compile(models, tmp_path):
    with pytest.raises(tvm_vm.Unsupported, match="NoSuchOperator") as caught:
        tvm_vm.compile(models.unsupported())
    assert caught.value.code == "unsupported" and isinstance(caught.value, NotImplementedError)
    with pytest.raises(tvm_vm.InvalidArgument):
        tvm_vm.compile(b"this is no model")
    with pytest.raises(FileNotFoundError) as caught:
        tvm_vm.compile(tmp_path / "nothing.onnx")
    assert isinstance(caught.value, tvm_vm.NotFound) and caught.value.code == "not_found"


def test_compiling_in_a_process_of_its_own(models):
    stages = []
    program = tvm_vm.compile(models.add(), isolated=True, progress=lambda stage, fraction: stages.append(stage))
    assert stages and program.to_bytes() == tvm_vm.compile(models.add()).to_bytes()
    with pytest.raises(tvm_vm.Unsupported, match="NoSuchOperator"):
        tvm_vm.compile(models.unsupported(), isolated=True)
    with pytest.raises(tvm_vm.OutOfMemory, match="its limit is 4096 bytes"):
        tvm_vm.compile(models.add(), max_bytes=4096)
    with pytest.raises(tvm_vm.DeadlineExceeded, match="the time is over"):
        tvm_vm.compile(models.add(), timeout=1e-6)
    for wrong in ({"max_bytes": -1}, {"timeout": -1.0}, {"timeout": float("nan")}):
        with pytest.raises(tvm_vm.InvalidArgument):
            tvm_vm.compile(models.add(), **wrong)
    with pytest.raises(ValueError):
        tvm_vm.compile(models.add(), isolated=False, timeout=1.0)


def test_files_that_are_no_programs(add, tmp_path):
    with pytest.raises(tvm_vm.NotFound):
        tvm_vm.load(tmp_path / "nothing.vmexe")
    whole = add.to_bytes()
    for bad in (b"", b"abc", whole[: len(whole) // 2], b"X" * len(whole), whole[:100] + b"\xff" * 8 + whole[108:]):
        with pytest.raises(tvm_vm.InvalidProgram):
            tvm_vm.load(bad)
    with pytest.raises(TypeError):
        tvm_vm.load(5)
    with pytest.raises(tvm_vm.Error):
        add.save(tmp_path / "no_such_folder" / "x.vmexe")


def test_errors_have_codes_and_relatives():
    relatives = {
        tvm_vm.InvalidArgument: ValueError,
        tvm_vm.InvalidProgram: ValueError,
        tvm_vm.NotFound: FileNotFoundError,
        tvm_vm.Unsupported: NotImplementedError,
        tvm_vm.OutOfMemory: MemoryError,
        tvm_vm.DeadlineExceeded: TimeoutError,
        tvm_vm.Cancelled: Exception,
        tvm_vm.DeviceLost: RuntimeError,
        tvm_vm.Internal: RuntimeError,
        tvm_vm.Io: OSError,
    }
    from tvm_vm.errors import BY_CODE

    assert set(BY_CODE.values()) == set(relatives)
    for kind, relative in relatives.items():
        assert issubclass(kind, tvm_vm.Error) and issubclass(kind, relative)
        assert str(kind("what")) == "what" and BY_CODE[kind.code] is kind


def test_native_code_can_be_refused(add):
    with pytest.raises(tvm_vm.Error):
        tvm_vm.Vm(add, allow_native=False)


def test_types_are_declared():
    import ast

    folder = os.path.dirname(tvm_vm.__file__)
    assert os.path.exists(os.path.join(folder, "py.typed"))
    with open(os.path.join(folder, "_core.pyi")) as file:
        tree = ast.parse(file.read())
    declared = {node.name: node for node in tree.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    for name, member in vars(tvm_vm._core).items():
        if name.startswith("__"):
            continue
        assert name in declared, name
        if isinstance(member, type):
            inside = {node.name for node in declared[name].body if isinstance(node, ast.FunctionDef)}
            assert {m for m in vars(member) if not m.startswith("__")} <= inside, name


def test_everything_is_documented():
    undocumented = []
    for name in tvm_vm.__all__:
        member = getattr(tvm_vm, name)
        if name.startswith("__"):
            continue
        if not member.__doc__:
            undocumented.append(name)
        inside = vars(member).items() if isinstance(member, type) and not issubclass(member, tuple) else []
        fields = getattr(member, "__dataclass_fields__", {})
        undocumented += [f"{name}.{key}" for key, value in inside if callable(value) and key[0] != "_" and key not in fields and not value.__doc__]
    assert not undocumented


def test_command():
    shown = subprocess.run([sys.executable, "-m", "tvm_vm", "--version"], capture_output=True, text=True)
    assert shown.returncode == 0 and tvm_vm.__version__ in shown.stdout + shown.stderr


def test_without_the_compiler(add, tmp_path):
    """A program runs where there is no compiler, and compile says what to install."""
    path = tmp_path / "add.vmexe"
    add.save(path)
    code = f"""
import tvm_vm, tvm_vm.compilation
tvm_vm.compilation.library = lambda: "libtvm-vm-compiler.so.none"
print(tvm_vm.Vm({str(path)!r})(*[tvm_vm.Tensor(memoryview(bytearray(8)).cast("f"))] * 2))
try:
    tvm_vm.compile(b"model")
except tvm_vm.NotFound as error:
    assert "pip install tvm-vm[compiler]" in str(error), error
    print("refused")
"""
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "refused" in shown.stdout, shown.stdout + shown.stderr


def test_budgets(np, models):
    dims = {"n": (1, 256)}
    free = tvm_vm.compile(models.wide_inside(), dims=dims)
    before = free.plan({"n": 256}).peak_bytes[1]
    small = tvm_vm.compile(models.wide_inside(), dims=dims, memory_budget=before * 3 // 4)
    assert small.plan({"n": 256}).peak_bytes[1] <= before * 3 // 4
    x = np.random.rand(256, 64).astype("f4")
    np.testing.assert_allclose(tvm_vm.Vm(small)(x), tvm_vm.Vm(free)(x), rtol=1e-4)
    with pytest.raises(tvm_vm.OutOfMemory):
        tvm_vm.compile(models.wide_inside(), dims=dims, memory_budget=1000)
    with pytest.raises(tvm_vm.InvalidArgument, match="largest size of 'n'"):
        tvm_vm.compile(models.wide_inside(), memory_budget=before)
    with pytest.raises(tvm_vm.InvalidArgument):
        tvm_vm.compile(models.wide_inside(), dims=dims, memory_budget=-1)


@pytest.fixture(scope="session")
def signed(add, tmp_path_factory):
    """A file, what was signed of it, and the key."""
    folder = tmp_path_factory.mktemp("signed")
    add.save(folder / "add.vmexe")
    for arguments in (["keygen", "release.key"], ["keygen", "other.key"], ["sign", "add.vmexe", "--key", "release.key", "-o", "signed.vmexe"]):
        subprocess.run([sys.executable, "-m", "tvm_vm", *arguments], cwd=folder, check=True, capture_output=True)
    return folder


def test_trust(np, add, signed):
    x = np.ones(2, "f4")
    key, file = signed / "release.key.pub", signed / "signed.vmexe"
    for program in (file, tvm_vm.load(file.read_bytes(), check_constants=True)):
        assert tvm_vm.Vm(program, trust="signed", keys=[key], signed_constants=True)(x, x).tolist() == [2, 2]
    assert tvm_vm.Vm(file, trust="signed-kernels", keys=[key])(x, x).tolist() == [2, 2]
    assert tvm_vm.Vm(file, trust="signed", keys=[str(signed / "other.key.pub"), str(key)])(x, x).tolist() == [2, 2]
    for program, options in (
        (file, {"trust": "signed", "keys": [signed / "other.key.pub"]}),
        (file, {"trust": "none"}),
        (signed / "add.vmexe", {"trust": "signed", "keys": [key]}),
        (signed / "add.vmexe", {"trust": "signed-kernels", "keys": [key]}),
        (add, {"trust": "signed", "keys": [key]}),
        (pickle.loads(pickle.dumps(tvm_vm.load(file))), {"trust": "signed", "keys": [key]}),
    ):
        with pytest.raises(tvm_vm.InvalidProgram):
            tvm_vm.Vm(program, **options)


def test_wrong_trust(signed):
    file = signed / "signed.vmexe"
    with pytest.raises(tvm_vm.InvalidArgument, match="there are 'any', 'signed', 'signed-kernels' and 'none'"):
        tvm_vm.Vm(file, trust="all")
    for trust in ("signed", "signed-kernels"):
        with pytest.raises(tvm_vm.InvalidArgument, match="no public key"):
            tvm_vm.Vm(file, trust=trust)
    with pytest.raises(tvm_vm.NotFound):
        tvm_vm.Vm(file, trust="signed", keys=[signed / "none.pub"])
    with pytest.raises(tvm_vm.InvalidArgument):
        tvm_vm.Vm(file, trust="signed", keys=[file])


def test_wrong_limits(add):
    for wrong in ({"threads": -3}, {"max_bytes": -1}, {"max_steps": -1}, {"timeout": -1}, {"timeout": float("nan")}, {"timeout": float("inf")}):
        with pytest.raises(tvm_vm.InvalidArgument, match="0 or more"):
            tvm_vm.Vm(add, **wrong)


def test_damaged_weights(np, models, tmp_path):
    program = tvm_vm.compile(models.scale())
    damaged = bytearray(program.to_bytes())
    weights = np.arange(1, 1025, dtype="f4").tobytes()
    damaged[damaged.index(weights[512:1024])] ^= 1
    path = tmp_path / "damaged.vmexe"
    path.write_bytes(damaged)
    for source in (path, bytes(damaged)):
        tvm_vm.load(source)
        with pytest.raises(tvm_vm.InvalidProgram, match="constants"):
            tvm_vm.load(source, check_constants=True)
