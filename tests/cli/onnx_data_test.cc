#include "cli/onnx_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <protozero/pbf_writer.hpp>

#include "cli/elements.h"
#include "cli/value_text.h"
#include "tests/cli/scratch.h"

namespace tvmvm::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A TensorProto under construction; field numbers as in onnx.proto.
struct Proto {
  std::string bytes;
  protozero::pbf_writer writer{bytes};

  Proto(DType dtype, std::vector<int64_t> dims) : Proto(DTypeToOnnx(dtype), dims) {}
  Proto(int32_t data_type, std::vector<int64_t> dims) {
    writer.add_packed_int64(1, dims.begin(), dims.end());
    writer.add_int32(2, data_type);
    writer.add_string(8, "x");
  }
  Proto& Raw(std::string_view raw) {
    writer.add_bytes(9, raw.data(), raw.size());
    return *this;
  }
  Proto& Int32s(std::vector<int32_t> values) {
    writer.add_packed_int32(5, values.begin(), values.end());
    return *this;
  }
  Expected<NamedTensor> Parse() const { return ParseTensorProto(std::as_bytes(std::span(bytes))); }
  std::string ErrorText() const {
    auto parsed = Parse();
    return parsed ? "no error" : parsed.error().message;
  }
};

std::vector<double> Floats(const Proto& proto) {
  auto parsed = proto.Parse();
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  std::vector<double> values;
  for (int64_t i = 0; parsed && i < parsed->tensor.element_count(); ++i)
    values.push_back(ReadFloat(parsed->tensor, i));
  return values;
}

std::vector<int64_t> Integers(const Proto& proto) {
  auto parsed = proto.Parse();
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error().message);
  std::vector<int64_t> values;
  for (int64_t i = 0; parsed && i < parsed->tensor.element_count(); ++i)
    values.push_back(ReadInteger(parsed->tensor, i));
  return values;
}

// Whose bytes, counted in 64 bits, are those that there are.
TEST(OnnxDataTest, SizesBeyond64BitsAreRefused) {
  const Proto proto = std::move(Proto(DType::kF64, {(int64_t{1} << 61) + 1}).Raw("12345678"));
  EXPECT_THAT(proto.ErrorText(), HasSubstr("needs more data than there is"));
}

TEST(OnnxDataTest, RawFloats) {
  Proto proto(DType::kF32, {1, 2});
  float values[] = {1.5f, -2.0f};
  proto.Raw({reinterpret_cast<const char*>(values), 8});
  EXPECT_EQ(proto.Parse()->name, "x");
  EXPECT_EQ(proto.Parse()->tensor.shape(), Shape({1, 2}));
  EXPECT_THAT(Floats(proto), ElementsAre(1.5, -2.0));
}

TEST(OnnxDataTest, TypedFields) {
  Proto floats(DType::kF32, {2});
  float f[] = {1, 2};
  floats.writer.add_packed_float(4, f, f + 2);
  EXPECT_THAT(Floats(floats), ElementsAre(1, 2));
  Proto doubles(DType::kF64, {1});
  doubles.writer.add_double(10, 3);  // one value, not packed
  EXPECT_THAT(Floats(doubles), ElementsAre(3));
  Proto longs(DType::kI64, {2});
  int64_t l[] = {-1, int64_t{1} << 40};
  longs.writer.add_packed_int64(7, l, l + 2);
  EXPECT_THAT(Integers(longs), ElementsAre(-1, int64_t{1} << 40));
  Proto unsigned32(DType::kU32, {1});
  uint64_t u[] = {0xffffffffu};
  unsigned32.writer.add_packed_uint64(11, u, u + 1);
  EXPECT_THAT(Integers(unsigned32), ElementsAre(0xffffffffll));
}

TEST(OnnxDataTest, Int32DataCarriesTheSmallTypes) {
  EXPECT_THAT(Integers(Proto(DType::kI32, {2}).Int32s({-5, 7})), ElementsAre(-5, 7));
  EXPECT_THAT(Integers(Proto(DType::kI8, {1}).Int32s({-5})), ElementsAre(-5));
  EXPECT_THAT(Integers(Proto(DType::kU16, {1}).Int32s({65535})), ElementsAre(65535));
  EXPECT_THAT(Integers(Proto(DType::kBool, {2}).Int32s({1, 0})), ElementsAre(1, 0));
  EXPECT_THAT(Floats(Proto(DType::kF16, {1}).Int32s({0x3c00})), ElementsAre(1));
  EXPECT_THAT(Floats(Proto(DType::kBF16, {1}).Int32s({0xc000})), ElementsAre(-2));
  EXPECT_THAT(Floats(Proto(DType::kF8E4M3FN, {1}).Int32s({0x38})), ElementsAre(1));
  EXPECT_THAT(Floats(Proto(DType::kF8E5M2, {1}).Int32s({0x3c})), ElementsAre(1));
}

TEST(OnnxDataTest, SmallElementsShareBytes) {
  // Three elements: 1 and -1 in the first byte, 7 in the second.
  EXPECT_THAT(Integers(Proto(DType::kI4, {3}).Raw("\xf1\x07")), ElementsAre(1, -1, 7));
  EXPECT_THAT(Integers(Proto(DType::kU4, {3}).Int32s({0xf1, 0x07})), ElementsAre(1, 15, 7));
  EXPECT_THAT(Floats(Proto(DType::kF4E2M1, {2}).Raw("\xa2")), ElementsAre(1, -1));
  EXPECT_THAT(Floats(Proto(DType::kF6E2M3, {8}).Raw(std::string("\x00\x08\x00\xc1\xf7\x7d", 6))),
              ElementsAre(0, -0.0, 0, 0, 0.125, 7.5, 7.5, 7.5));
  EXPECT_THAT(Integers(Proto(DType::kI2, {4}).Raw("\xe4")), ElementsAre(0, 1, -2, -1));
}

TEST(OnnxDataTest, Strings) {
  Proto proto(DType::kString, {2});
  proto.writer.add_string(6, "a");
  proto.writer.add_string(6, "");
  EXPECT_THAT(proto.Parse()->tensor.strings(), ElementsAre("a", ""));
}

TEST(OnnxDataTest, SaysWhatIsWrong) {
  EXPECT_THAT(Proto(99, {1}).ErrorText(), HasSubstr("unknown data type 99"));
  EXPECT_THAT(Proto(DType::kF32, {-1}).ErrorText(), HasSubstr("impossible shape [-1]"));
  EXPECT_THAT(Proto(DType::kF32, {1ll << 32, 1ll << 32}).ErrorText(), HasSubstr("impossible shape"));
  EXPECT_THAT(Proto(DType::kF32, {1ll << 40}).ErrorText(), HasSubstr("needs more data than there is"));
  EXPECT_THAT(Proto(DType::kF32, {1}).Raw("12345678").ErrorText(),
              HasSubstr("8 values in bytes of raw_data, 4 wanted"));
  EXPECT_THAT(Proto(DType::kI8, {1}).Int32s({1, 2}).ErrorText(),
              HasSubstr("2 values in int32_data, 1 wanted"));
  EXPECT_THAT(Proto(DType::kString, {1ll << 40}).ErrorText(), HasSubstr("0 values in string_data"));
  EXPECT_THAT(Proto(DType::kF32, std::vector<int64_t>(33, 1)).ErrorText(), HasSubstr("at most 32"));
  Proto external(DType::kF32, {1});
  external.writer.add_int32(14, 1);
  EXPECT_THAT(external.ErrorText(), HasSubstr("external data"));
}

// Fields of TensorProto: numbers take single and packed values, the others one form only.
TEST(OnnxDataTest, RefusesWrongWireTypes) {
  auto error = [](int field, auto write) {
    Proto proto(DType::kF32, {0});
    write(proto.writer, static_cast<uint32_t>(field));
    return proto.ErrorText();
  };
  auto expected = [](int field) {
    return HasSubstr("malformed TensorProto: field " + std::to_string(field) + ": wrong wire type");
  };
  auto varint = [](auto& writer, uint32_t field) { writer.add_int64(field, 1); };
  auto fixed32 = [](auto& writer, uint32_t field) { writer.add_fixed32(field, 1); };
  auto fixed64 = [](auto& writer, uint32_t field) { writer.add_fixed64(field, 1); };
  auto bytes = [](auto& writer, uint32_t field) { writer.add_string(field, "12345678"); };
  for (int field : {1, 2, 5, 6, 7, 8, 9, 10, 11, 14}) EXPECT_THAT(error(field, fixed32), expected(field));
  for (int field : {1, 2, 4, 5, 6, 7, 8, 9, 11, 14}) EXPECT_THAT(error(field, fixed64), expected(field));
  for (int field : {4, 6, 8, 9, 10}) EXPECT_THAT(error(field, varint), expected(field));
  for (int field : {2, 14}) EXPECT_THAT(error(field, bytes), expected(field));
}

TEST(OnnxDataTest, EveryTruncationAndFlippedBitIsReadOrRefused) {
  Proto proto(DType::kF32, {2});
  proto.Raw(std::string_view("12345678"));
  for (size_t length = 0; length < proto.bytes.size(); ++length) {
    auto parsed = ParseTensorProto(std::as_bytes(std::span(proto.bytes)).first(length));
    EXPECT_TRUE(!parsed || parsed->tensor.byte_count() <= 8) << length;
  }
  for (size_t bit = 0; bit < proto.bytes.size() * 8; ++bit) {
    std::string flipped = proto.bytes;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    auto parsed = ParseTensorProto(std::as_bytes(std::span(flipped)));
    EXPECT_TRUE(!parsed || parsed->tensor.byte_count() <= 8) << bit;
  }
}

std::string Holding(std::initializer_list<std::pair<uint32_t, std::string>> fields) {
  std::string bytes;
  protozero::pbf_writer writer(bytes);
  for (const auto& [tag, message] : fields) writer.add_bytes(tag, message);
  return bytes;
}

std::string TextOf(const std::string& bytes, const TypeSpec& type) {
  auto parsed = ParseValueProto(std::as_bytes(std::span(bytes)), type);
  return parsed ? FormatValue(parsed->name, parsed->value, 8) : parsed.error().message;
}

TEST(ValueProtoTest, SequencesAndOptionalsNest) {
  TypeSpec tensor{.dtype = DType::kI32}, sequence{.kind = ValueKind::kSequence, .elements = {tensor}};
  TypeSpec optional{.kind = ValueKind::kOptional, .elements = {sequence}};
  std::string one = Proto(DType::kI32, {1}).Int32s({7}).bytes,
              two = Proto(DType::kI32, {2}).Int32s({8, 9}).bytes;
  std::string list = Holding({{1, "s"}, {3, one}, {3, two}});
  EXPECT_EQ(TextOf(one, tensor), "x: i32[1] [7]");
  EXPECT_EQ(TextOf(list, sequence), "s: sequence of 2\n  s[0]: i32[1] [7]\n  s[1]: i32[2] [8, 9]");
  EXPECT_EQ(TextOf(Holding({{1, "s"}}), sequence), "s: sequence of 0");
  EXPECT_EQ(TextOf(Holding({{1, "o"}, {5, list}}), optional),
            "o: sequence of 2\n  o[0]: i32[1] [7]\n  o[1]: i32[2] [8, 9]");
  EXPECT_EQ(TextOf(Holding({{1, "o"}}), optional), "o: none");
  EXPECT_EQ(TextOf(list, optional), "s: sequence of 2\n  s[0]: i32[1] [7]\n  s[1]: i32[2] [8, 9]");
  TypeSpec perhaps{.kind = ValueKind::kOptional, .elements = {tensor}};
  EXPECT_EQ(TextOf(Holding({{1, "o"}, {3, one}}), perhaps), "o: i32[1] [7]");
  EXPECT_EQ(TextOf(Holding({{3, one}, {3, two}}), perhaps),
            "malformed TensorProto: an optional with several elements");
  EXPECT_THAT(TextOf(Holding({{3, "\xff"}}), sequence), HasSubstr("malformed"));
  std::string deep;
  for (int i = 0; i < 40; ++i) deep = Holding({{5, deep}});
  EXPECT_EQ(TextOf(deep, sequence), "sequences are nested too deeply");
}

}  // namespace
}  // namespace tvmvm::cli
