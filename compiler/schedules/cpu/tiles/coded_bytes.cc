#include "compiler/schedules/cpu/tiles/coded_bytes.h"

#include <algorithm>
#include <utility>

#include "compiler/expr/dot_bytes.h"

namespace tvmvm::tensor {
namespace {

constexpr int64_t kBytesOfWord = 4, kBytesOfNumber = 4;
constexpr int kByteBits = 8;
constexpr int64_t kHalfByte = 128, kMostByte = 127;
// Blocks whose largest number is no larger are zero.
constexpr double kLeastNumber = 1e-30;
// What infinite numbers are multiplied with.
constexpr double kLeastInverse = 1e-37;

// Elements of an array with one for each row and block, and of a row's bytes.
Expr BlockAt(const CodedLayout& layout, const Expr& row, const Expr& block) {
  return row * IntConstant(layout.blocks()) + block;
}
int64_t PaddedDepth(const CodedLayout& layout) { return layout.blocks() * layout.block; }

// What numbers of so many digits are rounded to at most: less than would fit, so that the highest digit does,
// whatever is carried.
double LargestOf(int digits) { return static_cast<double>(kMostByte << (kByteBits * (digits - 1))); }

// The number whose digits, or their sums, i32, are these, as f32.
Expr NumberOf(const std::vector<Expr>& digits) {
  Expr number = Cast(DType::kF32, digits[0]);
  for (size_t d = 1; d < digits.size(); ++d)
    number =
        Fma(number, Broadcast(FloatConstant(1 << kByteBits), number.lanes()), Cast(DType::kF32, digits[d]));
  return number;
}

DType StartType(const CodedLayout& layout) { return layout.has_zeros ? DType::kF32 : DType::kI32; }

Expr Vector(uint32_t buffer, DType dtype, const Expr& at, int lanes) {
  return Load(buffer, dtype, Ramp(at, IntConstant(1), lanes));
}

class RowRounder {
 public:
  RowRounder(Nest& nest, const CodedLayout& layout, const ByteRows& to, uint32_t numbers, int lanes)
      : nest_(nest), layout_(layout), to_(to), numbers_(numbers), lanes_(lanes), digits_(layout.digits) {}

  // Rounds the row whose numbers are in the buffer.
  void Round(const Expr& row) {
    Expr block = Variable(nest_.Open("block", IntConstant(0), IntConstant(layout_.blocks())));
    Expr first = nest_.Let("first", block * IntConstant(layout_.block));
    Expr at = nest_.Let("at", BlockAt(layout_, row, block));
    Expr largest = Largest(first);
    const double most = LargestOf(digits_);
    nest_.Add(Store(to_.scales, at, largest * FloatConstant(1.0 / most)));
    Expr is_zero = LessEqual(largest, FloatConstant(kLeastNumber));
    // Beside an infinite number all others are zero, and it is the largest.
    Expr inverse = Max(FloatConstant(most) / largest, FloatConstant(kLeastInverse));
    Digits(first, at, nest_.Let("inverse", Select(is_zero, FloatConstant(0), inverse)));
    nest_.Close();
  }

 private:
  Expr Whole(int64_t value, int lanes) const { return Broadcast(IntConstant(value, DType::kI32), lanes); }
  Expr LanesOf(int digit) const {
    return Ramp(IntConstant(static_cast<int64_t>(digit) * lanes_), IntConstant(1), lanes_);
  }
  Expr Number(const Expr& first, const Expr& i) {
    return nest_.Let("number", Vector(numbers_, DType::kF32, first + i, lanes_));
  }
  Expr OpenBlock() {
    return Variable(nest_.Open("i", IntConstant(0), IntConstant(layout_.block), LoopKind::kSerial, lanes_));
  }

  // The largest absolute value of the block; NaN where it holds one.
  Expr Largest(const Expr& first) {
    const uint32_t largest = nest_.Local("largest", DType::kF32, Memory::kRegisters, lanes_);
    nest_.Add(Store(largest, LanesOf(0), Broadcast(FloatConstant(0), lanes_)));
    Expr number = Unary(ExprOp::kAbs, Number(first, OpenBlock()));
    nest_.Add(Store(largest, LanesOf(0), Max(Load(largest, DType::kF32, LanesOf(0)), number)));
    nest_.Close();
    return nest_.LetVariable("largest", Unary(ExprOp::kReduceMax, Load(largest, DType::kF32, LanesOf(0))));
  }

  // Writes the digits of the block's numbers, and what is made of their sums.
  void Digits(const Expr& first, const Expr& at, const Expr& inverse) {
    const uint32_t sums =
        nest_.Local("sums", DType::kI32, Memory::kRegisters, static_cast<int64_t>(lanes_) * digits_);
    for (int d = 0; d < digits_; ++d) nest_.Add(Store(sums, LanesOf(d), Whole(0, lanes_)));
    Expr to = nest_.Let("to", at * IntConstant(digits_ * layout_.block));
    Expr i = OpenBlock();
    const Expr most = Broadcast(FloatConstant(LargestOf(digits_)), lanes_);
    Expr scaled = Number(first, i) * Broadcast(inverse, lanes_);
    Expr rounded = Unary(ExprOp::kRound, Max(Min(scaled, most), Unary(ExprOp::kNegate, most)));
    // With half of a byte added to each, digits are not negative.
    int64_t halves = 0;
    for (int d = 0; d < digits_; ++d) halves = (halves << kByteBits) + kHalfByte;
    Expr raised = nest_.Let("raised", Cast(DType::kI32, rounded) + Whole(halves, lanes_));
    for (int d = 0; d < digits_; ++d) {
      const int shift = (digits_ - 1 - d) * kByteBits;
      Expr digit = shift == 0 ? raised : Binary(ExprOp::kShiftRight, raised, Whole(shift, lanes_));
      if (d > 0) digit = Binary(ExprOp::kAnd, digit, Whole((1 << kByteBits) - 1, lanes_));
      digit = nest_.Let("digit", digit - Whole(kHalfByte, lanes_));
      nest_.Add(Store(to_.bytes, Ramp(to + IntConstant(d * layout_.block) + i, IntConstant(1), lanes_),
                      Cast(DType::kI8, digit)));
      nest_.Add(Store(sums, LanesOf(d), Load(sums, DType::kI32, LanesOf(d)) + digit));
    }
    nest_.Close();
    std::vector<Expr> totals;
    for (int d = 0; d < digits_; ++d)
      totals.push_back(
          nest_.LetVariable("sum", Unary(ExprOp::kReduceAdd, Load(sums, DType::kI32, LanesOf(d)))));
    AddStarts(at, totals);
  }

  void AddStarts(const Expr& at, const std::vector<Expr>& totals) {
    if (layout_.has_zeros) return nest_.Add(Store(to_.starts, at, Unary(ExprOp::kNegate, NumberOf(totals))));
    Expr to = at * IntConstant(digits_);
    for (size_t d = 0; d < totals.size(); ++d)
      nest_.Add(Store(to_.starts, to + IntConstant(static_cast<int64_t>(d)),
                      totals[d] * Whole(-static_cast<int64_t>(layout_.zero), 1)));
  }

  Nest& nest_;
  const CodedLayout& layout_;
  const ByteRows& to_;
  uint32_t numbers_;
  int lanes_, digits_;
};

class BytesMultiplier {
 public:
  BytesMultiplier(Nest& nest, const BytesProduct& product, const TargetInfo& target, uint32_t tile)
      : nest_(nest), product_(product), layout_(product.layout), tile_(tile) {
    lanes_ = std::clamp(target.vector_bits / 32, 1, static_cast<int>(kPanelColumns));
    const int all = product.panels * static_cast<int>(kPanelColumns) / lanes_;
    // Where registers are few, the codes of one vector fill them.
    vectors_ = target.vector_registers >= 32 ? std::min(all, 2) : 1;
    passes_ = all / vectors_;
    // Bytes beyond what DotSmallBytes takes are two halves where that is what the target does well.
    splits_ = layout_.bits == 8 && !target.has_vnni;
    has_large_bytes_ = layout_.bits == 8 && target.has_vnni;
    const auto dots = static_cast<int64_t>(kMostSmallDots);
    words_ =
        std::min(layout_.words_of_block(),
                 splits_ ? dots / 2 : std::max<int64_t>(1, dots * kBytesOfWord / layout_.codes_of_word()));
    while (layout_.words_of_block() % words_ != 0) --words_;
  }

  void Run() {
    const int64_t width = product_.panels * kPanelColumns;
    first_words_ = nest_.Let("first_words", FirstOf(layout_.word_rows()));
    first_scales_ = nest_.Let("first_scales", FirstOf(layout_.blocks()));
    Expr e = Variable(
        nest_.Open("e", IntConstant(0), product_.rows * IntConstant(width), LoopKind::kSerial, lanes_));
    nest_.Add(Store(tile_, Ramp(e, IntConstant(1), lanes_), Broadcast(FloatConstant(0), lanes_)));
    nest_.Close();
    for (int pass = 0; pass < passes_; ++pass) {
      Expr block = Variable(nest_.Open("block", IntConstant(0), IntConstant(layout_.blocks())));
      Block(block, pass * vectors_ * lanes_);
      nest_.Close();
    }
  }

 private:
  // Where the product's first panel begins in an array of `rows` rows for each group of panels.
  Expr FirstOf(int64_t rows) const {
    const Expr group = IntConstant(layout_.group);
    return FloorDiv(product_.panel, group) * IntConstant(rows * layout_.width()) +
           FloorMod(product_.panel, group) * IntConstant(kPanelColumns);
  }

  void Block(const Expr& block, int64_t column) {
    Expr parameters =
        nest_.Let("parameters", first_scales_ + block * IntConstant(layout_.width()) + IntConstant(column));
    std::vector<Expr> scales, zeros;
    for (int v = 0; v < vectors_; ++v) {
      const Expr at = parameters + IntConstant(static_cast<int64_t>(v) * lanes_);
      scales.push_back(nest_.Let(
          "scale", Cast(DType::kF32, Vector(product_.codes.scales, layout_.scale_type, at, lanes_))));
      if (layout_.has_zeros)
        zeros.push_back(nest_.Let(
            "zero", Cast(DType::kF32, Vector(product_.codes.zeros, layout_.zero_type, at, lanes_))));
    }
    const int64_t parts = layout_.words_of_block() / words_;
    Expr part =
        parts == 1 ? IntConstant(0) : Variable(nest_.Open("part", IntConstant(0), IntConstant(parts)));
    Part(block, part, column, scales, zeros);
    if (parts > 1) nest_.Close();
  }

  // Words [part * words_, (part + 1) * words_) of a block, for all rows.
  void Part(const Expr& block, const Expr& part, int64_t column, const std::vector<Expr>& scales,
            const std::vector<Expr>& zeros) {
    Expr word = nest_.Let("word", block * IntConstant(layout_.words_of_block()) + part * IntConstant(words_));
    std::vector<std::vector<Expr>> codes;
    for (int v = 0; v < vectors_; ++v)
      codes.push_back(Decoded(first_words_ + IntConstant(column + static_cast<int64_t>(v) * lanes_) +
                              word * IntConstant(layout_.width())));
    Expr r = Variable(nest_.Open("r", IntConstant(0), product_.rows));
    Expr row = nest_.Let("row", product_.first_row + r);
    const int64_t dots = words_ * layout_.codes_of_word() / kBytesOfWord;
    const int64_t pitch = layout_.block / kBytesOfWord;  // of digits
    Expr at = nest_.Let("at", BlockAt(layout_, row, block));
    Expr left = nest_.Let("left", at * IntConstant(layout_.digits * pitch) + part * IntConstant(dots));
    std::vector<std::vector<Expr>> sums(static_cast<size_t>(vectors_));
    for (int d = 0; d < layout_.digits; ++d) {
      std::vector<Expr> bytes;
      for (int64_t i = 0; i < dots; ++i)
        bytes.push_back(nest_.LetVariable(
            "bytes",
            Broadcast(Load(product_.left.bytes, DType::kU32, left + IntConstant(d * pitch + i)), lanes_)));
      Expr start = layout_.has_zeros ? Broadcast(IntConstant(0, DType::kI32), lanes_)
                                     : Start(at * IntConstant(layout_.digits) + IntConstant(d), part);
      for (size_t v = 0; v < sums.size(); ++v) sums[v].push_back(Dots(codes[v], bytes, start));
    }
    Expr start;
    if (layout_.has_zeros) start = Start(at, part);
    Expr scale =
        nest_.LetVariable("row_scale", Broadcast(Load(product_.left.scales, DType::kF32, at), lanes_));
    Expr to = nest_.Let("to", r * IntConstant(product_.panels * kPanelColumns) + IntConstant(column));
    for (int v = 0; v < vectors_; ++v) {
      const auto i = static_cast<size_t>(v);
      Expr sum = NumberOf(sums[i]);
      if (layout_.has_zeros) sum = Fma(zeros[i], start, sum);
      const Expr place = Ramp(to + IntConstant(static_cast<int64_t>(v) * lanes_), IntConstant(1), lanes_);
      nest_.Add(Store(tile_, place, Fma(sum * scale, scales[i], Load(tile_, DType::kF32, place))));
    }
    nest_.Close();
  }

  // Entry `at` of the left operand's starts, which counts once in a block.
  Expr Start(const Expr& at, const Expr& part) {
    Expr start = Load(product_.left.starts, StartType(layout_), at);
    if (!IsIntConstant(part, 0))
      start = Select(Equal(part, IntConstant(0)), start, Constant(StartType(layout_), 0));
    return nest_.LetVariable("start", Broadcast(start, lanes_));
  }

  // The words from `at` on as bytes, in the order of the left operand's; of split ones first all low halves.
  std::vector<Expr> Decoded(const Expr& at) {
    const int bits = splits_ ? 4 : layout_.bits;
    const int64_t mask = ((int64_t{1} << bits) - 1) * 0x01010101;
    auto constant = [&](int64_t value) { return Broadcast(IntConstant(value, DType::kU32), lanes_); };
    std::vector<Expr> codes, high;
    for (int64_t w = 0; w < words_; ++w) {
      Expr word = nest_.LetVariable(
          "codes", Vector(product_.codes.words, DType::kU32, at + IntConstant(w * layout_.width()), lanes_));
      for (int shift = 0; shift < 8; shift += bits) {
        Expr code = shift == 0 ? word : Binary(ExprOp::kShiftRight, word, constant(shift));
        if (bits < 8) code = Binary(ExprOp::kAnd, code, constant(mask));
        (splits_ && shift > 0 ? high : codes).push_back(nest_.LetVariable("code", code));
      }
    }
    codes.insert(codes.end(), high.begin(), high.end());
    return codes;
  }

  Expr Dots(const std::vector<Expr>& codes, const std::vector<Expr>& bytes, Expr sum) const {
    if (has_large_bytes_) {
      for (size_t i = 0; i < codes.size(); ++i) sum = DotBytes(codes[i], bytes[i], sum);
      return sum;
    }
    Expr low = SmallDots(std::span(codes).first(bytes.size()), bytes, sum);
    if (!splits_) return low;
    constexpr int64_t kHalf = 16;
    Expr high = SmallDots(std::span(codes).subspan(bytes.size()), bytes,
                          Broadcast(IntConstant(0, DType::kI32), lanes_));
    return low + high * Broadcast(IntConstant(kHalf, DType::kI32), lanes_);
  }

  static Expr SmallDots(std::span<const Expr> codes, const std::vector<Expr>& bytes, const Expr& sum) {
    std::vector<Expr> operands;
    for (size_t i = 0; i < codes.size(); ++i) {
      operands.push_back(codes[i]);
      operands.push_back(bytes[i]);
    }
    operands.push_back(sum);
    return DotSmallBytes(operands);
  }

  Nest& nest_;
  const BytesProduct& product_;
  const CodedLayout& layout_;
  uint32_t tile_;
  int lanes_ = 1, vectors_ = 1, passes_ = 1;
  bool splits_ = false, has_large_bytes_ = false;
  int64_t words_ = 1;  // whose codes registers hold
  Expr first_words_, first_scales_;
};

}  // namespace

void AddByteWorkspaces(const CodedLayout& layout, const ir::Dim& rows, GroupProgram* program) {
  program->workspaces.push_back({DType::kU32, rows * (layout.digits * PaddedDepth(layout) / kBytesOfWord)});
  program->workspaces.push_back({DType::kF32, rows * layout.blocks()});
  program->workspaces.push_back(
      {StartType(layout), rows * (layout.blocks() * (layout.has_zeros ? 1 : layout.digits))});
}

ByteRows AddByteArguments(const CodedLayout& layout, Access access, LoopKernel* kernel,
                          std::vector<KernelArgument>* arguments) {
  uint32_t next = 0;
  auto add = [&](const char* name, DType dtype) {
    if (arguments != nullptr) arguments->push_back({ArgumentKind::kWorkspace, next++});
    return kernel->AddArgument(name, dtype, access);
  };
  ByteRows rows;
  // Written one by one and read four together.
  rows.bytes = add("bytes", access == Access::kRead ? DType::kU32 : DType::kI8);
  rows.scales = add("row_scales", DType::kF32);
  rows.starts = add("starts", StartType(layout));
  return rows;
}

Status BuildByteRows(const CodedLayout& layout, const ByteRows& to, const ir::Dim& rows, const ir::Dim& when,
                     const TargetInfo& target,
                     const std::function<void(Nest&, const Expr& row, uint32_t buffer)>& gather,
                     LoopKernel* kernel) {
  Nest nest(kernel);
  Expr row = Variable(nest.Grid(0, "row", rows));
  nest.Grid(1, "g", 1);
  nest.Grid(2, "h", 1);
  const uint32_t numbers =
      kernel->AddLocal("numbers", DType::kF32, Memory::kScratch, 0, DimValue(kernel->scratch_bytes));
  nest.Add(Allocate(numbers));
  kernel->scratch_bytes = kernel->scratch_bytes + ir::Dim((PaddedDepth(layout) + kPanelColumns) * 4);
  if (!when.IsConstant(1)) nest.OpenIf(Less(IntConstant(0), DimValue(when)));
  gather(nest, row, numbers);
  if (layout.depth < PaddedDepth(layout)) {
    Expr k = Variable(nest.Open("k", IntConstant(layout.depth), IntConstant(PaddedDepth(layout))));
    nest.Add(Store(numbers, k, FloatConstant(0)));
    nest.Close();
  }
  const int lanes = std::clamp(target.vector_bits / 32, 1, static_cast<int>(kByteBlock));
  RowRounder(nest, layout, to, numbers, lanes).Round(row);
  if (!when.IsConstant(1)) nest.Close();
  constexpr int64_t kOperations = 6;
  kernel->flops = rows * ir::Dim(layout.depth * kOperations);
  kernel->bytes = rows * ir::Dim(layout.depth * (kBytesOfNumber + layout.digits));
  kernel->body = nest.Finish();
  return {};
}

int PanelsByBytes(int block_panels) { return block_panels % kPanelsByBytes == 0 ? kPanelsByBytes : 1; }

void AddBytesProduct(Nest& nest, const BytesProduct& product, const TargetInfo& target, uint32_t tile) {
  BytesMultiplier(nest, product, target, tile).Run();
}

}  // namespace tvmvm::tensor
