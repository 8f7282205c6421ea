// Matrices in GLSL: the types and functions are those of MatrixHeader in c_prelude.cc.
#include <fmt/format.h>

#include "compiler/codegen/c/c_printer.h"
#include "compiler/expr/rewrite.h"

namespace tvmvm::codegen {

using tensor::BufferInfo;
using tensor::MatrixStep;
using tensor::Memory;
using tensor::Stmt;

namespace {

constexpr int kFour = 4, kEight = 8;
constexpr int64_t kMatrixElements = int64_t{tensor::kMatrixSide} * tensor::kMatrixSide;

const char* MatrixType(Memory memory) {
  return memory == Memory::kMatrixLeft ? "left" : memory == Memory::kMatrixRight ? "right" : "sum";
}

// The first of consecutive elements; invalid: they are not consecutive.
tensor::Expr FirstOf(const tensor::Expr& index) {
  if (index.op() != tensor::ExprOp::kRamp || !tensor::IsIntConstant(index->operands[1], 1)) return {};
  return index->operands[0];
}

}  // namespace

bool CPrinter::HoldsEights(uint32_t buffer) const {
  const BufferInfo& info = kernel_.buffers[buffer];
  return !info.is_argument && info.dtype == DType::kF16 && !tensor::IsMatrix(info.memory) && needs_.matrices;
}

bool CPrinter::AllocateForMatrices(uint32_t buffer) {
  const BufferInfo& info = kernel_.buffers[buffer];
  if (!tensor::IsMatrix(info.memory) && !HoldsEights(buffer)) return false;
  if (dialect_ != Dialect::kGlsl) {
    if (status_)
      status_ =
          MakeError(Code::kUnsupported, fmt::format("kernel '{}': OpenCL C has no matrices", kernel_.name));
    return true;
  }
  places_[buffer] = {NewName(info.name), 0};
  const Text& name = places_[buffer].name;
  if (HoldsEights(buffer)) {
    Text text = fmt::format("uvec4 {}[{}];", name, info.size / kEight);
    if (info.memory == Memory::kShared) {
      shared_ += "shared " + text + "\n";
    } else {
      Line(text);
    }
    return true;
  }
  for (int64_t i = 0; i < info.size / kMatrixElements; ++i)
    Line(fmt::format("matrix_{} {}_{};", MatrixType(info.memory), name, i));
  return true;
}

CPrinter::Text CPrinter::MatrixName(uint32_t buffer, const Expr& index) {
  if (!tensor::IsConstant(index)) Defect(index, "is the place of a matrix and no constant");
  return fmt::format("{}_{}", places_[buffer].name, index->integer);
}

void CPrinter::Matrix(const Stmt& s) {
  // Of the Vulkan memory model: for others to see (or seen by others), in the work-group.
  constexpr const char *kVisible = "48u, 2u", *kAvailable = "40u, 2u";
  switch (s.matrix) {
    case MatrixStep::kZero:
      return Line(fmt::format("{} = matrix_fill(0.0f);", MatrixName(s.buffer, s.index)));
    case MatrixStep::kLoad:
      return Line(fmt::format("{} = matrix_load_{}({}[{}], {}u, {}u, {});", MatrixName(s.buffer, s.index),
                              MatrixType(kernel_.buffers[s.buffer].memory), places_[s.from].name,
                              LocalIndex(s.value, kEight), s.by_columns ? 1 : 0, s.stride / kEight,
                              kVisible));
    case MatrixStep::kMultiply:
      return Line(fmt::format("{0} = matrix_multiply({1}, {2}, {0});", MatrixName(s.buffer, s.index),
                              MatrixName(s.from, s.value), MatrixName(s.right, s.mask)));
    case MatrixStep::kStore:
      return Line(fmt::format("matrix_store({}[{}], {}, 0u, {}u, {});", places_[s.buffer].name,
                              LocalIndex(s.index, 1), MatrixName(s.from, s.value), s.stride, kAvailable));
  }
}

// Four or eight elements as they lie in memory; of a local buffer, four at a constant place.
CPrinter::Text CPrinter::Halves(uint32_t buffer, const Expr& from, int lanes) {
  if (!HoldsEights(buffer))
    return Call(fmt::format("load_aligned_halves{}", lanes),
                {fmt::format("{} + to_u64({}) * 2ul", places_[buffer].name, Scalar(from))});
  const Text& name = places_[buffer].name;
  if (lanes == kEight) return fmt::format("{}[{}]", name, LocalIndex(from, kEight));
  return fmt::format("{}[{}].{}", name, from->integer / kEight, from->integer % kEight == 0 ? "xy" : "zw");
}

// A number's bits, without a way through f32 where it is loaded.
CPrinter::Text CPrinter::HalfBits(const Expr& e) {
  bool is_load = e.op() == ExprOp::kLoad && kernel_.buffers[e->id].is_argument;
  if (is_load) {
    Text bits = fmt::format("to_u32({})", Element(e->id, Scalar(e->operands[0])));
    return e->operands.size() == 1 ? bits : fmt::format("({} ? {} : 0u)", Scalar(e->operands[1]), bits);
  }
  if (e.op() == ExprOp::kSelect)
    return fmt::format("({} ? {} : {})", Scalar(e->operands[0]), HalfBits(e->operands[1]),
                       HalfBits(e->operands[2]));
  if (e.op() == ExprOp::kConstant && e->number == 0) return "0u";
  return ToBits(DType::kF16, Scalar(e));
}

// Neighbours of another buffer, or one at a constant place of private memory.
void CPrinter::StoreHalves(const Stmt& s) {
  const int lanes = s.value.lanes();
  if (lanes == kEight || lanes == kFour) {
    Expr to = s.index.lanes() == 1 ? s.index : FirstOf(s.index);
    bool is_load = s.value.op() == ExprOp::kLoad && s.value->operands.size() == 1;
    Expr from = is_load ? FirstOf(s.value->operands[0]) : Expr();
    bool has_place = to.valid() && (lanes == kEight || (tensor::IsConstant(to) && to->integer % kFour == 0));
    if (!has_place || !from.valid() || s.mask.valid() || (lanes == kFour && HoldsEights(s.value->id))) {
      Defect(s.value, "are no four or eight neighbours");
      return;
    }
    Text value = Halves(s.value->id, from, lanes);
    return Line(fmt::format("{} = {};", Halves(s.buffer, to, lanes), value));
  }
  if (s.value.lanes() != 1 || !tensor::IsConstant(s.index) || s.mask.valid()) {
    Defect(s.value, "is stored beside others that share its word");
    return;
  }
  int64_t at = s.index->integer;
  Text word = fmt::format("{}[{}].{}", places_[s.buffer].name, at / kEight, "xyzw"[at % kEight / 2]);
  Line(fmt::format("{0} = bitfieldInsert({0}, {1}, {2}, 16);", word, HalfBits(s.value), at % 2 * 16));
}

}  // namespace tvmvm::codegen
