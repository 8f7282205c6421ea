#include "cli/value_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>

#include "cli/files.h"
#include "cli/json_values.h"
#include "cli/npy.h"
#include "cli/npz.h"
#include "cli/onnx_data.h"
#include "cli/value_text.h"

namespace tvmvm::cli {
namespace {

namespace fs = std::filesystem;

tl::unexpected<Error> Wrong(const std::string& path, std::string_view why) {
  return MakeError(Code::kInvalidArgument, fmt::format("'{}': {}", path, why));
}

// ---- .json ----

Expected<Value> ReadJson(const std::string& path, const TypeSpec& wanted) {
  TVMVM_TRY(std::string text, ReadTextFile(path));
  auto json = ParseJson(text);
  if (!json) return Wrong(path, json.error().message);
  Expected<Value> value = ValueFromJson(*json, wanted);
  if (!value) return Wrong(path, value.error().message);
  return value;
}

// ---- folders ----

// "0.npy" -> 0; files of other names are an error, so that nothing is left out unseen.
Expected<std::vector<std::string>> NumberedFiles(const std::string& folder) {
  std::map<size_t, std::string> files;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    std::string stem = at->path().stem().string();
    size_t number = 0;
    auto [rest, problem] = std::from_chars(stem.data(), stem.data() + stem.size(), number);
    if (problem != std::errc() || rest != stem.data() + stem.size())
      return Wrong(at->path().string(), "the elements of a sequence are named 0.npy, 1.npy, ...");
    if (!files.emplace(number, at->path().string()).second)
      return Wrong(at->path().string(), "a sequence has one file for each element");
  }
  if (error) return Wrong(folder, error.message());
  std::vector<std::string> paths;
  for (const auto& [number, path] : files) {
    if (number != paths.size()) return Wrong(folder, fmt::format("the element {} is missing", paths.size()));
    paths.push_back(path);
  }
  return paths;
}

Expected<Value> ReadFolder(const std::string& path, const TypeSpec& element, int64_t max_bytes) {
  TVMVM_TRY(std::vector<std::string> files, NumberedFiles(path));
  std::vector<Value> elements;
  for (const std::string& file : files) {
    TVMVM_TRY(Value value, ReadValueFile(file, element, max_bytes));
    elements.push_back(std::move(value));
  }
  return Value::Sequence(std::move(elements));
}

Expected<Value> ReadArchive(const std::string& path, const TypeSpec& element, int64_t max_bytes) {
  TVMVM_TRY(std::vector<Tensor> tensors, ReadNpz(path, element.dtype, max_bytes));
  return Value::Sequence(std::vector<Value>(tensors.begin(), tensors.end()));
}

}  // namespace

Expected<Value> ReadValueFile(const std::string& path, const TypeSpec& wanted, int64_t max_bytes) {
  if (path.ends_with(".pb")) {
    TVMVM_TRY(NamedValue named, ReadValueProto(path, wanted));
    return std::move(named.value);
  }
  if (path.ends_with(".json")) return ReadJson(path, wanted);
  TypeSpec type = wanted;
  while (type.kind == ValueKind::kOptional)
    type = type.elements.empty() ? TypeSpec() : TypeSpec(type.elements[0]);
  std::error_code ignored;
  bool is_folder = fs::is_directory(path, ignored), is_archive = path.ends_with(".npz");
  if (is_folder || is_archive) {
    if (type.kind != ValueKind::kSequence)
      return Wrong(path, fmt::format("a sequence, {} is wanted", FormatType(wanted)));
    TypeSpec element = type.elements.empty() ? TypeSpec() : type.elements[0];
    return is_folder ? ReadFolder(path, element, max_bytes) : ReadArchive(path, element, max_bytes);
  }
  if (type.kind != ValueKind::kTensor)
    return Wrong(path, fmt::format("{} is wanted: a folder, an .npz or a .pb file", FormatType(wanted)));
  TVMVM_TRY(Tensor tensor, ReadNpy(path, type.dtype));
  return Value(std::move(tensor));
}

Expected<std::string> WriteValueFile(const std::string& stem, const Value& value) {
  if (value.is_none()) {
    TVMVM_TRY(OutputFile file, OutputFile::Create(stem + ".json"));
    TVMVM_CHECK_OK(file.Write("null\n"));
    TVMVM_CHECK_OK(file.Commit());
    return stem + ".json";
  }
  if (value.is_tensor()) {
    TVMVM_CHECK_OK(WriteNpy(stem + ".npy", value.tensor()));
    return stem + ".npy";
  }
  TVMVM_CHECK_OK(MakeFolder(stem));
  for (size_t i = 0; i < value.elements().size(); ++i)
    TVMVM_CHECK_OK(WriteValueFile(fmt::format("{}/{}", stem, i), value.elements()[i]));
  return stem;
}

}  // namespace tvmvm::cli
