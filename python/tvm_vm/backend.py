"""ONNX's backend interface (onnx.backend.base), for code and for tests that are written against it."""

import warnings
from typing import Any, Optional, Sequence, Tuple

import onnx
import onnx.backend.base

from . import _core
from .compilation import CompileWarning, compile
from .vm import Vm

_KINDS = {"CPU": "cpu", "CUDA": "vulkan"}


class TvmVmBackendRep(onnx.backend.base.BackendRep):
    """A model that is compiled and ready to run."""

    def __init__(self, vm: Vm) -> None:
        self._vm = vm

    def run(self, inputs: Any, **kwargs: Any) -> Tuple[Any, ...]:
        """`inputs` in the order of the model, or by name."""
        if isinstance(inputs, dict):
            outputs = self._vm.run(inputs)
        else:
            given = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
            names = [parameter.name for parameter in self._vm.program.inputs]
            outputs = self._vm.run(dict(zip(names, given)))
        return tuple(outputs[parameter.name] for parameter in self._vm.program.outputs)


class TvmVmBackend(onnx.backend.base.Backend):
    """Compiles with tvm_vm.compile; `options` of prepare are its options."""

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        try:
            cls.prepare(model, device, **kwargs)
        except Exception:  # whatever the reason is
            return False
        return True

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **options: Any) -> TvmVmBackendRep:
        kind = _KINDS[device.split(":")[0]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CompileWarning)
            program = compile(model, device=kind, **options)
        return TvmVmBackendRep(Vm(program, device=kind, results="numpy"))

    @classmethod
    def run_model(cls, model: onnx.ModelProto, inputs: Any, device: str = "CPU", **options: Any) -> Tuple[Any, ...]:
        return cls.prepare(model, device, **options).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Optional[Sequence[Tuple[Any, Tuple[int, ...]]]] = None,
        **options: Any,
    ) -> Tuple[Any, ...]:
        """A model of the one node, with inputs of the types and shapes of those that are given."""
        given = [name for name in node.input if name]
        values = [
            onnx.helper.make_tensor_value_info(name, onnx.helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
            for name, value in zip(given, inputs)
        ]
        results = [onnx.helper.make_empty_tensor_value_info(name) for name in node.output if name]
        graph = onnx.helper.make_graph([node], "node", values, results)
        opsets = [onnx.helper.make_opsetid(node.domain, options.pop("opset_version", onnx.defs.onnx_opset_version()))]
        return cls.run_model(onnx.helper.make_model(graph, opset_imports=opsets), list(inputs), device, **options)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """ "CPU" always; "CUDA", which is what onnx calls any GPU, where there is one for Vulkan."""
        kind = _KINDS.get(device.split(":")[0])
        return kind == "cpu" or any(
            listed["kind"] == kind and not listed["unusable"] and "GPU" in listed["type"]
            for listed in _core.list_devices()
        )


is_compatible = TvmVmBackend.is_compatible
prepare = TvmVmBackend.prepare
run_model = TvmVmBackend.run_model
run_node = TvmVmBackend.run_node
supports_device = TvmVmBackend.supports_device
