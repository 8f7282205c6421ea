// From an ONNX model to the graph IR: the signature with symbolic dims, and every node decomposed by its row.
#pragma once

#include <string>
#include <vector>

#include "compiler/dim/dim_facts.h"
#include "compiler/graph/compile_counters.h"
#include "compiler/graph/graph.h"
#include "compiler/onnx/model/onnx_model.h"
#include "tvm-vm/status.h"

namespace tvmvm::ir {

struct ImportOptions {
  DimFacts dims;  // facts by dim_param or symbol; low == high fixes the dimension
  bool keep_all_values =
      false;                   // every named tensor that is computed becomes an output, after the model's own
  bool strict = false;         // where the model breaks ONNX's rules it is an error, not a warning
  bool distinct_dims = false;  // dims of the inputs that have one name may differ
  CompileCounters* counters = nullptr;  // may be null
};

// Errors: kUnsupported (everything of the model that is not supported, with operator, domain, version and
// node names), kInvalidArgument (malformed nodes, each with name, operator and reason; a dim option that
// names no symbol). `warnings` may be null; it gets what was assumed where the model breaks ONNX's rules.
Expected<Module> ImportOnnx(const OnnxModel& model, const ImportOptions& options,
                            std::vector<std::string>* warnings = nullptr);

}  // namespace tvmvm::ir
