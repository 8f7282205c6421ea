// Damaged .onnx files: whatever the bytes, the outcome is a program or an error that says something.
#include <gtest/gtest.h>

#include "serializer/protobuf.h"
#include "tests/models/corruption.h"
#include "tests/models/demo_model.h"
#include "tests/tries.h"
#include "tvm-vm/compiler.h"

namespace tvmvm {
namespace {

// Where the weights' values lie, the reader's least interesting part and nearly all of the file.
std::vector<ByteRange> WeightRanges(std::span<const std::byte> model) {
  constexpr int kModelGraph = 7, kGraphInitializer = 5, kTensorRawData = 9;
  auto file = reinterpret_cast<const char*>(model.data());
  std::vector<ByteRange> ranges;
  protozero::pbf_reader message(file, model.size());
  while (message.next(kModelGraph)) {
    protozero::pbf_reader graph = message.get_message();
    while (graph.next(kGraphInitializer)) {
      protozero::pbf_reader tensor = graph.get_message();
      while (tensor.next(kTensorRawData)) {
        protozero::data_view raw = tensor.get_view();
        size_t begin = static_cast<size_t>(raw.data() - file);
        ranges.push_back({begin, begin + raw.size()});
      }
    }
  }
  return ranges;
}

struct Outcomes {
  int refused = 0, accepted = 0;
};

Outcomes CompileDamaged(uint32_t count, uint32_t seed, const CompileOptions& options) {
  std::vector<std::byte> model = DemoModel();
  Corruption corruption(seed, WeightRanges(model));
  Outcomes outcomes;
  for (uint32_t i = 0; i < count; ++i) {
    auto compiled = GetCompiler().CompileBytes(corruption.Apply(model), options);
    if (compiled) {
      ++outcomes.accepted;
      continue;
    }
    ++outcomes.refused;
    EXPECT_FALSE(compiled.error().message.empty()) << "change " << i;
    EXPECT_NE(compiled.error().code, Code::kInternal) << "change " << i << ": " << compiled.error().message;
  }
  return outcomes;
}

TEST(CorruptModel, ImportGivesAModuleOrAnError) {
  CompileOptions options;
  options.stop_after = "import";
  Outcomes outcomes = CompileDamaged(Tries(4000), 1, options);
  EXPECT_GT(outcomes.refused, 0);
  EXPECT_GT(outcomes.accepted, 0);
}

TEST(CorruptModel, PassesGiveAModuleOrAnError) {
  CompileOptions options;
  options.stop_after = GetCompiler().Passes().back().first;
  Outcomes outcomes = CompileDamaged(Tries(1000, 100), 2, options);
  EXPECT_GT(outcomes.refused, 0);
  EXPECT_GT(outcomes.accepted, 0);
}

TEST(CorruptModel, CompilingGivesAProgramOrAnError) {
  CompileOptions options;
  options.targets = {"x86-64-v3"};
  Outcomes outcomes = CompileDamaged(Tries(60, 10), 3, options);
  EXPECT_GT(outcomes.refused, 0);
  EXPECT_GT(outcomes.accepted, 0);
}

}  // namespace
}  // namespace tvmvm
