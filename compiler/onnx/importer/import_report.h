// What an import found wrong or had to assume, collected for the whole model.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "tvm-vm/status.h"

namespace tvmvm::ir {

class ImportReport {
 public:
  // `what`: operator, domain and version, with the attribute where that is what is not supported.
  void Unsupported(const std::string& what, const std::string& node) {
    unsupported_[what].push_back("'" + node + "'");
  }
  void Malformed(const std::string& node, const std::string& op_type, const std::string& reason);
  // The model breaks a rule of ONNX, and what it means is clear or was guessed: what was found and how it is
  // taken. `whom`: "node 'a'", or another thing that it concerns, "" where it is none.
  void Assumed(const std::string& what, const std::string& whom = "") { Add(&assumed_, what, whom); }
  // Worth knowing, although the model is as ONNX wants it.
  void Noted(const std::string& what, const std::string& whom = "") { Add(&noted_, what, whom); }

  bool has_errors() const { return !unsupported_.empty() || !malformed_.empty(); }
  bool has_assumptions() const { return !assumed_.list.empty(); }
  // kInvalidArgument where anything is malformed or assumptions are errors, else kUnsupported. There is an
  // error, or with `strict` an assumption.
  Error ToError(bool strict) const;
  // Assumptions and notes, each in the order in which they were made; one text for all that it concerns.
  std::vector<std::string> Warnings() const;

 private:
  struct Remark {
    std::string what;
    std::vector<std::string> whom;
    std::set<std::string> seen;  // a body is imported again when its types turn out wider
  };
  struct Remarks {
    std::vector<Remark> list;
    std::map<std::string, size_t> index;  // by what
  };
  static std::string TextOf(const Remark& remark);
  static void Add(Remarks* remarks, const std::string& what, const std::string& whom);

  std::map<std::string, std::vector<std::string>> unsupported_;
  std::vector<std::string> malformed_;
  Remarks assumed_, noted_;
};

}  // namespace tvmvm::ir
