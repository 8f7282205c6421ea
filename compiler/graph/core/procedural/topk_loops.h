// What the kernels of topk share: which of them runs, and the numbers that elements are compared by.
#pragma once

#include <functional>
#include <optional>

#include "compiler/graph/core/procedural/loop_access.h"

namespace tvmvm::ir {

Dim TopKCount(const Node& node);

// As ClampIndex, in one comparison where numbers are not in vectors: what is out of range becomes the last.
// Said where numbers come out of memory to become places, so that contracts of launches need not know why.
tensor::Expr PlaceOf(const tensor::Expr& number, const Dim& count);

// Numbers of 32 bits: what work-groups count and compare.
inline tensor::Expr Number(int64_t value) { return tensor::IntConstant(value, DType::kI32); }
inline tensor::Expr Wide(const tensor::Expr& number) { return tensor::Cast(DType::kI64, number); }
inline tensor::Expr Narrow(const tensor::Expr& index) { return tensor::Cast(DType::kI32, index); }
// What is a number from 0 up to but without `count` in any case: said for contracts of launches.
inline tensor::Expr Within(const tensor::Expr& number, const tensor::Expr& count) {
  return Max(Min(number, count - Number(1)), Number(0));
}

// Numbers that have the order of the elements: the first ones wanted have the smallest.
class SortKey {
 public:
  SortKey(DType element, bool wants_largest);

  DType type() const { return type_; }  // unsigned
  int bits() const { return DTypeBits(type_); }
  tensor::Expr Of(const tensor::Expr& element) const;

  // The same as signed numbers, which vectors compare in one step.
  DType signed_type() const { return bits() == 64 ? DType::kI64 : DType::kI32; }
  tensor::Expr SignedOf(const tensor::Expr& element) const;
  tensor::Expr Signed(const tensor::Expr& key) const;  // and back again
  tensor::Expr Unsigned(const tensor::Expr& key) const;
  tensor::Expr Least() const;  // of the signed ones
  tensor::Expr Most() const;

 private:
  tensor::Expr SignBit() const;
  tensor::Expr Ones() const;

  DType type_, computed_;
  bool wants_largest_;
};

// Which kernel runs: those whose condition is not 0; where none is, the one for any number of elements.
struct TopKPlan {
  TopKPlan(const Type& type, const Node& node);
  // The same for kernels of work-groups: theirs are the conditions below, and none of those for CPUs holds.
  void ChooseGroups(const Type& type, const Node& node);

  AxisSplit split;
  Dim count;  // elements of each row in order
  // For CPUs; none of them: whatever there is.
  Dim is_last = 0, is_beside = 0, is_scattered = 0;  // many rows, a lane each; count is a constant
  Dim is_counted_beside = 0;                         // the same where rows are short, of any count
  Dim is_counted = 0;                                // short rows, one after the other
  Dim is_short = 0;  // the elements in order are few enough to make room for each one more
  Dim IsAny() const;

  Dim by_groups = 0;                // one of these four
  Dim is_sorted = 0, is_whole = 0;  // TopKPart::kShort, kWhole
  Dim is_shared = 0;                // kShare, kMerge
  Dim share = 1, shares = 1;        // elements of one, their number
  Dim is_merged = 0;                // kRun, then topk_runs.cc
};

// Where the rows are that lanes take.
enum class RowLayout : uint8_t {
  kLast,       // one behind the other: along the last axis
  kBeside,     // side by side
  kScattered,  // few side by side, then others elsewhere
};
// Rows that a grid point takes side by side, at every level: lanes of 64 bytes.
inline int64_t RowsBeside(const SortKey& key) { return 512 / key.bits(); }
inline constexpr int64_t kMostInOrder = 64;  // elements, where is_short
// The longest rows whose elements are counted.
inline int64_t MostCounted(const SortKey& key, RowLayout layout) {
  return RowsBeside(key) * (layout == RowLayout::kBeside ? 8 : 16);
}

// Work-groups on a GPU (topk_groups.cc): what each takes.
enum class TopKPart : uint8_t {
  kShort,  // a row that is sorted as a whole
  kWhole,  // a stretch of a row's results
  kShare,  // the first results of a share of a row, which go into two workspaces: keys and positions (i32)
  kMerge,  // those of a row
  kRun,    // a stretch of a row, in order of its own, into two such workspaces
};
inline constexpr int64_t kShortestRow = 256;  // elements up to which a row is sorted as a whole
struct TopKGroupForm {
  int items;                                    // work-items; a power of two
  int64_t room;                                 // elements in shared memory; a power of two
  int64_t results() const { return room / 2; }  // that a group finds
  int64_t slack() const { return room / 4; }    // elements that may be there besides, at either end
};
TopKGroupForm FormOf(TopKPart part, const SortKey& key);
struct TopKSpaces {
  int keys = -1, positions = -1;  // workspaces
};
tensor::StmtPtr TopKGroupLoops(LoopContext& context, const TopKPlan& plan, TopKPart part, TopKSpaces spaces);

// Runs of a row that are in order become longer ones until there is one (topk_runs.cc), kRunsMerged at a
// time.
inline constexpr int64_t kRunsMerged = 4;
inline constexpr int kMostMerges = 10;  // of runs that kRun leaves, of up to kSmallSize elements
// Elements of a run before merge `number`, but for the row's last one.
int64_t RunLength(const SortKey& key, int number);
Dim IsMerged(const TopKPlan& plan, const SortKey& key, int number);  // whether that merge is done
Dim MergesOf(const TopKPlan& plan, const SortKey& key);              // how many are
tensor::StmtPtr TopKMergeRuns(LoopContext& context, const TopKPlan& plan, int number, TopKSpaces from,
                              TopKSpaces to);
// The results of rows that are in order.
tensor::StmtPtr TopKResults(LoopContext& context, const TopKPlan& plan, TopKSpaces from);

tensor::StmtPtr TopKBesideLoops(LoopContext& context, const TopKPlan& plan, RowLayout layout);
tensor::StmtPtr TopKCountingBesideLoops(LoopContext& context, const TopKPlan& plan);  // topk_beside.cc
tensor::StmtPtr TopKCountingLoops(LoopContext& context, const TopKPlan& plan);        // topk_counting.cc
tensor::StmtPtr TopKShortLoops(LoopContext& context, const TopKPlan& plan);           // topk_short.cc
tensor::StmtPtr TopKAnyLoops(LoopContext& context, const TopKPlan& plan);             // topk_any.cc
Dim TopKAnySteps(const TopKPlan& plan, const SortKey& key);  // of scalar code, for a row

// The first `count` numbers of a buffer that has room for a whole vector more.
struct CountedKeys {
  uint32_t buffer;
  DType type;
  tensor::Expr count;
  int width;  // lanes
};
// For each of them how many are less, or equal and stand ahead.
using UseOfRank = std::function<void(const tensor::Expr& position, const tensor::Expr& rank)>;
void CountBefore(tensor::Nest& nest, const CountedKeys& keys, const UseOfRank& use);

// A row, and where its elements and results lie.
struct TopKRow {
  tensor::Expr outer, column;

  // The one of the grid point.
  static TopKRow OfGrid(tensor::Nest& nest, const TopKPlan& plan);
  tensor::Expr Element(LoopContext& context, const TopKPlan& plan, const tensor::Expr& position) const;
  tensor::Expr Target(const TopKPlan& plan, const tensor::Expr& n) const;  // of result n
};
void StoreResult(LoopContext& context, tensor::Nest& nest, const tensor::Expr& target,
                 const tensor::Expr& element, const tensor::Expr& position);

// Whether the condition holds of one of so many lanes; in vectors of `width`.
tensor::Expr AnyLane(tensor::Nest& nest, int lanes, int width,
                     const std::function<tensor::Expr(const tensor::Expr& lane)>& condition,
                     bool gathers = false);

// The positions of the elements in order of one row, as lanes or topk_short.cc find them: in `found` at
// first + n * step. An element with the greatest key is never taken; places that are left hold -1, and get
// the first such elements here. Then stores the row's results. `key_at` and `position` count along the row.
struct FoundRow {
  uint32_t found;
  DType type;
  tensor::Expr first;
  int64_t step;
  TopKRow row;
};
void StoreFound(LoopContext& context, tensor::Nest& nest, const TopKPlan& plan, const SortKey& key,
                const FoundRow& row);

}  // namespace tvmvm::ir
