// What the operator table says of element types is true: each operator form of operator_forms.txt compiles
// for every type of its row, giving the types and sizes that it states, and for no other.
#include "tests/conformance/operator_forms.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>

#include "compiler/onnx/ops/onnx_op.h"
#include "compiler/pipeline.h"
#include "tests/compiler/onnx/importer/onnx_writer.h"
#include "tests/conformance/operator_evidence.h"
#include "tests/sanitizer.h"
#include "tvm-vm/compiler.h"

namespace tvmvm {
namespace {

std::string NameOf(const ir::OnnxOp& row) {
  return fmt::format("{}{}{} {}", row.domain, row.domain.empty() ? "" : ".", row.name, row.since);
}

std::map<const ir::OnnxOp*, std::vector<OperatorForm>> FormsByRow() {
  std::map<const ir::OnnxOp*, std::vector<OperatorForm>> forms;
  for (OperatorForm& form : ReadOperatorForms()) {
    const ir::OnnxOp* row = ir::FindOnnxOp(form.domain, form.name, form.version);
    EXPECT_NE(row, nullptr) << form.text;
    if (row != nullptr) forms[row].push_back(std::move(form));
  }
  return forms;
}

Expected<CompileResult> Compile(const OperatorForm& form, const std::vector<DType>& types,
                                const std::string& stop_after = "") {
  std::string model = ModelOf(form, types);
  CompileOptions options;
  options.targets = {"host"};
  options.stop_after = stop_after;
  return GetCompiler().CompileBytes(ir::BytesOf(model), options);
}

// A tensor's type as a form writes it.
std::string Text(const TypeSpec& type) {
  std::string text(DTypeName(type.dtype));
  text += '[';
  for (const DimSpec& dim : type.dims)
    text += (text.ends_with('[') ? "" : ",") + (dim.value < 0 ? "?" : std::to_string(dim.value));
  return text + "]";
}

// `type`: what T is, or, where the form does not say, the type.
std::string Text(const OperandForm& form, DType type) {
  TypeSpec tensor;
  tensor.dtype = form.dtype == DType::kInvalid ? type : form.dtype.value_or(type);
  for (int64_t dim : form.dims) tensor.dims.push_back({dim, "", 0, 0});
  return Text(tensor);
}

void CheckOutputs(const OperatorForm& form, const std::vector<DType>& types, const Program& program) {
  size_t next = 0;
  for (DType type : types) {
    for (const OperandForm& output : form.outputs) {
      if (output.kind == OperandForm::Kind::kAbsent) continue;
      const TypeSpec& found = program.main().outputs[next++].type;
      const TypeSpec& tensor = found.elements.empty() ? found : found.elements[0];
      EXPECT_EQ(Text(tensor), Text(output, output.dtype == DType::kInvalid ? tensor.dtype : type));
    }
  }
}

TEST(OperatorForms, EveryRowHasOne) {
  auto forms = FormsByRow();
  for (const ir::OnnxOp* row : ir::OnnxOps()) {
    if (IsWithoutForm(*row)) continue;
    EXPECT_TRUE(forms.contains(row)) << NameOf(*row);
  }
}

// The types that the form can be imported with. Failures: one that is not of its row; one that is missing
// where the row has no other form.
std::vector<DType> ImportedTypes(const ir::OnnxOp& row, const OperatorForm& form, bool is_only_form) {
  std::vector<DType> types;
  for (int i = 1; i < kDTypeCount; ++i) {
    DType type = static_cast<DType>(i);
    bool is_taken = row.types.set.contains(type);
    auto imported = Compile(form, {type}, "import");
    if (imported) {
      types.push_back(type);
      EXPECT_TRUE(is_taken) << DTypeName(type);
    } else if (is_taken && is_only_form) {
      ADD_FAILURE() << DTypeName(type) << ": " << imported.error().message;
    } else if (!is_taken) {
      EXPECT_NE(imported.error().message.find(row.name), std::string::npos) << imported.error().message;
    }
  }
  return types;
}

TEST(OperatorForms, TakeTheTypesOfTheTable) {
  int index = 0;
  for (const auto& [row, forms] : FormsByRow()) {
    // Under a sanitizer every fourth row, for time.
    if (kSanitized && index++ % 4 != 0) continue;
    ir::DTypeSet taken;
    for (const OperatorForm& form : forms) {
      SCOPED_TRACE(form.text);
      std::vector<DType> types = ImportedTypes(*row, form, forms.size() == 1);
      for (DType type : types) taken = taken | ir::DTypeSet{type};
      auto compiled = Compile(form, types);
      if (compiled)
        CheckOutputs(form, types, *compiled->program);
      else
        ADD_FAILURE() << compiled.error().message;
    }
    EXPECT_TRUE(taken.contains(row->types.set - ir::DTypeSet{DType::kInvalid}))
        << NameOf(*row) << " does not take " << ir::TypesText(row->types.set - taken);
  }
}

// Whether a kernel runs for the form, or would where it is worth the copies; and whether the host library
// does.
struct WhatRuns {
  bool kernels = false, host = false;
};

WhatRuns RunsOf(const OperatorForm& form, DType type) {
  std::string model = ModelOf(form, {type}), table;
  CompileOptions options;
  options.targets = {"host"};
  options.devices = {"opencl", "cpu"};
  options.print_placement = true;
  options.print = [&](const std::string& text) { table += text; };
  auto compiled = GetCompiler().CompileBytes(ir::BytesOf(model), options);
  EXPECT_TRUE(compiled) << form.text << ": " << compiled.error().message;
  auto has = [&](const char* reason) { return table.find(reason) != std::string::npos; };
  return {has("has a kernel") || has("small, copies would cost more"), has("a function of the host library")};
}

// An operator that becomes kernels runs on every device; one that becomes a function of the host library and
// none, on the CPU alone.
TEST(OperatorForms, RunWhereTheTableSays) {
  for (const auto& [row, forms] : FormsByRow()) {
    WhatRuns found;
    for (const OperatorForm& form : forms) {
      for (int i = 1; i < kDTypeCount; ++i) {
        DType type = static_cast<DType>(i);
        if (!row->types.set.contains(type) || !Compile(form, {type}, "import")) continue;
        // Strings are the host's, also of an operator that takes other types.
        if (type == DType::kString && !(row->types.set == ir::kStrings)) continue;
        const WhatRuns more = RunsOf(form, type);
        found.kernels |= more.kernels, found.host |= more.host;
        if (more.kernels) break;
      }
    }
    const bool is_on_host = found.host && !found.kernels;
    EXPECT_EQ(row->runs == ir::Runs::kOnHost, is_on_host) << NameOf(*row);
  }
}

// What a hostile model may write where `value` stands: numbers at the ends of their range and just past those
// that mean something.
std::vector<nlohmann::json> HostileValues(const nlohmann::json& value) {
  std::vector<nlohmann::json> hostile;
  if (value.is_number_integer())
    for (int64_t number :
         {INT64_MAX, INT64_MIN, int64_t{INT32_MAX} + 1, int64_t{-1}, int64_t{0}, int64_t{1} << 62})
      hostile.emplace_back(number);
  if (!value.is_array() || value.empty() || !value[0].is_number_integer()) return hostile;
  for (const nlohmann::json& number : HostileValues(value[0])) {
    nlohmann::json one = value;
    one.back() = number;
    hostile.push_back(one);
    hostile.emplace_back(value.size(), number);
  }
  hostile.push_back(nlohmann::json::array());
  return hostile;
}

// The form with one attribute or constant operand made hostile, in every way.
std::vector<OperatorForm> HostileForms(const OperatorForm& form, const ir::OnnxOp& row) {
  std::vector<OperatorForm> hostile;
  std::istringstream names{std::string(row.attributes)};
  for (std::string name; names >> name;) {
    std::vector<nlohmann::json> values;
    if (form.attributes.contains(name)) {
      values = HostileValues(form.attributes[name]);
    } else {
      values = HostileValues(0);
      for (const nlohmann::json& value : HostileValues({1, 1})) values.push_back(value);
    }
    for (const nlohmann::json& value : values) {
      hostile.push_back(form);
      hostile.back().attributes[name] = value;
      hostile.back().text += fmt::format(" | {} = {}", name, value.dump());
    }
  }
  for (size_t i = 0; i < form.inputs.size(); ++i) {
    if (form.inputs[i].dtype != DType::kI64 || !form.inputs[i].values) continue;
    for (double number : {-0x1p63, 0x1p62, -1.0, 0.0}) {
      hostile.push_back(form);
      for (double& value : *hostile.back().inputs[i].values) value = number;
      hostile.back().text += fmt::format(" | input {} of {}", i, number);
    }
  }
  return hostile;
}

// It compiles, or an error says what is wrong; the sanitizers see that nothing overflows on the way.
TEST(OperatorForms, HostileNumbersAreHandled) {
  const std::string last_pass(PassPipeline().back().name);
  for (const auto& [row, forms] : FormsByRow()) {
    std::vector<DType> types;
    for (int i = 1; i < kDTypeCount && types.empty(); ++i)
      if (Compile(forms[0], {static_cast<DType>(i)}, "import")) types.push_back(static_cast<DType>(i));
    ASSERT_FALSE(types.empty()) << forms[0].text;
    for (const OperatorForm& form : HostileForms(forms[0], *row)) {
      auto compiled = Compile(form, types, last_pass);
      if (compiled) continue;
      EXPECT_NE(compiled.error().code, Code::kInternal) << form.text << "\n" << compiled.error().message;
      EXPECT_THAT(compiled.error().message, testing::HasSubstr(row->name)) << form.text;
    }
  }
}

}  // namespace
}  // namespace tvmvm
