// What an import found wrong, collected for the whole model.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "bytecode/status.h"

namespace tvmvm::ir {

class ImportReport {
 public:
  // `what`: operator, domain and version, with the attribute where that is what is not supported.
  void Unsupported(const std::string& what, const std::string& node) { unsupported_[what].push_back(node); }
  void Malformed(const std::string& node, const std::string& op_type, const std::string& reason);

  bool empty() const { return unsupported_.empty() && malformed_.empty(); }
  // kInvalidArgument where anything is malformed, else kUnsupported. Not empty().
  Error ToError() const;

 private:
  std::map<std::string, std::vector<std::string>> unsupported_;
  std::vector<std::string> malformed_;
};

}  // namespace tvmvm::ir
