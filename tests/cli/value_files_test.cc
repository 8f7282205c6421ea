#include "cli/value_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <minizip/zip.h>
#include <sys/stat.h>

#include "cli/compare.h"
#include "cli/npy.h"
#include "cli/npz.h"
#include "cli/value_text.h"
#include "tests/cli/scratch.h"

namespace tvmvm::cli {
namespace {

using ::testing::HasSubstr;

const TypeSpec kNumbers{.dtype = DType::kI64, .dims = {{}}};
const TypeSpec kTexts{.dtype = DType::kString, .has_rank = false};
TypeSpec SequenceOf(TypeSpec element) {
  return {.kind = ValueKind::kSequence, .elements = {std::move(element)}};
}
TypeSpec OptionalOf(TypeSpec element) {
  return {.kind = ValueKind::kOptional, .elements = {std::move(element)}};
}

Tensor Numbers(std::vector<int64_t> values) {
  Tensor tensor = *Tensor::Allocate(DType::kI64, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), static_cast<int64_t*>(tensor.data()));
  return tensor;
}

// The value as text, or the error.
std::string Read(const std::string& path, const TypeSpec& wanted) {
  auto value = ReadValueFile(path, wanted);
  return value ? FormatValue("y", *value, 8) : value.error().message;
}

TEST(ValueFiles, AFolderHoldsASequence) {
  ScratchFolder scratch;
  Value value = Value::Sequence({Value(Numbers({1, 2})), Value(Numbers({}))});
  Value nested = Value::Sequence({value, Value::Sequence({})});
  auto path = WriteValueFile(scratch / "y", nested);
  ASSERT_TRUE(path) << path.error().message;
  EXPECT_EQ(*path, scratch / "y");
  TypeSpec type = SequenceOf(SequenceOf(kNumbers));
  auto again = ReadValueFile(*path, type);
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(FindDifference(*again, nested, {}), std::nullopt);
  EXPECT_THAT(Read(*path, kNumbers), HasSubstr("a sequence, i64[?] is wanted"));
  std::filesystem::remove(scratch / "y/0/0.npy");
  EXPECT_THAT(Read(*path, type), HasSubstr("the element 0 is missing"));
  WriteBytes(scratch / "y/notes.txt", "");
  EXPECT_THAT(Read(*path, type), HasSubstr("notes.txt': the elements of a sequence are named 0.npy, 1.npy"));
}

TEST(ValueFiles, ElementsAreInTheOrderOfTheirNumbers) {
  ScratchFolder scratch;
  std::vector<Value> elements;
  for (int64_t i = 0; i < 12; ++i) elements.push_back(Value(Numbers({i})));
  ASSERT_TRUE(WriteValueFile(scratch / "y", Value::Sequence(elements)));
  auto again = ReadValueFile(scratch / "y", SequenceOf(kNumbers));
  ASSERT_TRUE(again);
  EXPECT_EQ(FindDifference(*again, Value::Sequence(elements), {}), std::nullopt);
}

TEST(ValueFiles, TensorsAreNpyFiles) {
  ScratchFolder scratch;
  auto path = WriteValueFile(scratch / "y", Value(Numbers({7})));
  ASSERT_TRUE(path);
  EXPECT_EQ(Read(*path, kNumbers), "y: i64[1] [7]");
  EXPECT_EQ(Read(*path, OptionalOf(kNumbers)), "y: i64[1] [7]");
  EXPECT_THAT(Read(*path, SequenceOf(kNumbers)), HasSubstr("sequence<i64[?]> is wanted: a folder"));
}

TEST(ValueFiles, AnOptionalWithoutElementIsNull) {
  ScratchFolder scratch;
  auto path = WriteValueFile(scratch / "y", Value());
  ASSERT_TRUE(path);
  EXPECT_EQ(Read(*path, OptionalOf(kNumbers)), "y: none");
  EXPECT_THAT(Read(*path, kNumbers), HasSubstr("null is no i64"));
}

TEST(ValueFiles, JsonHoldsNumbers) {
  ScratchFolder scratch;
  auto read = [&](std::string_view json, DType dtype) {
    WriteBytes(scratch / "x.json", json);
    return Read(scratch / "x.json", TypeSpec{.dtype = dtype});
  };
  EXPECT_EQ(read("[[1, 2], [3, 4]]", DType::kI64), "y: i64[2, 2] [1, 2, 3, 4]");
  EXPECT_EQ(read("[1.5, -2]", DType::kF16), "y: f16[2] [1.5, -2]");
  EXPECT_EQ(read("[true, false]", DType::kBool), "y: bool[2] [true, false]");
  EXPECT_EQ(read("18446744073709551615", DType::kU64), "y: u64[] [18446744073709551615]");
  EXPECT_THAT(read("[300]", DType::kU8), HasSubstr("300 is no u8"));
  EXPECT_THAT(read("[-1]", DType::kU8), HasSubstr("-1 is no u8"));
  EXPECT_THAT(read("[1.5]", DType::kI32), HasSubstr("1.5 is no i32"));
  EXPECT_THAT(read("[\"a\"]", DType::kF32), HasSubstr("\"a\" is no f32"));
}

TEST(ValueFiles, JsonHoldsStrings) {
  ScratchFolder scratch;
  auto read = [&](std::string_view json, const TypeSpec& type) {
    WriteBytes(scratch / "x.json", json);
    return Read(scratch / "x.json", type);
  };
  EXPECT_EQ(read(R"("one")", kTexts), R"(y: string[] ["one"])");
  EXPECT_EQ(read(R"([["a", "b"], ["c", "d"]])", kTexts), R"(y: string[2, 2] ["a", "b", "c", "d"])");
  EXPECT_EQ(read("[]", kTexts), "y: string[0] []");
  EXPECT_EQ(read("[[], []]", kTexts), "y: string[2, 0] []");
  EXPECT_EQ(read(R"([["a"], ["b", "c"]])", SequenceOf(kTexts)),
            "y: sequence of 2\n  y[0]: string[1] [\"a\"]\n  y[1]: string[2] [\"b\", \"c\"]");
  for (const char* wrong : {R"([["a"], ["b", "c"]])", R"(["a", ["b"]])", R"([["a"], "b"])"})
    EXPECT_THAT(read(wrong, kTexts), HasSubstr("the elements are no lists of one shape")) << wrong;
  for (const char* wrong : {"[1]", "{}"})
    EXPECT_THAT(read(wrong, kTexts), HasSubstr("is no string")) << wrong;
  const std::string opened(32, '['), closed(32, ']');
  EXPECT_THAT(read(opened + "\"a\"" + closed, kTexts), HasSubstr("1, 1] [\"a\"]"));
  EXPECT_THAT(read("[" + opened + "\"a\"" + closed + "]", kTexts),
              HasSubstr("elements in more than 32 lists within one another"));
  EXPECT_THAT(read("[\"a\"", kTexts), HasSubstr("not JSON"));
  EXPECT_THAT(read(std::string(100, '['), kTexts), HasSubstr("not JSON, or nested too deeply"));
  EXPECT_THAT(read(std::string(100, '[') + std::string(100, ']'), kTexts), HasSubstr("nested too deeply"));
}

// An archive of two arrays, the second deflated.
std::string MakeArchive(const ScratchFolder& scratch) {
  std::string path = scratch / "x.npz";
  zipFile zip = zipOpen64(path.c_str(), APPEND_STATUS_CREATE);
  int method = 0;
  for (const Tensor& tensor : {Numbers({1, 2, 3}), Numbers({4})}) {
    EXPECT_TRUE(WriteNpy(scratch / "part.npy", tensor));
    std::string bytes = ReadBytes(scratch / "part.npy");
    std::string name = "arr_" + std::to_string(method == 0 ? 0 : 1) + ".npy";
    zipOpenNewFileInZip64(zip, name.c_str(), nullptr, nullptr, 0, nullptr, 0, nullptr, method, 6, 0);
    zipWriteInFileInZip(zip, bytes.data(), static_cast<unsigned>(bytes.size()));
    zipCloseFileInZip(zip);
    method = Z_DEFLATED;
  }
  zipClose(zip, nullptr);
  return path;
}

TEST(ValueFiles, AnArchiveHoldsASequence) {
  ScratchFolder scratch;
  std::string path = MakeArchive(scratch);
  EXPECT_EQ(Read(path, SequenceOf(kNumbers)),
            "y: sequence of 2\n  y[0]: i64[3] [1, 2, 3]\n  y[1]: i64[1] [4]");
  EXPECT_THAT(Read(path, kNumbers), HasSubstr("a sequence, i64[?] is wanted"));
  EXPECT_THAT(Read(scratch / "none.npz", SequenceOf(kNumbers)), HasSubstr("cannot open"));
  WriteBytes(scratch / "text.npz", "no archive");
  EXPECT_THAT(Read(scratch / "text.npz", SequenceOf(kNumbers)), HasSubstr("not a zip archive"));
}

// A few kilobytes of archive that become many: its header says one number, a gigabyte of zeros follows.
TEST(ValueFiles, AnArchiveIsUnpackedNoFurtherThanItsHeadersAndTheLimitAllow) {
  ScratchFolder scratch;
  const std::string path = MakeArchive(scratch);  // entries of 152 and 136 bytes
  EXPECT_TRUE(ReadNpz(path, DType::kInvalid, 288));
  auto refused = ReadNpz(path, DType::kInvalid, 287);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kOutOfMemory);
  EXPECT_THAT(
      refused.error().message,
      HasSubstr("x.npz/arr_1.npy': unpacked it has 136 bytes and makes 288 with the entries before, the "
                "limit is 287"));

  const std::string bomb = scratch / "bomb.npz";
  zipFile zip = zipOpen64(bomb.c_str(), APPEND_STATUS_CREATE);
  EXPECT_TRUE(WriteNpy(scratch / "part.npy", Numbers({1})));
  const std::string begin = ReadBytes(scratch / "part.npy"), zeros(1 << 20, '\0');
  zipOpenNewFileInZip64(zip, "a.npy", nullptr, nullptr, 0, nullptr, 0, nullptr, Z_DEFLATED, 1, 1);
  zipWriteInFileInZip(zip, begin.data(), static_cast<unsigned>(begin.size()));
  for (int i = 0; i < 64; ++i) zipWriteInFileInZip(zip, zeros.data(), static_cast<unsigned>(zeros.size()));
  zipCloseFileInZip(zip);
  zipClose(zip, nullptr);
  EXPECT_THAT(Read(bomb, SequenceOf(kNumbers)),
              HasSubstr("bomb.npz/a.npy': the entry unpacks to 67109000 bytes, its header tells of 136"));
}

TEST(ValueFiles, APipeIsNoFile) {
  ScratchFolder scratch;
  for (const char* name : {"x.npy", "x.npz", "x.pb", "x.json"}) {
    const std::string path = scratch / name;
    ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
    EXPECT_EQ(Read(path, std::string_view(name) == "x.npz" ? SequenceOf(kNumbers) : kNumbers),
              "'" + path + "' is not a regular file");
  }
}

// Every byte changed in turn: an error or a value, never a crash; the data's own bytes are under a checksum.
TEST(ValueFiles, DamagedArchivesAreErrors) {
  ScratchFolder scratch;
  std::string path = MakeArchive(scratch), bytes = ReadBytes(path);
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    WriteBytes(scratch / "damaged.npz", damaged);
    auto tensors = ReadNpz(scratch / "damaged.npz");
    if (!tensors) {
      EXPECT_THAT(tensors.error().message, HasSubstr("damaged.npz"));
    }
  }
  // Within the last record, which tells where the others are.
  for (size_t length : {size_t{0}, size_t{10}, bytes.size() / 2, bytes.size() - 10}) {
    WriteBytes(scratch / "short.npz", bytes.substr(0, length));
    EXPECT_FALSE(ReadNpz(scratch / "short.npz")) << length;
  }
  std::string wrong_data = bytes;
  wrong_data[bytes.find("NUMPY") + 130] ^= 1;
  WriteBytes(scratch / "wrong.npz", wrong_data);
  auto tensors = ReadNpz(scratch / "wrong.npz");
  ASSERT_FALSE(tensors);
  EXPECT_THAT(tensors.error().message, HasSubstr("arr_0.npy': the entry is damaged"));
}

TEST(ValueFiles, NestedValuesAreCompared) {
  Value a = Value::Sequence({Value(Numbers({1})), Value::Sequence({Value(Numbers({2, 3}))})});
  Value b = Value::Sequence({Value(Numbers({1})), Value::Sequence({Value(Numbers({2, 4}))})});
  EXPECT_EQ(FindDifference(a, a, {}), std::nullopt);
  EXPECT_EQ(FindDifference(a, b, {}), "[1][0]: 1 of 2 elements differ, worst at [1]: 3, want 4");
  EXPECT_EQ(FindDifference(a, a.elements()[0], {}), "sequence of 2, want i64[1]");
  EXPECT_EQ(FindDifference(a, Value(), {}), "sequence of 2, want none");
  EXPECT_EQ(FindDifference(Value(), Value(Numbers({1})), {}), "none, want i64[1]");
  EXPECT_EQ(FindDifference(Value(), Value(), {}), std::nullopt);
  EXPECT_EQ(FindDifference(a, a.elements()[1], {}), "sequence of 2, want sequence of 1");
  EXPECT_EQ(FindDifference(Value::Tuple(1, {}), Value::Tuple(2, {}), {}), "tuple 1 of 0, want tuple 2 of 0");
  EXPECT_EQ(FindDifference(Value::Tuple(0, {}), Value::Sequence({}), {}), "tuple 0 of 0, want sequence of 0");
}

}  // namespace
}  // namespace tvmvm::cli
