// A program that links the compiler and reads protobuf itself, with the checks of protozero turned off. The
// project's own name for protozero's namespace is the only thing that keeps the two apart in an archive.
#undef protozero
#define protozero_assert(condition) static_cast<void>(0)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <protozero/pbf_reader.hpp>
#include <span>
#include <string>

#include "compiler/onnx/model/onnx_model.h"

namespace tvmvm::ir {
namespace {

TEST(ForeignProtozero, DoesNotTurnOffTheReadersChecks) {
  // Taking the address puts this program's copy among its symbols.
  int64_t (protozero::pbf_reader::*volatile foreign)() = &protozero::pbf_reader::get_int64;
  ASSERT_TRUE(foreign != nullptr);
  // The IR version as an empty string, which is the varint 0 without the check.
  const std::string bytes("\x0a\x00", 2);
  auto model = ReadOnnxBytes(std::as_bytes(std::span(bytes)));
  ASSERT_FALSE(model);
  EXPECT_THAT(model.error().message, ::testing::HasSubstr("wrong wire type"));
}

}  // namespace
}  // namespace tvmvm::ir
