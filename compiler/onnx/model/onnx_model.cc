#include "compiler/onnx/model/onnx_model.h"

#include <fmt/core.h>

#include <bit>
#include <filesystem>
#include <utility>

#include "compiler/onnx/model/mapped_file.h"
#include "compiler/onnx/model/onnx_tensor.h"

namespace tvmvm::ir {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

constexpr int64_t kMinIrVersion = 3;
constexpr int64_t kMaxIrVersion = 14;
constexpr int kMaxDepth = 64;  // of graphs in attributes and of types in types

std::string NormalizeDomain(std::string domain) { return domain == "ai.onnx" ? std::string() : domain; }

// Reads one file. `places_` names the message that is being read; on an error it stays as it was, for the
// message.
class Reader {
 public:
  explicit Reader(OnnxSource* source) : source_(*source) {}

  OnnxModel ReadModel(pbf_reader reader);
  std::string Place() const;
  // First byte behind what was read last, where known.
  const char* position() const { return position_; }

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

  OnnxGraph ReadGraph(pbf_reader reader);
  OnnxNode ReadNode(pbf_reader reader);
  std::pair<std::string, OnnxAttribute> ReadAttribute(pbf_reader reader);
  void ReadAttributeField(pbf_reader& reader, OnnxAttribute* attribute);
  OnnxValueInfo ReadValueInfo(pbf_reader reader);
  OnnxType ReadType(pbf_reader reader);
  OnnxType ReadTensorType(pbf_reader reader, OnnxType::Kind kind);
  OnnxType ReadElementType(pbf_reader reader, OnnxType::Kind kind);
  OnnxType ReadMapType(pbf_reader reader);
  OnnxDim ReadDim(pbf_reader reader);
  OnnxFunction ReadFunction(pbf_reader reader);
  std::pair<std::string, int64_t> ReadOpset(pbf_reader reader);

  OnnxSource& source_;
  std::vector<PlaceEntry> places_;
  const char* position_ = nullptr;
};

std::string Reader::Place() const {
  std::string place;
  for (const PlaceEntry& entry : places_)
    place += fmt::format("{}{}[{}]", place.empty() ? "" : ".", entry.name, entry.index);
  return place.empty() ? "model" : place;
}

OnnxDim Reader::ReadDim(pbf_reader reader) {
  OnnxDim dim;
  while (Next(reader)) {
    switch (reader.tag()) {
      case 1:
        dim.value = reader.get_int64();
        break;
      case 2:
        dim.symbol = reader.get_string();
        break;
      default:
        reader.skip();
    }
  }
  return dim;
}

OnnxType Reader::ReadTensorType(pbf_reader reader, OnnxType::Kind kind) {
  OnnxType type;
  type.kind = kind;
  while (Next(reader)) {
    switch (reader.tag()) {
      case 1: {
        int32_t code = reader.get_int32();
        auto dtype = DTypeFromOnnx(code);
        if (!dtype.has_value() && code != 0)
          throw OnnxReadError(Code::kUnsupported, fmt::format("element type {} is unknown", code));
        type.dtype = dtype.value_or(DType::kInvalid);
        break;
      }
      case 2: {
        type.ranked = true;
        pbf_reader shape = reader.get_message();
        while (Next(shape)) {
          if (shape.tag() == 1) {
            type.dims.push_back(ReadDim(shape.get_message()));
          } else {
            shape.skip();
          }
        }
        break;
      }
      default:
        reader.skip();
    }
  }
  return type;
}

OnnxType Reader::ReadElementType(pbf_reader reader, OnnxType::Kind kind) {
  OnnxType type;
  type.kind = kind;
  while (Next(reader)) {
    if (reader.tag() == 1) {
      pbf_reader element = reader.get_message();
      type.elements.push_back(Inside("elem_type", 0, [&] { return ReadType(element); }));
    } else {
      reader.skip();
    }
  }
  if (type.elements.size() != 1)
    throw OnnxReadError(Code::kInvalidArgument, "a container type without element type");
  return type;
}

OnnxType Reader::ReadMapType(pbf_reader reader) {
  OnnxType type;
  type.kind = OnnxType::Kind::kMap;
  while (Next(reader)) {
    switch (reader.tag()) {
      case 1:
        type.dtype = DTypeFromOnnx(reader.get_int32()).value_or(DType::kInvalid);
        break;
      case 2: {
        pbf_reader values = reader.get_message();
        type.elements.push_back(Inside("value_type", 0, [&] { return ReadType(values); }));
        break;
      }
      default:
        reader.skip();
    }
  }
  if (type.elements.size() != 1 || type.dtype == DType::kInvalid)
    throw OnnxReadError(Code::kInvalidArgument, "a map type without the types of its keys and values");
  return type;
}

OnnxType Reader::ReadType(pbf_reader reader) {
  OnnxType type;
  type.kind = OnnxType::Kind::kOpaque;
  while (Next(reader)) {
    switch (reader.tag()) {
      case 1:
        type = ReadTensorType(reader.get_message(), OnnxType::Kind::kTensor);
        break;
      case 4:
        type = ReadElementType(reader.get_message(), OnnxType::Kind::kSequence);
        break;
      case 5:
        type = ReadMapType(reader.get_message());
        break;
      case 8:
        type = ReadTensorType(reader.get_message(), OnnxType::Kind::kSparseTensor);
        break;
      case 9:
        type = ReadElementType(reader.get_message(), OnnxType::Kind::kOptional);
        break;
      default:
        reader.skip();
    }
  }
  return type;
}

OnnxValueInfo Reader::ReadValueInfo(pbf_reader reader) {
  OnnxValueInfo info;
  while (Next(reader)) {
    switch (reader.tag()) {
      case 1:
        info.name = reader.get_string();
        break;
      case 2:
        info.type = ReadType(reader.get_message());
        break;
      default:
        reader.skip();
    }
  }
  return info;
}

using Kind = OnnxAttribute::Kind;

Kind KindFromOnnx(int32_t type) {
  switch (type) {
    case 1:
      return Kind::kFloat;
    case 2:
      return Kind::kInt;
    case 3:
      return Kind::kString;
    case 4:
    case 11:
      return Kind::kTensor;
    case 5:
      return Kind::kGraph;
    case 6:
      return Kind::kFloats;
    case 7:
      return Kind::kInts;
    case 8:
      return Kind::kStrings;
    case 9:
    case 12:
      return Kind::kTensors;
    case 10:
      return Kind::kGraphs;
    case 13:
      return Kind::kType;
    default:
      return Kind::kOther;
  }
}

// The kind that a field stands for: what counts in files that leave the type out.
Kind KindFromField(uint32_t tag) {
  switch (tag) {
    case 2:
      return Kind::kFloat;
    case 3:
      return Kind::kInt;
    case 4:
      return Kind::kString;
    case 5:
    case 22:
      return Kind::kTensor;
    case 6:
      return Kind::kGraph;
    case 7:
      return Kind::kFloats;
    case 8:
      return Kind::kInts;
    case 9:
      return Kind::kStrings;
    case 10:
    case 23:
      return Kind::kTensors;
    case 11:
      return Kind::kGraphs;
    case 14:
      return Kind::kType;
    default:
      return Kind::kOther;
  }
}

void Reader::ReadAttributeField(pbf_reader& reader, OnnxAttribute* attribute) {
  auto graph = [&](size_t index) {
    pbf_reader message = reader.get_message();
    return std::make_shared<const OnnxGraph>(Inside("graph", index, [&] { return ReadGraph(message); }));
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
      attribute->tensor = ReadTensorProto(reader.get_message(), source_).data;
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
      attribute->tensors.push_back(ReadTensorProto(reader.get_message(), source_).data);
      break;
    case 11:
      attribute->graphs.push_back(graph(attribute->graphs.size()));
      break;
    case 14:
      attribute->type = std::make_shared<const OnnxType>(ReadType(reader.get_message()));
      break;
    case 22:
      attribute->tensor = ReadSparseTensorProto(reader.get_message(), source_).data;
      break;
    case 23:
      attribute->tensors.push_back(ReadSparseTensorProto(reader.get_message(), source_).data);
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
        if (Kind kind = KindFromField(reader.tag()); kind != Kind::kOther) seen = kind;
        ReadAttributeField(reader, &attribute);
    }
  }
  attribute.kind = type.value_or(0) != 0 ? KindFromOnnx(*type) : seen;
  bool missing = (attribute.kind == Kind::kTensor && attribute.tensor == nullptr) ||
                 (attribute.kind == Kind::kGraph && attribute.graph == nullptr) ||
                 (attribute.kind == Kind::kType && attribute.type == nullptr);
  if (missing && attribute.reference.empty())
    throw OnnxReadError(Code::kInvalidArgument,
                        fmt::format("attribute '{}' has no value of its type", named.first));
  return named;
}

OnnxNode Reader::ReadNode(pbf_reader reader) {
  OnnxNode node;
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
        auto named = Inside("attribute", node.attributes.size(), [&] { return ReadAttribute(message); });
        if (!node.attributes.insert(std::move(named)).second)
          throw OnnxReadError(Code::kInvalidArgument,
                              fmt::format("node '{}' has an attribute twice", node.name));
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
      case 5: {
        pbf_reader message = reader.get_message();
        graph.initializers.push_back(Inside("initializer", graph.initializers.size(),
                                            [&] { return ReadTensorProto(message, source_); }));
        break;
      }
      case 11:
        graph.inputs.push_back(ReadValueInfo(reader.get_message()));
        break;
      case 12:
        graph.outputs.push_back(ReadValueInfo(reader.get_message()));
        break;
      case 15:
        graph.initializers.push_back(ReadSparseTensorProto(reader.get_message(), source_));
        break;
      default:
        reader.skip();
    }
  }
  return graph;
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
        function.opset_imports.insert(ReadOpset(reader.get_message()));
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
      case 8: {
        auto [domain, version] = ReadOpset(reader.get_message());
        model.opset_imports[domain] = version;
        break;
      }
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
    throw OnnxReadError(Code::kInvalidArgument,
                        "not an ONNX model: neither an IR version nor a graph was found");
  if (model.ir_version < kMinIrVersion || model.ir_version > kMaxIrVersion)
    throw OnnxReadError(Code::kUnsupported, fmt::format("IR version {}, versions {} to {} are supported",
                                                        model.ir_version, kMinIrVersion, kMaxIrVersion));
  if (!has_graph) throw OnnxReadError(Code::kInvalidArgument, "the model has no graph");
  return model;
}

pbf_reader ReaderOf(std::span<const std::byte> bytes) {
  return pbf_reader(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Expected<OnnxModel> Read(std::span<const std::byte> bytes, OnnxSource* source) {
  Reader reader(source);
  auto where = [&] {
    auto begin = reinterpret_cast<const char*>(bytes.data());
    return fmt::format("at byte {} ({})", reader.position() == nullptr ? 0 : reader.position() - begin,
                       reader.Place());
  };
  try {
    OnnxModel model = reader.ReadModel(ReaderOf(bytes));
    model.bytes = bytes;
    model.owner = source->owner;
    return model;
  } catch (const OnnxReadError& error) {
    return MakeError(error.code, fmt::format("{} {}", error.what(), where()));
  } catch (const protozero::exception& error) {
    return MakeError(Code::kInvalidArgument, fmt::format("malformed protobuf {}: {}", where(), error.what()));
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
