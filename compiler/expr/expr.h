// Expr: the value language shared by tensor expressions (what to compute) and loop IR (how). Immutable trees.
//
// An Expr has a dtype and a number of lanes (1: scalar). Index arithmetic is kI64. Building simplifies:
// constants fold, and i64 arithmetic on dims folds into one dim, so that computing an operator's element
// symbolically gives the contents of shape-like tensors. Nothing here assumes a CPU.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "compiler/dim/dim.h"
#include "tvm-vm/dtype.h"

namespace tvmvm::tensor {

enum class ExprOp : uint8_t {
  // leaves
  kConstant,  // integer, bool or float immediate (lanes 1)
  kDim,       // an i64 known at launch: a symbolic dim; becomes a scalar argument of the kernel
  kVariable,  // loop variable or let-bound name, by id
  // memory
  kElement,  // tensor expressions only: element of input tensor `id` at coordinates `operands`
  kLoad,     // loop IR: from buffer `id` at flat element index operands[0]; optional mask operands[1] (masked
             // lanes give 0)
  // two operands of one dtype and lanes
  kAdd,
  kSub,
  kMul,
  kDiv,  // floats: IEEE; integers: truncates; a zero divisor must be excluded by the caller
  kFloorDiv,
  kFloorMod,
  kRemainder,  // remainder: sign of the dividend, as C's % and fmod
  kMin,
  kMax,  // floats: a NaN operand gives NaN
  kPow,
  kAtan2,
  kAnd,
  kOr,
  kXor,
  kShiftLeft,
  kShiftRight,  // integers and bool; right shift is arithmetic for signed
  kEqual,
  kNotEqual,
  kLess,
  kLessEqual,  // give kBool
  // one operand
  kNegate,
  kAbs,
  kNot,  // not: bool logic, integers bit by bit
  kExp,
  kExp2,
  kLog,
  kLog1p,
  kExpm1,
  kSqrt,
  kReciprocalSqrt,
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kTanh,
  kAsinh,
  kAcosh,
  kAtanh,
  kErf,
  kSigmoid,
  kFloor,
  kCeil,
  kRound,
  kTruncate,  // round: half to even
  kIsNan,
  kIsInf,
  kPopCount,
  kCast,     // numeric conversion; float to int truncates and saturates; see Cast()
  kBitcast,  // same size, bits kept
  // three operands
  kSelect,    // condition (kBool), then, otherwise
  kFma,       // a * b + c, one rounding
  kDotBytes,  // c + the sum of four products of bytes: u8 in a, i8 in b (both u32, low byte first); c is i32
  // vectors (loop IR after vectorising)
  kRamp,       // base, step: base + step * {0, 1, ..., lanes-1}
  kBroadcast,  // scalar to lanes
  kReduceAdd,
  kReduceMul,
  kReduceMin,
  kReduceMax,
  kReduceAnd,
  kReduceOr,  // all lanes to one
  // tensor expressions only
  kReduce,  // reduction over axes, see Reduction
  // loop IR for CPUs that have it, after math functions are expanded
  kScale,  // a * 2^b: f32 or f64, b without a fraction or infinite; rounds once, also to denormal numbers
};

using VariableId = uint32_t;

enum class ReduceKind : uint8_t { kSum, kProduct, kMin, kMax, kAnd, kOr, kArgMin, kArgMax };

class Expr;

// A reduction: axes[k] is a variable that runs over [0, extents[k]); the first operand of the node is the
// body. Sums accumulate in `accumulator` dtype and are converted to the node's dtype at the end.
// ArgMin/ArgMax: the result is the i64 index along the one axis; ties go to the first, or to the last with
// `select_last`.
struct Reduction {
  ReduceKind kind = ReduceKind::kSum;
  DType accumulator = DType::kInvalid;
  bool select_last = false;
  std::vector<VariableId> axes;
  std::vector<Expr> extents;
};

struct ExprNode;

class Expr {
 public:
  Expr() = default;
  explicit Expr(std::shared_ptr<const ExprNode> node) : node_(std::move(node)) {}
  bool valid() const { return node_ != nullptr; }
  const ExprNode* operator->() const { return node_.get(); }
  const ExprNode& operator*() const { return *node_; }
  const ExprNode* get() const { return node_.get(); }
  ExprOp op() const;
  DType dtype() const;
  int lanes() const;

 private:
  std::shared_ptr<const ExprNode> node_;
};

struct ExprNode {
  ExprOp op = ExprOp::kConstant;
  DType dtype = DType::kInvalid;
  int lanes = 1;
  std::vector<Expr> operands;
  uint32_t id = 0;          // kVariable: the variable; kElement: the input; kLoad: the buffer
  int64_t integer = 0;      // kConstant of integer and bool types
  double number = 0;        // kConstant of float types
  bool saturate = true;     // kCast to 8-bit floats
  bool is_falling = false;  // kExp: of 0 at most, or NaN, which costs less
  ir::Dim dim;              // kDim
  std::shared_ptr<const Reduction> reduction;  // kReduce
};

inline ExprOp Expr::op() const { return node_->op; }
inline DType Expr::dtype() const { return node_->dtype; }
inline int Expr::lanes() const { return node_->lanes; }

// Building. Operands must agree in dtype and lanes (a scalar operand is broadcast); a mismatch is a defect of
// the caller. What operations give on constants is scalar_math.h; functions that generated code approximates
// are not folded. kDiv and kRemainder of dims become floor division when the range of the dims says >= 0
// (symbols are, by default).
Expr IntConstant(int64_t value, DType dtype = DType::kI64);
Expr FloatConstant(double value, DType dtype = DType::kF32);
Expr Constant(DType dtype, double value);  // any numeric dtype or bool
Expr BoolConstant(bool value);
Expr DimValue(const ir::Dim& dim);  // i64
Expr Variable(VariableId id, DType dtype = DType::kI64, int lanes = 1);
Expr Element(uint32_t input, DType dtype, std::vector<Expr> index);
Expr Load(uint32_t buffer, DType dtype, Expr index, Expr mask = {});
// The operator on i64 that is one on dims, and the other way round; those on dims that compare give bool
// here. nullopt: there is none.
std::optional<ExprOp> ExprOpOf(ir::DimOp op);
std::optional<ir::DimOp> DimOpOf(ExprOp op);
Expr Unary(ExprOp op, Expr a);
Expr FallingExp(Expr a);  // kExp of what is 0 at most, or NaN
Expr Binary(ExprOp op, Expr a, Expr b);
Expr Select(Expr condition, Expr then, Expr otherwise);
Expr Fma(Expr a, Expr b, Expr c);
Expr DotBytes(Expr a, Expr b, Expr c);
Expr Scale(Expr a, Expr b);
Expr Cast(DType to, Expr a, bool saturate = true);  // bool from number: != 0
Expr Bitcast(DType to, Expr a);
Expr Ramp(Expr base, Expr step, int lanes);
Expr Broadcast(Expr a, int lanes);
Expr Reduce(Reduction reduction, Expr body, DType dtype);

inline Expr operator+(Expr a, Expr b) { return Binary(ExprOp::kAdd, std::move(a), std::move(b)); }
inline Expr operator-(Expr a, Expr b) { return Binary(ExprOp::kSub, std::move(a), std::move(b)); }
inline Expr operator*(Expr a, Expr b) { return Binary(ExprOp::kMul, std::move(a), std::move(b)); }
inline Expr operator/(Expr a, Expr b) { return Binary(ExprOp::kDiv, std::move(a), std::move(b)); }
inline Expr Equal(Expr a, Expr b) { return Binary(ExprOp::kEqual, std::move(a), std::move(b)); }
inline Expr Less(Expr a, Expr b) { return Binary(ExprOp::kLess, std::move(a), std::move(b)); }
inline Expr LessEqual(Expr a, Expr b) { return Binary(ExprOp::kLessEqual, std::move(a), std::move(b)); }
inline Expr And(Expr a, Expr b) { return Binary(ExprOp::kAnd, std::move(a), std::move(b)); }
inline Expr Or(Expr a, Expr b) { return Binary(ExprOp::kOr, std::move(a), std::move(b)); }
inline Expr Min(Expr a, Expr b) { return Binary(ExprOp::kMin, std::move(a), std::move(b)); }
inline Expr Max(Expr a, Expr b) { return Binary(ExprOp::kMax, std::move(a), std::move(b)); }
inline Expr FloorDiv(Expr a, Expr b) { return Binary(ExprOp::kFloorDiv, std::move(a), std::move(b)); }
inline Expr FloorMod(Expr a, Expr b) { return Binary(ExprOp::kFloorMod, std::move(a), std::move(b)); }

bool IsConstant(const Expr& a);  // kConstant
bool IsIntConstant(const Expr& a, int64_t value);
// Structural equality.
bool Same(const Expr& a, const Expr& b);
// Replaces variables.
Expr Substitute(const Expr& a, std::span<const std::pair<VariableId, Expr>> replacements);
std::string ToString(const Expr& a);

}  // namespace tvmvm::tensor
