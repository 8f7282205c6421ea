// WorkGroup: what kernels of one-dimensional work-groups are built from: elements that the items share out
// among them, and prefix sums over the items.
#pragma once

#include <functional>

#include "compiler/loops/loop_blocks.h"
#include "compiler/loops/nest.h"

namespace tvmvm::tensor {

class WorkGroup {
 public:
  // Makes the kernel's groups one-dimensional, of `items` work-items: a multiple of 16, at most 256.
  WorkGroup(Nest* nest, int items);

  int items() const { return items_; }
  Expr item() const { return item_; }
  Nest& nest() { return *nest_; }
  void Barrier() { nest_->Add(tensor::Barrier()); }
  // What one item does for all.
  void OpenFirst() { nest_->OpenIf(Equal(item_, IntConstant(0))); }

  // `body` for each position of the range, neighbouring items at neighbouring positions.
  void ForEach(const Range& range, const std::function<void(const Expr& position)>& body);
  // The same where `read` gives an expression of each position, of `dtype`: an item reads `at_once` of them
  // before it uses the first, so that they are on their way together.
  using Read = std::function<Expr(const Expr& position)>;
  using Use = std::function<void(const Expr& position, const Expr& value)>;
  void ForEachRead(const Range& range, DType dtype, int at_once, const Read& read, const Use& use);

  // What the items before this one and all items together have of `value`, combined from `identity` on in the
  // items' order. Has barriers; the caller needs another one before the next use of one Prefix.
  struct Prefix {
    uint32_t parts = 0, sums = 0;  // shared
    DType dtype = DType::kInvalid;
    ExprOp combine = ExprOp::kAdd;
    Expr identity;
  };
  Prefix NewPrefix(DType dtype, ExprOp combine, Expr identity);  // before any loop or condition
  struct Combined {
    Expr before, all;
  };
  Combined PrefixOf(const Prefix& prefix, const Expr& value);

 private:
  Nest* nest_;
  int items_;
  Expr item_;
};

}  // namespace tvmvm::tensor
