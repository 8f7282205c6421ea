// Attention on a GPU as one streaming kernel: a work-group takes a block of queries and goes through the keys
// a tile at a time. Scores of a tile stand in shared memory; of each row it keeps the largest one and the sum
// of the exponentials so far, and scales what it has summed of the values when the largest one grows (online
// softmax). So memory grows with the length, not with its square.
//
// Where scores are few they stay in the device's caches, and the parts of attention as kernels of their own
// take less time: so it is for those, for a few queries, and for what is no softmax.
#include "compiler/loops/lower_reductions.h"
#include "compiler/schedules/attention_shape.h"
#include "compiler/schedules/gpu/attention_parts.h"
#include "compiler/schedules/gpu/schedule_gpu.h"
#include "compiler/schedules/small_sizes.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::OnlineSoftmax;
using ir::ValueId;

constexpr DType kType = DType::kF32;

// What a work-group has in hand at a time.
struct AttentionTile {
  int down = 8, across = 16;  // work-items
  int item_rows = 8;          // of the block of queries, neighbours
  int item_columns = 4;       // of the tile of keys, `across` apart
  int slice = 16;             // of the depth, or of the keys, that stand in shared memory
  int items() const { return down * across; }
  int rows() const { return down * item_rows; }
  int columns() const { return across * item_columns; }
  int lanes() const { return items() / rows(); }  // items that share the arithmetic of a row
  int pitch() const { return columns() + 4; }     // of the scores: their rows begin in different banks
  int slice_pitch() const { return rows() + 1; }
};

constexpr int64_t kMostWidth = 128;  // of a value: its sums lie in registers
constexpr int64_t kFewQueries = 32;  // which leave most of a block empty
// Scores that are more than caches hold; of halves, whose products may be those of matrix units, so many that
// memory speaks for it.
constexpr int64_t kManyScores = int64_t{1} << 22, kManyScoresOfHalves = int64_t{1} << 26;

// Where the streaming kernel runs.
Dim Streams(const AttentionShape& shape) {
  const Dim scores = shape.batch() * shape.rows() * shape.columns();
  const int64_t many = shape.HasHalves() ? kManyScoresOfHalves : kManyScores;
  return And(Less(kFewQueries, shape.rows()), LessEqual(many, scores));
}

class StreamingAttention {
 public:
  StreamingAttention(const GroupView& group, const AttentionShape& shape, const OnlineSoftmax& softmax)
      : group_(group),
        shape_(shape),
        softmax_(softmax),
        width_(shape.width().value()),
        value_columns_(static_cast<int>((width_ + tile_.across - 1) / tile_.across)) {}

  Expected<std::set<int>> Build(const std::set<int>& wanted, LoopKernel* kernel,
                                std::vector<KernelArgument>* arguments) {
    kernel->name = "attention";
    InputReader reader(group_, wanted, kernel);
    reader_ = &reader;
    std::vector<KernelArgument> list = reader.arguments();
    const std::vector<uint32_t> outputs = AddOutputs(group_, kernel, &list);
    if (arguments) *arguments = std::move(list);
    Nest nest(kernel);
    nest_ = &nest;
    OpenBlock();
    Expr tile = Variable(
        nest.Open("tile", Number(0), DimValue(shape_.columns()), LoopKind::kSerial, tile_.columns()));
    Scores(tile);
    Weights();
    AddValues(tile);
    nest.Close();
    Finish(outputs[0]);
    const Dim scores = shape_.batch() * shape_.rows() * shape_.columns();
    constexpr int64_t kRowOperations = 40;  // an estimate, for each score
    kernel->flops = scores * ((shape_.depth() + shape_.width()) * 2 + kRowOperations);
    kernel->body = nest.Finish();
    return reader.touched();
  }

 private:
  static Expr Number(int64_t value) { return IntConstant(value); }
  static Expr Get(uint32_t buffer, const Expr& at) { return Load(buffer, kType, at); }
  void Set(uint32_t buffer, const Expr& at, const Expr& value) { nest_->Add(Store(buffer, at, value)); }
  uint32_t Shared(const char* name, int64_t size) { return nest_->Local(name, kType, Memory::kShared, size); }
  uint32_t Registers(const char* name, int64_t size) {
    return nest_->Local(name, kType, Memory::kRegisters, size);
  }
  void AddBarrier() { nest_->Add(Barrier()); }
  Expr Lowest() const { return ReductionIdentity(ReduceKind::kMax, kType); }

  // `body` for 0 ... count - 1 in registers.
  void Unrolled(int count, const std::function<void(const Expr& i)>& body) {
    body(Variable(nest_->Open("i", Number(0), Number(count), LoopKind::kUnrolled)));
    nest_->Close();
  }
  void Serial(int count, const std::function<void(const Expr& i)>& body) {
    body(Variable(nest_->Open("k", Number(0), Number(count))));
    nest_->Close();
  }

  void OpenBlock() {
    LoopKernel& kernel = *nest_->kernel();
    kernel.group_size[0] = tile_.items();
    for (VariableId& axis : kernel.thread) axis = kernel.NewVariable("thread");
    Expr block = Variable(nest_->Grid(0, "block", CeilDiv(shape_.rows(), Dim(tile_.rows()))));
    nest_->Grid(1, "unused", 1);
    batch_ = Variable(nest_->Grid(2, "batch", shape_.batch()));
    item_ = Variable(kernel.thread[0]);
    down_ = nest_->Let("down", FloorDiv(item_, Number(tile_.across)));
    across_ = nest_->Let("across", FloorMod(item_, Number(tile_.across)));
    lane_row_ = nest_->Let("lane_row", FloorDiv(item_, Number(tile_.lanes())));
    lane_ = nest_->Let("lane", FloorMod(item_, Number(tile_.lanes())));
    first_row_ = nest_->Let("first_row", block * Number(tile_.rows()));
    const int64_t slices = int64_t{tile_.slice} * (tile_.slice_pitch() + tile_.columns() + 1);
    slices_ = Shared("slices", std::max(slices, int64_t{tile_.slice} * value_columns_ * tile_.across));
    scores_ = Shared("scores", int64_t{tile_.rows()} * tile_.pitch());
    parts_ = Shared("parts", tile_.items());
    part_sums_ = Shared("part_sums", tile_.items());
    scale_ = Shared("scale", tile_.rows());
    row_maxima_ = Shared("row_maxima", tile_.rows());
    row_sums_ = Shared("row_sums", tile_.rows());
    sums_ = Registers("sums", int64_t{tile_.item_rows} * value_columns_);
    maximum_ = Registers("maximum", 1);
    sum_ = Registers("sum", 1);
    Unrolled(tile_.item_rows * value_columns_, [&](const Expr& i) { Set(sums_, i, Zero()); });
    Set(maximum_, Number(0), Lowest());
    Set(sum_, Number(0), Zero());
  }

  static Expr Zero() { return FloatConstant(0, kType); }
  Expr RowOf(const Expr& i) const { return down_ * Number(tile_.item_rows) + i; }  // of the block
  Expr ScoreAt(const Expr& row, const Expr& column) const { return row * Number(tile_.pitch()) + column; }

  // Brings `rows` x `columns` elements into a slice, neighbours along `columns` by neighbouring items.
  using ElementAt = std::function<Expr(const Expr& row, const Expr& column)>;
  void Bring(int rows, int columns, const ElementAt& place, const ElementAt& is_inside,
             const ElementAt& element) {
    const int each = (rows * columns + tile_.items() - 1) / tile_.items();
    Expr part = Variable(nest_->Open("part", Number(0), Number(each), LoopKind::kUnrolled));
    Expr n = nest_->Let("n", part * Number(tile_.items()) + item_);
    const bool has_rest = rows * columns % tile_.items() != 0;
    if (has_rest) nest_->OpenIf(Less(n, Number(int64_t{rows} * columns)));
    Expr row = nest_->Let("r", FloorDiv(n, Number(columns))),
         column = nest_->Let("c", FloorMod(n, Number(columns)));
    Expr to = nest_->Let("to", place(row, column)), inside = nest_->Let("inside", is_inside(row, column));
    nest_->OpenIf(inside);
    Set(slices_, to, Cast(kType, nest_->Place(element(row, column))));
    nest_->Close();
    nest_->OpenIf(Unary(ExprOp::kNot, inside));
    Set(slices_, to, Zero());
    nest_->Close();
    if (has_rest) nest_->Close();
    nest_->Close();
  }

  // --- scores of a tile, with what is elementwise behind them ---
  void Scores(const Expr& tile) {
    const int rows = tile_.item_rows, columns = tile_.item_columns;
    const int key_base = tile_.slice * tile_.slice_pitch();
    const Expr depth_size = DimValue(shape_.depth());
    uint32_t products = Registers("products", int64_t{rows} * columns);
    Unrolled(rows * columns, [&](const Expr& i) { Set(products, i, Zero()); });
    Expr depth = Variable(nest_->Open("depth", Number(0), depth_size, LoopKind::kSerial, tile_.slice));
    Bring(
        tile_.rows(), tile_.slice,
        [&](const Expr& r, const Expr& k) { return k * Number(tile_.slice_pitch()) + r; },
        [&](const Expr& r, const Expr& k) {
          return And(Less(first_row_ + r, DimValue(shape_.rows())), Less(depth + k, depth_size));
        },
        [&](const Expr& r, const Expr& k) {
          return shape_.Query(*reader_, batch_, first_row_ + r, depth + k);
        });
    Bring(
        tile_.columns(), tile_.slice,
        [&](const Expr& c, const Expr& k) { return k * Number(tile_.columns() + 1) + c + Number(key_base); },
        [&](const Expr& c, const Expr& k) {
          return And(Less(tile + c, DimValue(shape_.columns())), Less(depth + k, depth_size));
        },
        [&](const Expr& c, const Expr& k) { return shape_.Key(*reader_, batch_, tile + c, depth + k); });
    AddBarrier();
    Serial(tile_.slice, [&](const Expr& k) {
      const Expr left = nest_->Let("left", k * Number(tile_.slice_pitch()) + down_ * Number(rows));
      const Expr right = nest_->Let("right", k * Number(tile_.columns() + 1) + across_ + Number(key_base));
      MultiplyAdd(
          products, rows, columns, [&](const Expr& i) { return Get(slices_, left + i); },
          [&](const Expr& j) { return Get(slices_, right + j * Number(tile_.across)); });
    });
    AddBarrier();
    nest_->Close();
    Unrolled(rows, [&](const Expr& i) {
      Unrolled(columns, [&](const Expr& j) {
        Expr row = nest_->Let("row", first_row_ + RowOf(i));
        Expr own = nest_->Let("own", across_ + j * Number(tile_.across)),
             column = nest_->Let("column", tile + own);
        Expr to = nest_->Let("to", ScoreAt(RowOf(i), own));
        Expr inside = nest_->Let(
            "inside", And(Less(row, DimValue(shape_.rows())), Less(column, DimValue(shape_.columns()))));
        nest_->OpenIf(inside);
        Set(scores_, to, nest_->Place(First(row, column, Get(products, i * Number(columns) + j))));
        nest_->Close();
        nest_->OpenIf(Unary(ExprOp::kNot, inside));
        Set(scores_, to, Lowest());
        nest_->Close();
      });
    });
    AddBarrier();
  }

  // sums[i, j] += left(i) * right(j)
  void MultiplyAdd(uint32_t sums, int rows, int columns, const std::function<Expr(const Expr&)>& left,
                   const std::function<Expr(const Expr&)>& right) {
    uint32_t lefts = Registers("lefts", rows), rights = Registers("rights", columns);
    Unrolled(rows, [&](const Expr& i) { Set(lefts, i, left(i)); });
    Unrolled(columns, [&](const Expr& j) { Set(rights, j, right(j)); });
    Unrolled(rows, [&](const Expr& i) {
      Unrolled(columns, [&](const Expr& j) {
        Expr at = i * Number(columns) + j;
        Set(sums, at, Fma(Get(lefts, i), Get(rights, j), Get(sums, at)));
      });
    });
  }

  // The element that the softmax begins with, from that of the product.
  Expr First(const Expr& row, const Expr& column, const Expr& product) {
    const ValueId made = group_.function().node(shape_.attention().scores).outputs[0];
    return Expanded(shape_.attention().first, row, column,
                    [&](ValueId value) { return value == made ? product : Expr(); });
  }

  Expr Expanded(ValueId value, const Expr& row, const Expr& column,
                const std::function<Expr(ValueId)>& known) {
    auto leaf = [&](ValueId asked, std::span<const Expr> at) {
      Expr given = known(asked);
      return given.valid() ? given : (*reader_)(asked, at);
    };
    return group_.Expand(value, shape_.ScoreIndex(value, batch_, row, column), leaf, nest_->kernel());
  }

  // --- the softmax as far as the tile goes: scores become exponentials ---
  void Weights() {
    const int lanes = tile_.lanes(), each = tile_.columns() / lanes;
    const Expr zero = Number(0), base = nest_->Let("base", ScoreAt(lane_row_, lane_));
    uint32_t part = Registers("part", 1);
    auto own = [&](const Expr& c) { return base + c * Number(lanes); };
    auto combined = [&](uint32_t parts, ExprOp op) {
      Expr first = nest_->Let("first", lane_row_ * Number(lanes)), all = Get(parts, first);
      for (int i = 1; i < lanes; ++i) all = Binary(op, all, Get(parts, first + Number(i)));
      return nest_->LetVariable("combined", all);
    };
    Set(part, zero, Lowest());
    Serial(each, [&](const Expr& c) { Set(part, zero, Max(Get(part, zero), Get(scores_, own(c)))); });
    Set(parts_, item_, Get(part, zero));
    AddBarrier();
    const Expr row = nest_->Let("row", first_row_ + lane_row_);
    const Expr before = nest_->LetVariable("before", Get(maximum_, zero));
    const Expr maximum = nest_->LetVariable("largest", Max(before, combined(parts_, ExprOp::kMax)));
    auto shift = [&](const Expr& of) {
      return nest_->LetVariable("shift", nest_->Place(Expanded(softmax_.shift, row, zero, [&](ValueId value) {
        return value == softmax_.maximum ? of : Expr();
      })));
    };
    const Expr old_shift = shift(before), new_shift = shift(maximum);
    // Before the first number nothing is summed that could be scaled.
    const Expr scale = nest_->LetVariable(
        "factor",
        nest_->Place(Select(Equal(before, Lowest()), Zero(), Unary(ExprOp::kExp, old_shift - new_shift))));
    Set(maximum_, zero, maximum);
    Set(part, zero, Zero());
    Serial(each, [&](const Expr& c) {
      const Expr score = nest_->Let("score", Get(scores_, own(c)));
      Expr e = Unary(ExprOp::kExp, score - new_shift);
      e = nest_->LetVariable("e", nest_->Place(Select(Equal(score, Lowest()), Zero(), e)));
      Set(scores_, own(c), e);
      Set(part, zero, Get(part, zero) + e);
    });
    Set(part_sums_, item_, Get(part, zero));
    nest_->OpenIf(Equal(lane_, zero));
    Set(scale_, lane_row_, scale);
    nest_->Close();
    AddBarrier();
    Set(sum_, zero, Get(sum_, zero) * scale + combined(part_sums_, ExprOp::kAdd));
  }

  // --- the values of the tile's keys ---
  void AddValues(const Expr& tile) {
    const int rows = tile_.item_rows, columns = value_columns_, across = columns * tile_.across;
    Unrolled(rows, [&](const Expr& i) {
      const Expr scale = nest_->Let("row_scale", Get(scale_, RowOf(i)));
      Unrolled(columns, [&](const Expr& j) {
        const Expr at = i * Number(columns) + j;
        Set(sums_, at, Get(sums_, at) * scale);
      });
    });
    Expr first =
        Variable(nest_->Open("first", Number(0), Number(tile_.columns()), LoopKind::kSerial, tile_.slice));
    Bring(
        tile_.slice, across, [&](const Expr& k, const Expr& c) { return k * Number(across) + c; },
        [&](const Expr& k, const Expr& c) {
          return And(Less(tile + first + k, DimValue(shape_.columns())), Less(c, Number(width_)));
        },
        [&](const Expr& k, const Expr& c) { return shape_.Value(*reader_, batch_, tile + first + k, c); });
    AddBarrier();
    Serial(tile_.slice, [&](const Expr& k) {
      const Expr left = nest_->Let("left", ScoreAt(RowOf(Number(0)), first + k));
      const Expr right = nest_->Let("right", k * Number(across) + across_);
      MultiplyAdd(
          sums_, rows, columns, [&](const Expr& i) { return Get(scores_, left + i * Number(tile_.pitch())); },
          [&](const Expr& j) { return Get(slices_, right + j * Number(tile_.across)); });
    });
    AddBarrier();
    nest_->Close();
  }

  // --- results ---
  void Finish(uint32_t output) {
    nest_->OpenIf(Equal(lane_, Number(0)));
    Set(row_maxima_, lane_row_, Get(maximum_, Number(0)));
    Set(row_sums_, lane_row_, Get(sum_, Number(0)));
    nest_->Close();
    AddBarrier();
    Unrolled(tile_.item_rows, [&](const Expr& i) {
      const Expr row = nest_->Let("row", first_row_ + RowOf(i));
      nest_->OpenIf(Less(row, DimValue(shape_.rows())));
      const Expr maximum = nest_->Let("largest", Get(row_maxima_, RowOf(i)));
      const Expr sum = nest_->Let("all", Get(row_sums_, RowOf(i)));
      Unrolled(value_columns_, [&](const Expr& j) {
        const Expr column = nest_->Let("column", across_ + j * Number(tile_.across));
        nest_->OpenIf(Less(column, Number(width_)));
        const Expr so_far = nest_->Let("value", Get(sums_, i * Number(value_columns_) + j));
        // Weights are linear in the exponentials, and so is what they sum to.
        const Expr result = Expanded(softmax_.weights, row, Number(0), [&](ValueId value) {
          if (value == softmax_.exponentials) return so_far;
          if (value == softmax_.maximum) return maximum;
          return value == softmax_.sum ? sum : Expr();
        });
        const Expr flat = (batch_ * DimValue(shape_.rows()) + row) * Number(width_) + column;
        std::vector<Expr> placed = nest_->Place(std::vector<Expr>{flat, Rounded(result)});
        nest_->Add(Store(output, placed[0], placed[1]));
        nest_->Close();
      });
      nest_->Close();
    });
  }

  // What is stored of an element of the result.
  Expr Rounded(const Expr& result) {
    const ValueId made = group_.function().node(shape_.attention().result).outputs[0];
    const ValueId output = group_.outputs()[0];
    const std::vector<Expr> none(group_.type(output).dims.size(), Number(0));
    auto leaf = [&](ValueId asked, std::span<const Expr>) { return asked == made ? result : Expr(); };
    return group_.Expand(output, none, leaf, nest_->kernel());
  }

  const GroupView& group_;
  const AttentionShape& shape_;
  const OnlineSoftmax& softmax_;
  const AttentionTile tile_;
  int64_t width_;
  int value_columns_;  // of an item
  InputReader* reader_ = nullptr;
  Nest* nest_ = nullptr;
  Expr batch_, item_, down_, across_, lane_row_, lane_, first_row_;
  uint32_t slices_ = 0, scores_ = 0, parts_ = 0, part_sums_ = 0, scale_ = 0;
  uint32_t row_maxima_ = 0, row_sums_ = 0, sums_ = 0, maximum_ = 0, sum_ = 0;
};

}  // namespace

bool TakesAttentionForGpu(const GroupView& group) { return AttentionShape::Find(group, true).has_value(); }

Expected<GroupProgram> ScheduleAttentionForGpu(const GroupView& group, const TargetInfo& target) {
  const std::optional<AttentionShape> shape = AttentionShape::Find(group, true);
  if (!shape) return MakeError(Code::kInternal, "not a group around attention");
  const auto softmax = ir::FindOnlineSoftmax(group.function(), shape->attention());
  const bool is_narrow = shape->width().is_constant() && shape->width().value() <= kMostWidth;
  const Dim streams = softmax && is_narrow ? Streams(*shape) : Dim(0);
  GroupProgram program;
  if (!streams.IsConstant(0)) {
    StreamingAttention kernel(group, *shape, *softmax);
    auto build = [&](const std::set<int>& wanted, LoopKernel* made, std::vector<KernelArgument>* arguments) {
      return kernel.Build(wanted, made, arguments);
    };
    TVMVM_CHECK_OK(AddCall(streams, build, &program));
    SplitBySize(group, &program);
  }
  if (!streams.IsConstant(1)) TVMVM_CHECK_OK(AddAttentionParts(group, Not(streams), target, &program));
  return program;
}

}  // namespace tvmvm::tensor
