#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/serializer/sample_program.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm {
namespace {

using ::testing::ElementsAre;

std::string TemporaryPath(const std::string& name) { return ::testing::TempDir() + "/" + name; }

TEST(RoundTrip, KeepsEverything) {
  auto program = SampleProgram(true);
  auto bytes = SerializeProgram(*program);
  ASSERT_TRUE(bytes) << bytes.error().message;
  auto loaded = LoadProgramFromMemory(*bytes);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const Program& copy = **loaded;

  EXPECT_EQ(*SerializeProgram(copy), *bytes);
  ASSERT_EQ(copy.functions.size(), 1u);
  EXPECT_EQ(copy.main().code, program->main().code);
  EXPECT_EQ(copy.strings, program->strings);
  ASSERT_EQ(copy.main().lines.size(), program->main().lines.size());
  uint32_t last = copy.main().lines.back().word;
  EXPECT_EQ(copy.SourceNode(copy.main(), last), "/Mul (Mul)");
  const TypeSpec& x = copy.main().inputs[0].type;
  EXPECT_EQ(x.dims[0].symbol, "n");
  EXPECT_EQ(x.dims[0].high, 512);
  EXPECT_EQ(x.dims[1].value, 3);
  EXPECT_EQ(copy.main().inputs[1].type.elements.at(0).dtype, DType::kString);
  EXPECT_FALSE(copy.main().inputs[2].type.elements.at(0).has_rank);
  EXPECT_EQ(copy.main().outputs[1].type.elements.size(), 2u);
  EXPECT_THAT(copy.constants[2].strings, ElementsAre("a", std::string("b\0c", 3)));
  EXPECT_EQ(copy.constants[1].bytes.size(), 70000u);
  EXPECT_TRUE(std::ranges::equal(copy.constants[1].bytes, program->constants[1].bytes));
  EXPECT_EQ(copy.kernels[0].error_messages.at(0), "index out of range");
  EXPECT_EQ(copy.kernels[0].contract, "64; s0*4; s0*4; s0*4; le(0, s0)");
  EXPECT_EQ(copy.kernels[0].alignments, (std::vector<uint8_t>{4, 4, 4}));
  EXPECT_EQ(copy.kernels[0].scratch_bytes, 64);
  EXPECT_EQ(copy.kernels[0].flops, 6);
  EXPECT_EQ(copy.kernels[0].bytes, 24);
  EXPECT_EQ(copy.plans[0].values[1].alignment, 128u);
  EXPECT_EQ(copy.libraries[1].form, KernelForm::kBitcode);
  EXPECT_EQ(copy.provenance.options, "--target host");
}

TEST(RoundTrip, KeepsDevicesAndTheirEntries) {
  Program program = *SampleProgram(false);
  for (const char* name : {"main.gpu", "main.gpu2"}) {
    program.functions.push_back(program.functions[0]);
    program.functions.back().name = name;
  }
  program.devices.push_back({DeviceClass::kGpu, 1});
  program.device_entries = {{FunctionId{1}, {1, 0}}, {FunctionId{2}, {1, 2, 0}}};
  program.functions[1].device_inputs = program.functions[2].device_outputs = {0, 1};
  auto bytes = SerializeProgram(program);
  ASSERT_TRUE(bytes) << bytes.error().message;
  auto loaded = LoadProgramFromMemory(*bytes);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ((*loaded)->devices, program.devices);
  ASSERT_EQ((*loaded)->device_entries.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ((*loaded)->device_entries[i].function, program.device_entries[i].function);
    EXPECT_EQ((*loaded)->device_entries[i].devices, program.device_entries[i].devices);
  }
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*loaded)->functions[i].device_inputs, program.functions[i].device_inputs);
    EXPECT_EQ((*loaded)->functions[i].device_outputs, program.functions[i].device_outputs);
  }
}

TEST(RoundTrip, ThroughAFile) {
  auto program = SampleProgram(true);
  std::string path = TemporaryPath("round_trip.vmexe");
  auto saved = SaveProgram(*program, path);
  ASSERT_TRUE(saved) << saved.error().message;
  auto loaded = LoadProgram(path);
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(*SerializeProgram(**loaded), *SerializeProgram(*program));
  EXPECT_TRUE(VerifyFile(path));
  // Saving over the file that the program is mapped from must not change the mapping.
  ASSERT_TRUE(SaveProgram(**loaded, path));
  EXPECT_EQ(*SerializeProgram(**loaded), *SerializeProgram(*program));
  std::filesystem::remove(path);
}

TEST(RoundTrip, SectionsAreAligned) {
  auto program = SampleProgram(true);
  std::string path = TemporaryPath("sections.vmexe");
  ASSERT_TRUE(SaveProgram(*program, path));
  auto sections = ListSections(path);
  ASSERT_TRUE(sections) << sections.error().message;
  std::vector<std::string> names;
  for (const SectionInfo& section : *sections) {
    names.push_back(section.name);
    EXPECT_EQ(section.offset % 64, 0u) << section.name;
    EXPECT_EQ(section.required, section.name != "debug");
    EXPECT_EQ(section.digest.size(), 32u);
  }
  EXPECT_THAT(names, ElementsAre("metadata", "code", "debug", "kernels.rows", "kernels.cpu.x86-64-v3",
                                 "kernels.cpu.x86-64-v3.2", "constants"));
  auto loaded = LoadProgram(path);
  ASSERT_TRUE(loaded);
  auto address = [&](size_t constant) {
    return reinterpret_cast<uintptr_t>((*loaded)->constants[constant].bytes.data());
  };
  EXPECT_EQ(address(0) % 64, 0u);
  EXPECT_EQ(address(1) % 4096, 0u);
  std::filesystem::remove(path);
}

TEST(RoundTrip, MemoryOfAnOwnerIsUsedInPlace) {
  auto program = SampleProgram(true);
  auto bytes = SerializeProgram(*program);
  ASSERT_TRUE(bytes);
  auto owner = std::shared_ptr<std::byte>(
      static_cast<std::byte*>(std::aligned_alloc(4096, (bytes->size() + 4095) / 4096 * 4096)), std::free);
  std::copy(bytes->begin(), bytes->end(), owner.get());
  auto loaded = LoadProgramFromMemory({owner.get(), bytes->size()}, owner);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const std::byte* data = (*loaded)->constants[1].bytes.data();
  EXPECT_GE(data, owner.get());
  EXPECT_LT(data, owner.get() + bytes->size());
  EXPECT_EQ(owner.use_count(), 2);
}

}  // namespace
}  // namespace tvmvm
