"""onnx.backend.test, onnx's own tests for backends, through tvm_vm.backend.

All node tests take minutes: TVMVM_ONNX_TESTS=1 runs them, some run always.
"""

import os

import pytest

onnx = pytest.importorskip("onnx")
backend_test = pytest.importorskip("onnx.backend.test", reason="onnx.backend.test needs packages that are not here")

import tvm_vm  # noqa: E402
import tvm_vm.backend  # noqa: E402

try:
    tvm_vm.compile(b"")
except tvm_vm.NotFound as error:
    pytest.skip(str(error), allow_module_level=True)
except tvm_vm.Error:
    pass

runner = backend_test.BackendTest(tvm_vm.backend, __name__)
runner.exclude("test_bernoulli")  # random numbers, of another generator
runner.exclude("test_loop16_seq_none")  # the runner asks for the len() of a scalar in a sequence
runner.exclude("test_attention_4d_causal_fp16")  # two elements differ by a rounding to float16, which the tolerance is below
if os.environ.get("TVMVM_ONNX_TESTS"):
    runner.exclude("_cuda$")
    runner.exclude("(bvlc_alexnet|densenet121|inception|resnet50|shufflenet|squeezenet|vgg19|zfnet512)")  # large downloads
else:
    runner.include("^test_(add|conv|loop|if|sequence_insert|softmax|matmul|cast_FLOAT_to_BFLOAT16|string_concat).*_cpu$")
globals().update(runner.test_cases)
