#include "compiler/loops/work_group.h"

namespace tvmvm::tensor {
namespace {

constexpr int kParts = 16;  // neighbouring items whose values one item combines

}  // namespace

WorkGroup::WorkGroup(Nest* nest, int items) : nest_(nest), items_(items) {
  LoopKernel& kernel = *nest->kernel();
  kernel.group_size[0] = items;
  for (VariableId& axis : kernel.thread) axis = kernel.NewVariable("thread");
  item_ = Variable(kernel.thread[0]);
}

void WorkGroup::ForEach(const Range& range, const std::function<void(const Expr& position)>& body) {
  body(Variable(nest_->Open("position", range.begin + item_, range.end, LoopKind::kSerial, items_)));
  nest_->Close();
}

void WorkGroup::ForEachRead(const Range& range, DType dtype, int at_once, const Read& read, const Use& use) {
  const Expr whole = WholeSteps(*nest_, range, int64_t{at_once} * items_);
  const Expr zero = IntConstant(0), count = IntConstant(at_once);
  uint32_t values = nest_->Local("values", dtype, Memory::kRegisters, at_once);
  Expr first = Variable(
      nest_->Open("first", range.begin + item_, whole, LoopKind::kSerial, int64_t{at_once} * items_));
  auto each = [&](const std::function<void(const Expr& part, const Expr& position)>& body) {
    Expr part = Variable(nest_->Open("part", zero, count, LoopKind::kUnrolled));
    body(part, nest_->Let("position", first + part * IntConstant(items_)));
    nest_->Close();
  };
  each([&](const Expr& part, const Expr& position) { nest_->Add(Store(values, part, read(position))); });
  each([&](const Expr& part, const Expr& position) { use(position, Load(values, dtype, part)); });
  nest_->Close();
  ForEach({whole, range.end},
          [&](const Expr& position) { use(position, nest_->Let("value", read(position))); });
}

WorkGroup::Prefix WorkGroup::NewPrefix(DType dtype, ExprOp combine, Expr identity) {
  Prefix prefix{.dtype = dtype, .combine = combine, .identity = std::move(identity)};
  prefix.parts = nest_->Local("parts", dtype, Memory::kShared, items_);
  prefix.sums = nest_->Local("part_sums", dtype, Memory::kShared, items_ / kParts);
  return prefix;
}

WorkGroup::Combined WorkGroup::PrefixOf(const Prefix& prefix, const Expr& value) {
  const Expr zero = IntConstant(0), one = IntConstant(1), width = IntConstant(kParts);
  const int sums = items_ / kParts;
  auto load = [&](uint32_t buffer, const Expr& at) { return Load(buffer, prefix.dtype, at); };
  uint32_t sum = nest_->Local("sum", prefix.dtype, Memory::kRegisters, 1);
  auto add = [&](const Expr& more) {
    nest_->Add(Store(sum, zero, Binary(prefix.combine, load(sum, zero), more)));
  };
  nest_->Add(Store(prefix.parts, item_, value));
  Barrier();
  nest_->OpenIf(Less(item_, IntConstant(sums)));
  nest_->Add(Store(sum, zero, prefix.identity));
  Expr k = Variable(nest_->Open("k", zero, width));
  Expr at = nest_->Let("at", item_ * width + k);
  Expr part = nest_->Let("part", load(prefix.parts, at));
  nest_->Add(Store(prefix.parts, at, load(sum, zero)));
  add(part);
  nest_->Close();
  nest_->Add(Store(prefix.sums, item_, load(sum, zero)));
  nest_->Close();
  Barrier();
  Expr own = nest_->Let("own", FloorDiv(item_, width));
  nest_->Add(Store(sum, zero, prefix.identity));
  Expr j = Variable(nest_->Open("j", zero, own));
  add(load(prefix.sums, j));
  nest_->Close();
  Expr before =
      nest_->LetVariable("before", Binary(prefix.combine, load(sum, zero), load(prefix.parts, item_)));
  Expr rest = Variable(nest_->Open("j", own, IntConstant(sums)));
  add(load(prefix.sums, rest));
  nest_->Close();
  return {before, nest_->LetVariable("all", load(sum, zero))};
}

}  // namespace tvmvm::tensor
