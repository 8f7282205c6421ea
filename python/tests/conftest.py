"""Models for the tests, and what the machine has."""

import pytest

import tvm_vm


@pytest.fixture(scope="session")
def np():
    return pytest.importorskip("numpy")


@pytest.fixture(scope="session")
def torch():
    return pytest.importorskip("torch")


@pytest.fixture(scope="session")
def ml_dtypes():
    return pytest.importorskip("ml_dtypes")


@pytest.fixture(scope="session")
def models():
    pytest.importorskip("onnx")
    try:
        import models
    except ImportError as error:
        pytest.skip(str(error))
    try:
        tvm_vm.compile(models.add())
    except tvm_vm.NotFound as error:
        pytest.skip(str(error))
    return models


@pytest.fixture(scope="session")
def add(models):
    return tvm_vm.compile(models.add())


@pytest.fixture
def vm(add):
    return tvm_vm.Vm(add, threads=1)


@pytest.fixture(scope="session")
def endless(models):
    """Runs for as long as it is let; its input is the number of steps."""
    return tvm_vm.Vm(tvm_vm.compile(models.loop()), threads=1)
