#include "cli/npy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <numeric>

#include "cli/elements.h"
#include "tests/cli/scratch.h"

namespace tvmvm::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A file as numpy.save lays it out.
std::string NumpyFile(int version, std::string dict, std::string_view payload) {
  size_t prefix = version == 1 ? 10 : 12;
  while ((prefix + dict.size() + 1) % 64 != 0) dict += ' ';
  dict += '\n';
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(version);
  bytes += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) bytes += static_cast<char>(dict.size() >> (8 * i));
  return bytes + dict + std::string(payload);
}

std::string Dict(std::string_view descr, std::string_view shape, bool fortran = false) {
  return "{'descr': '" + std::string(descr) + "', 'fortran_order': " + (fortran ? "True" : "False") +
         ", 'shape': " + std::string(shape) + ", }";
}

template <class T>
std::string Bytes(std::initializer_list<T> values) {
  return std::string(reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T));
}

template <class T>
std::vector<T> Values(const Tensor& tensor) {
  const T* data = static_cast<const T*>(tensor.data());
  return {data, data + tensor.element_count()};
}

class NpyTest : public ::testing::Test {
 protected:
  Expected<Tensor> Read(const std::string& bytes, DType wanted = DType::kInvalid) {
    WriteBytes(scratch_ / "x.npy", bytes);
    return ReadNpy(scratch_ / "x.npy", wanted);
  }
  std::string ErrorOf(const std::string& bytes, DType wanted = DType::kInvalid) {
    auto tensor = Read(bytes, wanted);
    return tensor ? "no error" : tensor.error().message;
  }
  ScratchFolder scratch_;
};

TEST_F(NpyTest, ReadsEveryVersion) {
  for (int version : {1, 2, 3}) {
    auto tensor = Read(NumpyFile(version, Dict("<f4", "(2, 2)"), Bytes<float>({1, 2, 3, 4})));
    ASSERT_TRUE(tensor) << tensor.error().message;
    EXPECT_EQ(tensor->dtype(), DType::kF32);
    EXPECT_EQ(tensor->shape(), Shape({2, 2}));
    EXPECT_THAT(Values<float>(*tensor), ElementsAre(1, 2, 3, 4));
  }
}

TEST_F(NpyTest, ConvertsFortranOrder) {
  // The 2x3 matrix [[1, 2, 3], [4, 5, 6]], columns first.
  auto tensor = Read(NumpyFile(1, Dict("<i4", "(2, 3)", true), Bytes<int32_t>({1, 4, 2, 5, 3, 6})));
  ASSERT_TRUE(tensor);
  EXPECT_THAT(Values<int32_t>(*tensor), ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(NpyTest, ConvertsFortranOrderOfThreeDimensions) {
  // numpy.arange(8).reshape(2, 2, 2), first dimension fastest.
  auto tensor = Read(NumpyFile(1, Dict("|i1", "(2, 2, 2)", true), Bytes<int8_t>({0, 4, 2, 6, 1, 5, 3, 7})));
  ASSERT_TRUE(tensor);
  EXPECT_THAT(Values<int8_t>(*tensor), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST_F(NpyTest, ConvertsBigEndian) {
  auto ints = Read(NumpyFile(1, Dict(">i2", "(2,)"), std::string("\x01\x02\xff\xfe", 4)));
  ASSERT_TRUE(ints);
  EXPECT_THAT(Values<int16_t>(*ints), ElementsAre(0x0102, -2));
  auto complex = Read(NumpyFile(1, Dict(">c8", "()"), std::string("\x3f\x80\0\0\x40\0\0\0", 8)));
  ASSERT_TRUE(complex);
  EXPECT_EQ(ReadComplex(*complex, 0), std::complex<double>(1, 2));
  auto text = Read(NumpyFile(1, Dict(">U1", "(1,)"), std::string("\0\0\0A", 4)));
  ASSERT_TRUE(text);
  EXPECT_THAT(text->strings(), ElementsAre("A"));
}

TEST_F(NpyTest, ReadsStrings) {
  auto unicode = Read(NumpyFile(1, Dict("<U2", "(2,)"), Bytes<uint32_t>({'a', 'b', 0xe9, 0})));
  ASSERT_TRUE(unicode);
  EXPECT_THAT(unicode->strings(), ElementsAre("ab", "\xc3\xa9"));
  auto bytes = Read(NumpyFile(1, Dict("|S3", "(2,)"), std::string("abcd\0\0", 6)));
  ASSERT_TRUE(bytes);
  EXPECT_THAT(bytes->strings(), ElementsAre("abc", "d"));
}

TEST_F(NpyTest, ReadsStringsOfNoLetters) {
  for (const char* descr : {"<U0", "|S0"}) {
    auto texts = Read(NumpyFile(1, Dict(descr, "(2,)"), ""));
    ASSERT_TRUE(texts) << texts.error().message;
    EXPECT_THAT(texts->strings(), ElementsAre("", ""));
  }
}

TEST_F(NpyTest, TheSignatureSaysWhatRawBytesAre) {
  auto brain = Read(NumpyFile(1, Dict("<V2", "(1,)"), Bytes<uint16_t>({0x3f80})));
  ASSERT_TRUE(brain);
  EXPECT_EQ(brain->dtype(), DType::kBF16);
  EXPECT_EQ(ReadFloat(*brain, 0), 1.0);
  // ml_dtypes keeps int4 in the low bits of a byte each.
  auto nibbles = Read(NumpyFile(1, Dict("<V1", "(3,)"), std::string("\x01\x02\x0f", 3)), DType::kI4);
  ASSERT_TRUE(nibbles);
  EXPECT_EQ(nibbles->dtype(), DType::kI4);
  EXPECT_EQ(ReadInteger(*nibbles, 0), 1);
  EXPECT_EQ(ReadInteger(*nibbles, 2), -1);
  EXPECT_THAT(ErrorOf(NumpyFile(1, Dict("<V1", "(1,)"), "x")), HasSubstr("say too little"));
}

TEST_F(NpyTest, PlainIntegersStandForSmallOnesWhereTheyFit) {
  auto fits = Read(NumpyFile(1, Dict("|i1", "(2,)"), Bytes<int8_t>({-8, 7})), DType::kI4);
  ASSERT_TRUE(fits);
  EXPECT_EQ(fits->dtype(), DType::kI4);
  EXPECT_EQ(ReadInteger(*fits, 0), -8);
  EXPECT_THAT(ErrorOf(NumpyFile(1, Dict("|i1", "(2,)"), Bytes<int8_t>({0, 8})), DType::kI4),
              HasSubstr("element 1 is 8, which i4 cannot hold"));
}

TEST_F(NpyTest, SaysWhatIsWrong) {
  EXPECT_THAT(ErrorOf("short"), HasSubstr("too short"));
  EXPECT_THAT(ErrorOf(std::string(200, 'x')), HasSubstr("not a .npy file"));
  EXPECT_THAT(ErrorOf(NumpyFile(1, Dict("<f4", "(3,)"), Bytes<float>({1, 2}))), HasSubstr("does not fit"));
  EXPECT_THAT(ErrorOf(NumpyFile(1, Dict("<f4", "(4294967296, 4294967296)"), "")), HasSubstr("does not fit"));
  EXPECT_THAT(ErrorOf(NumpyFile(1, Dict("<f4", "(-1,)"), "")), HasSubstr("'shape' is not a tuple"));
  EXPECT_THAT(ErrorOf(NumpyFile(1, Dict("|O", "(1,)"), "")), HasSubstr("Python objects"));
  EXPECT_THAT(ErrorOf(NumpyFile(1, Dict("<f16", "(1,)"), "")), HasSubstr("'<f16' are not supported"));
  EXPECT_THAT(ErrorOf(NumpyFile(1, Dict("<f99999999999999999999", "(1,)"), "")), HasSubstr("not supported"));
  EXPECT_THAT(ErrorOf(NumpyFile(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "")),
              HasSubstr("structured"));
  EXPECT_THAT(ErrorOf(NumpyFile(1, "{'descr': '<f4', 'shape': (1,), }", "")), HasSubstr("are all needed"));
  EXPECT_THAT(ErrorOf(std::string("\x93NUMPY\x02\0\xff\xff\xff\xff", 12)), HasSubstr("does not fit"));
  EXPECT_THAT(ErrorOf(std::string("\x93NUMPY\x09\0\x01\0aaaaaaa", 15)), HasSubstr("format version 9.0"));
  EXPECT_THAT(ReadNpy(scratch_ / "none.npy").error().message, HasSubstr("none.npy': No such file"));
}

TEST_F(NpyTest, EveryPrefixOfAFileIsAnError) {
  std::string whole = NumpyFile(1, Dict("<f4", "(2, 2)"), Bytes<float>({1, 2, 3, 4}));
  for (size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(Read(whole.substr(0, length))) << length;
}

TEST_F(NpyTest, FlippedBitsAreReadOrRefused) {
  std::string whole = NumpyFile(1, Dict("<f4", "(2, 2)"), Bytes<float>({1, 2, 3, 4}));
  for (size_t bit = 0; bit < whole.size() * 8; bit += 5) {  // every bit of a byte in turn
    std::string flipped = whole;
    flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
    auto tensor = Read(flipped);
    EXPECT_TRUE(!tensor || tensor->byte_count() <= static_cast<int64_t>(whole.size())) << bit;
  }
}

TEST_F(NpyTest, WritesWhatNumpyWrites) {
  float values[6] = {};
  ASSERT_TRUE(WriteNpy(scratch_ / "y.npy", Tensor::Borrow(DType::kF32, {2, 3}, values)));
  std::string start = "\x93NUMPY\x01";
  start += std::string("\0v\0", 3) + "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }";
  std::string written = ReadBytes(scratch_ / "y.npy");
  EXPECT_EQ(written.substr(0, start.size()), start);
  EXPECT_EQ(written.size(), 152u);  // numpy's size for the same array
  EXPECT_EQ(written[127], '\n');
}

TEST_F(NpyTest, ShapesAreTuples) {
  uint8_t value[4] = {1, 0, 1, 1};
  ASSERT_TRUE(WriteNpy(scratch_ / "y.npy", Tensor::Borrow(DType::kBool, {}, value)));
  EXPECT_THAT(ReadBytes(scratch_ / "y.npy"), HasSubstr("'|b1', 'fortran_order': False, 'shape': (), }"));
  ASSERT_TRUE(WriteNpy(scratch_ / "y.npy", Tensor::Borrow(DType::kBool, {4}, value)));
  EXPECT_THAT(ReadBytes(scratch_ / "y.npy"), HasSubstr("'shape': (4,), }"));
}

// Of NumPy's 64 dims.
TEST_F(NpyTest, TheMostDimsComeBack) {
  Shape shape;
  std::string tuple;
  for (int axis = 0; axis < kMaxRank; ++axis) {
    shape.push_back(axis % 8 == 1 ? 2 : 1);
    tuple += axis % 8 == 1 ? "2, " : "1, ";
  }
  std::vector<float> values(16);
  std::iota(values.begin(), values.end(), 1.0f);
  ASSERT_TRUE(WriteNpy(scratch_ / "y.npy", Tensor::Borrow(DType::kF32, shape, values.data())));
  EXPECT_THAT(ReadBytes(scratch_ / "y.npy"),
              HasSubstr("'shape': (" + tuple.substr(0, tuple.size() - 2) + "), }"));
  auto back = ReadNpy(scratch_ / "y.npy");
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->shape(), shape);
  EXPECT_EQ(std::memcmp(back->data(), values.data(), 64), 0);
  EXPECT_THAT(ErrorOf(NumpyFile(1, Dict("<f4", "(" + tuple + "1)"), std::string(64, 'x'))),
              HasSubstr("33 dimensions; at most 32 are supported"));
}

TEST_F(NpyTest, EveryTypeComesBack) {
  for (int i = 1; i < kDTypeCount; ++i) {
    DType dtype = static_cast<DType>(i);
    if (dtype == DType::kString) continue;
    SCOPED_TRACE(DTypeName(dtype));
    auto tensor = Tensor::Allocate(dtype, {2, 5});
    ASSERT_TRUE(tensor);
    std::memset(tensor->data(), 0, static_cast<size_t>(tensor->byte_count()));
    for (int64_t k = 0; k < 10; ++k) {
      if (IsFloat(dtype) || IsComplex(dtype))
        WriteFloat(*tensor, k, dtype == DType::kF8E8M0 ? 4 : k % 3 - 1);
      else
        WriteInteger(*tensor, k, k % 2);
    }
    ASSERT_TRUE(WriteNpy(scratch_ / "y.npy", *tensor));
    auto back = ReadNpy(scratch_ / "y.npy", dtype);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->dtype(), dtype);
    EXPECT_EQ(back->shape(), tensor->shape());
    EXPECT_EQ(std::memcmp(back->data(), tensor->data(), static_cast<size_t>(tensor->byte_count())), 0);
  }
}

TEST_F(NpyTest, StringsComeBack) {
  for (std::vector<std::string> strings :
       {std::vector<std::string>{"a", "", "h\xc3\xa9llo", "\xf0\x9f\x98\x80"},
        std::vector<std::string>{"\xff\xfe", "a", "", "b"}}) {
    ASSERT_TRUE(WriteNpy(scratch_ / "y.npy", Tensor::FromStrings({4}, strings)));
    auto back = ReadNpy(scratch_ / "y.npy");
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->strings(), strings);
  }
}

TEST_F(NpyTest, EmptyArraysComeBack) {
  auto tensor = Tensor::Allocate(DType::kF32, {0, 3});
  ASSERT_TRUE(tensor);
  ASSERT_TRUE(WriteNpy(scratch_ / "y.npy", *tensor));
  auto back = ReadNpy(scratch_ / "y.npy");
  ASSERT_TRUE(back);
  EXPECT_EQ(back->shape(), Shape({0, 3}));
}

TEST_F(NpyTest, AFullDiskLeavesNothing) {
  std::vector<float> values(1 << 16);
  Status status = WriteNpy("/dev/full", Tensor::Borrow(DType::kF32, {1 << 16}, values.data()));
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("cannot write '/dev/full': No space left on device"));
  EXPECT_FALSE(WriteNpy(scratch_ / "no/such/folder.npy", Tensor::Borrow(DType::kF32, {1}, values.data())));
  EXPECT_THAT(scratch_.Names(), ElementsAre());
}

}  // namespace
}  // namespace tvmvm::cli
