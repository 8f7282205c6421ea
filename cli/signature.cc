#include "cli/signature.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "cli/elements.h"
#include "cli/files.h"
#include "cli/input_sources.h"
#include "cli/json_values.h"
#include "cli/npy.h"
#include "cli/npz.h"
#include "cli/random_data.h"
#include "cli/spelling.h"
#include "cli/value_files.h"
#include "cli/value_text.h"

namespace tvmvm::cli {
namespace {

// The dims for a random input: as asked for, else from the signature, --dim, and 1.
Expected<Shape> RandomShape(const ParameterSpec& input, const InputSpec& spec, const DimBounds& bounds) {
  if (spec.dims) {
    if (spec.dims->size() > kMaxRank)
      return MakeError(Code::kInvalidArgument, fmt::format("input '{}': {} dims, at most {}", input.name,
                                                           spec.dims->size(), kMaxRank));
    return Shape(*spec.dims);
  }
  Shape shape;
  if (input.type.dims.size() > kMaxRank)
    return MakeError(Code::kUnsupported, fmt::format("input '{}': {} dims, at most {}", input.name,
                                                     input.type.dims.size(), kMaxRank));
  for (const DimSpec& dim : input.type.dims) {
    auto given = bounds.find(dim.symbol);
    if (dim.value >= 0) {
      shape.push_back(dim.value);
    } else if (!dim.symbol.empty() && given != bounds.end()) {
      shape.push_back(given->second.low);
    } else {
      shape.push_back(std::clamp<int64_t>(1, dim.low, dim.high));
    }
  }
  return shape;
}

// What inputs are made of, and what is to be said of it.
struct Making {
  const InputArguments& arguments;
  int64_t max_bytes;
  InputReport* report;
  int64_t made_bytes = 0;
};

std::string DimName(const ParameterSpec& input, size_t axis) {
  const std::string& symbol = input.type.dims[axis].symbol;
  return symbol.empty() ? fmt::format("{}[{}]", input.name, axis) : symbol;
}

// Notes the dims of an input that nobody told: they are what RandomShape takes for them.
void ReportDims(const ParameterSpec& input, const Shape& shape, Making* making) {
  for (size_t axis = 0; axis < input.type.dims.size(); ++axis) {
    const DimSpec& dim = input.type.dims[axis];
    if (dim.value >= 0) continue;
    if (making->arguments.dims.contains(dim.symbol)) {
      making->report->used.insert(dim.symbol);
    } else {
      making->report->assumed[DimName(input, axis)] = shape[axis];
    }
  }
}

// Made inputs are memory, too: more than is allowed, or than the machine has, is not begun.
Status CheckSize(const ParameterSpec& input, const Shape& shape, Making* making) {
  auto too_much = [&](std::string_view what, int64_t limit) {
    return MakeError(Code::kOutOfMemory,
                     fmt::format("input '{}': {}{} would be made, {} {} bytes", input.name,
                                 DTypeName(input.type.dtype), shape.ToString(), what, limit));
  };
  const int64_t machine = int64_t{sysconf(_SC_PHYS_PAGES)} * sysconf(_SC_PAGE_SIZE);
  const int64_t bits = std::max(DTypeBits(input.type.dtype), input.type.dtype == DType::kString ? 256 : 1);
  const std::optional<int64_t> count = shape.ElementCount();
  if (!count || *count > machine / bits * 8) return too_much("the machine has", machine);
  making->made_bytes += (*count * bits + 7) / 8;
  if (making->max_bytes > 0 && making->made_bytes > making->max_bytes)
    return too_much("the limit of all is", making->max_bytes);
  if (making->made_bytes > machine) return too_much("the machine has", machine);
  return {};
}

// The file's bytes as they are, of the dims that are given or fit.
Expected<Value> ReadRaw(const ParameterSpec& input, const InputSpec& spec, std::span<const std::byte> bytes,
                        const Making& making) {
  const DType dtype = input.type.dtype;
  auto wrong = [&](std::string_view why) {
    return MakeError(Code::kInvalidArgument, fmt::format("'{}': {}", spec.path, why));
  };
  if (input.type.kind != ValueKind::kTensor || dtype == DType::kString)
    return wrong(fmt::format("a raw file holds no {}", FormatType(input.type)));
  TVMVM_TRY(Shape shape, RandomShape(input, spec, making.arguments.dims));
  std::vector<int64_t> dims(shape.dims().begin(), shape.dims().end());
  std::vector<size_t> open;  // axes that nobody told
  for (size_t axis = 0; !spec.dims && axis < dims.size(); ++axis)
    if (const DimSpec& dim = input.type.dims[axis];
        dim.value < 0 && (dim.symbol.empty() || !making.arguments.dims.contains(dim.symbol)))
      open.push_back(axis);
  const auto size = static_cast<int64_t>(bytes.size());
  if (open.size() == 1) {
    dims[open[0]] = 1;
    const int64_t each = DTypeBytes(dtype, Shape(dims).ElementCount().value_or(0));
    if (each > 0) dims[open[0]] = size / each;
  }
  const std::optional<int64_t> count = Shape(dims).ElementCount();
  if (!count || DTypeBytes(dtype, *count) != size)
    return wrong(fmt::format("{} bytes, {}{} has {}: tell its dims, as in {}=FILE.bin:4x128", size,
                             DTypeName(dtype), Shape(dims).ToString(),
                             count ? std::to_string(DTypeBytes(dtype, *count)) : "more", input.name));
  TVMVM_TRY(Tensor tensor, Tensor::Allocate(dtype, Shape(dims)));
  if (size > 0) std::memcpy(tensor.data(), bytes.data(), bytes.size());
  return Value(std::move(tensor));
}

Expected<Value> ReadInput(const ParameterSpec& input, const InputSpec& spec, const Making& making) {
  if (IsStandard(spec.path)) {
    TVMVM_TRY(std::vector<std::byte> bytes, ReadStandardInput());
    constexpr std::string_view kNpy = "\x93NUMPY";
    const std::string_view begin(reinterpret_cast<const char*>(bytes.data()),
                                 std::min(bytes.size(), kNpy.size()));
    if (begin != kNpy) return ReadRaw(input, spec, bytes, making);
    TVMVM_TRY(Tensor tensor,
              ReadNpy(InputFile::FromBytes("standard input", std::move(bytes)), input.type.dtype));
    return Value(std::move(tensor));
  }
  if (!spec.entry.empty()) {
    const TypeSpec& type = input.type.kind == ValueKind::kOptional ? input.type.elements[0] : input.type;
    TVMVM_TRY(Tensor tensor, ReadNpzArray(spec.path, spec.entry, type.dtype, making.max_bytes));
    return Value(std::move(tensor));
  }
  if (!spec.path.ends_with(".bin")) return ReadValueFile(spec.path, input.type, making.max_bytes);
  TVMVM_TRY(std::vector<std::byte> bytes, ReadFile(spec.path));
  return ReadRaw(input, spec, bytes, making);
}

// A number fills a tensor of the dims that a random one would have; all else says its own.
Expected<Value> ReadLiteral(const ParameterSpec& input, const InputSpec& spec, Making* making) {
  auto in_place = [&](Expected<Value> value) -> Expected<Value> {
    if (value) return value;
    return MakeError(value.error().code,
                     fmt::format("input '{}' = {}: {}, {} is wanted", input.name, spec.literal,
                                 value.error().message, FormatType(input.type)));
  };
  auto json = ParseJson(spec.literal);
  if (!json) return in_place(tl::unexpected<Error>(json.error()));
  const bool fills = !json->is_array() && input.type.kind == ValueKind::kTensor && !input.type.dims.empty();
  if (!fills) return in_place(ValueFromJson(*json, input.type));
  TVMVM_TRY(Shape shape, RandomShape(input, spec, making->arguments.dims));
  TVMVM_CHECK_OK(CheckSize(input, shape, making));
  ReportDims(input, shape, making);
  auto value = in_place(ValueFromJson(*json, input.type));
  if (!value) return value;
  TVMVM_TRY(Tensor tensor, FilledTensor(value->tensor(), shape));
  return Value(std::move(tensor));
}

Expected<Value> MakeInput(const ParameterSpec& input, const InputSpec& spec, uint64_t seed, Making* making) {
  const TypeSpec& type = input.type;
  if (spec.absent) {
    if (type.kind == ValueKind::kOptional) return Value();
    return MakeError(Code::kInvalidArgument,
                     fmt::format("input '{}' is {}, which cannot be none", input.name, FormatType(type)));
  }
  if (!spec.path.empty()) return ReadInput(input, spec, *making);
  if (type.kind == ValueKind::kOptional) return MakeInput({input.name, type.elements[0]}, spec, seed, making);
  if (!spec.literal.empty()) return ReadLiteral(input, spec, making);
  if (type.kind == ValueKind::kSequence) {
    constexpr uint64_t kElements = 3;
    std::vector<Value> elements;
    for (uint64_t i = 0; i < kElements; ++i) {
      TVMVM_TRY(Value element, MakeInput({input.name, type.elements[0]}, spec, seed + i, making));
      elements.push_back(std::move(element));
    }
    return Value::Sequence(std::move(elements));
  }
  if (type.kind != ValueKind::kTensor)
    return MakeError(Code::kUnsupported, fmt::format("input '{}' is {}, which is not made at random",
                                                     input.name, FormatType(type)));
  TVMVM_TRY(Shape shape, RandomShape(input, spec, making->arguments.dims));
  TVMVM_CHECK_OK(CheckSize(input, shape, making));
  if (!spec.dims) ReportDims(input, shape, making);
  auto tensor = MakeRandomTensor(type.dtype, shape, seed, spec.range);
  if (!tensor)
    return MakeError(tensor.error().code, fmt::format("input '{}': {}", input.name, tensor.error().message));
  return Value(*std::move(tensor));
}

std::vector<std::string> SymbolsOf(const FunctionSpec& main) {
  std::vector<std::string> symbols;
  for (const ParameterSpec& input : main.inputs)
    for (const DimSpec& dim : input.type.dims)
      if (!dim.symbol.empty()) symbols.push_back(dim.symbol);
  return symbols;
}

// A --dim that names no dimension of the inputs is a slip of the pen.
Status CheckDimNames(const FunctionSpec& main, const DimBounds& bounds) {
  for (const auto& [name, bound] : bounds) {
    bool known = std::ranges::any_of(main.inputs, [&name = name](const ParameterSpec& input) {
      return std::ranges::any_of(input.type.dims, [&](const DimSpec& dim) { return dim.symbol == name; });
    });
    if (!known)
      return MakeError(Code::kInvalidArgument,
                       fmt::format("the model's inputs have no dimension named '{}'{}", name,
                                   DidYouMean(name, SymbolsOf(main))));
  }
  return {};
}

}  // namespace

Expected<std::vector<Value>> MakeInputs(const FunctionSpec& main, const InputArguments& arguments,
                                        int64_t max_bytes, InputReport* report) {
  TVMVM_CHECK_OK(CheckDimNames(main, arguments.dims));
  TVMVM_TRY(std::vector<InputSource> sources, AssignInputs(main, arguments.inputs));
  InputReport unread;
  Making making{arguments, max_bytes, report ? report : &unread};
  std::vector<Value> inputs;
  for (size_t i = 0; i < main.inputs.size(); ++i) {
    constexpr uint64_t kSeedStep = 0x2545f4914f6cdd1du;  // so that inputs differ from each other
    if (sources[i].value) {
      inputs.push_back(*std::move(sources[i].value));
      continue;
    }
    TVMVM_TRY(Value input,
              MakeInput(main.inputs[i], sources[i].spec, arguments.seed + kSeedStep * (i + 1), &making));
    inputs.push_back(std::move(input));
  }
  for (const auto& [name, bound] : arguments.dims)
    if (!making.report->used.contains(name)) making.report->unused.insert(name);
  return inputs;
}

std::vector<std::string> NotesOf(const InputReport& report) {
  std::vector<std::string> notes;
  std::string assumed;
  for (const auto& [name, value] : report.assumed)
    assumed += fmt::format("{}{} = {}", assumed.empty() ? "" : ", ", name, value);
  if (!assumed.empty()) notes.push_back(fmt::format("assumed for inputs that are made: {}", assumed));
  for (const std::string& name : report.unused)
    notes.push_back(fmt::format("--dim {} has no effect: the inputs that have it are given", name));
  return notes;
}

std::string FormatInputs(const FunctionSpec& main, std::span<const Value> inputs) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < inputs.size(); ++i)
    texts.push_back(fmt::format("{}: {}", main.inputs[i].name, FormatType(inputs[i])));
  return fmt::format("{}", fmt::join(texts, ", "));
}

Json DescribeInputs(const FunctionSpec& main, std::span<const Value> inputs) {
  Json list = Json::array();
  for (size_t i = 0; i < inputs.size(); ++i) {
    list.push_back({{"name", main.inputs[i].name}});
    list.back().update(DescribeValue(inputs[i]));
  }
  return list;
}

}  // namespace tvmvm::cli
