// Rules for kernels whose grid points are work-groups.
#include <fmt/format.h>

#include <unordered_set>

#include "compiler/expr/rewrite.h"
#include "compiler/loops/loop_ir.h"
#include "compiler/loops/loop_rewrite.h"

namespace tvmvm::tensor {
namespace {

constexpr int kMaxItems = 1024;                         // of a group
constexpr int64_t kMaxSharedBytes = int64_t{64} << 10;  // of all shared buffers together

class WorkGroupVerifier {
 public:
  explicit WorkGroupVerifier(const LoopKernel& kernel) : kernel_(kernel) {}

  Status Run() {
    int64_t items = 1;
    for (int size : kernel_.group_size) {
      if (size < 1 || size > kMaxItems) return Defect(fmt::format("has a group of size {}", size));
      items *= size;
    }
    if (items > kMaxItems) return Defect(fmt::format("has a group of {} work-items", items));
    int64_t shared_bytes = 0;
    for (const BufferInfo& b : kernel_.buffers) {
      if (!b.is_argument && b.memory == Memory::kShared) shared_bytes += DTypeBytes(b.dtype, b.size);
      if (!b.is_argument && b.memory == Memory::kScratch && items > 1)
        return Defect(fmt::format("has the scratch buffer '{}' in a group of work-items", b.name));
    }
    if (shared_bytes > kMaxSharedBytes)
      return Defect(fmt::format("needs {} bytes of shared memory, at most {} are there", shared_bytes,
                                kMaxSharedBytes));
    if (HasMatrices(kernel_) && (kernel_.group_size[0] % kMatrixItems != 0 || items != kernel_.group_size[0]))
      return Defect(fmt::format("has matrices in a group of {} work-items", items));
    if (!HasBarrier(*kernel_.body)) return {};
    if (items > 1) varying_.insert(std::begin(kernel_.thread), std::end(kernel_.thread));
    return Statement(*kernel_.body);
  }

 private:
  tl::unexpected<Error> Defect(const std::string& what) const {
    return MakeError(Code::kInternal, fmt::format("kernel '{}' {}", kernel_.name, what));
  }

  // Whether work-items of a group may see different values.
  bool Varies(const Expr& root) const {
    bool varies = false;
    VisitOnce(root, [&](const Expr& e) {
      if (e.op() == ExprOp::kVariable) varies |= varying_.count(e->id) > 0;
      if (e.op() != ExprOp::kLoad) return;
      const BufferInfo& b = kernel_.buffers[e->id];
      varies |= !b.is_argument && b.memory != Memory::kShared;
    });
    return varies;
  }

  Status Statement(const Stmt& s) {
    switch (s.kind) {
      case StmtKind::kLet:
        if (Varies(s.value)) varying_.insert(s.variable);
        return {};
      case StmtKind::kFor:
        if (Varies(s.begin) || Varies(s.end)) {
          varying_.insert(s.variable);
          if (HasBarrier(*s.body[0]))
            return Defect("has a barrier in a loop that differs between work-items");
        }
        ++loops_;
        TVMVM_CHECK_OK(Statement(*s.body[0]));
        --loops_;
        return {};
      case StmtKind::kGroupReduce:
        if (loops_ > 0) return Defect("reduces in the group in a loop");
        return {};
      case StmtKind::kIf:
        if (Varies(s.value) && HasBarrier(s))
          return Defect("has a barrier under a condition that differs between work-items");
        break;
      case StmtKind::kFail:
        return Defect("can fail and has barriers");
      default:
        break;
    }
    for (const StmtPtr& child : s.body) TVMVM_CHECK_OK(Statement(*child));
    return {};
  }

  const LoopKernel& kernel_;
  std::unordered_set<VariableId> varying_;
  int loops_ = 0;  // that are open
};

}  // namespace

Status VerifyWorkGroup(const LoopKernel& kernel) { return WorkGroupVerifier(kernel).Run(); }

}  // namespace tvmvm::tensor
