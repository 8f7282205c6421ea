// Group reductions as statements that every device knows: trees in shared memory.
#include "compiler/loops/loop_ir.h"

namespace tvmvm::tensor {
namespace {

// Where numbers below 32 bits are held in 32, only what gives one of its operands needs no rounding.
bool SuitsSubgroups(const Stmt& s) {
  DType dtype = s.value.dtype();
  bool chooses = s.combine == ExprOp::kMin || s.combine == ExprOp::kMax;
  return DTypeBits(dtype) == 32 || (chooses && IsFloat(dtype) && DTypeBits(dtype) < 32);
}

class Lowering {
 public:
  Lowering(const LoopKernel& kernel, bool by_subgroups) : result_(kernel), by_subgroups_(by_subgroups) {
    item_ = IntConstant(0);
    for (int axis = 2; axis >= 0; --axis)
      if (kernel.group_size[axis] > 1)
        item_ = item_ * IntConstant(kernel.group_size[axis]) + Variable(kernel.thread[axis]);
  }

  LoopKernel Run() {
    result_.body = Statement(result_.body);
    return std::move(result_);
  }

 private:
  bool IsLowered(const Stmt& s) const {
    if (s.kind != StmtKind::kGroupReduce) return false;
    return !by_subgroups_ || result_.GroupItems() == 1 || !SuitsSubgroups(s);
  }

  StmtPtr Statement(const StmtPtr& root) {
    if (IsLowered(*root)) return Block({});  // in no block, so nothing uses it
    if (root->body.empty()) return root;
    Stmt s = *root;
    s.body.clear();
    for (const StmtPtr& child : root->body) {
      if (root->kind == StmtKind::kBlock && IsLowered(*child)) {
        Tree(*child, &s.body);
      } else {
        s.body.push_back(Statement(child));
      }
    }
    return std::make_shared<const Stmt>(std::move(s));
  }

  // Each step, the first items add what as many others have.
  void Tree(const Stmt& s, std::vector<StmtPtr>* out) {
    int count = result_.GroupItems();
    if (count == 1) return out->push_back(Let(s.variable, s.value));
    DType dtype = s.value.dtype();
    uint32_t partials = result_.AddLocal("partials", dtype, Memory::kShared, count);
    out->insert(out->end(), {Allocate(partials), Store(partials, item_, s.value), Barrier()});
    while (count > 1) {
      int half = (count + 1) / 2;
      Expr sum =
          Binary(s.combine, Load(partials, dtype, item_), Load(partials, dtype, item_ + IntConstant(half)));
      out->push_back(If(Less(item_, IntConstant(count - half)), Store(partials, item_, sum)));
      out->push_back(Barrier());
      count = half;
    }
    out->push_back(Let(s.variable, Load(partials, dtype, IntConstant(0))));
  }

  LoopKernel result_;
  bool by_subgroups_;
  Expr item_;  // its number in the group
};

}  // namespace

LoopKernel LowerGroupReduce(const LoopKernel& kernel, bool by_subgroups) {
  return HasGroupReduce(kernel) ? Lowering(kernel, by_subgroups).Run() : kernel;
}

}  // namespace tvmvm::tensor
