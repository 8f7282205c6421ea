// A program that links the compiler and reads protobuf itself, with the checks of protozero turned off.
#define protozero_assert(condition) static_cast<void>(0)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <protozero/pbf_reader.hpp>

#include "compiler/onnx/model/onnx_model.h"
#include "tests/compiler/onnx/importer/onnx_writer.h"

namespace tvmvm::ir {
namespace {

TEST(ForeignProtozero, DoesNotTurnOffTheReadersChecks) {
  // Taking the address puts this program's copy among its symbols.
  int64_t (protozero::pbf_reader::*volatile foreign)() = &protozero::pbf_reader::get_int64;
  ASSERT_TRUE(foreign != nullptr);
  // The IR version as an empty string, which is the varint 0 without the check.
  std::string bytes = Message([](auto& writer) { writer.add_string(1, ""); });
  auto model = ReadOnnxBytes(BytesOf(bytes));
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, ::testing::HasSubstr("wrong wire type"));
}

}  // namespace
}  // namespace tvmvm::ir
