#include "compiler/graph/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "compiler/dim/dim_facts.h"
#include "compiler/graph/attribute_reader.h"
#include "compiler/graph/control.h"
#include "compiler/graph/core_op.h"
#include "compiler/graph/text_reader.h"
#include "compiler/graph/type_join.h"
#include "compiler/graph/verifier.h"

namespace tvmvm::ir {
namespace {

constexpr int kMaxDepth = 100;

class ModuleParser {
 public:
  // `facts` outlive the object; a dim that is one number stands in the module as that.
  ModuleParser(std::string_view text, const DimFacts& facts) : in_(text), facts_(facts) {}

  Expected<Module> Run() {
    while (!in_.AtEnd()) {
      function_ = nullptr;
      if (in_.Take("symbol")) {
        TVMVM_CHECK_OK(ParseSymbol());
      } else if (in_.Take("let")) {
        TVMVM_CHECK_OK(ParseNamedDim());
      } else if (in_.Take("type")) {
        TVMVM_CHECK_OK(ParseDataType());
      } else if (in_.Take("func")) {
        TVMVM_CHECK_OK(ParseFunction());
      } else {
        return in_.Fail("'symbol', 'let', 'type' or 'func'");
      }
    }
    for (const Function& function : module_.functions)
      for (const SymbolId& symbol : ParameterSymbols(function))
        if (auto known = module_.symbols.find(symbol); known != module_.symbols.end())
          known->second.scope = SymbolScope::kInput;
    for (const auto& [name, constructor] : constructors_)
      for (const TypeText& field : constructor.fields)
        if (!field.data_type.empty() && !data_types_.contains(field.data_type))
          return in_.Fail(
              fmt::format("a declaration of the type '{}' of a field of {}", field.data_type, name));
    return std::move(module_);
  }

 private:
  struct TypeText {
    Type type;
    std::string data_type;  // the declared name, where the type is one
  };
  // One way to make a value of a data type: in the graph a tuple whose tag is the constructor's position.
  struct Constructor {
    std::string data_type;
    int64_t tag = 0;
    std::vector<TypeText> fields;
  };
  struct Arm {
    RegionId region;
    bool given = false;
  };

  Expected<DimRange> ParseRange() {
    DimRange range;
    TVMVM_CHECK_OK(in_.Want("["));
    TVMVM_TRY(range.low, in_.Integer());
    TVMVM_CHECK_OK(in_.Want(","));
    TVMVM_TRY(range.high, in_.Integer());
    TVMVM_CHECK_OK(in_.Want("]"));
    return range;
  }

  Status ParseSymbol() {
    TVMVM_TRY(SymbolId symbol, Symbol(":"));
    TVMVM_CHECK_OK(in_.Want(":"));
    SymbolInfo info;
    TVMVM_TRY(info.range, ParseRange());
    if (in_.Take("input")) info.scope = SymbolScope::kInput;
    if (const auto fact = facts_.find(symbol.name()); fact != facts_.end())
      info.range = {std::max(info.range.low, fact->second.low), std::min(info.range.high, fact->second.high)};
    if (facts_.contains(symbol.name()) && info.range.low == info.range.high)
      in_.NameDim(std::move(symbol), Dim(info.range.low));
    else
      module_.symbols[symbol] = info;
    return {};
  }

  Status ParseNamedDim() {
    TVMVM_TRY(SymbolId name, Symbol(":"));
    TVMVM_CHECK_OK(in_.Want(":"));
    TVMVM_TRY(DimRange range, ParseRange());
    TVMVM_CHECK_OK(in_.Want("="));
    TVMVM_TRY(Dim definition, in_.DimUntil("\n"));
    in_.NameDim(std::move(name), Dim::Named(definition, range));
    return {};
  }

  // type Tree = Leaf(tensor<f32,[]>) | Node(Tree, Tree)
  Status ParseDataType() {
    std::string name(in_.Word());
    if (name.empty() || data_types_.contains(name)) return in_.Fail("a new type's name");
    std::vector<std::string>& constructors = data_types_[name];
    TVMVM_CHECK_OK(in_.Want("="));
    do {
      std::string constructor_name(in_.Word());
      Constructor constructor{.data_type = name, .tag = static_cast<int64_t>(constructors.size())};
      TVMVM_CHECK_OK(in_.Want("("));
      if (!in_.Take(")")) {
        do {
          TVMVM_TRY(TypeText field, ParseTypeText());
          constructor.fields.push_back(std::move(field));
        } while (in_.Take(","));
        TVMVM_CHECK_OK(in_.Want(")"));
      }
      bool is_new = !constructor_name.empty() && FindCoreOp(constructor_name) == nullptr &&
                    constructors_.emplace(constructor_name, std::move(constructor)).second;
      if (!is_new)
        return in_.Fail(fmt::format("a new constructor's name in place of '{}'", constructor_name));
      constructors.push_back(std::move(constructor_name));
    } while (in_.Take("|"));
    return {};
  }

  Expected<SymbolId> Symbol(std::string_view stops) {
    TVMVM_TRY(Dim dim, in_.DimUntil(stops));
    if (!dim.is_symbol()) return in_.Fail("a name before this");
    return dim.symbol();
  }

  Status ParseFunction() {
    module_.functions.emplace_back();
    function_ = &module_.functions.back();
    values_.clear();
    data_type_of_.clear();
    TVMVM_CHECK_OK(in_.Want("@"));
    TVMVM_TRY(SymbolId name, Symbol("{"));
    function_->name = name.name();
    TVMVM_CHECK_OK(in_.Want("{"));
    function_->body = function_->AddRegion();
    while (in_.Take("input")) {
      TVMVM_TRY(std::string name, in_.Quoted());
      TVMVM_CHECK_OK(in_.Want("="));
      TVMVM_TRY(ValueId value, ParseDefinition());
      function_->input_names.push_back(std::move(name));
      function_->region(function_->body).parameters.push_back(value);
    }
    while (!in_.Sees("output") && !in_.Sees("}")) TVMVM_CHECK_OK(ParseNode(function_->body, 0));
    while (in_.Take("output")) {
      TVMVM_TRY(std::string name, in_.Quoted());
      TVMVM_CHECK_OK(in_.Want("="));
      TVMVM_TRY(ValueId value, ParseUse());
      function_->output_names.push_back(std::move(name));
      function_->region(function_->body).results.push_back(value);
    }
    return in_.Want("}");
  }

  // %3 "name": type of [elements] on device
  Expected<ValueId> ParseDefinition() {
    TVMVM_CHECK_OK(in_.Want("%"));
    TVMVM_TRY(int64_t number, in_.Integer());
    std::string name;
    if (in_.Sees("\"")) {
      TVMVM_TRY(name, in_.Quoted());
    }
    TVMVM_CHECK_OK(in_.Want(":"));
    TVMVM_TRY(TypeText type, ParseTypeText());
    ValueId value = function_->AddValue(std::move(type.type), std::move(name));
    if (!type.data_type.empty()) data_type_of_[value] = std::move(type.data_type);
    if (in_.Take("of")) {
      TVMVM_TRY(function_->value(value).elements, in_.DimList());
    }
    if (in_.Take("on")) {
      TVMVM_TRY(function_->value(value).device, ParseGpu());
    }
    TVMVM_CHECK_OK(Bind(number, value));
    return value;
  }

  // "gpu", or "gpu:1" for the second.
  Expected<uint32_t> ParseGpu() {
    if (!in_.Take("gpu")) return in_.Fail("'gpu'");
    if (!in_.Take(":")) return kFirstGpu;
    TVMVM_TRY(const int64_t ordinal, in_.Integer());
    if (ordinal < 0 || ordinal >= kMaxDevices - kFirstGpu) return in_.Fail("the number of a GPU");
    return kFirstGpu + static_cast<uint32_t>(ordinal);
  }

  Status Bind(int64_t number, ValueId value) {
    if (!values_.emplace(number, value).second)
      return in_.Fail(fmt::format("%{} to be defined once", number));
    return {};
  }

  Expected<ValueId> ParseUse() {
    if (in_.Take("_")) return ValueId{};
    TVMVM_CHECK_OK(in_.Want("%"));
    TVMVM_TRY(int64_t number, in_.Integer());
    auto found = values_.find(number);
    if (found == values_.end()) return in_.Fail(fmt::format("%{} to be defined before its use", number));
    return found->second;
  }

  // A type, or the name of a declared one.
  Expected<TypeText> ParseTypeText() {
    for (std::string_view builtin : {"tensor", "sequence", "optional", "tuple"})
      if (in_.Sees(builtin)) {
        TVMVM_TRY(Type type, ParseType(0));
        return TypeText{std::move(type), ""};
      }
    std::string name(in_.Word());
    // Declarations of types, which lie outside of functions, may name those that follow.
    if (name.empty() || (function_ != nullptr && !data_types_.contains(name)))
      return in_.Fail(fmt::format("a type in place of '{}'", name));
    Type tuple;
    tuple.kind = TypeKind::kTuple;
    return TypeText{std::move(tuple), std::move(name)};
  }

  Expected<Type> ParseType(int depth) {
    if (depth > kMaxDepth) return in_.Fail("a less deeply nested type");
    Type type;
    if (in_.Take("tensor")) {
      TVMVM_CHECK_OK(in_.Want("<"));
      TVMVM_TRY(type.dtype, ReadDType(in_));
      type.ranked = in_.Take(",");
      if (type.ranked && in_.Take("rank")) {
        type.ranked = false;
        type.ranks = 0;
        while (!in_.Sees(">")) {
          TVMVM_TRY(int64_t rank, in_.Integer());
          if (rank < 0 || rank >= Type::kMostRanks) return in_.Fail("a rank");
          type.ranks |= 1u << rank;
        }
      } else if (type.ranked) {
        TVMVM_TRY(type.dims, in_.DimList());
      }
      TVMVM_CHECK_OK(in_.Want(">"));
      return type;
    }
    if (in_.Take("sequence"))
      type.kind = TypeKind::kSequence;
    else if (in_.Take("optional"))
      type.kind = TypeKind::kOptional;
    else if (in_.Take("tuple"))
      type.kind = TypeKind::kTuple;
    else
      return in_.Fail("a type");
    TVMVM_CHECK_OK(in_.Want("<"));
    if (in_.Take(">")) return type;
    do {
      TVMVM_TRY(Type element, ParseType(depth + 1));
      type.elements.push_back(std::move(element));
    } while (in_.Take(","));
    TVMVM_CHECK_OK(in_.Want(">"));
    return type;
  }

  Status ParseNode(RegionId region, int depth) {
    if (depth > kMaxDepth) return in_.Fail("less deeply nested regions");
    Node node;
    // Results become usable after the node.
    while (in_.Sees("%")) {
      TVMVM_TRY(ValueId value, ParseDefinition());
      node.outputs.push_back(value);
      if (!in_.Take(",")) break;
    }
    if (!node.outputs.empty()) TVMVM_CHECK_OK(in_.Want("="));
    std::string name(in_.Word());
    if (name == "match") return ParseMatch(region, depth, node.outputs);
    node.op = FindCoreOp(name);
    if (auto found = constructors_.find(name); found != constructors_.end()) {
      node.op = &HostOp(HostFunctionId::kTupleMake);
      node.attributes["scalars"] = Dims{found->second.tag};
    }
    if (!node.op) return in_.Fail(fmt::format("an operator in place of '{}'", name));
    TVMVM_CHECK_OK(in_.Want("("));
    if (!in_.Take(")")) {
      do {
        TVMVM_TRY(ValueId input, ParseUse());
        node.inputs.push_back(input);
      } while (in_.Take(","));
      TVMVM_CHECK_OK(in_.Want(")"));
    }
    if (auto found = constructors_.find(name); found != constructors_.end())
      TVMVM_CHECK_OK(CheckConstruction(name, found->second, node));
    TVMVM_CHECK_OK(ReadAttributes(in_, &node));
    if (in_.Take("from")) {
      TVMVM_TRY(node.source, in_.Quoted());
    }
    while (in_.Sees("(")) {
      TVMVM_TRY(RegionId inner, ParseRegion(depth));
      node.regions.push_back(inner);
    }
    function_->region(region).nodes.push_back(function_->AddNode(std::move(node)));
    return {};
  }

  Expected<RegionId> ParseRegion(int depth) {
    RegionId region = function_->AddRegion();
    TVMVM_CHECK_OK(in_.Want("("));
    if (!in_.Take(")")) {
      do {
        TVMVM_TRY(ValueId parameter, ParseDefinition());
        function_->region(region).parameters.push_back(parameter);
      } while (in_.Take(","));
      TVMVM_CHECK_OK(in_.Want(")"));
    }
    TVMVM_CHECK_OK(ParseBody(region, depth));
    return region;
  }

  // { ... yield %1, %2 }
  Status ParseBody(RegionId region, int depth) {
    TVMVM_CHECK_OK(in_.Want("{"));
    while (!in_.Take("yield")) TVMVM_CHECK_OK(ParseNode(region, depth + 1));
    if (in_.Take("}")) return {};
    do {
      TVMVM_TRY(ValueId result, ParseUse());
      function_->region(region).results.push_back(result);
    } while (in_.Take(","));
    return in_.Want("}");
  }

  // %9: Tree = Node(%7, %8)
  Status CheckConstruction(const std::string& name, const Constructor& constructor, const Node& node) {
    if (node.inputs.size() != constructor.fields.size())
      return in_.Fail(
          fmt::format("{} fields of {} in place of {}", constructor.fields.size(), name, node.inputs.size()));
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const TypeText& field = constructor.fields[i];
      const Type& given = function_->type(node.inputs[i]);
      if (given.kind != field.type.kind || given.dtype != field.type.dtype ||
          DataTypeOf(node.inputs[i]) != field.data_type)
        return in_.Fail(fmt::format("field {} of {} as declared", i, name));
    }
    for (ValueId output : node.outputs)
      if (DataTypeOf(output) != constructor.data_type)
        return in_.Fail(fmt::format("a result of type {} for {}", constructor.data_type, name));
    return {};
  }

  std::string DataTypeOf(ValueId value) const {
    auto found = data_type_of_.find(value);
    return found == data_type_of_.end() ? "" : found->second;
  }

  // %1: tensor<f32,[]> = match(%0) Leaf(%2) { yield %2 } Node(%3, %4) { ... }
  // becomes the tuple's tag and a branch for each constructor.
  Status ParseMatch(RegionId region, int depth, const std::vector<ValueId>& outputs) {
    TVMVM_CHECK_OK(in_.Want("("));
    TVMVM_TRY(ValueId matched, ParseUse());
    TVMVM_CHECK_OK(in_.Want(")"));
    auto type = data_types_.find(DataTypeOf(matched));
    if (type == data_types_.end()) return in_.Fail("a value of a declared type before this");
    std::string source;
    if (in_.Take("from")) {
      TVMVM_TRY(source, in_.Quoted());
    }
    std::vector<Arm> arms(type->second.size());
    for (size_t i = 0; i < arms.size(); ++i) {
      auto constructor = constructors_.find(std::string(in_.Word()));
      bool fits = constructor != constructors_.end() && constructor->second.data_type == type->first;
      if (!fits || arms[static_cast<size_t>(constructor->second.tag)].given)
        return in_.Fail(fmt::format("each constructor of {} once", type->first));
      TVMVM_TRY(RegionId body, ParseArm(matched, constructor->second, depth));
      arms[static_cast<size_t>(constructor->second.tag)] = {body, true};
    }
    Dim tag = module_.FreshSymbol({.range = {0, static_cast<int64_t>(arms.size())}});
    Node which{.op = &HostOp(HostFunctionId::kTupleCase), .inputs = {matched}, .source = source};
    which.attributes = {{"scalars", Dims{static_cast<int64_t>(arms.size())}},
                        {"symbols", std::vector<SymbolId>{tag.symbol()}}};
    function_->region(region).nodes.push_back(function_->AddNode(std::move(which)));
    AddBranch(region, arms, 0, tag, outputs, source);
    return {};
  }

  Expected<RegionId> ParseArm(ValueId matched, const Constructor& constructor, int depth) {
    RegionId region = function_->AddRegion();
    TVMVM_CHECK_OK(in_.Want("("));
    for (size_t i = 0; i < constructor.fields.size(); ++i) {
      if (i > 0) TVMVM_CHECK_OK(in_.Want(","));
      TVMVM_CHECK_OK(in_.Want("%"));
      TVMVM_TRY(int64_t number, in_.Integer());
      ValueId field = function_->AddValue(Instantiate(&module_, constructor.fields[i].type));
      data_type_of_[field] = constructor.fields[i].data_type;
      TVMVM_CHECK_OK(Bind(number, field));
      Node get{.op = &HostOp(HostFunctionId::kTupleGet), .inputs = {matched}, .outputs = {field}};
      get.attributes = {{"scalars", Dims{static_cast<int64_t>(i)}}};
      function_->region(region).nodes.push_back(function_->AddNode(std::move(get)));
    }
    TVMVM_CHECK_OK(in_.Want(")"));
    TVMVM_CHECK_OK(ParseBody(region, depth));
    return region;
  }

  // The arms from `first` on; the last needs no test.
  void AddBranch(RegionId region, const std::vector<Arm>& arms, size_t first, const Dim& tag,
                 const std::vector<ValueId>& outputs, const std::string& source) {
    bool is_last = first + 2 >= arms.size();
    RegionId otherwise = arms.back().region;
    if (!is_last) {
      otherwise = function_->AddRegion();
      std::vector<ValueId> results;
      for (ValueId output : outputs) results.push_back(function_->AddValue(function_->type(output)));
      AddBranch(otherwise, arms, first + 1, tag, results, source);
      function_->region(otherwise).results = results;
    }
    Node branch{.op = FindCoreOp("if"), .outputs = outputs, .source = source};
    branch.regions = {arms[first].region, otherwise};
    branch.attributes = {{"condition", arms.size() == 1 ? Dim(1) : Equal(tag, static_cast<int64_t>(first))},
                         {"symbols", std::vector<SymbolId>()},
                         {"then_values", Dims()},
                         {"else_values", Dims()}};
    function_->region(region).nodes.push_back(function_->AddNode(std::move(branch)));
  }

  TextReader in_;
  const DimFacts& facts_;
  Module module_;
  Function* function_ = nullptr;
  std::map<int64_t, ValueId> values_;
  std::map<std::string, std::vector<std::string>> data_types_;  // constructors of each, by tag
  std::map<std::string, Constructor> constructors_;
  std::map<ValueId, std::string> data_type_of_;  // of the function's values that have one
};

// That each fact is about a symbol which the entry's inputs define, that no other function defines one of the
// name, and that it agrees with what is known.
Status CheckFacts(const DimFacts& facts, const Module& module) {
  const SymbolSet defined = ParameterSymbols(module.main());
  for (const auto& [name, range] : facts) {
    const SymbolId symbol(name);
    if (!defined.contains(symbol)) return tl::unexpected(NoSuchDim(name, {defined.begin(), defined.end()}));
    for (const Function& function : module.functions)
      if (&function != &module.main() && ParameterSymbols(function).contains(symbol))
        return MakeError(Code::kUnsupported,
                         fmt::format("'{}' is a dimension of @{}, too, where it may be another number", name,
                                     function.name));
    const auto known = module.symbols.find(symbol);
    if (known == module.symbols.end()) continue;
    const DimRange& declared = known->second.range;
    if (std::max(range.low, declared.low) > std::min(range.high, declared.high))
      return MakeError(Code::kInvalidArgument,
                       fmt::format("dimension '{}' is from {} to {}, not from {} to {}", name, declared.low,
                                   declared.high, range.low, range.high));
  }
  return {};
}

}  // namespace

Expected<Module> ParseModule(std::string_view text) {
  TVMVM_TRY(Module module, ModuleParser(text, {}).Run());
  if (Status status = VerifyModule(module); !status)
    return MakeError(Code::kInvalidArgument, status.error().message);
  return module;
}

Expected<Module> ParseModule(std::string_view text, const DimFacts& facts) {
  TVMVM_TRY(Module module, ParseModule(text));
  if (facts.empty()) return module;
  TVMVM_CHECK_OK(CheckFacts(facts, module));
  TVMVM_TRY(module, ModuleParser(text, facts).Run());
  if (Status status = VerifyModule(module); !status)
    return MakeError(Code::kInvalidArgument, status.error().message);
  return module;
}

}  // namespace tvmvm::ir
