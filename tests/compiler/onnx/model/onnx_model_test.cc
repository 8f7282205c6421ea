#include "compiler/onnx/model/onnx_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <functional>

#include "tests/compiler/onnx/importer/onnx_writer.h"

namespace tvmvm::ir {
namespace {

using ::testing::HasSubstr;

GraphText SmallGraph() {
  return {{{"Relu", {"x"}, {"y"}, {}, "first"}},
          {ValueMessage("x", kOnnxFloat, {int64_t{2}, "n", ""})},
          {ValueMessage("y", kOnnxFloat, {int64_t{2}, "n", ""})},
          {TensorMessage("w", kOnnxFloat, {2}, RawBytes<float>({1.5f, -2}))}};
}

TEST(OnnxModel, ReadsWhatTheFileSays) {
  std::string bytes = ModelMessage(SmallGraph());
  auto model = ReadOnnxBytes(BytesOf(bytes));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->ir_version, 8);
  EXPECT_EQ(model->opset_imports.at(""), 13);
  const OnnxGraph& graph = model->graph;
  ASSERT_EQ(graph.nodes.size(), 1u);
  EXPECT_EQ(graph.nodes[0].op_type, "Relu");
  EXPECT_EQ(graph.nodes[0].name, "first");
  const OnnxType& type = *graph.inputs.at(0).type;
  EXPECT_EQ(type.dtype, DType::kF32);
  EXPECT_EQ(type.dims[0].value, 2);
  EXPECT_EQ(type.dims[1].symbol, "n");
  EXPECT_FALSE(type.dims[2].value.has_value());
}

TEST(OnnxModel, RawDataIsViewedInPlace) {
  std::string bytes = ModelMessage(SmallGraph());
  auto model = ReadOnnxBytes(BytesOf(bytes));
  ASSERT_TRUE(model);
  auto data = reinterpret_cast<const char*>(model->graph.initializers[0].data->bytes.data());
  EXPECT_GE(data, bytes.data());
  EXPECT_LE(data + 8, bytes.data() + bytes.size());
}

Expected<OnnxInitializer> ReadTyped(int32_t type, const std::vector<int64_t>& dims,
                                    const std::function<void(protozero::pbf_writer&)>& field) {
  std::string bytes = Message([&](auto& w) {
    w.add_packed_int64(1, dims.begin(), dims.end());
    w.add_int32(2, type);
    field(w);
  });
  auto tensor = ReadOnnxTensor(BytesOf(bytes));
  if (tensor) {  // the bytes go away with this function
    std::vector<std::byte> copy(tensor->data->bytes.begin(), tensor->data->bytes.end());
    tensor->data =
        std::make_shared<TensorData>(TensorData::Owned(tensor->data->dtype, tensor->data->dims, copy));
  }
  return tensor;
}

template <class T>
std::vector<T> Values(const OnnxInitializer& tensor) {
  std::vector<T> values(tensor.data->bytes.size() / sizeof(T));
  std::memcpy(values.data(), tensor.data->bytes.data(), values.size() * sizeof(T));
  return values;
}

TEST(OnnxModel, EveryTypedFieldIsRead) {
  std::vector<int32_t> small{1, 0, 255};
  auto bytes =
      ReadTyped(kOnnxUint8, {3}, [&](auto& w) { w.add_packed_int32(5, small.begin(), small.end()); });
  ASSERT_TRUE(bytes) << bytes.error().message;
  EXPECT_EQ(Values<uint8_t>(*bytes), (std::vector<uint8_t>{1, 0, 255}));

  std::vector<int32_t> half{0x3c00, 0xbc00};
  auto halves =
      ReadTyped(kOnnxFloat16, {2}, [&](auto& w) { w.add_packed_int32(5, half.begin(), half.end()); });
  ASSERT_TRUE(halves);
  EXPECT_EQ(Values<uint16_t>(*halves), (std::vector<uint16_t>{0x3c00, 0xbc00}));

  std::vector<uint64_t> large{4294967295u};
  auto unsigneds =
      ReadTyped(kOnnxUint32, {1}, [&](auto& w) { w.add_packed_uint64(11, large.begin(), large.end()); });
  ASSERT_TRUE(unsigneds);
  EXPECT_EQ(Values<uint32_t>(*unsigneds), (std::vector<uint32_t>{4294967295u}));

  auto unpacked = ReadTyped(kOnnxFloat, {2}, [&](auto& w) {
    w.add_float(4, 0.5f);
    w.add_float(4, 2);
  });
  ASSERT_TRUE(unpacked);
  EXPECT_EQ(Values<float>(*unpacked), (std::vector<float>{0.5f, 2}));

  auto bools = ReadTyped(kOnnxBool, {3}, [&](auto& w) { w.add_bytes(9, std::string("\0\2\1", 3)); });
  ASSERT_TRUE(bools);
  EXPECT_EQ(Values<uint8_t>(*bools), (std::vector<uint8_t>{0, 1, 1}));
}

TEST(OnnxModel, TensorsThatDoNotFitAreRefused) {
  auto error = [](const std::vector<int64_t>& dims, const std::string& raw) {
    std::string bytes = TensorMessage("w", kOnnxFloat, dims, raw);
    auto tensor = ReadOnnxTensor(BytesOf(bytes));
    return tensor ? "no error" : tensor.error().message;
  };
  EXPECT_EQ(error({3}, "12345678"), "tensor 'w': 8 bytes of data, type f32 and 3 elements want 12");
  EXPECT_EQ(error({-1}, ""), "tensor 'w': dimension -1 is negative");
  EXPECT_EQ(error({int64_t{1} << 40, int64_t{1} << 40}, ""),
            "tensor 'w': the dimensions' product is too large");
  EXPECT_EQ(error(std::vector<int64_t>(33, 1), "1234"),
            "tensor 'w': 33 dimensions, at most 32 are supported");
}

std::vector<std::string> AssumptionsOf(const std::string& bytes) {
  auto model = ReadOnnxBytes(BytesOf(bytes));
  return model ? model->assumptions : std::vector<std::string>{model.error().message};
}

TEST(OnnxModel, VersionsThatAreNotKnownAreAssumptions) {
  using ::testing::ElementsAre;
  using ::testing::IsEmpty;
  EXPECT_THAT(AssumptionsOf(ModelMessage(SmallGraph(), 13, 1)), IsEmpty());
  EXPECT_THAT(AssumptionsOf(ModelMessage(SmallGraph(), 13, 14)), IsEmpty());
  EXPECT_THAT(AssumptionsOf(ModelMessage(SmallGraph(), 13, 15)),
              ElementsAre("IR version 15 is not known: the model is read as one of version 14"));
  EXPECT_THAT(AssumptionsOf(ModelMessage(SmallGraph(), 13, 0)),
              ElementsAre("the model does not say its IR version: it is read as any is"));
  std::string again = ModelMessage(SmallGraph()) + Message([](auto& w) {
                        w.add_message(8, OpsetMessage("ai.onnx", 11));
                        w.add_message(8, OpsetMessage("", 11));
                      });
  EXPECT_THAT(AssumptionsOf(again),
              ElementsAre("the model imports the opsets 13 and 11 of ai.onnx: the one named last counts"));
  auto model = ReadOnnxBytes(BytesOf(again));
  ASSERT_TRUE(model);
  EXPECT_EQ(model->opset_imports.at(""), 11);
}

TEST(OnnxModel, TheLastOfTwoAttributesCounts) {
  GraphText graph = SmallGraph();
  graph.nodes[0].attributes = {IntAttribute("a", 1), IntAttribute("a", 2)};
  std::string bytes = ModelMessage(graph);
  auto model = ReadOnnxBytes(BytesOf(bytes));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->graph.nodes[0].attributes.at("a").integer, 2);
  EXPECT_THAT(
      model->assumptions,
      ::testing::ElementsAre("the attribute 'a' of node 'first' is there twice: the last one counts"));
}

TEST(OnnxModel, InputsWithADefaultAreNoInputs) {
  GraphText graph = SmallGraph();
  graph.inputs.push_back(ValueMessage("w", kOnnxFloat, {int64_t{2}}));
  std::string bytes = ModelMessage(graph);
  auto model = ReadOnnxBytes(BytesOf(bytes));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->graph.inputs.size(), 1u);
  EXPECT_THAT(model->graph.defaults, ::testing::ElementsAre("w"));
}

template <class T>
std::string SparseTensor(int32_t index_type, const std::vector<T>& indices) {
  return Message([&](auto& w) {
    w.add_message(1, TensorMessage("w", kOnnxFloat, {2}, RawBytes<float>({1.5f, -2})));
    w.add_message(2,
                  TensorMessage("", index_type, {static_cast<int64_t>(indices.size())}, RawBytes(indices)));
    w.add_int64(3, 4);
  });
}

TEST(OnnxModel, SparseTensorsHaveIndicesOfAnySignedType) {
  for (const std::string& sparse : {SparseTensor<int8_t>(3, {0, 3}), SparseTensor<int16_t>(5, {0, 3}),
                                    SparseTensor<int32_t>(6, {0, 3}), SparseTensor<int64_t>(7, {0, 3})}) {
    std::string bytes = Message([&](auto& w) {
      w.add_int64(1, 8);
      w.add_message(7, Message([&](auto& g) { g.add_message(15, sparse); }));
    });
    auto model = ReadOnnxBytes(BytesOf(bytes));
    ASSERT_TRUE(model) << model.error().message;
    const OnnxInitializer& weights = model->graph.initializers[0];
    ASSERT_FALSE(weights.problem.has_value()) << weights.problem->message;
    EXPECT_EQ(Values<float>(weights), (std::vector<float>{1.5f, 0, 0, -2}));
  }
  std::string bytes = Message([&](auto& w) {
    w.add_int64(1, 8);
    w.add_message(7, Message([&](auto& g) { g.add_message(15, SparseTensor<float>(1, {0, 3})); }));
  });
  auto model = ReadOnnxBytes(BytesOf(bytes));
  ASSERT_TRUE(model);
  EXPECT_THAT(model->graph.initializers[0].problem->message,
              HasSubstr("2 sparse values want 2 indices of i64, i32, i16 or i8; there are 2 of f32"));
}

// A tensor that cannot be read is the concern of who uses it.
TEST(OnnxModel, TensorsThatCannotBeReadSayWhy) {
  GraphText graph = SmallGraph();
  graph.initializers = {TensorMessage("odd", 77, {1}, "1234"),
                        TensorMessage("short", kOnnxFloat, {2}, "1234"),
                        TensorMessage("w", kOnnxFloat, {1}, "1234")};
  graph.nodes[0].attributes = {TensorAttribute("value", TensorMessage("", 77, {1}, "1234"))};
  std::string bytes = ModelMessage(graph);
  auto model = ReadOnnxBytes(BytesOf(bytes));
  ASSERT_TRUE(model) << model.error().message;
  const std::vector<OnnxInitializer>& tensors = model->graph.initializers;
  ASSERT_EQ(tensors.size(), 3u);
  EXPECT_EQ(tensors[0].name, "odd");
  EXPECT_THAT(tensors[0].problem->message, HasSubstr("tensor 'odd': element type 77 is unknown at byte"));
  EXPECT_THAT(tensors[0].problem->message, HasSubstr("(graph[0].initializer[0])"));
  EXPECT_THAT(tensors[1].problem->message, HasSubstr("4 bytes of data"));
  EXPECT_FALSE(tensors[2].problem.has_value());
  ASSERT_TRUE(model->graph.nodes[0].problem.has_value());
  EXPECT_THAT(model->graph.nodes[0].problem->message, HasSubstr("element type 77 is unknown"));
}

std::string ErrorOf(const std::string& bytes) {
  auto model = ReadOnnxBytes(BytesOf(bytes));
  return model ? "no error" : model.error().message;
}

TEST(OnnxModel, WhatIsNoModelIsRefused) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("not an ONNX model"));
  EXPECT_THAT(ErrorOf("this is text, not protobuf"), HasSubstr("is not an ONNX file: it is text"));
  EXPECT_THAT(ErrorOf("\x89TVMVM\r\n and so on"), HasSubstr("is a .vmexe program"));
  EXPECT_THAT(ErrorOf("PK\x03\x04 and so on"), HasSubstr("zip archive"));
  const std::string whole = ModelMessage(SmallGraph());
  EXPECT_THAT(ErrorOf(whole.substr(0, whole.size() - 1)),
              HasSubstr("is cut off at byte " + std::to_string(whole.size() - 1)));
  std::string twice = ModelMessage(SmallGraph()) + ModelMessage(SmallGraph());
  EXPECT_THAT(ErrorOf(twice), HasSubstr("the model has two graphs"));
  // The IR version as a string.
  EXPECT_THAT(ErrorOf(Message([](auto& w) { w.add_string(1, "8"); })), HasSubstr("wrong wire type"));
}

TEST(OnnxModel, GraphsNestedTooDeeplyAreRefused) {
  std::string graph = GraphMessage(SmallGraph());
  for (int i = 0; i < 500; ++i)
    graph = GraphMessage({{{"If", {"c"}, {"y"}, {GraphAttribute("then_branch", graph)}}}, {}, {}});
  std::string model = Message([&](auto& w) {
    w.add_int64(1, 8);
    w.add_message(7, graph);
  });
  EXPECT_THAT(ErrorOf(model), HasSubstr("nested too deeply"));
}

// Any damage gives an error or a model, never a crash.
TEST(OnnxModel, DamagedFilesAreReadWithoutHarm) {
  GraphText graph = SmallGraph();
  graph.nodes.push_back(
      {"If",
       {"c"},
       {"z"},
       {GraphAttribute("then_branch", GraphMessage(SmallGraph())), IntsAttribute("a", {1, 2})}});
  const std::string bytes = ModelMessage(graph, 13, 8, {{"f", "F", {"a"}, {"b"}, {{"Neg", {"a"}, {"b"}}}}});
  int refused = 0;
  for (size_t size = 0; size < bytes.size(); ++size) refused += ErrorOf(bytes.substr(0, size)) != "no error";
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << bit));
      refused += ErrorOf(damaged) != "no error";
    }
  }
  EXPECT_GT(refused, static_cast<int>(bytes.size()));
}

// A folder with a model whose only initializer lies outside of it.
class ExternalData : public ::testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() / ("tvmvm_external_" + std::to_string(getpid()));
    std::filesystem::remove_all(root_);
    std::filesystem::create_directories(root_ / "model" / "weights");
    Write(root_ / "outside.bin", std::string(16, 'o'));
    Write(root_ / "model" / "weights" / "w.bin", "....abcdefgh");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  static void Write(const std::filesystem::path& path, const std::string& bytes) {
    std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  // Two floats at the location; the answer is the error or the data.
  std::string Read(const std::string& location, const std::string& offset = "4",
                   const std::string& length = "8", const std::string& extra_key = "",
                   const std::string& extra_value = "1") {
    auto entry = [](const std::string& key, const std::string& value) {
      return Message([&](auto& w) {
        w.add_string(1, key);
        w.add_string(2, value);
      });
    };
    GraphText graph = SmallGraph();
    graph.initializers = {Message([&](auto& w) {
      w.add_int64(1, 2);
      w.add_int32(2, kOnnxFloat);
      w.add_string(8, "w");
      w.add_message(13, entry("location", location));
      if (!offset.empty()) w.add_message(13, entry("offset", offset));
      if (!length.empty()) w.add_message(13, entry("length", length));
      if (!extra_key.empty()) w.add_message(13, entry(extra_key, extra_value));
      w.add_int32(14, 1);
    })};
    std::filesystem::path path = root_ / "model" / "model.onnx";
    Write(path, ModelMessage(graph));
    auto file = MappedFile::Open(path.string());
    if (!file) return file.error().message;
    auto model = ReadOnnxFile(path.string(), *file);
    if (!model) return model.error().message;
    const OnnxInitializer& weights = model->graph.initializers[0];
    if (weights.problem.has_value()) return weights.problem->message;
    auto bytes = weights.data->bytes;
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  }

  std::filesystem::path root_;
};

TEST_F(ExternalData, IsMappedFromBeneathTheFolder) {
  EXPECT_EQ(Read("weights/w.bin"), "abcdefgh");
  EXPECT_EQ(Read("./weights/w.bin", "4", ""), "abcdefgh");
}

TEST_F(ExternalData, NothingOutsideTheFolderIsOpened) {
  std::filesystem::create_symlink(root_ / "outside.bin", root_ / "model" / "link.bin");
  std::filesystem::create_directory_symlink(root_, root_ / "model" / "folder");
  std::filesystem::create_hard_link(root_ / "outside.bin", root_ / "model" / "hard.bin");
  EXPECT_THAT(Read("../outside.bin"), HasSubstr("leaves the model's folder"));
  EXPECT_THAT(Read("weights/../../outside.bin"), HasSubstr("leaves the model's folder"));
  EXPECT_THAT(Read((root_ / "outside.bin").string()), HasSubstr("is absolute"));
  EXPECT_THAT(Read("link.bin"), HasSubstr("symbolic link"));
  EXPECT_THAT(Read("folder/outside.bin"), HasSubstr("external data"));
  EXPECT_THAT(Read("hard.bin"), HasSubstr("2 hard links, 1 is allowed"));
  EXPECT_THAT(Read("weights"), HasSubstr("not a regular file"));
  EXPECT_THAT(Read("missing.bin"), HasSubstr("No such file"));
  EXPECT_THAT(Read(""), HasSubstr("is empty"));
}

TEST_F(ExternalData, RangesAndKeysAreChecked) {
  EXPECT_THAT(Read("weights/w.bin", "5"),
              HasSubstr("at offset 5 of length 8 leaves 'weights/w.bin' of 12 bytes"));
  EXPECT_THAT(Read("weights/w.bin", "18446744073709551615"), HasSubstr("leaves 'weights/w.bin'"));
  EXPECT_THAT(Read("weights/w.bin", "0", "12"), HasSubstr("has 12 bytes, type and dimensions want 8"));
  EXPECT_THAT(Read("weights/w.bin", "-4"), HasSubstr("offset '-4' is not a number"));
  EXPECT_THAT(Read("weights/w.bin", "4", "8", "basepath"), HasSubstr("unknown key 'basepath'"));
}

// SHA-1 of the whole file, as ONNX has it.
TEST_F(ExternalData, IsWhatTheModelsChecksumSays) {
  const std::string checksum = "b27ce09a0285f7ed041daf40cb75ac65cf2b5872";
  auto read = [&](const std::string& given) { return Read("weights/w.bin", "4", "8", "checksum", given); };
  EXPECT_EQ(read(checksum), "abcdefgh");
  std::string upper = checksum;
  std::ranges::transform(upper, upper.begin(), [](char c) { return static_cast<char>(std::toupper(c)); });
  EXPECT_EQ(read(upper), "abcdefgh");
  EXPECT_THAT(read("1"), HasSubstr("external data 'weights/w.bin' is damaged: its checksum is " + checksum +
                                   ", the model says 1"));
  const std::string good = "....abcdefgh";
  for (size_t at = 0; at < good.size(); ++at) {
    std::string damaged = good;
    damaged[at] ^= 1;
    Write(root_ / "model" / "weights" / "w.bin", damaged);
    EXPECT_THAT(read(checksum), HasSubstr("is damaged")) << at;
  }
}

TEST(OnnxModel, ExternalDataOfBytesIsRefused) {
  std::string tensor = Message([](auto& w) {
    w.add_int64(1, 1);
    w.add_int32(2, kOnnxFloat);
    w.add_message(13, Message([](auto& e) {
                    e.add_string(1, "location");
                    e.add_string(2, "w.bin");
                  }));
    w.add_int32(14, 1);
  });
  auto read = ReadOnnxTensor(BytesOf(tensor));
  ASSERT_FALSE(read);
  EXPECT_THAT(read.error().message, HasSubstr("needs a model that was read from a file"));
}

}  // namespace
}  // namespace tvmvm::ir
