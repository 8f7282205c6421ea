// ONNX operators: one row for each operator and range of versions, saying how it is decomposed into core
// operators (compiler/graph/core_op.h). families.def lists the families and their files.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/core/element_types.h"
#include "compiler/graph/graph.h"
#include "compiler/graph/op_builder.h"
#include "compiler/onnx/model/onnx_attribute.h"

namespace tvmvm::ir {

// What a row's decomposition sees of one node.
class OnnxContext {
 public:
  OpBuilder& b;
  int version = 0;  // of the opset of the node's domain
  std::string op_type;
  std::vector<ValueId> inputs;            // invalid: absent
  std::vector<std::string> output_names;  // "" : not wanted
  std::map<std::string, OnnxAttribute> attributes;
  std::vector<ValueId> outputs;  // filled by the row, one for each wanted output
  // Imports a subgraph attribute in place: its inputs are the arguments, the values are its outputs; captured
  // names resolve outside. Into a region of a control node where the builder has entered one.
  std::function<Expected<std::vector<ValueId>>(const OnnxGraph&, const std::vector<ValueId>& arguments)>
      import_graph;
  // Notes how far the import's report has come; the function that it gives forgets what was reported since.
  std::function<std::function<void()>()> checkpoint;
  // The value that the node sees by this name; null: there is none (yet); no id: its node is not imported.
  std::function<const std::optional<ValueId>*(const std::string&)> find_value;
  // What is known of the types that loops carry, by their body; null: nothing is kept.
  std::map<const void*, std::vector<Type>>* carried_types = nullptr;

  explicit OnnxContext(OpBuilder& builder) : b(builder) {}
  bool has(size_t input) const { return input < inputs.size() && inputs[input].valid(); }
  ValueId in(size_t input) const { return input < inputs.size() ? inputs[input] : ValueId{}; }
  bool wants(size_t output) const { return output < output_names.size() && !output_names[output].empty(); }
  void Out(size_t output, ValueId value);  // ignored when it is not wanted
  bool HasAttribute(std::string_view name) const;
  int64_t Int(std::string_view name, int64_t otherwise) const;
  double Float(std::string_view name, double otherwise) const;
  std::string Text(std::string_view name, std::string otherwise) const;
  std::vector<int64_t> Ints(std::string_view name, std::vector<int64_t> otherwise = {}) const;
  std::vector<double> Floats(std::string_view name) const;
  std::vector<std::string> Texts(std::string_view name) const;  // empty where absent
  const OnnxAttribute* Attr(std::string_view name) const;

 private:
  // Null where absent; records an error where the attribute has another kind.
  const OnnxAttribute* AttrOfKind(std::string_view name, OnnxAttribute::Kind kind,
                                  std::string_view kind_name) const;
};

inline constexpr int kLatest = 1 << 20;
inline constexpr int kNewestOpset = 28;  // of ai.onnx

// What a row does with strings where it takes them.
enum class StringUse : uint8_t {
  kNative,  // understands them
  kMoved,   // only moves elements: the importer gives it positions, and takes the strings at those it returns
};

// The element types that a row takes: of one input, or of its first output. The importer refuses others, and
// strings in any input where they are not among them.
struct OnnxTypes {
  static constexpr int kFirstOutput = -1;

  DTypeSet set;
  int input = 0;

  constexpr OnnxTypes() = default;
  constexpr OnnxTypes(DTypeSet types, int of_input = 0) : set(types), input(of_input) {}
};
constexpr OnnxTypes OfInput(int input, DTypeSet types) { return {types, input}; }
constexpr OnnxTypes OfOutput(DTypeSet types) { return {types, OnnxTypes::kFirstOutput}; }

// Where that runs which a row makes of an operator.
enum class Runs : uint8_t {
  kAnywhere,  // kernels, which every device runs, or control flow around them
  kOnHost,    // a function of the host library: strings, sequences, optionals, maps, files
};

// How the inputs lie over one another, where their ranks differ.
enum class Overlay : uint8_t {
  kNone,
  kElements,  // from the right: axes of size 1 in front of an input change nothing but the result's rank
  kProduct,   // the same of matrices; a vector is a row on the left and a column on the right
};

struct OnnxOp {
  std::string_view domain;  // "" is ai.onnx
  std::string_view name;
  int since;  // first and last opset version that this row serves
  int until;
  int min_inputs;
  int max_inputs;               // -1: any number
  std::string_view attributes;  // the names it understands, separated by spaces
  void (*lower)(OnnxContext&);  // errors go through OnnxContext::b.Fail
  OnnxTypes types;
  StringUse strings = StringUse::kNative;
  Runs runs = Runs::kAnywhere;
  Overlay overlay = Overlay::kNone;
  // How many results of the row's attribute "body" are none of the node's; what is behind those that the body
  // is given again is collected, an element for each step. -1: it collects nothing.
  int results_apart = -1;

  // Sequences, optionals, maps and tensors of unknown rank are taken as they are.
  constexpr bool takes_any_value() const { return types.set.contains(kAnyValue); }
};

constexpr OnnxOp With(Overlay overlay, OnnxOp row) {
  row.overlay = overlay;
  return row;
}

constexpr OnnxOp Collecting(int results_apart, OnnxOp row) {
  row.results_apart = results_apart;
  return row;
}

std::span<const OnnxOp* const> OnnxOps();
const OnnxOp* FindOnnxOp(std::string_view domain, std::string_view name, int version);  // null: none

bool Understands(const OnnxOp& row, std::string_view attribute, int version);

}  // namespace tvmvm::ir
