#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>

#include "cli/commands.h"
#include "cli/compiler_library.h"
#include "cli/console.h"
#include "cli/json.h"

namespace tvmvm::cli {
namespace {

using Columns = std::vector<std::string>;

std::string DomainText(const std::string& domain) { return domain.empty() ? "ai.onnx" : domain; }

// "1-12", "9", "1+"
std::string VersionsText(const OperatorInfo& info) {
  if (!info.until) return fmt::format("{}+", info.since);
  return *info.until == info.since ? fmt::format("{}", info.since)
                                   : fmt::format("{}-{}", info.since, *info.until);
}

std::string TypesText(const OperatorInfo& info) {
  std::string text = fmt::format("{}", fmt::join(info.types, ", "));
  if (info.types_of < 0) return text + " (output)";
  return info.types_of == 0 ? text : text + fmt::format(" (input {})", info.types_of);
}

// Lines of padded columns.
void PrintColumns(const std::vector<Columns>& rows) {
  std::vector<size_t> widths;
  for (const Columns& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  for (const Columns& row : rows) {
    std::string line;
    for (size_t i = 0; i + 1 < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], widths[i]);
    PrintResult(line + row.back());
  }
}

void PrintTable(const Compiler& compiler) {
  std::vector<Columns> rows;
  for (const OperatorInfo& info : compiler.Operators())
    rows.push_back({DomainText(info.domain) + "." + info.name, VersionsText(info), TypesText(info),
                    fmt::format("{}", fmt::join(info.devices, ", "))});
  PrintColumns(rows);
  rows.clear();
  for (const MissingOperatorInfo& info : compiler.MissingOperators())
    rows.push_back({info.domain + "." + info.name, "not supported: " + info.reason});
  PrintColumns(rows);
}

std::vector<std::string> NamesOf(const std::vector<DType>& types) {
  std::vector<std::string> names;
  for (DType type : types) names.emplace_back(DTypeName(type));
  return names;
}

constexpr const char* kMarkdownMissing = R"(
## Not supported

What ONNX Runtime has for the CPU in its own domains, and this table has not:

| operator | reason |
| --- | --- |
)";

constexpr const char* kMarkdownHead = R"(# Operators

The ONNX operators that tvm-vm compiles, from its operator table. Made by `tvm-vm ops --markdown > docs/operators.md`; a test
compares this file with the table.

- **versions** are those of the domain's opset that one row of the table serves.
- **types** are the element types of the first input, or of the value in parentheses. Which types belong together in one call is
  ONNX's matter.
- **devices** run the operator: it becomes kernels, which each of them runs, or on the CPU alone a function of the host library.
  Which of several devices runs a node of a model, `tvm-vm compile --print-placement` tells.

What operators give where ONNX leaves it open, on every device:

- Integers divided by 0 give 0, the remainder too. Integers wrap; the smallest one divided by -1 is itself.
- Cast of a float to an integer truncates. What does not fit is as ONNX Runtime and ONNX's reference have it, number by number:
  the float becomes an i64 first (i32 for i32 and types of fewer bits), whose smallest number stands for all that does not fit there
  and for NaN; its low bits are the result. u64 holds what it can, and 2^64 or more is 0. So NaN is 0 in i8, u8, i16, u16 and u32,
  and the smallest number in i32 and i64. Where the two differ (bf16 to i8 and u8, lists of numbers to u32), ONNX Runtime's
  results of single numbers hold.
- Programs for the CPU alone compute f16 and bf16 in f32 and keep what they computed so between operators and in states of
  recurrent ones; numbers are rounded where they are compared, sorted, placed, become another type, leave the program or are
  carried by the model's own loops. `--disable-pass widen-halves` rounds after each operator, as programs with GPUs do.
- A size, axis, index or count that its operator does not allow ends the run with an error that names the node. An axis that a
  list names twice counts once; where the rank of the result depends on how many there are, and the length of the list is known,
  it is an error.

Some types have a name together:

)";

std::string Markdown(const Compiler& compiler) {
  std::string text = kMarkdownHead;
  for (const ElementTypeSet& set : compiler.ElementTypeSets())
    text += fmt::format("- {}: {}\n", set.name, fmt::join(NamesOf(set.types), ", "));
  text += "\nWhat takes any value takes sequences, optionals, maps and tensors of unknown rank, too.\n";
  std::string domain = "none";
  for (const OperatorInfo& info : compiler.Operators()) {
    if (info.domain != domain)
      text += fmt::format("\n## {}\n\n| operator | versions | types | devices |\n| --- | --- | --- | --- |\n",
                          DomainText(info.domain));
    domain = info.domain;
    text += fmt::format("| {} | {} | {} | {} |\n", info.name, VersionsText(info), TypesText(info),
                        fmt::join(info.devices, ", "));
  }
  text += kMarkdownMissing;
  for (const MissingOperatorInfo& info : compiler.MissingOperators())
    text += fmt::format("| {}.{} | {} |\n", info.domain, info.name, info.reason);
  return text;
}

Json TableJson(const Compiler& compiler) {
  std::map<std::string, std::vector<std::string>> sets;
  for (const ElementTypeSet& set : compiler.ElementTypeSets()) sets[set.name] = NamesOf(set.types);
  Json rows = Json::array();
  for (const OperatorInfo& info : compiler.Operators()) {
    std::vector<std::string> types;
    for (const std::string& name : info.types) {
      auto set = sets.find(name);
      if (set == sets.end())
        types.push_back(name);
      else
        types.insert(types.end(), set->second.begin(), set->second.end());
    }
    rows.push_back({{"domain", DomainText(info.domain)},
                    {"operator", info.name},
                    {"since", info.since},
                    {"until", info.until ? Json(*info.until) : Json(nullptr)},
                    {"types", types},
                    {"types_of", info.types_of < 0 ? "output 0" : fmt::format("input {}", info.types_of)},
                    {"devices", info.devices}});
  }
  for (const MissingOperatorInfo& info : compiler.MissingOperators())
    rows.push_back({{"domain", info.domain}, {"operator", info.name}, {"missing", info.reason}});
  return rows;
}

void PrintUses(const std::vector<OperatorUse>& uses) {
  std::vector<Columns> rows;
  for (const OperatorUse& use : uses)
    rows.push_back({DomainText(use.domain) + "." + use.name, std::to_string(use.version),
                    fmt::format("{} x", use.count),
                    use.problem.empty() ? "supported" : "not supported: " + use.problem});
  PrintColumns(rows);
}

Json ToJson(const std::vector<OperatorUse>& uses) {
  Json rows = Json::array();
  for (const OperatorUse& use : uses) {
    rows.push_back({{"domain", DomainText(use.domain)},
                    {"operator", use.name},
                    {"version", use.version},
                    {"count", use.count},
                    {"supported", use.problem.empty()}});
    if (!use.problem.empty()) rows.back()["problem"] = use.problem;
  }
  return rows;
}

Expected<int> ShowModel(const Compiler& compiler, const OpsArguments& arguments) {
  TVMVM_TRY(std::vector<OperatorUse> uses, compiler.OperatorsOf(arguments.model));
  if (arguments.json)
    PrintResult(FormatJson(ToJson(uses)));
  else
    PrintUses(uses);
  bool supported = std::ranges::all_of(uses, [](const OperatorUse& use) { return use.problem.empty(); });
  return supported ? kExitOk : kExitFailed;
}

}  // namespace

Expected<int> OpsCommand(const OpsArguments& arguments) {
  TVMVM_TRY(const Compiler* compiler, OpenCompiler());
  if (!arguments.model.empty()) return ShowModel(*compiler, arguments);
  if (arguments.markdown)
    PrintResult(Markdown(*compiler));
  else if (arguments.json)
    PrintResult(FormatJson(TableJson(*compiler)));
  else
    PrintTable(*compiler);
  return kExitOk;
}

}  // namespace tvmvm::cli
