#include "programs.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>

#include "element_types.h"
#include "errors.h"
#include "tvm-vm/vmexe.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tvmvm::python {
namespace {

nb::handle ParameterClass() {
  static const nb::handle parameter =
      nb::object(nb::module_::import_("tvm_vm.parameter").attr("Parameter")).release();
  return parameter;
}

// A number, a symbolic expression, or None.
nb::object DimOf(const DimSpec& dim) {
  if (dim.value >= 0) return nb::int_(dim.value);
  return dim.symbol.empty() ? nb::none() : nb::object(nb::str(dim.symbol.c_str(), dim.symbol.size()));
}

nb::object ParameterOf(const std::string& name, const TypeSpec& type) {
  static constexpr const char* kKinds[] = {"tensor", "sequence", "optional", "tuple"};
  const bool is_tensor = type.kind == ValueKind::kTensor;
  nb::object dims = nb::none();
  if (is_tensor && type.has_rank) {
    nb::list list;
    for (const DimSpec& dim : type.dims) list.append(DimOf(dim));
    dims = nb::tuple(list);
  }
  nb::list elements;
  for (const TypeSpec& element : type.elements) elements.append(ParameterOf("", element));
  nb::object dtype = is_tensor ? nb::object(nb::str(PythonName(type.dtype))) : nb::none();
  return ParameterClass()(nb::str(name.c_str(), name.size()), kKinds[static_cast<size_t>(type.kind)], dtype,
                          dims, nb::tuple(elements));
}

nb::tuple ParametersOf(const std::vector<ParameterSpec>& parameters) {
  nb::list list;
  for (const ParameterSpec& parameter : parameters) list.append(ParameterOf(parameter.name, parameter.type));
  return nb::tuple(list);
}

nb::dict MetadataOf(const Program& program) {
  static constexpr const char* kForms[] = {"shared object", "bitcode", "OpenCL C", "SPIR-V"};
  nb::list libraries;
  for (const KernelLibrarySpec& library : program.libraries) {
    nb::dict row;
    row["device"] = DeviceKindName(library.device);
    row["form"] = kForms[static_cast<size_t>(library.form)];
    row["target"] = library.target;
    row["bytes"] = library.bytes.size();
    libraries.append(row);
  }
  nb::dict metadata;
  metadata["producer"] = program.provenance.producer;
  metadata["source"] = program.provenance.source;
  metadata["source_digest"] = program.provenance.source_digest;
  metadata["options"] = program.provenance.options;
  metadata["kernels"] = program.kernels.size();
  metadata["libraries"] = libraries;
  return metadata;
}

ProgramPointer LoadFile(const std::string& path, bool check_constants) {
  nb::gil_scoped_release unlocked;
  auto program = LoadProgram(path, {.check_constants = check_constants});
  nb::gil_scoped_acquire lock;
  return {OrRaise(std::move(program))};
}

ProgramPointer LoadBytes(nb::handle bytes, bool check_constants) {
  Py_buffer view;
  if (PyObject_GetBuffer(bytes.ptr(), &view, PyBUF_SIMPLE) != 0) throw nb::python_error();
  auto program =
      LoadProgramFromMemory({static_cast<const std::byte*>(view.buf), static_cast<size_t>(view.len)}, nullptr,
                            {.check_constants = check_constants});
  PyBuffer_Release(&view);
  return {OrRaise(std::move(program))};
}

void Save(const ProgramPointer& self, const std::string& path) {
  nb::gil_scoped_release unlocked;
  const Status status = SaveProgram(*self.program, path);
  nb::gil_scoped_acquire lock;
  OrRaise(status);
}

nb::bytes ToBytes(const ProgramPointer& self) {
  const std::vector<std::byte> bytes = OrRaise(SerializeProgram(*self.program));
  return nb::bytes(bytes.data(), bytes.size());
}

}  // namespace

void AddPrograms(nb::module_& module) {
  nb::class_<ProgramPointer>(module, "Program",
                             "A compiled model. Never changes; any number of Vms and threads share it.")
      .def_prop_ro(
          "inputs", [](const ProgramPointer& self) { return ParametersOf(self.program->main().inputs); },
          "A Parameter for each input, in order.")
      .def_prop_ro(
          "outputs", [](const ProgramPointer& self) { return ParametersOf(self.program->main().outputs); },
          "A Parameter for each output, in order.")
      .def_prop_ro(
          "metadata", [](const ProgramPointer& self) { return MetadataOf(*self.program); },
          "What made it, from what, with which options, and the code that it holds.")
      .def("_save", &Save)
      .def("to_bytes", &ToBytes, "What `save` writes.");
  module.def("load_file", &LoadFile, "path"_a, "check_constants"_a);
  module.def("load_bytes", &LoadBytes, "bytes"_a, "check_constants"_a);
}

}  // namespace tvmvm::python
