#include "compiler/onnx/model/onnx_model.h"

#include <fmt/core.h>

#include <bit>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "compiler/onnx/model/mapped_file.h"
#include "compiler/onnx/model/no_model.h"
#include "compiler/onnx/model/onnx_attribute_kind.h"
#include "compiler/onnx/model/onnx_tensor.h"
#include "compiler/onnx/model/onnx_type.h"

namespace tvmvm::ir {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

constexpr int64_t kNewestIrVersion = 14;
constexpr int kMaxDepth = 64;  // of graphs in attributes

std::string NormalizeDomain(std::string domain) { return domain == "ai.onnx" ? std::string() : domain; }

// Reads one file. `places_` names the message that is being read; on an error it stays as it was, for the
// message.
class Reader {
 public:
  Reader(std::span<const std::byte> bytes, OnnxSource* source) : source_(*source), bytes_(bytes) {}

  OnnxModel ReadModel(pbf_reader reader);
  std::string Where() const;  // "at byte 12 (graph[0].node[3])"

 private:
  struct PlaceEntry {
    const char* name;
    size_t index;
  };

  // Counts fields on the way; every message goes through here.
  bool Next(pbf_reader& reader) {
    position_ = reader.data().data();
    return reader.next();
  }
  template <class F>
  auto Inside(const char* name, size_t index, F&& read) {
    if (places_.size() > kMaxDepth * 3) throw OnnxReadError(Code::kInvalidArgument, "nested too deeply");
    places_.push_back({name, index});
    auto result = read();
    places_.pop_back();
    return result;
  }

  // A tensor that cannot be read has no data and the reason: only who uses it is concerned.
  template <class F>
  OnnxInitializer ReadTensor(F&& read);
  void Assume(std::string text) { assumptions_.push_back(std::move(text)); }
  void ImportOpset(pbf_reader reader, const std::string& where, std::map<std::string, int64_t>* imports);

  OnnxGraph ReadGraph(pbf_reader reader);
  void SeparateDefaults(OnnxGraph* graph);
  OnnxNode ReadNode(pbf_reader reader);
  std::pair<std::string, OnnxAttribute> ReadAttribute(pbf_reader reader);
  void ReadAttributeField(pbf_reader& reader, OnnxAttribute* attribute);
  OnnxFunction ReadFunction(pbf_reader reader);
  std::pair<std::string, int64_t> ReadOpset(pbf_reader reader);

  OnnxSource& source_;
  std::span<const std::byte> bytes_;
  std::vector<std::string> assumptions_;
  std::optional<Error> problem_;  // of the attributes of the node that is being read
  std::vector<PlaceEntry> places_;
  const char* position_ = nullptr;  // first byte behind what was read last, where known
};

std::string Reader::Where() const {
  std::string place;
  for (const PlaceEntry& entry : places_)
    place += fmt::format("{}{}[{}]", place.empty() ? "" : ".", entry.name, entry.index);
  auto begin = reinterpret_cast<const char*>(bytes_.data());
  return fmt::format("at byte {} ({})", position_ == nullptr ? 0 : position_ - begin,
                     place.empty() ? "model" : place);
}

template <class F>
OnnxInitializer Reader::ReadTensor(F&& read) {
  try {
    return read();
  } catch (const OnnxReadError& error) {
    if (!error.tensor.has_value()) throw;
    return {*error.tensor, nullptr, Error{error.code, fmt::format("{} {}", error.what(), Where())}};
  }
}

using Kind = OnnxAttribute::Kind;

void Reader::ReadAttributeField(pbf_reader& reader, OnnxAttribute* attribute) {
  auto graph = [&](size_t index) {
    pbf_reader message = reader.get_message();
    return std::make_shared<const OnnxGraph>(Inside("graph", index, [&] { return ReadGraph(message); }));
  };
  auto tensor = [&](auto read) {
    pbf_reader message = reader.get_message();
    OnnxInitializer result = ReadTensor([&] { return read(message, source_); });
    if (result.problem.has_value()) problem_ = result.problem;
    return result.data;
  };
  switch (reader.tag()) {
    case 2:
      attribute->number = std::bit_cast<float>(reader.get_fixed32());
      break;
    case 3:
      attribute->integer = reader.get_int64();
      break;
    case 4:
      attribute->text = reader.get_string();
      break;
    case 5:
      attribute->tensor = tensor(ReadTensorProto);
      break;
    case 6:
      attribute->graph = graph(0);
      break;
    case 7:
      if (reader.wire_type() == pbf_wire_type::length_delimited) {
        for (float value : reader.get_packed_float()) attribute->numbers.push_back(value);
      } else {
        attribute->numbers.push_back(std::bit_cast<float>(reader.get_fixed32()));
      }
      break;
    case 8:
      AppendInt64(reader, &attribute->integers);
      break;
    case 9:
      attribute->texts.push_back(reader.get_string());
      break;
    case 10:
      attribute->tensors.push_back(tensor(ReadTensorProto));
      break;
    case 11:
      attribute->graphs.push_back(graph(attribute->graphs.size()));
      break;
    case 14:
      attribute->type = std::make_shared<const OnnxType>(ReadTypeProto(reader.get_message()));
      break;
    case 22:
      attribute->tensor = tensor(ReadSparseTensorProto);
      break;
    case 23:
      attribute->tensors.push_back(tensor(ReadSparseTensorProto));
      break;
    default:
      reader.skip();
  }
}

std::pair<std::string, OnnxAttribute> Reader::ReadAttribute(pbf_reader reader) {
  std::pair<std::string, OnnxAttribute> named;
  OnnxAttribute& attribute = named.second;
  std::optional<int32_t> type;
  Kind seen = Kind::kOther;
  while (Next(reader)) {
    switch (reader.tag()) {
      case 1:
        named.first = reader.get_string();
        break;
      case 20:
        type = reader.get_int32();
        break;
      case 21:
        attribute.reference = reader.get_string();
        break;
      default:
        if (Kind kind = AttributeKindOfField(reader.tag()); kind != Kind::kOther) seen = kind;
        ReadAttributeField(reader, &attribute);
    }
  }
  attribute.kind = type.value_or(0) != 0 ? AttributeKindOfType(*type) : seen;
  bool missing = (attribute.kind == Kind::kTensor && attribute.tensor == nullptr) ||
                 (attribute.kind == Kind::kGraph && attribute.graph == nullptr) ||
                 (attribute.kind == Kind::kType && attribute.type == nullptr);
  if (missing && attribute.reference.empty() && !problem_.has_value())
    throw OnnxReadError(Code::kInvalidArgument,
                        fmt::format("attribute '{}' has no value of its type", named.first));
  return named;
}

OnnxNode Reader::ReadNode(pbf_reader reader) {
  OnnxNode node;
  std::optional<Error> around = std::exchange(problem_, std::nullopt);
  while (Next(reader)) {
    switch (reader.tag()) {
      case 1:
        node.inputs.push_back(reader.get_string());
        break;
      case 2:
        node.outputs.push_back(reader.get_string());
        break;
      case 3:
        node.name = reader.get_string();
        break;
      case 4:
        node.op_type = reader.get_string();
        break;
      case 5: {
        pbf_reader message = reader.get_message();
        auto [name, attribute] =
            Inside("attribute", node.attributes.size(), [&] { return ReadAttribute(message); });
        if (!node.attributes.insert_or_assign(name, std::move(attribute)).second)
          Assume(fmt::format("the attribute '{}' of node '{}' is there twice: the last one counts", name,
                             node.name));
        break;
      }
      case 7:
        node.domain = NormalizeDomain(reader.get_string());
        break;
      case 8:
        node.overload = reader.get_string();
        break;
      default:
        reader.skip();
    }
  }
  node.problem = std::exchange(problem_, std::move(around));
  return node;
}

OnnxGraph Reader::ReadGraph(pbf_reader reader) {
  OnnxGraph graph;
  while (Next(reader)) {
    switch (reader.tag()) {
      case 1: {
        pbf_reader message = reader.get_message();
        graph.nodes.push_back(Inside("node", graph.nodes.size(), [&] { return ReadNode(message); }));
        break;
      }
      case 2:
        graph.name = reader.get_string();
        break;
      case 5:
      case 15: {
        auto read = reader.tag() == 5 ? ReadTensorProto : ReadSparseTensorProto;
        pbf_reader message = reader.get_message();
        graph.initializers.push_back(Inside("initializer", graph.initializers.size(), [&] {
          return ReadTensor([&] { return read(message, source_); });
        }));
        break;
      }
      case 11:
        graph.inputs.push_back(ReadValueInfoProto(reader.get_message()));
        break;
      case 12:
        graph.outputs.push_back(ReadValueInfoProto(reader.get_message()));
        break;
      case 13: {
        OnnxValueInfo info = ReadValueInfoProto(reader.get_message());
        if (info.type.has_value()) graph.value_types.insert_or_assign(info.name, std::move(*info.type));
        break;
      }
      default:
        reader.skip();
    }
  }
  SeparateDefaults(&graph);
  return graph;
}

// Until IR version 4 every initializer had to be an input, too. What is declared of it says nothing more.
void Reader::SeparateDefaults(OnnxGraph* graph) {
  std::set<std::string_view> initialized;
  for (const OnnxInitializer& initializer : graph->initializers) initialized.insert(initializer.name);
  std::erase_if(graph->inputs, [&](const OnnxValueInfo& input) {
    bool has_default = initialized.contains(input.name);
    if (has_default) graph->defaults.push_back(input.name);
    return has_default;
  });
}

std::pair<std::string, int64_t> Reader::ReadOpset(pbf_reader reader) {
  std::pair<std::string, int64_t> opset{"", 0};
  while (Next(reader)) {
    switch (reader.tag()) {
      case 1:
        opset.first = NormalizeDomain(reader.get_string());
        break;
      case 2:
        opset.second = reader.get_int64();
        break;
      default:
        reader.skip();
    }
  }
  return opset;
}

void Reader::ImportOpset(pbf_reader reader, const std::string& where,
                         std::map<std::string, int64_t>* imports) {
  auto [domain, version] = ReadOpset(reader);
  auto [known, is_new] = imports->emplace(domain, version);
  if (is_new || known->second == version) return;
  Assume(fmt::format("{} imports the opsets {} and {} of {}: the one named last counts", where, known->second,
                     version, domain.empty() ? "ai.onnx" : domain));
  known->second = version;
}

OnnxFunction Reader::ReadFunction(pbf_reader reader) {
  OnnxFunction function;
  while (Next(reader)) {
    switch (reader.tag()) {
      case 1:
        function.name = reader.get_string();
        break;
      case 4:
        function.inputs.push_back(reader.get_string());
        break;
      case 5:
        function.outputs.push_back(reader.get_string());
        break;
      case 6:
        function.attributes.push_back(reader.get_string());
        break;
      case 7: {
        pbf_reader message = reader.get_message();
        function.nodes.push_back(Inside("node", function.nodes.size(), [&] { return ReadNode(message); }));
        break;
      }
      case 9:
        ImportOpset(reader.get_message(), "a function", &function.opset_imports);
        break;
      case 10:
        function.domain = NormalizeDomain(reader.get_string());
        break;
      case 11:
        function.attribute_defaults.insert(ReadAttribute(reader.get_message()));
        break;
      case 13:
        function.overload = reader.get_string();
        break;
      default:
        reader.skip();
    }
  }
  return function;
}

OnnxModel Reader::ReadModel(pbf_reader reader) {
  OnnxModel model;
  bool has_graph = false;
  while (Next(reader)) {
    switch (reader.tag()) {
      case 1:
        model.ir_version = reader.get_int64();
        break;
      case 2:
        model.producer = reader.get_string();
        break;
      case 7: {
        pbf_reader message = reader.get_message();
        if (std::exchange(has_graph, true))
          throw OnnxReadError(Code::kInvalidArgument, "the model has two graphs");
        model.graph = Inside("graph", 0, [&] { return ReadGraph(message); });
        break;
      }
      case 8:
        ImportOpset(reader.get_message(), "the model", &model.opset_imports);
        break;
      case 25: {
        pbf_reader message = reader.get_message();
        model.functions.push_back(
            Inside("function", model.functions.size(), [&] { return ReadFunction(message); }));
        break;
      }
      default:
        reader.skip();
    }
  }
  if (model.ir_version == 0 && !has_graph)
    throw OnnxReadError(
        Code::kInvalidArgument,
        WhyNoModel(bytes_).value_or("is not an ONNX model: neither an IR version nor a graph was found"));
  if (!has_graph) throw OnnxReadError(Code::kInvalidArgument, "the model has no graph");
  if (model.ir_version < 1) Assume("the model does not say its IR version: it is read as any is");
  if (model.ir_version > kNewestIrVersion)
    Assume(fmt::format("IR version {} is not known: the model is read as one of version {}", model.ir_version,
                       kNewestIrVersion));
  model.assumptions = std::move(assumptions_);
  return model;
}

pbf_reader ReaderOf(std::span<const std::byte> bytes) {
  return pbf_reader(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Expected<OnnxModel> Read(std::span<const std::byte> bytes, OnnxSource* source) {
  Reader reader(bytes, source);
  try {
    OnnxModel model = reader.ReadModel(ReaderOf(bytes));
    model.bytes = bytes;
    model.owner = source->owner;
    return model;
  } catch (const OnnxReadError& error) {
    return MakeError(error.code, fmt::format("{} {}", error.what(), reader.Where()));
  } catch (const protozero::exception& error) {
    if (auto reason = WhyNoModel(bytes)) return MakeError(Code::kInvalidArgument, *reason);
    return MakeError(Code::kInvalidArgument,
                     fmt::format("malformed protobuf {}: {}", reader.Where(), error.what()));
  } catch (const std::bad_alloc&) {
    return MakeError(Code::kOutOfMemory, "the model does not fit into memory");
  }
}

}  // namespace

Expected<OnnxModel> ReadOnnxFile(const std::string& path, const std::shared_ptr<const MappedFile>& file) {
  std::string parent = std::filesystem::path(path).parent_path().string();
  TVMVM_TRY(ModelFolder folder, ModelFolder::Create(parent.empty() ? "." : parent));
  OnnxSource source;
  source.owner = file;
  source.folder = &folder;
  auto model = Read(file->bytes(), &source);
  if (!model) return MakeError(model.error().code, fmt::format("{}: {}", path, model.error().message));
  return model;
}

Expected<OnnxModel> ReadOnnxBytes(std::span<const std::byte> bytes) {
  OnnxSource source;
  return Read(bytes, &source);
}

Expected<OnnxInitializer> ReadOnnxTensor(std::span<const std::byte> bytes) {
  OnnxSource source;
  try {
    return ReadTensorProto(ReaderOf(bytes), source);
  } catch (const OnnxReadError& error) {
    return MakeError(error.code, error.what());
  } catch (const protozero::exception& error) {
    return MakeError(Code::kInvalidArgument, fmt::format("malformed protobuf: {}", error.what()));
  }
}

}  // namespace tvmvm::ir
