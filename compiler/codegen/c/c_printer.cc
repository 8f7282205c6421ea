#include "compiler/codegen/c/c_printer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <limits>
#include <set>

#include "bytecode/kernel_abi.h"
#include "compiler/expr/rewrite.h"
#include "compiler/loops/loop_rewrite.h"

namespace tvmvm::codegen {

using tensor::BufferInfo;
using tensor::Memory;
using tensor::Stmt;
using tensor::StmtKind;
using tensor::StmtPtr;

namespace {

const char* SubgroupFunction(tensor::ExprOp combine) {
  switch (combine) {
    case tensor::ExprOp::kAdd:
      return "subgroupAdd";
    case tensor::ExprOp::kMul:
      return "subgroupMul";
    case tensor::ExprOp::kMin:
      return "subgroupMin";
    case tensor::ExprOp::kMax:
      return "subgroupMax";
    case tensor::ExprOp::kAnd:
      return "subgroupAnd";
    case tensor::ExprOp::kOr:
      return "subgroupOr";
    default:
      return nullptr;
  }
}

}  // namespace

bool ItemsMeet(const tensor::LoopKernel& kernel) {
  bool share = std::any_of(kernel.buffers.begin(), kernel.buffers.end(),
                           [](const BufferInfo& b) { return !b.is_argument && b.memory == Memory::kShared; });
  return kernel.GroupItems() > 1 && (share || tensor::HasBarrier(*kernel.body));
}

CPrinter::CPrinter(Dialect dialect, const tensor::LoopKernel& kernel, std::string symbol,
                   std::vector<ir::Dim> scalars)
    : has_item_loops_(dialect == Dialect::kOpenClC && kernel.GroupItems() > 1 && !ItemsMeet(kernel)),
      dialect_(dialect),
      kernel_(kernel),
      symbol_(std::move(symbol)),
      dims_(std::move(scalars)),
      prelude_(dialect),
      places_(kernel.buffers.size()) {
  needs_.matrices = tensor::HasMatrices(kernel);
}

Expected<std::string> CPrinter::Print() {
  for (uint32_t i = 0; i < kernel_.argument_count; ++i) places_[i].name = NewName(kernel_.buffers[i].name);
  for (size_t i = 0; i < dims_.size(); ++i) scalar_names_.push_back(NewName("s"));
  ChooseVectorPlaces();
  BindGrid();
  Statement(*kernel_.body);
  TVMVM_CHECK_OK(status_);
  return dialect_ == Dialect::kOpenClC ? OpenClFrame() : GlslFrame();
}

CPrinter::Text CPrinter::NewName(const Text& base) {
  Text name;
  for (char c : base.substr(0, 20)) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0]))) name = "v" + name;
  while (name.back() == '_') name.pop_back();  // GLSL keeps "__" for itself
  for (size_t at = name.find("__"); at != Text::npos; at = name.find("__")) name.erase(at, 1);
  return fmt::format("{}_{}", name.empty() ? "v" : name, names_++);
}

void CPrinter::Line(const Text& text) { body_ += fmt::format("{:{}}{}\n", "", 2 * depth_, text); }

CPrinter::Text CPrinter::OpenClFrame() {
  Text text =
      fmt::format("__kernel {}({}, {}, {}){}\nvoid {}(",
                  has_item_loops_ ? "GROUP" : "__attribute__((reqd_work_group_size", kernel_.group_size[0],
                  kernel_.group_size[1], kernel_.group_size[2], has_item_loops_ ? "" : "))", symbol_);
  text += "__global uchar* status, ulong status_offset";
  for (uint32_t i = 0; i < kernel_.argument_count; ++i)
    text += fmt::format(", __global uchar* b{0}, ulong o{0}", i);
  for (const Text& name : scalar_names_) text += fmt::format(", i64 {}", name);
  text += ", i64 points) {\n";
  for (uint32_t i = 0; i < kernel_.argument_count; ++i) {
    const BufferInfo& info = kernel_.buffers[i];
    Text type =
        fmt::format("__global {}{}*", !IsWritten(info.access) ? "const " : "", MemoryType(info.dtype));
    text += fmt::format("  {0} restrict {1} = ({0})(b{2} + o{2});\n", type, places_[i].name, i);
  }
  return text + shared_ + body_ + (has_item_loops_ ? "  }\n}\n" : "}\n");
}

CPrinter::Text CPrinter::BlockName(const BufferInfo& info) const {
  return fmt::format("{}_{}", !IsWritten(info.access) ? "In" : "Out", MemoryType(info.dtype));
}

CPrinter::Text CPrinter::GlslBlocks() const {
  std::set<Text> declared;
  Text text;
  for (uint32_t i = 0; i < kernel_.argument_count; ++i) {
    const BufferInfo& info = kernel_.buffers[i];
    if (!declared.insert(BlockName(info)).second) continue;
    int bytes = std::clamp(DTypeBits(info.dtype) / 8, 1, 8);
    text += fmt::format(
        "layout(buffer_reference, scalar, buffer_reference_align = {}) {}restrict buffer {} {{ {} v; }};\n",
        bytes, !IsWritten(info.access) ? "readonly " : "", BlockName(info), MemoryType(info.dtype));
  }
  return text;
}

CPrinter::Text CPrinter::GlslFrame() {
  Text fields = "u64 status; ";
  for (uint32_t i = 0; i < kernel_.argument_count; ++i) fields += fmt::format("u64 b{}; ", i);
  for (const Text& name : scalar_names_) fields += fmt::format("i64 {}; ", name);
  fields += "i64 points;";
  Text text = GlslBlocks();
  if (ArgumentsArePushed(kernel_.argument_count, dims_.size())) {
    text += fmt::format("layout(push_constant, scalar) uniform Arguments {{ {} }} arguments;\n", fields);
  } else {
    text += fmt::format(
        "layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer Block {{ {} }};\n"
        "layout(push_constant, scalar) uniform Arguments {{ Block arguments; }};\n",
        fields);
  }
  text +=
      fmt::format("layout(local_size_x = {}, local_size_y = {}, local_size_z = {}) in;\n{}void main() {{\n",
                  kernel_.group_size[0], kernel_.group_size[1], kernel_.group_size[2], shared_);
  for (uint32_t i = 0; i < kernel_.argument_count; ++i)
    text += fmt::format("  u64 {} = arguments.b{};\n", places_[i].name, i);
  for (const Text& name : scalar_names_) text += fmt::format("  i64 {0} = arguments.{0};\n", name);
  return text + body_ + "}\n";
}

// The point's coordinates from the flat index of the work-group.
void CPrinter::BindGrid() {
  bool is_opencl = dialect_ == Dialect::kOpenClC;
  const Text type = kernel_.small_sizes ? "i32" : "i64", zero = kernel_.small_sizes ? "0" : "0l";
  auto system = [&](const char* opencl, const char* glsl) {
    return fmt::format("to_{}({})", type, is_opencl ? opencl : glsl);
  };
  Line(fmt::format("{} point = {} + {} * {};", type, system("get_group_id(0)", "gl_WorkGroupID.x"),
                   system("get_group_id(1)", "gl_WorkGroupID.y"),
                   system("get_num_groups(0)", "gl_NumWorkGroups.x")));
  Line(fmt::format("if (point >= {}points) return;", is_opencl ? "" : "arguments."));
  bool has_z = !kernel_.grid_size[2].IsConstant(1), has_y = has_z || !kernel_.grid_size[1].IsConstant(1);
  auto bind = [&](tensor::VariableId variable, const Text& name, const Text& value) {
    bool is_name = value == "point" || value == zero;
    variables_[variable] = {{is_name ? value : Declare(type, value, name)}};
    is_index_[variable] = true;
  };
  Text coordinates[3] = {"point", zero, zero};
  auto split = [&](int axis, const Text& from) {
    Text size = fmt::format("to_{}({})", type, ScalarOf(kernel_.grid_size[axis]));
    coordinates[axis] = Call("rem_" + type, {from, size});
    coordinates[axis + 1] = Call("div_" + type, {from, size});
  };
  if (has_y) split(0, "point");
  if (has_z) {
    Text rows = Hold(type, coordinates[1]);
    split(1, rows);
  }
  for (int axis = 0; axis < 3; ++axis) bind(kernel_.grid[axis], "g", coordinates[axis]);
  if (kernel_.GroupItems() == 1) return;
  if (has_item_loops_) {
    Text loops;
    for (int axis = 2; axis >= 0; --axis)
      if (kernel_.group_size[axis] > 1)
        loops += fmt::format("FOR_ITEMS({}, {}) ", axis, kernel_.group_size[axis]);
    Line(loops + "{");
  }
  for (int axis = 0; axis < 3; ++axis)
    bind(kernel_.thread[axis], "thread",
         kernel_.group_size[axis] == 1 ? zero
         : has_item_loops_             ? fmt::format("to_{}(ITEM({}))", type, axis)
         : is_opencl                   ? fmt::format("to_{}(get_local_id({}))", type, axis)
                                       : fmt::format("to_{}(gl_LocalInvocationID.{})", type, "xyz"[axis]));
}

CPrinter::Text CPrinter::ScalarOf(const ir::Dim& dim) {
  if (auto constant = dim.constant()) return Constant(tensor::IntConstant(*constant));
  auto found = std::find(dims_.begin(), dims_.end(), dim);
  if (found != dims_.end()) return scalar_names_[static_cast<size_t>(found - dims_.begin())];
  status_ = MakeError(Code::kInternal, fmt::format("kernel '{}' needs {}, which no launch passes",
                                                   kernel_.name, dim.ToString()));
  return "0l";
}

void CPrinter::CountUses(const Stmt& s) {
  uses_.clear();
  emitted_.clear();
  kept_.clear();
  std::set<const tensor::ExprNode*> seen;
  for (const Expr* root : {&s.begin, &s.end, &s.value, &s.index, &s.mask}) {
    if (!root->valid()) continue;
    ++uses_[root->get()];
    tensor::VisitOnce(*root, [&](const Expr& e) {
      needs_.f64 |= e.dtype() == DType::kF64;
      if (!seen.insert(e.get()).second) return;
      for (const Expr& operand : e->operands) ++uses_[operand.get()];
    });
  }
}

void CPrinter::Statement(const Stmt& s) {
  CountUses(s);
  switch (s.kind) {
    case StmtKind::kBlock:
      for (const StmtPtr& child : s.body) Statement(*child);
      break;
    case StmtKind::kFor:
      Loop(s);
      break;
    case StmtKind::kIf:
      Condition(s);
      break;
    case StmtKind::kStore:
      Store(s);
      break;
    case StmtKind::kLet:
      Let(s);
      break;
    case StmtKind::kAllocate:
      Allocate(s.buffer);
      break;
    case StmtKind::kFail:
      prelude_.Need("fail");
      Line(fmt::format("fail({}, {});",
                       dialect_ == Dialect::kOpenClC ? "status + status_offset" : "arguments.status",
                       Scalar(tensor::FailureValue(s))));
      Line("return;");
      break;
    case StmtKind::kBarrier:
      if (kernel_.GroupItems() == 1) break;
      Line(dialect_ == Dialect::kOpenClC ? "barrier(CLK_LOCAL_MEM_FENCE);" : "barrier();");
      break;
    case StmtKind::kGroupReduce:
      GroupReduce(s);
      break;
    case StmtKind::kTranspose:
      Transpose(s);
      break;
    case StmtKind::kMatrix:
      Matrix(s);
      break;
  }
}

void CPrinter::Loop(const Stmt& s) {
  Text begin = Scalar(s.begin), end = Scalar(s.end), step = fmt::format("{}", s.step->integer);
  // The loop may write what its end was read from.
  bool may_change = end.find('[') != Text::npos || end.find(").v") != Text::npos;
  const Text type = RegisterType(s.begin.dtype());
  end = may_change ? Declare(type, end, "end") : Hold(type, end);
  Text name = NewName(s.variable < kernel_.variable_names.size() ? kernel_.variable_names[s.variable] : "i");
  Line(fmt::format("for ({4} {0} = {1}; {0} < {2}; {0} += {3}) {{", name, begin, end, step, type));
  variables_[s.variable] = {{name}};
  is_index_[s.variable] = true;
  multiples_[s.variable] = IsMultiple(s.begin, s.step->integer) ? s.step->integer : 1;
  ++depth_;
  Statement(*s.body[0]);
  --depth_;
  Line("}");
}

// Each subgroup combines what its work-items have, whatever its size is; all work-items combine what the
// subgroups have. Of numbers and NaN, subgroups may give either.
void CPrinter::GroupReduce(const Stmt& s) {
  const DType dtype = s.value.dtype();
  const bool chooses = s.combine == tensor::ExprOp::kMin || s.combine == tensor::ExprOp::kMax;
  const char* function = SubgroupFunction(s.combine);
  if (dialect_ != Dialect::kGlsl || function == nullptr) {
    Defect(s.value, "is reduced by subgroups");
    return;
  }
  needs_.subgroups = true;
  const Text type = RegisterType(dtype), parts = NewName("parts");
  Text own = Declare(type, Scalar(s.value), "own");
  Text part = Declare(type, fmt::format("{}({})", function, own), "part");
  if (chooses && IsFloat(dtype))
    Line(fmt::format("if (subgroupOr({})) {} = {};", Call("is_nan_f32", {own}), part,
                     FloatText(dtype, std::numeric_limits<double>::quiet_NaN())));
  shared_ += fmt::format("shared {} {}[{}];\n", type, parts, kernel_.GroupItems());
  Line(fmt::format("if (subgroupElect()) {}[gl_SubgroupID] = {};", parts, part));
  Line("barrier();");
  Text total = Declare(type, parts + "[0]", "total");
  Line("for (u32 i = 1u; i < gl_NumSubgroups; ++i) {");
  ++depth_;
  Line(fmt::format("{} = {};", total, Binary(s.combine, dtype, total, parts + "[i]", nullptr, false)));
  --depth_;
  Line("}");
  variables_[s.variable] = {{total}};
}

void CPrinter::Condition(const Stmt& s) {
  if (tensor::IsConstant(s.value)) {
    if (s.value->integer != 0) return Statement(*s.body[0]);
    if (s.body.size() > 1) Statement(*s.body[1]);
    return;
  }
  Line(fmt::format("if ({}) {{", Scalar(s.value)));
  ++depth_;
  Statement(*s.body[0]);
  if (s.body.size() > 1) {
    --depth_;
    Line("} else {");
    ++depth_;
    Statement(*s.body[1]);
  }
  --depth_;
  Line("}");
}

void CPrinter::Let(const Stmt& s) {
  is_index_[s.variable] = IsIndex(s.value);
  multiples_.erase(s.variable);
  for (int64_t of : {2, 4, 8, 16})
    if (IsInteger(s.value.dtype()) && s.value.lanes() == 1 && IsMultiple(s.value, of))
      multiples_[s.variable] = of;
  if (s.value.op() == ExprOp::kDim) {
    variables_[s.variable] = {{ScalarOf(s.value->dim)}};
    return;
  }
  Value value = Emit(s.value);
  Text base = s.variable < kernel_.variable_names.size() ? kernel_.variable_names[s.variable] : "v";
  Text type = RegisterType(s.value.dtype());
  if (value.vector_lanes > 0) type = fmt::format("f32x{}", value.vector_lanes);
  Value bound{{}, value.vector_lanes};
  for (const Text& lane : value.lanes) bound.lanes.push_back(Declare(type, lane, base));
  variables_[s.variable] = std::move(bound);
}

CPrinter::Value CPrinter::Defect(const Expr& e, const char* why) {
  if (status_)
    status_ = MakeError(Code::kUnsupported,
                        fmt::format("kernel '{}': {} x {} {}: {}", kernel_.name, DTypeName(e.dtype()),
                                    e.lanes(), why, tensor::ToString(e).substr(0, 200)));
  return {std::vector<Text>(static_cast<size_t>(e.lanes()), Zero(e.dtype())), 0};
}

}  // namespace tvmvm::codegen
