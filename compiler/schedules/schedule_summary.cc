#include "compiler/schedules/schedule_summary.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "compiler/expr/rewrite.h"
#include "compiler/loops/loop_ir.h"

namespace tvmvm::tensor {
namespace {

// What the statements of one loop do, by kind and lanes.
class Tally {
 public:
  void Add(const std::string& kind, int lanes, int64_t times) { counts_[{kind, lanes}] += times; }
  bool empty() const { return counts_.empty(); }
  std::string Text() const {
    std::string text;
    for (const auto& [key, count] : counts_) {
      const auto& [kind, lanes] = key;
      if (!text.empty()) text += ", ";
      text += fmt::format("{} {}", count, kind);
      if (lanes > 1) text += fmt::format(" x{}", lanes);
    }
    return text;
  }

 private:
  std::map<std::pair<std::string, int>, int64_t> counts_;
};

class KernelSummary {
 public:
  explicit KernelSummary(const LoopKernel& kernel) : kernel_(kernel) {}

  std::string Run() {
    Loop("straight", *kernel_.body, 1);
    return std::move(text_);
  }

 private:
  // A loop and, indented below it, those inside of it. The loop's own line comes first.
  void Loop(const std::string& label, const Stmt& body, int depth) {
    const size_t at = text_.size();
    Tally tally;
    const int inner = depth + (depth == 1 && label == "straight" ? 0 : 1);
    Statement(body, 1, inner, &tally);
    const bool is_silent = label == "straight" && tally.empty();
    if (!is_silent)
      text_.insert(at, fmt::format("{:{}}{}: {}\n", "", 2 * depth, label,
                                   tally.empty() ? "loops alone" : tally.Text()));
  }

  void Statement(const Stmt& statement, int64_t times, int depth, Tally* tally) {
    switch (statement.kind) {
      case StmtKind::kFor:
        return For(statement, times, depth, tally);
      case StmtKind::kBarrier:
        return tally->Add("barriers", 1, times);
      case StmtKind::kGroupReduce:
        tally->Add("group reductions", 1, times);
        break;
      case StmtKind::kMatrix:
        if (statement.matrix == MatrixStep::kMultiply) tally->Add("matrix products", 1, times);
        break;
      case StmtKind::kTranspose:
        tally->Add("transposes", int64_t{statement.rows} * statement.columns, times);
        break;
      case StmtKind::kStore:
        Store(statement, times, tally);
        break;
      default:
        break;
    }
    if (statement.value.valid()) Expression(statement.value, times, tally);
    for (const StmtPtr& inner : statement.body)
      if (inner) Statement(*inner, times, depth, tally);
  }

  void For(const Stmt& loop, int64_t times, int depth, Tally* tally) {
    if (loop.loop != LoopKind::kSerial)
      return Statement(*loop.body[0], times * ConstantExtent(loop).value_or(1), depth, tally);
    const int64_t step = loop.step.valid() && IsConstant(loop.step) ? loop.step->integer : 1;
    std::string label = "for " + kernel_.variable_names[loop.variable];
    if (step != 1) label += fmt::format(" by {}", step);
    Loop(label, *loop.body[0], depth);
  }

  bool IsInRegisters(uint32_t buffer) const {
    const BufferInfo& info = kernel_.buffers[buffer];
    return !info.is_argument && info.memory == Memory::kRegisters;
  }

  static const char* Access(const Expr& index, const char* consecutive, const char* strided,
                            const char* scattered) {
    if (index.lanes() == 1) return consecutive;
    if (index.op() != ExprOp::kRamp) return scattered;
    return IsIntConstant(index->operands[1], 1) ? consecutive : strided;
  }

  void Store(const Stmt& store, int64_t times, Tally* tally) {
    if (IsInRegisters(store.buffer)) return;
    tally->Add(Access(store.index, "stores", "strided stores", "scatters"), store.value.lanes(), times);
  }

  void Expression(const Expr& root, int64_t times, Tally* tally) {
    VisitOnce(root, [&](const Expr& e) {
      if (e.op() == ExprOp::kLoad) {
        if (IsInRegisters(e->id)) return;
        tally->Add(Access(e->operands[0], "loads", "strided loads", "gathers"), e.lanes(), times);
      } else if (e.op() == ExprOp::kFma) {
        tally->Add("fma", e.lanes(), times);
      } else if (e.op() == ExprOp::kDotBytes) {
        tally->Add("dots of bytes", e.lanes(), times);
      } else if (IsFloat(e.dtype()) && !e->operands.empty() && e.op() != ExprOp::kBroadcast) {
        tally->Add("operations", e.lanes(), times);
      }
    });
  }

  const LoopKernel& kernel_;
  std::string text_;
};

std::string Head(const KernelCall& call) {
  const LoopKernel& kernel = call.kernel;
  std::string text = kernel.name;
  if (!call.when.IsConstant(1)) text += fmt::format(" when {}", call.when.ToString());
  if (kernel.small_sizes) text += " (small)";
  text +=
      fmt::format(" grid {}", ToString(ir::Dims(std::begin(kernel.grid_size), std::end(kernel.grid_size))));
  if (kernel.GroupItems() > 1)
    text += fmt::format(" groups of {} x {} x {}", kernel.group_size[0], kernel.group_size[1],
                        kernel.group_size[2]);
  text += fmt::format(" flops {} bytes {};", kernel.flops.ToString(), kernel.bytes.ToString());
  constexpr const char* kNames[] = {"in", "out", "workspace", "packed"};
  for (const KernelArgument& argument : call.arguments)
    text += fmt::format(" {}{}", kNames[static_cast<int>(argument.kind)], argument.index);
  return text + "\n";
}

}  // namespace

std::string Summarize(const GroupProgram& program, const TargetInfo& target) {
  std::string text;
  for (const KernelCall& call : program.calls) {
    for (const KernelSchedule& schedule : call.schedules) text += schedule.ToString() + "\n";
    const LoopKernel kernel = IsGpu(target) ? call.kernel : Vectorize(GuardLoads(call.kernel));
    text += Head(call) + KernelSummary(kernel).Run();
  }
  for (const Workspace& workspace : program.workspaces)
    text += fmt::format("workspace {} {}\n", DTypeName(workspace.dtype), workspace.elements.ToString());
  return text;
}

}  // namespace tvmvm::tensor
