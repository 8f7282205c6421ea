#include "cli/data_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "cli/onnx_data.h"

namespace tvmvm::cli {
namespace {

bool FileExists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::is_regular_file(path, ignored);
}

}  // namespace

bool IsDataSet(const std::string& path) {
  return FileExists(path + "/input_0.pb") || FileExists(path + "/output_0.pb");
}

std::vector<std::string> DataSetFiles(const std::string& folder, std::string_view stem) {
  std::vector<std::string> files;
  for (;;) {
    std::string path = fmt::format("{}/{}_{}.pb", folder, stem, files.size());
    if (!FileExists(path)) return files;
    files.push_back(std::move(path));
  }
}

Expected<std::vector<std::optional<Value>>> ReadDataSet(const std::vector<ParameterSpec>& parameters,
                                                        const std::string& folder, std::string_view stem) {
  const std::vector<std::string> files = DataSetFiles(folder, stem);
  if (files.size() > parameters.size())
    return MakeError(Code::kInvalidArgument, fmt::format("'{}': {} data files for {} parameters", folder,
                                                         files.size(), parameters.size()));
  std::vector<NamedValue> values;
  std::vector<size_t> by_name;
  for (size_t i = 0; i < files.size(); ++i) {
    TVMVM_TRY(NamedValue value, ReadValueProto(files[i], parameters[i].type));
    auto found = std::ranges::find(parameters, value.name, &ParameterSpec::name);
    size_t index = static_cast<size_t>(found - parameters.begin());
    if (found != parameters.end() && std::ranges::find(by_name, index) == by_name.end())
      by_name.push_back(index);
    values.push_back(std::move(value));
  }
  std::vector<std::optional<Value>> result(parameters.size());
  bool all_named = by_name.size() == files.size();
  for (size_t i = 0; i < values.size(); ++i) result[all_named ? by_name[i] : i] = std::move(values[i].value);
  return result;
}

}  // namespace tvmvm::cli
