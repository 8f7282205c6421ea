#include <fmt/format.h>

#include <unordered_map>

#include "compiler/expr/rewrite.h"
#include "compiler/loops/loop_ir.h"

namespace tvmvm::tensor {
namespace {

const char* AccessText(Access access) {
  switch (access) {
    case Access::kRead:
      return "in";
    case Access::kReadAligned:
      return "in aligned";
    case Access::kWrite:
      return "out";
    case Access::kReadWrite:
      return "inout";
  }
  return "?";
}

const char* MemoryText(Memory memory) {
  switch (memory) {
    case Memory::kRegisters:
      return "registers";
    case Memory::kLocal:
      return "local";
    case Memory::kScratch:
      return "scratch";
    case Memory::kShared:
      return "shared";
    case Memory::kMatrixLeft:
      return "left matrices";
    case Memory::kMatrixRight:
      return "right matrices";
    case Memory::kMatrixSum:
      return "matrix sums";
  }
  return "?";
}

const char* LoopText(LoopKind kind) {
  switch (kind) {
    case LoopKind::kSerial:
      return "for";
    case LoopKind::kUnrolled:
      return "unroll";
    case LoopKind::kVectorized:
      return "vector";
    case LoopKind::kStreaming:
      return "stream";
  }
  return "?";
}

const char* CombineText(ExprOp combine) {
  switch (combine) {
    case ExprOp::kAdd:
      return "sum";
    case ExprOp::kMul:
      return "product";
    case ExprOp::kMin:
      return "min";
    case ExprOp::kMax:
      return "max";
    case ExprOp::kAnd:
      return "and";
    case ExprOp::kOr:
      return "or";
    default:
      return "?";
  }
}

class Printer {
 public:
  explicit Printer(const LoopKernel& kernel) : Printer(kernel, true) {}
  Printer(const LoopKernel& kernel, std::span<const ir::Dim> scalars) : Printer(kernel, false) {
    for (size_t i = 0; i < scalars.size(); ++i) scalars_.emplace(scalars[i], i);
  }

  std::string Print() {
    out_ += with_names_ ? fmt::format("kernel {}(", kernel_.name) : "kernel (";
    for (uint32_t i = 0; i < kernel_.argument_count; ++i) {
      const BufferInfo& b = kernel_.buffers[i];
      out_ += fmt::format("{}{} {}: {}", i ? ", " : "", AccessText(b.access), Buffer(i), DTypeName(b.dtype));
    }
    out_ += ") grid(";
    for (int axis = 0; axis < 3; ++axis)
      out_ += fmt::format("{}{}{} < {}", axis ? ", " : "", Variable(kernel_.grid[axis]),
                          axis == 0 && kernel_.range_end ? ".." + Variable(*kernel_.range_end) : "",
                          GridSize(kernel_.grid_size[axis]));
    out_ += ")";
    if (kernel_.GroupItems() != 1) {
      out_ += " group(";
      for (int axis = 0; axis < 3; ++axis)
        out_ += fmt::format("{}{} < {}", axis ? ", " : "", Variable(kernel_.thread[axis]),
                            kernel_.group_size[axis]);
      out_ += ")";
    }
    if (kernel_.small_sizes) out_ += " small";
    if (with_names_ && !kernel_.scratch_bytes.IsConstant(0))
      out_ += fmt::format(" scratch({})", kernel_.scratch_bytes.ToString());
    out_ += " {\n";
    if (kernel_.body) Statement(*kernel_.body, 1);
    out_ += "}\n";
    for (size_t i = 0; i < kernel_.error_messages.size(); ++i)
      out_ += fmt::format("error {}: {}\n", i + 1, kernel_.error_messages[i]);
    return std::move(out_);
  }

 private:
  Printer(const LoopKernel& kernel, bool with_names) : kernel_(kernel), with_names_(with_names) {
    names_.variable = [this](VariableId id) { return Variable(id); };
    names_.buffer = [this](uint32_t id) { return Buffer(id); };
    names_.dim = [this](const ir::Dim& dim) { return Dim(dim); };
  }

  std::string Dim(const ir::Dim& dim) const {
    auto found = scalars_.find(dim);
    if (found == scalars_.end()) return dim.ToString();
    // How loops over it are made depends on where it ends, and arithmetic on its sign.
    const ir::DimRange range = ir::RangeOf(dim);
    const std::string scalar = fmt::format("{}${}", range.low < 0 ? "signed " : "", found->second);
    return range.high == INT64_MAX ? scalar : fmt::format("({} <= {})", scalar, range.high);
  }

  // What the caller tells of the grid is none of the code's business, but for numbers and scalars.
  std::string GridSize(const ir::Dim& size) const {
    return with_names_ || size.is_constant() || scalars_.contains(size) ? Dim(size) : "open";
  }

  std::string Variable(VariableId id) {
    if (auto found = variables_.find(id); found != variables_.end()) return found->second;
    std::string name = with_names_ && id < kernel_.variable_names.size() ? kernel_.variable_names[id] : "";
    if (name.empty()) {
      name = fmt::format("v{}", variables_.size());
    } else if (int copies = used_names_[name]++; copies > 0) {
      name = fmt::format("{}.{}", name, copies);
    }
    return variables_[id] = name;
  }

  std::string Buffer(uint32_t id) const {
    bool has_name = with_names_ && id < kernel_.buffers.size() && !kernel_.buffers[id].name.empty();
    return has_name ? kernel_.buffers[id].name : fmt::format("b{}", id);
  }

  std::string Text(const Expr& e) const { return ToString(e, names_); }

  void Line(int depth, const std::string& text) { out_ += fmt::format("{:{}}{}\n", "", 2 * depth, text); }

  void Statement(const Stmt& s, int depth) {
    switch (s.kind) {
      case StmtKind::kBlock:
        for (const StmtPtr& child : s.body) {
          bool is_scope = child->kind == StmtKind::kBlock;
          if (is_scope) Line(depth, "{");
          Statement(*child, depth + (is_scope ? 1 : 0));
          if (is_scope) Line(depth, "}");
        }
        break;
      case StmtKind::kFor: {
        std::string step = IsIntConstant(s.step, 1) ? "" : fmt::format(" by {}", Text(s.step));
        std::string begin = Text(s.begin), end = Text(s.end);
        Line(depth,
             fmt::format("{} {} in {} .. {}{} {{", LoopText(s.loop), Variable(s.variable), begin, end, step));
        Statement(*s.body[0], depth + 1);
        Line(depth, "}");
        break;
      }
      case StmtKind::kIf:
        Line(depth, fmt::format("if {} {{", Text(s.value)));
        Statement(*s.body[0], depth + 1);
        if (s.body.size() > 1) {
          Line(depth, "} else {");
          Statement(*s.body[1], depth + 1);
        }
        Line(depth, "}");
        break;
      case StmtKind::kStore: {
        std::string mask = s.mask.valid() ? fmt::format(" if {}", Text(s.mask)) : "";
        Line(depth, fmt::format("{}[{}{}] = {}", Buffer(s.buffer), Text(s.index), mask, Text(s.value)));
        break;
      }
      case StmtKind::kLet: {
        std::string value = Text(s.value);
        Line(depth, fmt::format("let {} = {}", Variable(s.variable), value));
        break;
      }
      case StmtKind::kAllocate: {
        const BufferInfo& b = kernel_.buffers[s.buffer];
        std::string place = b.memory == Memory::kScratch ? fmt::format(" at {}", Text(b.scratch_offset))
                                                         : fmt::format("[{}]", b.size);
        Line(depth,
             fmt::format("{} {}: {}{}", MemoryText(b.memory), Buffer(s.buffer), DTypeName(b.dtype), place));
        break;
      }
      case StmtKind::kFail:
        Line(depth, fmt::format("fail {}{}", s.code, s.value.valid() ? " " + Text(s.value) : ""));
        break;
      case StmtKind::kBarrier:
        Line(depth, "barrier");
        break;
      case StmtKind::kGroupReduce: {
        std::string value = Text(s.value);
        Line(depth,
             fmt::format("let {} = group {} of {}", Variable(s.variable), CombineText(s.combine), value));
        break;
      }
      case StmtKind::kTranspose:
        Line(depth, fmt::format("transpose {} = {} of {} x {}", Buffer(s.buffer), Buffer(s.from), s.rows,
                                s.columns));
        break;
      case StmtKind::kMatrix:
        Line(depth, Matrix(s));
        break;
    }
  }

  std::string Matrix(const Stmt& s) {
    std::string to = fmt::format("{}[{}]", Buffer(s.buffer), Text(s.index));
    if (s.matrix == MatrixStep::kZero) return fmt::format("matrix {} = 0", to);
    std::string from = fmt::format("{}[{}]", Buffer(s.from), Text(s.value));
    if (s.matrix == MatrixStep::kMultiply)
      return fmt::format("matrix {} += {} * {}[{}]", to, from, Buffer(s.right), Text(s.mask));
    return fmt::format("matrix {} = {} by {} {}", to, from, s.stride, s.by_columns ? "columns" : "rows");
  }

  const LoopKernel& kernel_;
  bool with_names_;
  ExprNames names_;
  std::unordered_map<ir::Dim, size_t> scalars_;  // without names: the position of each
  std::unordered_map<VariableId, std::string> variables_;
  std::unordered_map<std::string, int> used_names_;
  std::string out_;
};

}  // namespace

std::string ToString(const LoopKernel& kernel) { return Printer(kernel).Print(); }

std::string CanonicalText(const LoopKernel& kernel, std::span<const ir::Dim> scalars) {
  return Printer(kernel, scalars).Print();
}

}  // namespace tvmvm::tensor
