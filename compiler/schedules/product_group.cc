#include "compiler/schedules/product_group.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/schedules/coded_panels.h"

namespace tvmvm::tensor {
namespace {

bool IsPull(ir::OpKind kind) {
  switch (kind) {
    case ir::OpKind::kConstant:
    case ir::OpKind::kDimsTensor:
    case ir::OpKind::kElementwise:
    case ir::OpKind::kMovement:
    case ir::OpKind::kView:
      return true;
    default:
      return false;
  }
}

bool SameIndex(std::span<const Expr> a, std::span<const Expr> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Expr& x, const Expr& y) { return Same(x, y); });
}

// Whether `value` is decoded from codes whose products may be those of bytes (CodedPanels).
bool MayBeCodes(const ir::Function& function, ir::ValueId value) {
  const ir::NodeId producer = function.value(value).producer;
  if (!producer.valid()) return false;
  const ir::Node& node = function.node(producer);
  if (node.op == nullptr || !node.op->traits.decodes) return false;
  const int bits = DTypeBits(function.type(node.inputs[0]).dtype);
  auto fits = [bits](int64_t block) { return block > 1 && MayBeDigits(block, bits); };
  return node.Int("byte_data", 0) != 0 || std::ranges::any_of(node.Ints("blocks"), fits);
}

}  // namespace

ir::NodeId FindAnchor(const GroupView& group, ir::OpKind kind) {
  ir::NodeId anchor;
  for (ir::NodeId id : group.nodes()) {
    const ir::CoreOp* op = group.function().node(id).op;
    if (op == nullptr) return {};
    if (op->kind == kind && !anchor.valid()) {
      anchor = id;
    } else if (!IsPull(op->kind)) {
      return {};
    }
  }
  return anchor;
}

DType ProductAccumulator(DType a, DType b, DType result) {
  if (a == DType::kF64 && b == DType::kF64) return DType::kF64;
  auto is_f32_or_less = [](DType t) { return t == DType::kF32 || t == DType::kF16 || t == DType::kBF16; };
  if (is_f32_or_less(a) && is_f32_or_less(b)) return DType::kF32;
  auto is_small_integer = [](DType t) {
    return t == DType::kI8 || t == DType::kU8 || t == DType::kI16 || t == DType::kU16 || t == DType::kI32;
  };
  if (is_small_integer(a) && is_small_integer(b) && result == DType::kI32) return DType::kI32;
  return DType::kInvalid;
}

bool IsProductOfBytes(DType left, DType right, DType accumulator) {
  return left == DType::kU8 && right == DType::kI8 && accumulator == DType::kI32;
}

bool HasProductsOfBytes(const ir::Module& module) {
  for (const ir::Function& function : module.functions) {
    for (const ir::Node& node : function.nodes) {
      if (node.op == nullptr || !IsProduct(*node.op)) continue;
      if (MayBeCodes(function, node.inputs[0]) || MayBeCodes(function, node.inputs[1])) return true;
      auto dtype = [&](ir::ValueId value) { return function.type(value).dtype; };
      if (IsProductOfBytes(dtype(node.inputs[0]), dtype(node.inputs[1]), dtype(node.outputs[0]))) return true;
    }
  }
  return false;
}

std::vector<uint32_t> AddOutputs(const GroupView& group, LoopKernel* kernel,
                                 std::vector<KernelArgument>* arguments) {
  std::vector<uint32_t> outputs;
  for (size_t i = 0; i < group.outputs().size(); ++i) {
    DType dtype = group.type(group.outputs()[i]).dtype;
    outputs.push_back(kernel->AddArgument(fmt::format("out{}", i), dtype, Access::kWrite));
    arguments->push_back({ArgumentKind::kOutput, static_cast<uint32_t>(i)});
  }
  return outputs;
}

Status AddCall(const ir::Dim& when, const KernelBuilder& build, GroupProgram* program) {
  std::set<int> wanted;
  {
    LoopKernel draft;
    TVMVM_TRY(wanted, build({}, &draft, nullptr));
  }
  KernelCall call;
  call.when = when;
  TVMVM_TRY(wanted, build(wanted, &call.kernel, &call.arguments));
  program->calls.push_back(std::move(call));
  return {};
}

ir::Dims ContractionOperand::Sizes(const GroupView& group, const std::vector<int64_t>& list) const {
  ir::Dims sizes;
  for (int64_t axis : list) sizes.push_back(group.type(value).dims[static_cast<size_t>(axis)]);
  return sizes;
}

ContractionOperand MakeOperand(const GroupView& group, ir::ValueId value, const std::vector<int64_t>& batch,
                               const std::vector<int64_t>& depth) {
  ContractionOperand operand{value, {batch, depth, {}}};
  for (int64_t axis = 0; axis < group.type(value).rank(); ++axis)
    if (std::ranges::find(batch, axis) == batch.end() && std::ranges::find(depth, axis) == depth.end())
      operand.axes.free.push_back(axis);
  return operand;
}

InputReader::InputReader(const GroupView& group, const std::set<int>& wanted, LoopKernel* kernel)
    : group_(group) {
  for (int input : wanted) {
    std::string name = fmt::format("in{}", input);
    buffers_[input] =
        kernel->AddArgument(std::move(name), group.type(group.inputs()[input]).dtype, Access::kRead);
    arguments_.push_back({ArgumentKind::kInput, static_cast<uint32_t>(input)});
  }
}

int InputOf(const GroupView& group, ir::ValueId value) {
  while (true) {
    if (int input = group.InputNumber(value); input >= 0) return input;
    ir::NodeId producer = group.function().value(value).producer;
    if (!producer.valid()) return -1;
    const ir::Node& node = group.function().node(producer);
    if (node.op == nullptr || node.op->kind != ir::OpKind::kView || node.inputs.empty()) return -1;
    value = node.inputs[0];
  }
}

Expr InputReader::operator()(ir::ValueId value, std::span<const Expr> index) {
  int input = InputOf(value);
  if (input < 0) return {};
  return AtFlat(input, group_.type(value).dtype, FlatIndex(group_.type(value).dims, index));
}

Expr InputReader::AtFlat(int input, DType dtype, const Expr& flat) {
  return Load(Buffer(input), dtype, flat);
}

uint32_t InputReader::Buffer(int input) {
  touched_.insert(input);
  auto buffer = buffers_.find(input);
  // An input without an argument is asked for only while the inputs are being counted.
  return buffer == buffers_.end() ? 0 : buffer->second;
}

std::optional<ProductResults> ProductResults::Find(const GroupView& group, ir::NodeId anchor) {
  ProductResults results(group, group.function().node(anchor).outputs[0]);
  if (!results.Trace(anchor)) return std::nullopt;
  return results;
}

bool ProductResults::Trace(ir::NodeId anchor) {
  const ir::Function& function = group_->function();
  traced_[result_] = anchor;
  for (ir::NodeId id : group_->nodes()) {
    const ir::Node& node = function.node(id);
    if (id == anchor) continue;
    std::vector<ir::ValueId> sources;
    for (ir::ValueId input : node.inputs)
      if (input.valid() && traced_.contains(input)) sources.push_back(input);
    if (sources.empty()) continue;
    for (ir::ValueId output : node.outputs) traced_[output] = id;
    if (node.op->kind == ir::OpKind::kView || IsPermutation(&node)) continue;
    // Elementwise: all traced operands have the result's own dims and stand at the same position.
    if (node.op->kind != ir::OpKind::kElementwise) return false;
    Position probe;
    for (int axis = 0; axis < function.type(result_).rank(); ++axis)
      probe.coordinates.push_back(Variable(static_cast<VariableId>(axis)));
    probe.flat = FlatIndex(function.type(result_).dims, probe.coordinates);
    Position first = PositionOf(sources[0], probe);
    for (ir::ValueId source : sources) {
      if (!(function.type(source).dims == function.type(node.outputs[0]).dims)) return false;
      if (!SameIndex(PositionOf(source, probe).coordinates, first.coordinates)) return false;
    }
  }
  return std::all_of(group_->outputs().begin(), group_->outputs().end(),
                     [&](ir::ValueId output) { return traced_.contains(output); });
}

ProductResults::Position ProductResults::PositionOf(ir::ValueId value, const Position& position) const {
  if (value == result_) return position;
  const ir::Function& function = group_->function();
  const ir::Node& node = function.node(traced_.at(value));
  auto source = std::find_if(node.inputs.begin(), node.inputs.end(),
                             [&](ir::ValueId input) { return input.valid() && traced_.contains(input); });
  Position from = PositionOf(*source, position);
  const ir::Dims& dims = function.type(value).dims;
  if (node.op->kind == ir::OpKind::kView) return {Unflatten(from.flat, dims), from.flat};
  if (!IsPermutation(&node)) return from;
  const std::vector<int64_t>& perm = node.Ints("perm");
  std::vector<Expr> coordinates;
  for (int64_t axis : perm) coordinates.push_back(from.coordinates[static_cast<size_t>(axis)]);
  Expr flat = FlatIndex(dims, coordinates);
  return {std::move(coordinates), std::move(flat)};
}

bool ProductResults::IsResultAsF32(ir::ValueId value) const {
  const ir::Function& function = group_->function();
  const ir::NodeId producer = function.value(value).producer;
  return producer.valid() && function.node(producer).op->scalar == ExprOp::kCast &&
         function.node(producer).inputs[0] == result_ && function.type(value).dtype == DType::kF32;
}

bool ProductResults::KeepOrder() const {
  const ir::Dims& dims = group_->type(result_).dims;
  Position probe;
  for (size_t axis = 0; axis < dims.size(); ++axis)
    probe.coordinates.push_back(Variable(static_cast<VariableId>(axis)));
  probe.flat = FlatIndex(dims, probe.coordinates);
  return std::ranges::all_of(group_->outputs(), [&](ir::ValueId output) {
    return group_->type(output).dims == dims &&
           SameIndex(PositionOf(output, probe).coordinates, probe.coordinates);
  });
}

Expected<std::vector<ProductResults::Element>> ProductResults::Elements(const Position& position,
                                                                        const Expr& element,
                                                                        InputReader& reader,
                                                                        LoopKernel* kernel,
                                                                        const Expr& as_f32) const {
  const ir::Dims& dims = group_->type(result_).dims;
  auto leaf = [&](ir::ValueId value, std::span<const Expr> index) -> Expr {
    if (value == result_) return Cast(group_->type(result_).dtype, element);
    if (as_f32.valid() && IsResultAsF32(value)) return as_f32;
    // An operand of the result's own dims lies at the result's own offset.
    int input = reader.InputOf(value);
    if (input >= 0 && group_->type(value).dims == dims && SameIndex(index, position.coordinates))
      return reader.AtFlat(input, group_->type(value).dtype, position.flat);
    return reader(value, index);
  };
  std::vector<Element> elements;
  for (ir::ValueId output : group_->outputs()) {
    Position at = PositionOf(output, position);
    Expr value = group_->Expand(output, at.coordinates, leaf, kernel);
    if (!value.valid()) return MakeError(Code::kInternal, "a value after a matrix product has no element");
    elements.push_back({std::move(at.flat), std::move(value)});
  }
  return elements;
}

Status ProductResults::Store(Nest& nest, const Position& position, const Expr& element, InputReader& reader,
                             const std::vector<uint32_t>& outputs, const Expr& as_f32) const {
  TVMVM_TRY(std::vector<Element> elements, Elements(position, element, reader, nest.kernel(), as_f32));
  std::vector<Expr> roots;
  for (Element& of_output : elements) {
    roots.push_back(std::move(of_output.at));
    roots.push_back(std::move(of_output.value));
  }
  std::vector<Expr> placed = nest.Place(roots);
  for (size_t i = 0; i < outputs.size(); ++i)
    nest.Add(tensor::Store(outputs[i], placed[2 * i], placed[2 * i + 1]));
  return {};
}

}  // namespace tvmvm::tensor
