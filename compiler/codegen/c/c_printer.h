// Prints one loop IR kernel as OpenCL C or GLSL. Private to this folder.
//
// Values: numbers below 32 bits are held in 32: integers extended, f16 and bf16 as f32 that is always rounded
// to the type, 8- and 4-bit floats as their bits. f32 vectors of the lengths that the language knows are
// vectors; all other vectors are scalars side by side. Names of variables end in _<number>, so they cannot
// meet names of the language.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "compiler/codegen/c/c_prelude.h"
#include "compiler/loops/loop_ir.h"
#include "tvm-vm/status.h"

namespace tvmvm::codegen {

// Whether work-items wait for one another or share memory. Where they do not, one text in OpenCL C serves
// devices that run them side by side and, with TVMVM_SERIAL, those where a loop does: see DialectHeader.
bool ItemsMeet(const tensor::LoopKernel& kernel);

class CPrinter {
 public:
  // `kernel`: prepared and unrolled (prepare_kernel.h). `scalars`: what a launch passes, in order.
  CPrinter(Dialect dialect, const tensor::LoopKernel& kernel, std::string symbol,
           std::vector<ir::Dim> scalars);

  // The kernel's function; GLSL: with the declarations that it needs. Errors: kUnsupported or kInternal
  // naming the kernel.
  Expected<std::string> Print();
  // Functions that the text calls; complete after Print.
  const Prelude& prelude() const { return prelude_; }
  const TextNeeds& needs() const { return needs_; }

 private:
  using Expr = tensor::Expr;
  using ExprOp = tensor::ExprOp;
  using Text = std::string;

  // What an expression became: text for each lane, or one text for a vector of the language.
  struct Value {
    std::vector<Text> lanes;
    int vector_lanes = 0;  // > 0: lanes[0] is a vector
    const Text& scalar() const { return lanes[0]; }
  };

  // A buffer as the text knows it.
  struct Place {
    Text name;
    int vector_lanes = 0;  // > 0: a local array of vectors
  };

  // c_printer.cc: frame and statements
  Text OpenClFrame();
  Text GlslFrame();
  Text GlslBlocks() const;
  Text BlockName(const tensor::BufferInfo& info) const;
  void BindGrid();
  void Statement(const tensor::Stmt& s);
  void Loop(const tensor::Stmt& s);
  void GroupReduce(const tensor::Stmt& s);
  void Condition(const tensor::Stmt& s);
  void Let(const tensor::Stmt& s);
  void Allocate(uint32_t buffer);
  void CountUses(const tensor::Stmt& s);
  void Line(const Text& text);
  Text NewName(const Text& base);
  Text ScalarOf(const ir::Dim& dim);
  Value Defect(const Expr& e, const char* why);

  // c_expression.cc
  Value Emit(const Expr& e);
  Text Scalar(const Expr& e) { return Emit(e).lanes[0]; }
  Value EmitUncached(const Expr& e);
  Value EmitVariable(const Expr& e);
  Value EmitLanes(const Expr& e);
  Value EmitVector(const Expr& e);  // f32, of a length that the language has
  Text Lane(const Expr& e, const std::vector<Text>& operands);
  Text Constant(const Expr& e) const;
  Text FloatText(DType dtype, double number) const;
  Text FloatUnary(const Expr& e, const Text& a);
  Text IntegerUnary(const Expr& e, const Text& a);
  Text Binary(ExprOp op, DType dtype, const Text& a, const Text& b, const Expr* right, bool is_index);
  Text FloatBinary(ExprOp op, DType dtype, const Text& a, const Text& b);
  Text IntegerBinary(ExprOp op, DType dtype, const Text& a, const Text& b, const Expr* right, bool is_index);
  Text Division(ExprOp op, DType dtype, const Text& a, const Text& b, const Expr* right);
  Text Shift(ExprOp op, DType dtype, Text a, Text b, const Expr* right);
  Text Comparison(const Expr& e, const Text& a, const Text& b);
  Value LaneReduction(const Expr& e);
  bool IsIndex(const Expr& e);
  bool IsVectorType(DType dtype, int lanes) const;
  Value AsVector(const Value& value, int lanes);  // of f32
  Value AsLanes(const Value& value);              // scalars side by side
  // A variable that holds the text, unless it is a name or number already.
  Text Hold(const Text& type, const Text& text);
  Text Declare(const Text& type, const Text& text, const Text& base);  // a variable in any case
  void HoldValue(const Expr& e, Value* value);
  Text Call(const Text& function, const std::vector<Text>& arguments);

  // c_conversion.cc
  static const char* RegisterType(DType dtype);
  static const char* MemoryType(DType dtype);
  Text Cast(DType from, DType to, const Text& a);
  Text Bitcast(DType from, DType to, const Text& a);
  Text RoundTo(DType dtype, const Text& f32);
  Text WrapTo(DType dtype, const Text& number);
  Text ToMemory(DType dtype, const Text& value);
  Text FromMemory(DType dtype, const Text& value);
  Text ToBits(DType dtype, const Text& value);
  Text FromBits(DType dtype, const Text& bits);
  static Text Zero(DType dtype);

  // c_memory.cc
  using Indices = std::vector<Text>;
  Value Load(const Expr& e);
  Text LocalIndex(const Expr& e, int64_t by);
  Indices IndicesOf(uint32_t buffer, const Expr& index, int lanes);
  Text VectorPointer(uint32_t buffer, const Expr& base, int lanes);
  Text LoadVector(uint32_t buffer, const Text& from, int lanes);
  Text LoadOne(uint32_t buffer, const Text& index);
  Text LoadPacked(uint32_t buffer, const Text& index);
  Text Element(uint32_t buffer, const Text& index);
  Text VectorElement(uint32_t buffer, const Expr& base, int lanes);
  void Store(const tensor::Stmt& s);
  void Transpose(const tensor::Stmt& s);
  void StoreOne(uint32_t buffer, const Text& index, const Text& value, const Text& mask);
  void StorePacked(uint32_t buffer, const Text& index, const Text& value);
  void ChooseVectorPlaces();
  bool IsMultiple(const Expr& e, int64_t of) const;

  // c_matrix.cc: matrices, and the f16 numbers that they are made of, which local buffers of such kernels
  // hold eight at a time, as the bits that memory has
  bool HoldsEights(uint32_t buffer) const;
  bool AllocateForMatrices(uint32_t buffer);
  void Matrix(const tensor::Stmt& s);
  Text MatrixName(uint32_t buffer, const Expr& index);
  Text Halves(uint32_t buffer, const Expr& from, int lanes);
  Text HalfBits(const Expr& e);
  void StoreHalves(const tensor::Stmt& s);

  bool has_item_loops_;  // by the macros of DialectHeader
  Dialect dialect_;
  const tensor::LoopKernel& kernel_;
  Text symbol_;
  std::vector<ir::Dim> dims_;
  Status status_;
  Prelude prelude_;
  TextNeeds needs_;

  Text body_, shared_;
  int depth_ = 1;
  int names_ = 0;
  std::vector<Place> places_;                  // by buffer
  std::unordered_map<uint32_t, int> vectors_;  // local buffers that are arrays of vectors: their lanes
  std::vector<Text> scalar_names_;
  std::unordered_map<tensor::VariableId, Value> variables_;
  std::unordered_map<tensor::VariableId, bool> is_index_;      // variables: from loops and dims only
  std::unordered_map<tensor::VariableId, int64_t> multiples_;  // of what number a variable is a multiple
  std::unordered_map<const tensor::ExprNode*, int> uses_;      // in the current statement
  std::unordered_map<const tensor::ExprNode*, Value> emitted_;
  std::vector<Expr> kept_;  // made while printing: keeps the nodes of emitted_ alive
};

}  // namespace tvmvm::codegen
