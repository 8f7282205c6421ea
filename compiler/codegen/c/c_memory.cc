#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <set>

#include "compiler/codegen/c/c_printer.h"
#include "compiler/expr/rewrite.h"
#include "compiler/loops/loop_rewrite.h"

namespace tvmvm::codegen {

using tensor::BufferInfo;
using tensor::Memory;
using tensor::Stmt;
using tensor::StmtKind;

namespace {

constexpr int kVectorOfFour = 4;  // lanes that one instruction of every GPU moves

// The first of consecutive elements that an access of several lanes touches; invalid: they are not
// consecutive.
tensor::Expr ConsecutiveFrom(const tensor::Expr& index, int lanes) {
  if (index.lanes() == 1) return lanes > 1 ? index : tensor::Expr();
  bool is_wide = index.op() == tensor::ExprOp::kRamp && tensor::IsIntConstant(index->operands[1], 1);
  return is_wide ? index->operands[0] : tensor::Expr();
}

// What gives the same f16 bits when it is stored: storing rounds.
const tensor::Expr& BeforeRounding(const tensor::Expr& half) {
  bool is_rounded = half.op() == tensor::ExprOp::kCast && half->operands[0].dtype() == DType::kF32;
  return is_rounded ? half->operands[0] : half;
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
        if (IsInteger(s.value.dtype()) && s.value.lanes() == 1 && IsMultiple(s.value, of))
          multiples_[s.variable] = of;
    }
    for (const Expr* root : {&s.begin, &s.end, &s.value, &s.index, &s.mask}) {
      if (!root->valid()) continue;
      tensor::VisitOnce(*root, [&](const Expr& e) {
        if (e.op() == ExprOp::kLoad) see(e->id, e->operands[0], e.lanes(), e->operands.size() > 1);
      });
    }
    if (s.kind == StmtKind::kStore) see(s.buffer, s.index, s.value.lanes(), s.mask.valid());
    if (s.kind == StmtKind::kTranspose) impossible.insert({s.buffer, s.from});  // element by element
    if (s.kind == StmtKind::kMatrix)
      impossible.insert(s.buffer);  // is told element by element where it begins
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
  if (AllocateForMatrices(buffer)) return;
  auto vector = vectors_.find(buffer);
  int lanes = vector == vectors_.end() ? 0 : vector->second;
  places_[buffer] = {NewName(info.name), lanes};
  needs_.f64 |= info.dtype == DType::kF64;
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

// The index of a local buffer, in 32 bits: what it holds ends long before. Sums and products of 64 bits may
// be cut to 32 part by part. `by`: divided by that power of two; the index is a multiple of it.
CPrinter::Text CPrinter::LocalIndex(const Expr& e, int64_t by) {
  auto both = [&](const char* sign, int64_t left, int64_t right) {
    Text a = LocalIndex(e->operands[0], left), b = LocalIndex(e->operands[1], right);
    return fmt::format("({} {} {})", a, sign, b);
  };
  switch (e.op()) {
    case ExprOp::kConstant:
      return fmt::format("{}", e->integer / by);
    case ExprOp::kAdd:
      return both("+", by, by);
    case ExprOp::kSub:
      return both("-", by, by);
    case ExprOp::kMul:
      for (int64_t part = 1; part <= by; part *= 2)
        if (IsMultiple(e->operands[0], part) && IsMultiple(e->operands[1], by / part))
          return both("*", part, by / part);
      break;
    default:
      break;
  }
  Text whole = fmt::format("to_i32({})", Scalar(e));
  return by == 1 ? whole : fmt::format("({} >> {})", whole, std::countr_zero(static_cast<uint64_t>(by)));
}

// What each lane of an access touches.
CPrinter::Indices CPrinter::IndicesOf(uint32_t buffer, const Expr& index, int lanes) {
  bool is_argument = kernel_.buffers[buffer].is_argument;
  Expr all =
      index.lanes() == lanes ? index : tensor::Ramp(index, tensor::IntConstant(1, index.dtype()), lanes);
  kept_.push_back(all);
  if (is_argument || (lanes > 1 && all.op() != ExprOp::kRamp)) {
    Indices texts = Emit(all).lanes;
    if (!is_argument)
      for (Text& text : texts) text = fmt::format("to_i32({})", text);
    return texts;
  }
  if (lanes == 1) return {LocalIndex(all, 1)};
  Indices texts;
  for (int i = 0; i < lanes; ++i) {
    kept_.push_back(all->operands[0] + all->operands[1] * tensor::IntConstant(i, all.dtype()));
    texts.push_back(LocalIndex(kept_.back(), 1));
  }
  return texts;
}

void CPrinter::Transpose(const tensor::Stmt& s) {
  const Text to = places_[s.buffer].name, from = places_[s.from].name;
  if (to.empty() || from.empty()) return;
  Line(
      fmt::format("for (i32 r = 0; r < {0}; r += 1) for (i32 c = 0; c < {1}; c += 1) {2}[c * {0} + r] = "
                  "{3}[r * {1} + c];",
                  s.rows, s.columns, to, from));
}

// An element as it is held in memory.
CPrinter::Text CPrinter::Element(uint32_t buffer, const Text& index) {
  const Place& place = places_[buffer];
  const BufferInfo& info = kernel_.buffers[buffer];
  bool is_glsl = dialect_ == Dialect::kGlsl;
  if (info.is_argument && is_glsl) {
    int bytes = std::max(1, DTypeBits(info.dtype) / 8);
    return fmt::format("{}({} + to_u64({}) * {}ul).v", BlockName(info), place.name, index, bytes);
  }
  int lanes = place.vector_lanes;
  if (lanes == 0) return fmt::format("{}[{}]", place.name, index);
  if (index.find_first_not_of("0123456789") == Text::npos) {
    int at = std::stoi(index);
    Text component = is_glsl ? Text(1, "xyzw"[at % lanes]) : fmt::format("s{:x}", at % lanes);
    return fmt::format("{}[{}].{}", place.name, at / lanes, component);
  }
  if (!is_glsl) {
    const char* space = info.memory == Memory::kShared ? "__local " : "";
    return fmt::format("(({}f32*){})[{}]", space, place.name, index);
  }
  Text at = Hold("i32", index);
  return fmt::format("{0}[{1} >> {2}][{1} & {3}]", place.name, at, lanes / 2, lanes - 1);
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

// A whole vector of a local buffer; empty: it is none of vectors.
CPrinter::Text CPrinter::VectorElement(uint32_t buffer, const Expr& base, int lanes) {
  const Place& place = places_[buffer];
  if (place.vector_lanes != lanes) return "";
  return fmt::format("{}[{}]", place.name, LocalIndex(base, lanes));
}

// Where a vector of an argument begins, as the functions that move whole vectors want it; empty: there are
// none for it.
CPrinter::Text CPrinter::VectorPointer(uint32_t buffer, const Expr& base, int lanes) {
  const BufferInfo& info = kernel_.buffers[buffer];
  bool is_glsl = dialect_ == Dialect::kGlsl;
  bool is_f16 = info.dtype == DType::kF16;
  if (!info.is_argument || (info.dtype != DType::kF32 && !is_f16)) return "";
  if ((is_glsl || is_f16) && lanes != kVectorOfFour) return "";
  Text at = Scalar(base), name = places_[buffer].name;
  return is_glsl ? fmt::format("{} + to_u64({}) * {}ul", name, at, is_f16 ? 2 : 4)
                 : fmt::format("{} + {}", name, at);
}

CPrinter::Text CPrinter::LoadVector(uint32_t buffer, const Text& from, int lanes) {
  if (lanes != kVectorOfFour) return fmt::format("vload{}(0, {})", lanes, from);
  const BufferInfo& info = kernel_.buffers[buffer];
  return Call(fmt::format("load_{}{}x4", info.access == Access::kReadAligned ? "aligned_" : "",
                          DTypeName(info.dtype)),
              {from});
}

CPrinter::Value CPrinter::Load(const Expr& e) {
  const Expr& index = e->operands[0];
  int lanes = e.lanes();
  bool is_masked = e->operands.size() > 1;
  Expr base = ConsecutiveFrom(index, lanes);
  bool is_half = e.dtype() == DType::kF16 && kernel_.buffers[e->id].is_argument;
  if (base.valid() && !is_masked && is_half)
    if (Text from = VectorPointer(e->id, base, lanes); !from.empty())
      return {{LoadVector(e->id, from, lanes)}, lanes};
  if (base.valid() && !is_masked && IsVectorType(e.dtype(), lanes)) {
    if (Text text = VectorElement(e->id, base, lanes); !text.empty()) return {{text}, lanes};
    if (Text from = VectorPointer(e->id, base, lanes); !from.empty())
      return {{LoadVector(e->id, from, lanes)}, lanes};
  }
  std::vector<Text> indices = IndicesOf(e->id, index, lanes), masks, texts;
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
  if (HoldsEights(s.buffer)) return StoreHalves(s);
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
  if (base.valid() && !s.mask.valid() && kernel_.buffers[s.buffer].dtype == DType::kF16)
    if (Text to = VectorPointer(s.buffer, base, lanes); !to.empty())
      return Line(Call("store_f16x4", {to, AsVector(Emit(BeforeRounding(s.value)), lanes).lanes[0]}) + ";");
  bool is_whole = base.valid() && !s.mask.valid() && IsVectorType(s.value.dtype(), lanes);
  if (is_whole) {
    Text place = VectorElement(s.buffer, base, lanes), to = VectorPointer(s.buffer, base, lanes);
    Value value = AsVector(Emit(s.value), lanes);
    if (!place.empty()) return Line(fmt::format("{} = {};", place, value.lanes[0]));
    if (!to.empty() && lanes == kVectorOfFour) return Line(Call("store_f32x4", {to, value.lanes[0]}) + ";");
    if (!to.empty()) return Line(fmt::format("vstore{}({}, 0, {});", lanes, value.lanes[0], to));
  }
  bool is_half = kernel_.buffers[s.buffer].is_argument && s.value.dtype() == DType::kF16;
  Value value = AsLanes(Emit(is_half ? BeforeRounding(s.value) : s.value));
  std::vector<Text> indices = IndicesOf(s.buffer, base.valid() ? base : s.index, lanes), masks;
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
