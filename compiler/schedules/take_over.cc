#include "compiler/schedules/take_over.h"

#include <algorithm>

#include "compiler/loops/outline.h"

namespace tvmvm::tensor {

using ir::Dim;

namespace {

// What a call does with two buffers.
struct Buffers {
  std::vector<uint32_t> read, written;  // arguments
};

void AddConditions(const Dim& dim, std::vector<Dim>* conditions) {
  if (dim.op() != DimOp::kAnd) return conditions->push_back(dim);
  for (const Dim& operand : dim.operands()) AddConditions(operand, conditions);
}

// Whether never both are launched.
bool AreAlternatives(const KernelCall& a, const KernelCall& b) {
  if (a.when == Not(b.when)) return true;
  std::vector<Dim> one, other;
  AddConditions(a.when, &one);
  AddConditions(b.when, &other);
  return std::ranges::any_of(one, [&](const Dim& condition) {
    return !condition.is_constant() && std::ranges::find(other, Not(condition)) != other.end();
  });
}

// Rows of such a group are read and written in the same places.
bool HasSameRows(const GroupView& group, const std::vector<bool>& read, uint32_t written) {
  if (!TakesRows(group)) return false;
  const ir::Dims& dims = group.type(group.outputs()[written]).dims;
  for (size_t k = 0; k < read.size(); ++k)
    if (read[k] && !(group.type(group.inputs()[k]).dims == dims)) return false;
  return true;
}

}  // namespace

// Calls run one after another: once one has written, nobody reads.
bool CanTakeOver(const GroupView& group, const GroupProgram& program, const std::vector<bool>& read,
                 uint32_t written) {
  const bool by_rows = HasSameRows(group, read, written);
  std::vector<const KernelCall*> writers;
  for (const KernelCall& call : program.calls) {
    Buffers buffers;
    for (uint32_t k = 0; k < call.arguments.size(); ++k) {
      const KernelArgument& argument = call.arguments[k];
      if (argument.kind == ArgumentKind::kInput && read[argument.index]) buffers.read.push_back(k);
      if (argument.kind == ArgumentKind::kOutput && argument.index == written) buffers.written.push_back(k);
    }
    const bool is_late = std::ranges::any_of(
        writers, [&](const KernelCall* writer) { return !AreAlternatives(*writer, call); });
    if (is_late && !buffers.read.empty()) return false;
    if (!buffers.written.empty()) writers.push_back(&call);
    for (uint32_t from : buffers.read)
      for (uint32_t to : buffers.written)
        if (!CanUpdateInPlace(call.kernel, from, to) &&
            !(by_rows && CanUpdateRowsInPlace(call.kernel, from, to)))
          return false;
  }
  return true;
}

}  // namespace tvmvm::tensor
