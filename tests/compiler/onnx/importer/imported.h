// A model made by onnx_writer.h, imported.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "compiler/graph/core_op.h"
#include "compiler/onnx/importer/onnx_importer.h"
#include "tests/compiler/onnx/importer/onnx_writer.h"

namespace tvmvm::ir {

// The imported module, or the error; the model's bytes stay alive beside it.
struct Imported {
  std::string bytes;
  Expected<Module> module;
  std::vector<std::string> warnings;

  explicit Imported(std::string model, const ImportOptions& options = {})
      : bytes(std::move(model)), module(MakeError(Code::kInternal, "")) {
    auto read = ReadOnnxBytes(BytesOf(bytes));
    module = read ? ImportOnnx(*read, options, &warnings) : tl::unexpected<Error>(read.error());
  }
  std::string error() const { return module ? "no error" : module.error().message; }
  // Type of the k-th output.
  std::string output(size_t k = 0) const {
    if (!module) return module.error().message;
    const Function& main = module->main();
    return main.type(main.region(main.body).results.at(k)).ToString();
  }
  // Names of the core operators in execution order, without constants.
  std::vector<std::string> operators() const {
    std::vector<std::string> names;
    const Function& main = module->main();
    for (NodeId node : main.region(main.body).nodes) {
      std::string name(main.node(node).op->name);
      if (name != "constant") names.push_back(name);
    }
    return names;
  }
};

// From the input x to the output y.
inline GraphText OneNode(NodeText node, std::vector<DimText> dims,
                         std::vector<std::string> initializers = {}) {
  return {
      {std::move(node)}, {ValueMessage("x", kOnnxFloat, dims)}, {UntypedValue("y")}, std::move(initializers)};
}

}  // namespace tvmvm::ir
