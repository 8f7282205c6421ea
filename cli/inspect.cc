#include <fmt/format.h>

#include <algorithm>

#include "bytecode/device_kinds.h"
#include "cli/commands.h"
#include "cli/compiler_library.h"
#include "cli/console.h"
#include "cli/digest.h"
#include "cli/files.h"
#include "cli/graph_picture.h"
#include "cli/json.h"
#include "cli/model.h"
#include "cli/value_text.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm::cli {
namespace {

struct Dim {
  std::string name;
  int64_t low, high;
};

// Symbols of the inputs that have bounds.
std::vector<Dim> BoundedSymbols(const FunctionSpec& main) {
  std::vector<Dim> result;
  for (const ParameterSpec& input : main.inputs)
    for (const DimSpec& dim : input.type.dims) {
      bool bounded = dim.value < 0 && !dim.symbol.empty() && (dim.low > 0 || dim.high < INT64_MAX);
      bool seen = std::ranges::any_of(result, [&](const Dim& other) { return other.name == dim.symbol; });
      if (bounded && !seen) result.push_back({dim.symbol, dim.low, dim.high});
    }
  return result;
}

uint64_t ConstantBytes(const Program& program) {
  uint64_t bytes = 0;
  for (const ConstantSpec& constant : program.constants) bytes += constant.bytes.size();
  return bytes;
}

// Those that have no bytes of their own.
int64_t PlacedConstants(const Program& program) {
  return std::ranges::count_if(program.constants,
                               [](const ConstantSpec& constant) { return constant.has_place(); });
}

void PrintSignature(const FunctionSpec& main) {
  PrintResult("signature");
  for (const ParameterSpec& input : main.inputs)
    PrintResult(fmt::format("  input   {}: {}", input.name, FormatType(input.type)));
  for (const ParameterSpec& output : main.outputs)
    PrintResult(fmt::format("  output  {}: {}", output.name, FormatType(output.type)));
  for (const Dim& dim : BoundedSymbols(main))
    PrintResult(fmt::format("  bound   {} = {}..{}", dim.name, dim.low,
                            dim.high == INT64_MAX ? "" : std::to_string(dim.high)));
}

void PrintText(const Program& program, const std::vector<SectionInfo>& sections) {
  PrintSignature(program.main());
  PrintResult("functions");
  for (const FunctionSpec& function : program.functions)
    PrintResult(fmt::format("  @{}: {} code words, {} scalar and {} reference registers", function.name,
                            function.code.size(), function.scalar_registers, function.ref_registers));
  PrintResult(fmt::format("kernels: {}", program.kernels.size()));
  for (const KernelSpec& kernel : program.kernels)
    PrintResult(fmt::format("  {} ({}): {} scalars, {} buffers{}", kernel.name,
                            DeviceClassName(kernel.device), kernel.scalar_count, kernel.buffers.size(),
                            kernel.source_node.empty() ? "" : ", from " + kernel.source_node));
  PrintResult(fmt::format("kernel libraries: {}", program.libraries.size()));
  for (const KernelLibrarySpec& library : program.libraries)
    PrintResult(fmt::format("  {} {}: {}, {}", DeviceKindName(library.device), library.target,
                            KernelFormMeaning(library.form),
                            FormatBytes(static_cast<double>(library.bytes.size()))));
  const int64_t placed = PlacedConstants(program);
  PrintResult(
      fmt::format("constants: {}, {}{}", program.constants.size(),
                  FormatBytes(static_cast<double>(ConstantBytes(program))),
                  placed == 0 ? "" : fmt::format("; {} of them are read out of others by GPUs", placed)));
  PrintResult(fmt::format("digest: {}", FileDigest(sections)));
  PrintResult("sections");
  for (const SectionInfo& section : sections)
    PrintResult(fmt::format("  {:28} offset {:>10}  {:>10}  {}", section.name, section.offset,
                            FormatBytes(static_cast<double>(section.bytes)), section.digest));
  const Provenance& provenance = program.provenance;
  PrintResult("provenance");
  PrintResult(fmt::format("  producer  {}\n  source    {}\n  digest    {}\n  options   {}",
                          provenance.producer, provenance.source, provenance.source_digest,
                          provenance.options));
}

Json ToJson(const ParameterSpec& parameter) {
  Json json = {{"name", parameter.name}, {"type", FormatType(parameter.type)}};
  if (parameter.type.kind != ValueKind::kTensor) return json;
  json["dtype"] = DTypeName(parameter.type.dtype);
  if (!parameter.type.has_rank) return json;
  Json dims = Json::array();
  for (const DimSpec& dim : parameter.type.dims) {
    if (dim.value >= 0) {
      dims.push_back(dim.value);
    } else {
      dims.push_back(dim.symbol.empty() ? Json(nullptr) : Json(dim.symbol));
    }
  }
  json["dims"] = std::move(dims);
  return json;
}

Json ToJson(const Program& program, const std::vector<SectionInfo>& sections) {
  Json json = {{"inputs", Json::array()},
               {"outputs", Json::array()},
               {"dims", Json::object()},
               {"functions", Json::array()},
               {"kernels", Json::array()},
               {"libraries", Json::array()},
               {"constants",
                {{"count", program.constants.size()},
                 {"bytes", ConstantBytes(program)},
                 {"in_others", PlacedConstants(program)}}},
               {"digest", FileDigest(sections)},
               {"sections", Json::array()}};
  for (const ParameterSpec& input : program.main().inputs) json["inputs"].push_back(ToJson(input));
  for (const ParameterSpec& output : program.main().outputs) json["outputs"].push_back(ToJson(output));
  for (const Dim& dim : BoundedSymbols(program.main())) {
    json["dims"][dim.name] = {{"low", dim.low}};
    if (dim.high < INT64_MAX) json["dims"][dim.name]["high"] = dim.high;
  }
  for (const FunctionSpec& function : program.functions)
    json["functions"].push_back({{"name", function.name},
                                 {"code_words", function.code.size()},
                                 {"scalar_registers", function.scalar_registers},
                                 {"ref_registers", function.ref_registers}});
  for (const KernelSpec& kernel : program.kernels)
    json["kernels"].push_back({{"name", kernel.name},
                               {"device", DeviceClassName(kernel.device)},
                               {"scalars", kernel.scalar_count},
                               {"buffers", kernel.buffers.size()},
                               {"source_node", kernel.source_node}});
  for (const KernelLibrarySpec& library : program.libraries)
    json["libraries"].push_back({{"device", DeviceKindName(library.device)},
                                 {"target", library.target},
                                 {"form", KernelFormMeaning(library.form)},
                                 {"bytes", library.bytes.size()}});
  for (const SectionInfo& section : sections)
    json["sections"].push_back({{"name", section.name},
                                {"offset", section.offset},
                                {"bytes", section.bytes},
                                {"digest", section.digest}});
  const Provenance& provenance = program.provenance;
  json["provenance"] = {{"producer", provenance.producer},
                        {"source", provenance.source},
                        {"source_digest", provenance.source_digest},
                        {"options", provenance.options}};
  return json;
}

std::string DomainName(const std::string& domain) { return domain.empty() ? "ai.onnx" : domain; }

Json ToJson(const ModelInfo& info) {
  Json json = {{"ir_version", info.ir_version},
               {"producer", info.producer},
               {"graph", info.graph},
               {"opsets", Json::object()},
               {"inputs", Json::array()},
               {"outputs", Json::array()},
               {"nodes", info.nodes},
               {"functions", info.functions},
               {"weights", {{"count", info.weights}, {"bytes", info.weight_bytes}}},
               {"operators", Json::array()}};
  for (const auto& [domain, version] : info.opsets) json["opsets"][DomainName(domain)] = version;
  for (const ParameterSpec& input : info.inputs) json["inputs"].push_back(ToJson(input));
  for (const ParameterSpec& output : info.outputs) json["outputs"].push_back(ToJson(output));
  for (const OperatorUse& use : info.operators)
    json["operators"].push_back({{"domain", DomainName(use.domain)},
                                 {"operator", use.name},
                                 {"count", use.count},
                                 {"supported", use.problem.empty()}});
  return json;
}

void PrintText(const ModelInfo& info) {
  PrintResult("an ONNX model, to be compiled by `tvm-vm compile`\nsignature");
  for (const ParameterSpec& input : info.inputs)
    PrintResult(fmt::format("  input   {}: {}", input.name, FormatType(input.type)));
  for (const ParameterSpec& output : info.outputs)
    PrintResult(fmt::format("  output  {}: {}", output.name, FormatType(output.type)));
  std::string opsets;
  for (const auto& [domain, version] : info.opsets)
    opsets += fmt::format("{}{} {}", opsets.empty() ? "" : ", ", DomainName(domain), version);
  PrintResult(fmt::format("opsets    {}\nIR        version {}\nproducer  {}\nweights   {}, {}", opsets,
                          info.ir_version, info.producer, info.weights,
                          FormatBytes(static_cast<double>(info.weight_bytes))));
  PrintResult(fmt::format("nodes     {}", info.nodes));
  for (const OperatorUse& use : info.operators)
    PrintResult(fmt::format("  {:6} x {}{}", use.count,
                            use.domain.empty() ? use.name : use.domain + "." + use.name,
                            use.problem.empty() ? "" : ": not supported, " + use.problem));
}

// What the model says of itself; nothing is compiled.
Expected<int> InspectModel(const InspectArguments& arguments) {
  TVMVM_TRY(const Compiler* compiler, OpenCompiler());
  TVMVM_TRY(ModelInfo info, compiler->DescribeFile(arguments.path));
  if (!arguments.dot.empty()) {
    TVMVM_TRY(OutputFile file, OutputFile::Create(arguments.dot));
    TVMVM_CHECK_OK(file.Write(DrawGraph(info.outline)));
    TVMVM_CHECK_OK(file.Commit());
    if (IsStandard(arguments.dot)) return kExitOk;
  }
  if (arguments.json) {
    PrintResult(FormatJson(ToJson(info), 2));
  } else {
    PrintText(info);
  }
  return kExitOk;
}

}  // namespace

Expected<int> InspectCommand(const InspectArguments& arguments) {
  if (IsModelFile(arguments.path)) return InspectModel(arguments);
  if (!arguments.dot.empty())
    return MakeError(Code::kInvalidArgument,
                     fmt::format("'{}' is a .vmexe: --dot draws the graph of an .onnx file", arguments.path));
  TVMVM_TRY(std::shared_ptr<const Program> program, LoadProgram(arguments.path));
  TVMVM_TRY(std::vector<SectionInfo> sections, ListSections(arguments.path));
  if (arguments.json) {
    PrintResult(FormatJson(ToJson(*program, sections), 2));
  } else {
    PrintText(*program, sections);
  }
  return kExitOk;
}

}  // namespace tvmvm::cli
