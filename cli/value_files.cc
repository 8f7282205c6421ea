#include "cli/value_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>

#include "cli/files.h"
#include "cli/json.h"
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

// Collects the texts of nested lists, which have to be of one shape.
Status CollectTexts(const nlohmann::json& json, size_t depth, std::vector<int64_t>* dims,
                    std::vector<std::string>* texts) {
  if (json.is_string() && depth == dims->size()) {
    texts->push_back(json.get<std::string>());
    return {};
  }
  if (!json.is_array() || depth >= dims->size() || static_cast<int64_t>(json.size()) != (*dims)[depth])
    return MakeError(Code::kInvalidArgument, "the strings are no lists of one shape");
  for (const nlohmann::json& item : json) TVMVM_CHECK_OK(CollectTexts(item, depth + 1, dims, texts));
  return {};
}

Expected<Tensor> StringsOf(const nlohmann::json& json) {
  std::vector<int64_t> dims;
  const nlohmann::json* first = &json;
  for (; first->is_array() && dims.size() < kMaxRank; first = &(*first)[0]) {
    dims.push_back(static_cast<int64_t>(first->size()));
    if (first->empty()) break;
  }
  if (first->is_array() && !first->empty())
    return MakeError(Code::kUnsupported,
                     fmt::format("strings in more than {} lists within one another", kMaxRank));
  std::vector<std::string> texts;
  TVMVM_CHECK_OK(CollectTexts(json, 0, &dims, &texts));
  return Tensor::FromStrings(Shape(dims), std::move(texts));
}

Expected<Value> ValueOf(const nlohmann::json& json, const TypeSpec& wanted) {
  if (wanted.kind == ValueKind::kOptional) {
    if (json.is_null()) return Value();
    return ValueOf(json, wanted.elements.empty() ? TypeSpec() : wanted.elements[0]);
  }
  if (wanted.kind == ValueKind::kSequence && json.is_array()) {
    std::vector<Value> elements;
    for (const nlohmann::json& item : json) {
      TVMVM_TRY(Value element, ValueOf(item, wanted.elements.empty() ? TypeSpec() : wanted.elements[0]));
      elements.push_back(std::move(element));
    }
    return Value::Sequence(std::move(elements));
  }
  TVMVM_TRY(Tensor tensor, StringsOf(json));
  return Value(std::move(tensor));
}

Expected<Value> ReadJson(const std::string& path, const TypeSpec& wanted) {
  TVMVM_TRY(std::string text, ReadTextFile(path));
  constexpr int kDeepest = 64;
  int deepest = 0;
  auto limit = [&](int depth, nlohmann::json::parse_event_t, nlohmann::json&) {
    deepest = std::max(deepest, depth);
    return depth <= kDeepest;
  };
  nlohmann::json json = nlohmann::json::parse(text, limit, false);
  if (json.is_discarded() || deepest > kDeepest) return Wrong(path, "not JSON, or nested too deeply");
  Expected<Value> value = ValueOf(json, wanted);
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
