// Types of a model's inputs as types of the graph IR: every dimension a number or a symbol with what is known
// of it.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/dim/dim_facts.h"
#include "compiler/graph/graph.h"
#include "compiler/onnx/model/onnx_model.h"
#include "tvm-vm/status.h"

namespace tvmvm::ir {

class SignatureTypes {
 public:
  // `facts` are ImportOptions::dims; both must outlive the object. `distinct`: dims of one name are symbols
  // of their own, as unnamed ones are.
  SignatureTypes(Module* module, const DimFacts& facts, bool distinct = false)
      : module_(*module), facts_(facts), distinct_(distinct) {}

  // The type of the input `name`. Unnamed unknown dims (IsPlaceholder) become symbols "name_axis"; in
  // elements of sequences and optionals all unknown dims stay so. Errors: kInvalidArgument, kUnsupported (no
  // element type, unknown rank).
  Expected<Type> TypeOf(const OnnxType& type, const std::string& name);
  // kInvalidArgument where a fact names no symbol that TypeOf has seen.
  Status CheckFacts() const;

 private:
  using UnknownDims = std::function<Dim(const OnnxDim&, size_t axis)>;
  static Expected<Type> TypeOf(const OnnxType& type, const std::string& name, const UnknownDims& unknown);
  Dim SymbolFor(const std::string& dim_param, const std::string& otherwise);

  Module& module_;
  const DimFacts& facts_;
  const bool distinct_;
  std::map<std::string, Dim> by_param_;  // what a dim_param has become
  std::set<std::string> known_;          // names that a fact may use
};

// Whether a dim_param only says that the size is not known: "", "?", "_", "None", "-1", "unk__12", ...
bool IsPlaceholder(const std::string& dim_param);

// Letters, digits and '_', not starting with a digit, no word of the expression language.
std::string SymbolName(const std::string& text);

}  // namespace tvmvm::ir
