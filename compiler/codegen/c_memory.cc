#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/codegen/c_printer.h"
#include "compiler/tensor/loop_rewrite.h"
#include "compiler/tensor/rewrite.h"

namespace tvmvm::codegen {

using tensor::BufferInfo;
using tensor::Memory;
using tensor::Stmt;
using tensor::StmtKind;

namespace {

// The first of consecutive elements that an access of several lanes touches; invalid: they are not
// consecutive.
tensor::Expr ConsecutiveFrom(const tensor::Expr& index, int lanes) {
  if (index.lanes() == 1) return lanes > 1 ? index : tensor::Expr();
  bool is_wide = index.op() == tensor::ExprOp::kRamp && tensor::IsIntConstant(index->operands[1], 1);
  return is_wide ? index->operands[0] : tensor::Expr();
}

}  // namespace

// Whether an index is a multiple of a power of two, as far as its form tells.
bool CPrinter::IsMultiple(const Expr& e, int64_t of) const {
  if (of == 1) return true;
  switch (e.op()) {
    case ExprOp::kConstant:
      return e->integer % of == 0;
    case ExprOp::kVariable: {
      auto found = multiples_.find(e->id);
      return found != multiples_.end() && found->second % of == 0;
    }
    case ExprOp::kAdd:
    case ExprOp::kSub:
      return IsMultiple(e->operands[0], of) && IsMultiple(e->operands[1], of);
    case ExprOp::kMul:
      for (int64_t part = 1; part <= of; part *= 2)
        if (of % part == 0 && IsMultiple(e->operands[0], part) && IsMultiple(e->operands[1], of / part))
          return true;
      return false;
    default:
      return false;
  }
}

// Local f32 buffers that are read or written a vector at a time become arrays of vectors, where every such
// access begins at a whole vector. Single elements of them can still be named.
void CPrinter::ChooseVectorPlaces() {
  std::set<uint32_t> impossible;
  auto see = [&](uint32_t buffer, const Expr& index, int lanes, bool is_masked) {
    const BufferInfo& info = kernel_.buffers[buffer];
    if (info.is_argument || info.dtype != DType::kF32 || lanes == 1) return;
    Expr base = ConsecutiveFrom(index, lanes);
    bool fits = base.valid() && !is_masked && IsVectorType(info.dtype, lanes) && IsMultiple(base, lanes) &&
                info.size % lanes == 0;
    auto [found, is_new] = vectors_.emplace(buffer, lanes);
    if (!fits || found->second != lanes) impossible.insert(buffer);
  };
  // Variables are bound as they will be while printing, as far as multiples go.
  tensor::VisitStatements(kernel_.body, [&](const Stmt& s) {
    if (s.kind == StmtKind::kFor)
      multiples_[s.variable] = IsMultiple(s.begin, s.step->integer) ? s.step->integer : 1;
    if (s.kind == StmtKind::kLet) {
      multiples_.erase(s.variable);
      for (int64_t of : {2, 4, 8, 16})
        if (s.value.dtype() == DType::kI64 && s.value.lanes() == 1 && IsMultiple(s.value, of))
          multiples_[s.variable] = of;
    }
    for (const Expr* root : {&s.begin, &s.end, &s.value, &s.index, &s.mask}) {
      if (!root->valid()) continue;
      tensor::VisitOnce(*root, [&](const Expr& e) {
        if (e.op() == ExprOp::kLoad) see(e->id, e->operands[0], e.lanes(), e->operands.size() > 1);
      });
    }
    if (s.kind == StmtKind::kStore) see(s.buffer, s.index, s.value.lanes(), s.mask.valid());
  });
  for (uint32_t buffer : impossible) vectors_.erase(buffer);
}

void CPrinter::Allocate(uint32_t buffer) {
  const BufferInfo& info = kernel_.buffers[buffer];
  if (info.memory == Memory::kScratch) {
    if (status_)
      status_ = MakeError(Code::kUnsupported, fmt::format("kernel '{}' needs scratch memory", kernel_.name));
    return;
  }
  auto vector = vectors_.find(buffer);
  int lanes = vector == vectors_.end() ? 0 : vector->second;
  places_[buffer] = {NewName(info.name), lanes};
  needs_f64_ |= info.dtype == DType::kF64;
  Text type = lanes > 0 ? fmt::format("f32x{}", lanes) : Text(RegisterType(info.dtype));
  if (type == "bool") type = "u32";
  bool is_glsl = dialect_ == Dialect::kGlsl, is_shared = info.memory == Memory::kShared;
  Text qualifier =
      is_shared ? (is_glsl ? "shared " : "__local ") : (is_glsl && type[0] == 'f' ? "precise " : "");
  Text declaration =
      fmt::format("{}{} {}[{}];", qualifier, type, places_[buffer].name, info.size / std::max(lanes, 1));
  if (is_shared) {
    shared_ += (is_glsl ? "" : "  ") + declaration + "\n";
  } else {
    Line(declaration);
  }
}

// An element as it is held in memory.
CPrinter::Text CPrinter::Element(uint32_t buffer, const Text& index) {
  const Place& place = places_[buffer];
  const BufferInfo& info = kernel_.buffers[buffer];
  if (info.is_argument && dialect_ == Dialect::kGlsl) {
    int bytes = std::max(1, DTypeBits(info.dtype) / 8);
    return fmt::format("{}({} + to_u64({}) * {}ul).v", BlockName(info), place.name, index, bytes);
  }
  if (info.is_argument) return fmt::format("{}[{}]", place.name, index);
  Text at = dialect_ == Dialect::kGlsl ? fmt::format("to_i32({})", index) : index;
  if (index.find_first_not_of("0123456789l") == Text::npos) at = index.substr(0, index.find('l'));
  if (place.vector_lanes == 0) return fmt::format("{}[{}]", place.name, at);
  if (dialect_ == Dialect::kOpenClC) {
    const char* space = info.memory == Memory::kShared ? "__local " : "";
    return fmt::format("(({}f32*){})[{}]", space, place.name, at);
  }
  at = Hold("i32", at);
  return fmt::format("{0}[{1} / {2}][{1} % {2}]", place.name, at, place.vector_lanes);
}

CPrinter::Text CPrinter::LoadPacked(uint32_t buffer, const Text& index) {
  DType dtype = kernel_.buffers[buffer].dtype;
  int bits = DTypeBits(dtype), per_byte_log2 = bits == 4 ? 1 : 2;
  Text at = Hold("i64", index);
  Text byte = fmt::format("to_u32({})", Element(buffer, fmt::format("{} >> {}", at, per_byte_log2)));
  Text shift = fmt::format("(to_u32({}) & {}u) * {}u", at, (1 << per_byte_log2) - 1, bits);
  return FromBits(dtype, fmt::format("(({} >> ({})) & {}u)", byte, shift, (1u << bits) - 1));
}

CPrinter::Text CPrinter::LoadOne(uint32_t buffer, const Text& index) {
  const BufferInfo& info = kernel_.buffers[buffer];
  if (places_[buffer].name.empty()) return Zero(info.dtype);
  if (info.is_argument)
    return IsSubByte(info.dtype) ? LoadPacked(buffer, index) : FromMemory(info.dtype, Element(buffer, index));
  Text element = Element(buffer, index);
  return info.dtype == DType::kBool ? fmt::format("({} != 0u)", element) : element;
}

// A whole vector; empty: not in one piece.
CPrinter::Text CPrinter::VectorElement(uint32_t buffer, const Expr& base, int lanes) {
  const Place& place = places_[buffer];
  const BufferInfo& info = kernel_.buffers[buffer];
  if (place.vector_lanes == lanes) {
    if (tensor::IsConstant(base)) return fmt::format("{}[{}]", place.name, base->integer / lanes);
    Text index = fmt::format("({} >> {})", Scalar(base),
                             lanes == 2   ? 1
                             : lanes == 4 ? 2
                             : lanes == 8 ? 3
                                          : 4);
    return fmt::format("{}[{}]", place.name,
                       dialect_ == Dialect::kGlsl ? fmt::format("to_i32({})", index) : index);
  }
  bool has_pointers = dialect_ == Dialect::kOpenClC && info.dtype == DType::kF32 && place.vector_lanes == 0;
  return has_pointers ? fmt::format("vload{}(0, {} + {})", lanes, place.name, Scalar(base)) : "";
}

CPrinter::Value CPrinter::Load(const Expr& e) {
  const Expr& index = e->operands[0];
  int lanes = e.lanes();
  bool is_masked = e->operands.size() > 1;
  Expr base = ConsecutiveFrom(index, lanes);
  if (base.valid() && !is_masked && IsVectorType(e.dtype(), lanes)) {
    if (Text text = VectorElement(e->id, base, lanes); !text.empty()) return {{text}, lanes};
  }
  std::vector<Text> indices = Emit(index).lanes, masks, texts;
  if (is_masked) masks = Emit(e->operands[1]).lanes;
  for (int i = 0; i < lanes; ++i) {
    auto lane = static_cast<size_t>(i);
    Text text = LoadOne(e->id, indices[lane]);
    if (is_masked) text = fmt::format("({} ? {} : {})", masks[lane], text, Zero(e.dtype()));
    texts.push_back(text);
  }
  return {texts};
}

// Reads, changes and writes a byte: neighbours within a byte belong to one work-item.
void CPrinter::StorePacked(uint32_t buffer, const Text& index, const Text& value) {
  DType dtype = kernel_.buffers[buffer].dtype;
  int bits = DTypeBits(dtype), per_byte_log2 = bits == 4 ? 1 : 2;
  unsigned field = (1u << bits) - 1;
  Text at = Hold("i64", index);
  Text shift = Hold("u32", fmt::format("(to_u32({}) & {}u) * {}u", at, (1 << per_byte_log2) - 1, bits));
  Text place = Element(buffer, fmt::format("{} >> {}", at, per_byte_log2));
  Line(fmt::format("{0} = to_u8((to_u32({0}) & ~({1}u << {2})) | (({3} & {1}u) << {2}));", place, field,
                   shift, ToBits(dtype, value)));
}

void CPrinter::StoreOne(uint32_t buffer, const Text& index, const Text& value, const Text& mask) {
  const BufferInfo& info = kernel_.buffers[buffer];
  if (!mask.empty()) {
    Line(fmt::format("if ({}) {{", mask));
    ++depth_;
  }
  if (info.is_argument && IsSubByte(info.dtype)) {
    StorePacked(buffer, index, value);
  } else {
    Text memory = value;
    if (info.is_argument) memory = ToMemory(info.dtype, value);
    if (!info.is_argument && info.dtype == DType::kBool) memory = fmt::format("to_u32({})", value);
    Line(fmt::format("{} = {};", Element(buffer, index), memory));
  }
  if (!mask.empty()) {
    --depth_;
    Line("}");
  }
}

void CPrinter::Store(const Stmt& s) {
  if (places_[s.buffer].name.empty()) {
    Defect(s.value, "is stored to a buffer that was not allocated");
    return;
  }
  int lanes = s.value.lanes();
  if (lanes == 1 && s.mask.valid()) {  // nothing of a masked-off store runs
    Line(fmt::format("if ({}) {{", Scalar(s.mask)));
    ++depth_;
    Stmt bare = s;
    bare.mask = {};
    Store(bare);
    --depth_;
    return Line("}");
  }
  Expr base = ConsecutiveFrom(s.index, lanes);
  bool is_whole = base.valid() && !s.mask.valid() && IsVectorType(s.value.dtype(), lanes);
  if (is_whole) {
    Text place = VectorElement(s.buffer, base, lanes);
    Value value = AsVector(Emit(s.value), lanes);
    if (places_[s.buffer].vector_lanes == lanes) return Line(fmt::format("{} = {};", place, value.lanes[0]));
    if (!place.empty())
      return Line(fmt::format("vstore{}({}, 0, {} + {});", lanes, value.lanes[0], places_[s.buffer].name,
                              Scalar(base)));
  }
  Value value = AsLanes(Emit(s.value), s.value.dtype());
  std::vector<Text> indices, masks;
  if (base.valid()) {
    indices = Emit(tensor::Ramp(base, tensor::IntConstant(1), lanes)).lanes;
  } else {
    indices = Emit(s.index).lanes;
  }
  if (s.mask.valid()) masks = Emit(s.mask).lanes;
  // All lanes are read before the first is written.
  for (Text& lane : value.lanes)
    if (lanes > 1 && (lane.find('[') != Text::npos || lane.find(").v") != Text::npos))
      lane = Declare(RegisterType(s.value.dtype()), lane, "t");
  for (int i = 0; i < lanes; ++i) {
    auto lane = static_cast<size_t>(i);
    StoreOne(s.buffer, indices[lane], value.lanes[lane],
             masks.empty() ? Text() : masks[masks.size() == 1 ? 0 : lane]);
  }
}

}  // namespace tvmvm::codegen
