#include "compiler/schedules/cpu/tiles/coded_kernel.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace tvmvm::tensor {
namespace {

constexpr int kMantissaBits = 23, kExponentBias = 127;

using Bind = std::function<Expr(const char* name, Expr value)>;

// The power of two in front of a mantissa whose bit `at` then counts 1.
int ExponentAt(int at) { return kMantissaBits - at; }

// What is taken off the decoded numbers of one vector of columns.
struct Zeros {
  Expr points;                // invalid: one zero point for all
  std::vector<Expr> origins;  // where they are integers: with the power of two, by place in the mantissa
};

// The places in the mantissa that codes are decoded at; few of them.
int PlacesOf(const CodedLayout& layout) { return kMantissaBits / layout.bits; }

// Zero points that are integers are exact together with the power of two. `steps`: of the block that they
// serve.
Zeros MakeZeros(const CodedLayout& layout, Expr points, int64_t steps, const Bind& bind) {
  Zeros zeros{std::move(points), {}};
  const bool pays = PlacesOf(layout) < steps;
  if (!zeros.points.valid() || !IsInteger(layout.zero_type) || !pays) return zeros;
  for (int place = 0; place < PlacesOf(layout); ++place) {
    const double power = std::ldexp(1.0, ExponentAt(place * layout.bits));
    zeros.origins.push_back(
        bind("origin", zeros.points + Broadcast(FloatConstant(power), zeros.points.lanes())));
  }
  return zeros;
}

// Reads the codes of one vector of words.
class CodeReader {
 public:
  CodeReader(const CodedLayout& layout, Expr words, const Zeros& zeros, Bind bind)
      : layout_(layout), words_(std::move(words)), zeros_(zeros), bind_(std::move(bind)) {}

  // code - zero of a step of the words, as f32.
  Expr At(int64_t step) {
    const int bits = layout_.bits;
    int at = static_cast<int>(layout_.bit_of(step));
    const bool is_high = at + bits > kMantissaBits;
    if (is_high && !high_.valid()) high_ = bind_("high", Binary(ExprOp::kShiftRight, words_, Words(kHalf)));
    if (is_high) at -= kHalf;
    const int exponent = ExponentAt(at);
    const int64_t mask = ((int64_t{1} << bits) - 1) << at;
    const int64_t front = int64_t{kExponentBias + exponent} << kMantissaBits;
    Expr number = Bitcast(
        DType::kF32,
        Binary(ExprOp::kOr, Binary(ExprOp::kAnd, is_high ? high_ : words_, Words(mask)), Words(front)));
    if (!zeros_.origins.empty()) return number - zeros_.origins[static_cast<size_t>(at / bits)];
    const double power = std::ldexp(1.0, exponent);
    if (!zeros_.points.valid()) return number - Number(power + layout_.zero);
    return number - Number(power) - zeros_.points;
  }

 private:
  static constexpr int kHalf = 16;

  Expr Words(int64_t value) const { return Broadcast(IntConstant(value, DType::kU32), words_.lanes()); }

  Expr Number(double value) const { return Broadcast(FloatConstant(value), words_.lanes()); }

  const CodedLayout& layout_;
  Expr words_, high_;  // the second: their high halves, once they are needed
  const Zeros& zeros_;
  Bind bind_;
};

Expr Numbers(Expr loaded) { return Cast(DType::kF32, std::move(loaded)); }

// Where a panel begins in an array of `rows` rows for each group of panels.
Expr FirstOf(const CodedLayout& layout, const Expr& panel, int64_t rows) {
  const Expr group = IntConstant(layout.group);
  return FloorDiv(panel, group) * IntConstant(rows * layout.width()) +
         FloorMod(panel, group) * IntConstant(kPanelColumns);
}

class CodedTile {
 public:
  CodedTile(LoopKernel* kernel, const CodedOperands& operands, RegisterTile shape, int lanes, uint32_t tile)
      : kernel_(kernel),
        operands_(operands),
        layout_(operands.layout),
        shape_(shape),
        lanes_(lanes),
        tile_(tile) {
    vectors_ = shape.panels * static_cast<int>(kPanelColumns) / lanes;
    sums_ = kernel->AddLocal("sums", DType::kF32, Memory::kRegisters,
                             static_cast<int64_t>(shape.rows) * vectors_ * lanes);
  }

  StmtPtr Emit() {
    std::vector<StmtPtr> body{Allocate(sums_)};
    for (int i = 0; i < shape_.rows * vectors_; ++i) body.push_back(tensor::Store(tile_, At(i), Zero()));
    words_ = BindTo(&body, "first_words", FirstOf(layout_, operands_.panel, layout_.word_rows()));
    scales_ = BindTo(&body, "first_scales", FirstOf(layout_, operands_.panel, layout_.blocks()));
    if (layout_.whole_blocks() > 0) {
      VariableId block = kernel_->NewVariable("block");
      body.push_back(For(block, IntConstant(0), IntConstant(layout_.whole_blocks()),
                         AddBlock(Variable(block), layout_.block)));
    }
    if (const int64_t rest = layout_.depth % layout_.block; rest > 0)
      body.push_back(AddBlock(IntConstant(layout_.whole_blocks()), rest));
    return Block(std::move(body));
  }

 private:
  Expr At(int vector) const {
    return Ramp(IntConstant(static_cast<int64_t>(vector) * lanes_), IntConstant(1), lanes_);
  }
  Expr Zero() const { return Broadcast(FloatConstant(0), lanes_); }
  int VectorsOfPanel() const { return static_cast<int>(kPanelColumns) / lanes_; }

  // Vector v of `buffer`, of the row that begins at `at` in the tile's first panel.
  Expr LoadVector(uint32_t buffer, DType dtype, int v, const Expr& at) const {
    const int64_t column = static_cast<int64_t>(v) * lanes_;
    return Load(buffer, dtype, Ramp(at + IntConstant(column), IntConstant(1), lanes_));
  }

  StmtPtr AddBlock(const Expr& block, int64_t steps) {
    std::vector<StmtPtr> body;
    for (int i = 0; i < shape_.rows * vectors_; ++i) body.push_back(tensor::Store(sums_, At(i), Zero()));
    Expr parameters = BindTo(&body, "parameters", scales_ + block * IntConstant(layout_.width()));
    std::vector<Zeros> zeros(static_cast<size_t>(vectors_));
    const Bind bind = [&](const char* name, Expr value) { return BindTo(&body, name, std::move(value)); };
    if (layout_.has_zeros)
      for (int v = 0; v < vectors_; ++v)
        zeros[static_cast<size_t>(v)] = MakeZeros(
            layout_,
            bind("zero", Numbers(LoadVector(operands_.buffers.zeros, layout_.zero_type, v, parameters))),
            steps, bind);
    Expr words =
        BindTo(&body, "words", words_ + block * IntConstant(layout_.words_of_block() * layout_.width()));
    std::vector<Expr> rows;
    for (const Expr& row : operands_.a_rows)
      rows.push_back(BindTo(&body, "a_at", row + block * IntConstant(layout_.block) * operands_.a_step));
    const int64_t per = layout_.codes_of_word(), whole = steps / per;
    if (whole > 0) {
      VariableId word = kernel_->NewVariable("word");
      std::vector<StmtPtr> inner;
      AddWord(Variable(word), static_cast<int>(per), words, rows, zeros, &inner);
      body.push_back(For(word, IntConstant(0), IntConstant(whole), Block(std::move(inner))));
    }
    if (steps % per > 0)
      AddWord(IntConstant(whole), static_cast<int>(steps % per), words, rows, zeros, &body);
    for (int v = 0; v < vectors_; ++v) {
      Expr scale = BindTo(&body, "scale",
                          Numbers(LoadVector(operands_.buffers.scales, layout_.scale_type, v, parameters)));
      for (int r = 0; r < shape_.rows; ++r) {
        Expr at = At(r * vectors_ + v);
        body.push_back(
            tensor::Store(tile_, at, Fma(Load(sums_, DType::kF32, at), scale, Load(tile_, DType::kF32, at))));
      }
    }
    return Block(std::move(body));
  }

  // The first `codes` codes of a word.
  void AddWord(const Expr& word, int codes, const Expr& words, const std::vector<Expr>& rows,
               const std::vector<Zeros>& zeros, std::vector<StmtPtr>* body) {
    Expr at = BindTo(body, "word_at", words + word * IntConstant(layout_.width()));
    Expr step = BindTo(body, "step", word * IntConstant(layout_.codes_of_word()) * operands_.a_step);
    std::vector<CodeReader> readers;
    for (int v = 0; v < vectors_; ++v) {
      Expr loaded = BindTo(body, "codes", LoadVector(operands_.buffers.words, DType::kU32, v, at));
      readers.emplace_back(
          layout_, std::move(loaded), zeros[static_cast<size_t>(v)],
          [this, body](const char* name, Expr value) { return BindTo(body, name, std::move(value)); });
    }
    for (int i = 0; i < codes; ++i) {
      std::vector<Expr> a;
      for (const Expr& row : rows) {
        Expr load =
            Load(operands_.a_buffer, operands_.a_dtype, row + step + IntConstant(i) * operands_.a_step);
        a.push_back(BindTo(body, "a", Broadcast(Cast(DType::kF32, std::move(load)), lanes_)));
      }
      for (int v = 0; v < vectors_; ++v) {
        Expr b = BindTo(body, "b", readers[static_cast<size_t>(v)].At(i));
        for (int r = 0; r < shape_.rows; ++r) {
          Expr index = At(r * vectors_ + v);
          body->push_back(tensor::Store(sums_, index,
                                        Fma(a[static_cast<size_t>(r)], b, Load(sums_, DType::kF32, index))));
        }
      }
    }
  }

  Expr BindTo(std::vector<StmtPtr>* body, const char* name, Expr value) {
    if (IsConstant(value)) return value;
    VariableId variable = kernel_->NewVariable(name);
    Expr bound = Variable(variable, value.dtype(), value.lanes());
    body->push_back(Let(variable, std::move(value)));
    return bound;
  }

  LoopKernel* kernel_;
  const CodedOperands& operands_;
  const CodedLayout& layout_;
  RegisterTile shape_;
  int lanes_, vectors_ = 0;
  uint32_t tile_, sums_ = 0;
  Expr words_, scales_;  // where the tile's first panel begins
};

}  // namespace

CodedBuffers AddCodedArguments(const CodedLayout& layout, LoopKernel* kernel,
                               std::vector<KernelArgument>* arguments) {
  CodedBuffers buffers;
  uint32_t next = 0;
  auto add = [&](const char* name, DType dtype) {
    arguments->push_back({ArgumentKind::kPacked, next++});
    return kernel->AddArgument(name, dtype, Access::kRead);
  };
  buffers.words = add("words", DType::kU32);
  buffers.scales = add("scales", layout.scale_type);
  if (layout.has_zeros) buffers.zeros = add("zeros", layout.zero_type);
  return buffers;
}

TilePlan PlanCodedTiles(const TargetInfo& target, int block_panels) {
  const int panel_vectors = static_cast<int>(kPanelColumns) / VectorLanes(target, DType::kF32);
  // Beside the sums, registers hold a vector of codes for each vector of columns, and what decodes them.
  const int budget = target.vector_registers >= 32 ? 16 : 8;
  const int widest = std::max(1, budget / 4 / panel_vectors);
  TilePlan plan;
  for (int panels : {2, 1})
    if (block_panels % panels == 0 && panels * 2 <= std::max(2, widest)) {
      plan.panels = panels;
      break;
    }
  plan.rows = std::max(1, budget / (plan.panels * panel_vectors));
  for (int panels : {4, 3, 2}) {
    if (block_panels % panels != 0 || panels <= plan.panels || panels > std::max(2, widest)) continue;
    const int rows = std::max(1, budget / (panels * panel_vectors));
    if (rows > plan.few_rows()) plan.few.push_back({rows, panels});
  }
  return plan;
}

StmtPtr CodedMicroKernel(LoopKernel* kernel, const CodedOperands& operands, RegisterTile shape, int lanes,
                         uint32_t tile) {
  return CodedTile(kernel, operands, shape, lanes, tile).Emit();
}

void DecodePanels(Nest& nest, const CodedLayout& layout, const CodedBuffers& buffers, const Expr& batch,
                  const Expr& panel, int count, int lanes, uint32_t target) {
  const int64_t per = layout.codes_of_word();
  Expr p = Variable(nest.Open("panel", IntConstant(0), IntConstant(count)));
  nest.OpenIf(Less(panel + p, IntConstant(layout.panels)));
  Expr source = nest.Let("source", batch * IntConstant(layout.panels) + panel + p);
  Expr words_of = nest.Let("words_of", FirstOf(layout, source, layout.word_rows()));
  Expr scales_of = nest.Let("scales_of", FirstOf(layout, source, layout.blocks()));
  Expr base = nest.Let("base", p * IntConstant(layout.depth * kPanelColumns));
  auto vector = [&](uint32_t buffer, DType dtype, const Expr& at, int64_t lane) {
    return Load(buffer, dtype, Ramp(at + IntConstant(lane), IntConstant(1), lanes));
  };
  auto decode_word = [&](const Expr& word, int codes, const Expr& to, int64_t lane, const Expr& scale,
                         const Zeros& zeros) {
    CodeReader reader(layout, nest.Let("codes", vector(buffers.words, DType::kU32, word, lane)), zeros,
                      [&](const char* name, Expr value) { return nest.Let(name, std::move(value)); });
    for (int i = 0; i < codes; ++i)
      nest.Add(Store(target, Ramp(to + IntConstant(i * kPanelColumns + lane), IntConstant(1), lanes),
                     reader.At(i) * scale));
  };
  auto decode_block = [&](const Expr& block, int64_t steps) {
    Expr parameters = nest.Let("parameters", scales_of + block * IntConstant(layout.width()));
    Expr words = nest.Let("words", words_of + block * IntConstant(layout.words_of_block() * layout.width()));
    Expr to = nest.Let("to", base + block * IntConstant(layout.block * kPanelColumns));
    for (int64_t lane = 0; lane < kPanelColumns; lane += lanes) {
      Expr scale = nest.Let("scale", Numbers(vector(buffers.scales, layout.scale_type, parameters, lane)));
      Zeros zeros;
      if (layout.has_zeros)
        zeros = MakeZeros(
            layout, nest.Let("zero", Numbers(vector(buffers.zeros, layout.zero_type, parameters, lane))),
            steps, [&](const char* name, Expr value) { return nest.Let(name, std::move(value)); });
      if (steps >= per) {
        Expr word = Variable(nest.Open("word", IntConstant(0), IntConstant(steps / per)));
        decode_word(words + word * IntConstant(layout.width()), static_cast<int>(per),
                    to + word * IntConstant(per * kPanelColumns), lane, scale, zeros);
        nest.Close();
      }
      if (steps % per > 0)
        decode_word(words + IntConstant(steps / per * layout.width()), static_cast<int>(steps % per),
                    to + IntConstant(steps / per * per * kPanelColumns), lane, scale, zeros);
    }
  };
  if (layout.whole_blocks() > 0) {
    decode_block(Variable(nest.Open("block", IntConstant(0), IntConstant(layout.whole_blocks()))),
                 layout.block);
    nest.Close();
  }
  if (const int64_t rest = layout.depth % layout.block; rest > 0)
    decode_block(IntConstant(layout.whole_blocks()), rest);
  nest.Close();
  nest.Close();
}

}  // namespace tvmvm::tensor
