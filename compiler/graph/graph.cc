#include "compiler/graph/graph.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/dim/signed_symbols.h"
#include "compiler/graph/core_op.h"

namespace tvmvm::ir {

DeviceSpec SpecOf(uint32_t device) {
  if (device == kHostDevice) return {};
  return {DeviceClass::kGpu, device - kFirstGpu};
}

std::string DeviceText(uint32_t device) { return DeviceSpecName(SpecOf(device)); }

namespace {

// The attribute where it is there and of the wanted kind, else a static empty one.
template <class T>
const T& AttributeOr(const Node& node, std::string_view name, const T& otherwise) {
  const Attribute* attribute = node.Find(name);
  const T* value = attribute ? std::get_if<T>(attribute) : nullptr;
  return value ? *value : otherwise;
}

}  // namespace

std::string_view LayoutName(Layout layout) {
  return layout == Layout::kChannelsLast ? "channels_last" : "channels_first";
}

Type Type::Tensor(DType dtype, Dims dims) {
  Type type;
  type.dtype = dtype;
  type.dims = std::move(dims);
  return type;
}

std::string Type::ToString() const {
  if (kind == TypeKind::kTensor) {
    std::string text = fmt::format("tensor<{}", DTypeName(dtype));
    if (!ranked && ranks == kAnyRank) return text + ">";
    if (!ranked) {
      text += ",rank";
      for (int rank = 0; rank < kMostRanks; ++rank)
        if ((ranks >> rank & 1) != 0) text += fmt::format(" {}", rank);
      return text + ">";
    }
    text += ",[";
    for (size_t i = 0; i < dims.size(); ++i) text += (i ? "," : "") + dims[i].ToString();
    return text + "]>";
  }
  std::string text = kind == TypeKind::kSequence   ? "sequence<"
                     : kind == TypeKind::kOptional ? "optional<"
                                                   : "tuple<";
  for (size_t i = 0; i < elements.size(); ++i) text += (i ? "," : "") + elements[i].ToString();
  return text + ">";
}

TensorData TensorData::Owned(DType dtype, std::vector<int64_t> dims, std::vector<std::byte> bytes) {
  auto storage = std::make_shared<const std::vector<std::byte>>(std::move(bytes));
  TensorData data;
  data.dtype = dtype;
  data.dims = std::move(dims);
  data.bytes = *storage;
  data.owner = std::move(storage);
  return data;
}

int64_t TensorData::element_count() const {
  int64_t count = 1;
  for (int64_t dim : dims)
    if (__builtin_mul_overflow(count, dim, &count)) return INT64_MAX;
  return count;
}

const Attribute* Node::Find(std::string_view name) const {
  for (const auto& [key, value] : attributes)
    if (key == name) return &value;
  return nullptr;
}

int64_t Node::Int(std::string_view name, int64_t otherwise) const {
  return AttributeOr<int64_t>(*this, name, otherwise);
}

double Node::Float(std::string_view name, double otherwise) const {
  return AttributeOr<double>(*this, name, otherwise);
}

const std::string& Node::String(std::string_view name) const {
  static const std::string kEmpty;
  return AttributeOr<std::string>(*this, name, kEmpty);
}

const std::vector<int64_t>& Node::Ints(std::string_view name) const {
  static const std::vector<int64_t> kEmpty;
  return AttributeOr<std::vector<int64_t>>(*this, name, kEmpty);
}

const Dims& Node::DimList(std::string_view name) const {
  static const Dims kEmpty;
  return AttributeOr<Dims>(*this, name, kEmpty);
}

const SymbolId& Node::Symbol(std::string_view name) const {
  static const SymbolId kNone;
  return AttributeOr<SymbolId>(*this, name, kNone);
}

const std::vector<SymbolId>& Node::Symbols(std::string_view name) const {
  static const std::vector<SymbolId> kEmpty;
  return AttributeOr<std::vector<SymbolId>>(*this, name, kEmpty);
}

Layout Node::LayoutOf(std::string_view name) const {
  return AttributeOr<Layout>(*this, name, Layout::kChannelsFirst);
}

int64_t DecisionField::Get(const Decisions& decisions) const {
  return std::visit([&](auto member) { return static_cast<int64_t>(decisions.*member); }, field);
}

void DecisionField::Set(Decisions* decisions, int64_t value) const {
  if (auto* flag = std::get_if<bool Decisions::*>(&field))
    decisions->** flag = value != 0;
  else
    decisions->*std::get<int64_t Decisions::*>(field) = value;
}

std::span<const DecisionField> DecisionFields() {
  static constexpr auto kIsLoop = [](const CoreOp& op) { return op.kind == OpKind::kLoop; };
  static constexpr DecisionField kFields[] = {
      {"expected_steps", &Decisions::expected_steps, kIsLoop},
      {"in_place", &Decisions::in_place,
       [](const CoreOp& op) { return op.traits.updates || op.traits.axes == AxisMap::kConcat; }},
      {"outline", &Decisions::outline, kIsLoop},
      {"poll", &Decisions::poll, kIsLoop},
      {"polls", &Decisions::polls, kIsLoop},
  };
  return kFields;
}

const TensorData* Node::Data(std::string_view name) const {
  static const std::shared_ptr<const TensorData> kNone;
  return AttributeOr<std::shared_ptr<const TensorData>>(*this, name, kNone).get();
}

ValueId Function::AddValue(Type type, std::string name) {
  Value value;
  value.type = std::move(type);
  value.name = std::move(name);
  values.push_back(std::move(value));
  return ValueId{static_cast<uint32_t>(values.size() - 1)};
}

RegionId Function::AddRegion() {
  regions.emplace_back();
  return RegionId{static_cast<uint32_t>(regions.size() - 1)};
}

void Type::NameLargeDims(const RangeLookup& ranges) {
  for (Dim& dim : dims)
    if (dim.size() > Dim::kMaxPlain) dim = Dim::Named(dim, RangeOf(dim, ranges));
}

NodeId Function::AddNode(Node node) {
  NodeId id{static_cast<uint32_t>(nodes.size())};
  for (ValueId output : node.outputs) values[output.index].producer = id;
  nodes.push_back(std::move(node));
  return id;
}

const TensorData* Function::ConstantOf(ValueId id) const {
  if (!id.valid() || !values[id.index].producer.valid()) return nullptr;
  const Node& node = nodes[values[id.index].producer.index];
  return node.op && node.op->kind == OpKind::kConstant ? node.Data("data") : nullptr;
}

uint32_t DeviceCount(const Function& function) {
  uint32_t count = kHostDevice + 1;
  for (const Value& value : function.values) count = std::max(count, value.device + 1);
  return count;
}

Dim Module::FreshSymbol(SymbolInfo info) {
  for (;;) {
    info.made = now_;
    const std::string_view prefix = info.range.low < 0 ? kSignedPrefix : "s";
    SymbolId symbol(fmt::format("{}{}", prefix, now_.count++));
    if (symbols.emplace(symbol, info).second) return Dim::Symbol(std::move(symbol));
  }
}

bool Module::IsMadeSince(const SymbolId& symbol, SymbolTime time) const {
  auto found = symbols.find(symbol);
  return found != symbols.end() && found->second.made >= time;
}

RangeLookup Module::Ranges() const {
  return [this](const SymbolId& symbol) {
    auto found = symbols.find(symbol);
    return found == symbols.end() ? DimRange{} : found->second.range;
  };
}

}  // namespace tvmvm::ir
