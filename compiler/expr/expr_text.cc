#include <fmt/format.h>

#include <cmath>
#include <unordered_map>

#include "compiler/expr/rewrite.h"

namespace tvmvm::tensor {
namespace {

// Infix operators; others print as calls.
const char* InfixOf(ExprOp op) {
  switch (op) {
    case ExprOp::kAdd:
      return "+";
    case ExprOp::kSub:
      return "-";
    case ExprOp::kMul:
      return "*";
    case ExprOp::kDiv:
      return "/";
    case ExprOp::kFloorDiv:
      return "//";
    case ExprOp::kFloorMod:
      return "%";
    case ExprOp::kAnd:
      return "&";
    case ExprOp::kOr:
      return "|";
    case ExprOp::kXor:
      return "^";
    case ExprOp::kShiftLeft:
      return "<<";
    case ExprOp::kShiftRight:
      return ">>";
    case ExprOp::kEqual:
      return "==";
    case ExprOp::kNotEqual:
      return "!=";
    case ExprOp::kLess:
      return "<";
    case ExprOp::kLessEqual:
      return "<=";
    default:
      return nullptr;
  }
}

const char* CallNameOf(ExprOp op) {
  switch (op) {
    case ExprOp::kRemainder:
      return "remainder";
    case ExprOp::kMin:
      return "min";
    case ExprOp::kMax:
      return "max";
    case ExprOp::kPow:
      return "pow";
    case ExprOp::kAtan2:
      return "atan2";
    case ExprOp::kNegate:
      return "neg";
    case ExprOp::kAbs:
      return "abs";
    case ExprOp::kNot:
      return "not";
    case ExprOp::kExp:
      return "exp";
    case ExprOp::kExp2:
      return "exp2";
    case ExprOp::kLog:
      return "log";
    case ExprOp::kLog1p:
      return "log1p";
    case ExprOp::kExpm1:
      return "expm1";
    case ExprOp::kSqrt:
      return "sqrt";
    case ExprOp::kReciprocalSqrt:
      return "rsqrt";
    case ExprOp::kSin:
      return "sin";
    case ExprOp::kCos:
      return "cos";
    case ExprOp::kTan:
      return "tan";
    case ExprOp::kAsin:
      return "asin";
    case ExprOp::kAcos:
      return "acos";
    case ExprOp::kAtan:
      return "atan";
    case ExprOp::kSinh:
      return "sinh";
    case ExprOp::kCosh:
      return "cosh";
    case ExprOp::kTanh:
      return "tanh";
    case ExprOp::kAsinh:
      return "asinh";
    case ExprOp::kAcosh:
      return "acosh";
    case ExprOp::kAtanh:
      return "atanh";
    case ExprOp::kErf:
      return "erf";
    case ExprOp::kSigmoid:
      return "sigmoid";
    case ExprOp::kFloor:
      return "floor";
    case ExprOp::kCeil:
      return "ceil";
    case ExprOp::kRound:
      return "round";
    case ExprOp::kTruncate:
      return "trunc";
    case ExprOp::kIsNan:
      return "isnan";
    case ExprOp::kIsInf:
      return "isinf";
    case ExprOp::kPopCount:
      return "popcount";
    case ExprOp::kSelect:
      return "select";
    case ExprOp::kFma:
      return "fma";
    case ExprOp::kDotBytes:
      return "dot_bytes";
    case ExprOp::kScale:
      return "scale";
    case ExprOp::kReduceAdd:
      return "lanes.add";
    case ExprOp::kReduceMul:
      return "lanes.mul";
    case ExprOp::kReduceMin:
      return "lanes.min";
    case ExprOp::kReduceMax:
      return "lanes.max";
    case ExprOp::kReduceAnd:
      return "lanes.and";
    case ExprOp::kReduceOr:
      return "lanes.or";
    default:
      return "?";
  }
}

const char* ReductionName(ReduceKind kind) {
  switch (kind) {
    case ReduceKind::kSum:
      return "sum";
    case ReduceKind::kProduct:
      return "product";
    case ReduceKind::kMin:
      return "min";
    case ReduceKind::kMax:
      return "max";
    case ReduceKind::kAnd:
      return "all";
    case ReduceKind::kOr:
      return "any";
    case ReduceKind::kArgMin:
      return "argmin";
    case ReduceKind::kArgMax:
      return "argmax";
  }
  return "?";
}

std::string ConstantText(const Expr& a) {
  if (a.dtype() == DType::kBool) return a->integer ? "true" : "false";
  if (a.dtype() == DType::kI64) return fmt::format("{}", a->integer);
  if (!IsFloat(a.dtype())) return fmt::format("{}:{}", a->integer, DTypeName(a.dtype()));
  std::string digits = a.dtype() == DType::kF64 ? fmt::format("{}", a->number)
                                                : fmt::format("{}", static_cast<float>(a->number));
  return fmt::format("{}:{}", digits, DTypeName(a.dtype()));
}

// Prints a graph. A node used twice whose text would be long gets a name and is printed once, ahead of its
// first use.
class Printer {
 public:
  Printer(const Expr& root, const ExprNames& names) : names_(names) {
    VisitOnce(root, [this](const Expr& e) {
      int64_t size = 1;
      for (const Expr& operand : e->operands) {
        ++uses_[operand.get()];
        size += sizes_[operand.get()];
      }
      sizes_[e.get()] = std::min<int64_t>(size, 1 << 20);
    });
  }

  std::string Print(const Expr& root) {
    std::string text = Text(root);
    return definitions_.empty() ? text : fmt::format("({}in {})", definitions_, text);
  }

 private:
  std::string Text(const Expr& e) {
    bool is_named = uses_[e.get()] > 1 && sizes_[e.get()] > 6;
    if (!is_named) return Plain(e);
    auto found = named_.find(e.get());
    if (found != named_.end()) return found->second;
    std::string text = Plain(e);
    std::string name = fmt::format("t{}", named_.size());
    named_.emplace(e.get(), name);
    definitions_ += fmt::format("{} = {}; ", name, text);
    return name;
  }

  std::string List(const Expr& e) {
    std::string text;
    for (const Expr& operand : e->operands) text += (text.empty() ? "" : ", ") + Text(operand);
    return text;
  }

  std::string Plain(const Expr& e) {
    switch (e.op()) {
      case ExprOp::kConstant:
        return ConstantText(e);
      case ExprOp::kDim:
        return fmt::format("${{{}}}", names_.dim ? names_.dim(e->dim) : e->dim.ToString());
      case ExprOp::kVariable:
        return names_.variable ? names_.variable(e->id) : fmt::format("v{}", e->id);
      case ExprOp::kElement:
        return fmt::format("in{}.{}[{}]", e->id, DTypeName(e.dtype()), List(e));
      case ExprOp::kLoad:
        return LoadText(e);
      case ExprOp::kCast:
        return fmt::format("{}{}({})", DTypeName(e.dtype()), e->saturate ? "" : ".wrap", List(e));
      case ExprOp::kBitcast:
        return fmt::format("bits.{}({})", DTypeName(e.dtype()), List(e));
      case ExprOp::kRamp:
        return fmt::format("ramp({}, {})", List(e), e.lanes());
      case ExprOp::kBroadcast:
        return fmt::format("x{}({})", e.lanes(), List(e));
      case ExprOp::kReduce:
        return ReduceText(e);
      default:
        break;
    }
    if (const char* infix = InfixOf(e.op())) {
      std::string left = Text(e->operands[0]);
      return fmt::format("({} {} {})", left, infix, Text(e->operands[1]));
    }
    return fmt::format("{}{}({})", CallNameOf(e.op()), e->is_falling ? ".falling" : "", List(e));
  }

  std::string LoadText(const Expr& e) {
    std::string buffer = names_.buffer ? names_.buffer(e->id) : fmt::format("b{}", e->id);
    std::string index = Text(e->operands[0]);
    if (e->operands.size() == 1) return fmt::format("{}[{}]", buffer, index);
    return fmt::format("{}[{} if {}]", buffer, index, Text(e->operands[1]));
  }

  std::string ReduceText(const Expr& e) {
    const Reduction& r = *e->reduction;
    std::string axes;
    for (size_t i = 0; i < r.axes.size(); ++i) {
      Expr axis = Variable(r.axes[i]);
      axes += fmt::format("{}{} < {}", i ? ", " : "", Plain(axis), Text(r.extents[i]));
    }
    return fmt::format("{}{}.{}[{}]({})", ReductionName(r.kind), r.select_last ? ".last" : "",
                       DTypeName(r.accumulator), axes, Text(e->operands[0]));
  }

  const ExprNames& names_;
  std::unordered_map<const ExprNode*, int> uses_;
  std::unordered_map<const ExprNode*, int64_t> sizes_;
  std::unordered_map<const ExprNode*, std::string> named_;
  std::string definitions_;
};

}  // namespace

std::string ToString(const Expr& a, const ExprNames& names) {
  if (!a.valid()) return "<none>";
  return Printer(a, names).Print(a);
}

std::string ToString(const Expr& a) { return ToString(a, ExprNames{}); }

}  // namespace tvmvm::tensor
