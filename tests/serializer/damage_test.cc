// Files that are cut or damaged: any byte, the header, the table of sections, a section that is missing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "tests/serializer/editable_file.h"
#include "tests/serializer/sample_file.h"
#include "tests/tries.h"
#include "tvm-vm/assembler.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm {
namespace {

using ::testing::HasSubstr;
using Bytes = std::vector<std::byte>;

void WriteFile(const std::string& path, const Bytes& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
}

uint64_t NextRandom(uint64_t* state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

TEST(Damage, EveryTruncationIsRefused) {
  Bytes file = SampleFile();
  for (size_t size = 0; size < file.size(); ++size) {
    auto program = LoadProgramFromMemory(std::span(file).first(size));
    ASSERT_FALSE(program) << size;
    ASSERT_FALSE(program.error().message.empty());
  }
}

TEST(Damage, EveryFlippedByteIsFoundByLoadOrByVerify) {
  Bytes file = SampleFile();
  std::string path = ::testing::TempDir() + "/flipped.vmexe";
  EditableFile parts(file);
  auto unread_by_load = [&](size_t at) {
    for (const wire::SectionEntry& entry : parts.entries) {
      std::string_view name(entry.name.data());
      bool unread = name == wire::kConstantsSection;
      if (unread && at >= entry.offset && at < entry.offset + entry.bytes) return true;
    }
    return false;
  };
  for (size_t at = 0; at < file.size(); ++at) {
    Bytes damaged = file;
    damaged[at] ^= static_cast<std::byte>(1 << at % 8);
    auto program = LoadProgramFromMemory(damaged);
    if (program && !unread_by_load(at)) {
      ASSERT_EQ(*SerializeProgram(**program), file) << at;
    }
    WriteFile(path, damaged);
    ASSERT_FALSE(VerifyFile(path)) << at;
  }
  std::filesystem::remove(path);
}

TEST(Damage, FlippedBitInMachineCodeIsFoundByLoad) {
  Bytes file = SampleFile();
  EditableFile parts(file);
  int libraries = 0;
  for (const wire::SectionEntry& entry : parts.entries) {
    std::string name(entry.name.data());
    if (!name.starts_with(wire::kKernelsPrefix)) continue;
    ++libraries;
    for (uint64_t at : {entry.offset, entry.offset + entry.bytes - 1}) {
      Bytes damaged = file;
      damaged[at] ^= std::byte{0x10};
      auto program = LoadProgramFromMemory(damaged);
      ASSERT_FALSE(program) << name;
      EXPECT_EQ(program.error().code, Code::kInvalidProgram);
      EXPECT_THAT(program.error().message, HasSubstr("section '" + name + "' is damaged"));
    }
  }
  EXPECT_EQ(libraries, 3) << "two and their rows";
}

TEST(Damage, MutatedSectionsWithRightDigestsNeverCrash) {
  Bytes file = SampleFile();
  uint64_t state = 42;
  uint32_t loaded = 0;
  for (uint32_t i = 0; i < Tries(6000); ++i) {
    EditableFile parts(file);
    Bytes& section = parts.section(std::array{"metadata", "code", "debug", "kernels.rows"}[i % 4]);
    for (uint64_t changes = 1 + NextRandom(&state) % 4; changes > 0; --changes) {
      size_t at = NextRandom(&state) % section.size();
      constexpr uint8_t kTelling[] = {0, 1, 2, 0x7f, 0x80, 0xff};
      uint64_t choice = NextRandom(&state);
      section[at] = choice % 2 ? std::byte{kTelling[choice / 2 % std::size(kTelling)]}
                               : section[at] ^ static_cast<std::byte>(1 << choice / 2 % 8);
    }
    auto program = LoadProgramFromMemory(parts.Build());
    if (!program) {
      ASSERT_FALSE(program.error().message.empty());
      continue;
    }
    // Whatever was accepted can be printed and written.
    ++loaded;
    ASSERT_FALSE(Disassemble(**program).empty());
    ASSERT_TRUE(SerializeProgram(**program));
  }
  EXPECT_GT(loaded, 0);
  EXPECT_LT(loaded, Tries(6000));
}

TEST(Damage, MutatedSectionTablesNeverCrash) {
  const Bytes file = SampleFile();
  uint64_t state = 7;
  for (uint32_t i = 0; i < Tries(6000); ++i) {
    EditableFile parts(file);
    auto entry =
        std::as_writable_bytes(std::span(&parts.entries[NextRandom(&state) % parts.entries.size()], 1));
    constexpr size_t kFields = offsetof(wire::SectionEntry, digest);
    entry[NextRandom(&state) % kFields] = static_cast<std::byte>(NextRandom(&state));
    Bytes damaged = file;
    parts.Seal(&damaged);
    auto program = LoadProgramFromMemory(damaged);
    if (program) {
      ASSERT_FALSE(Disassemble(**program).empty());
    }
  }
}

TEST(Damage, HeaderErrorsSayWhatIsWrong) {
  auto error_after = [](const std::function<void(EditableFile*)>& edit) {
    Bytes file = SampleFile();
    EditableFile parts(file);
    edit(&parts);
    parts.Seal(&file);
    return LoadError(file);
  };
  EXPECT_EQ(LoadError(Bytes(10)), "10 bytes are too few for a .vmexe header of 64");
  EXPECT_EQ(LoadError({}), "0 bytes are too few for a .vmexe header of 64");
  EXPECT_EQ(LoadError(Bytes(100)), "not a .vmexe file: it starts with other bytes");
  EXPECT_EQ(error_after([](EditableFile* file) { file->header.flags = 4; }), "unknown file flags 0x4");
  EXPECT_THAT(error_after([](EditableFile* file) { file->header.file_bytes += 1; }),
              HasSubstr("its header says"));
  EXPECT_EQ(error_after([](EditableFile* file) { file->header.section_count = 2000; }),
            "2000 sections do not fit the file");
  EXPECT_THAT(error_after([](EditableFile* file) { file->entries[1].offset += 1; }),
              HasSubstr("are misplaced"));
  EXPECT_THAT(error_after([](EditableFile* file) { file->entries[1].offset = ~uint64_t{0} - 63; }),
              HasSubstr("are misplaced"));
  EXPECT_THAT(error_after([](EditableFile* file) { file->entries[1].bytes = ~uint64_t{0}; }),
              HasSubstr("are misplaced"));
  EXPECT_EQ(error_after([](EditableFile* file) { file->entries[1].offset = 0; }),
            "section 'code' overlaps what is before it");
  EXPECT_EQ(error_after([](EditableFile* file) { file->entries[2].name = file->entries[1].name; }),
            "two sections are named 'code'");
  EXPECT_EQ(error_after([](EditableFile* file) { file->entries[2].name.fill('x'); }),
            "a section's name is malformed");
  EXPECT_THAT(error_after([](EditableFile* file) { file->entries[0].digest[0] ^= 1; }),
              HasSubstr("section 'metadata' is damaged: its digest is "));
}

// Each is one byte, or one section, beyond what fits.
TEST(Damage, HeadersAreReadToTheByte) {
  const Bytes sample = SampleFile();
  auto error_after = [&](size_t size, const std::function<void(EditableFile*)>& edit) {
    EditableFile parts(sample);
    Bytes file = sample;
    file.resize(size);
    parts.header.file_bytes = size;
    edit(&parts);
    parts.Seal(&file);
    return LoadError(file);
  };
  const size_t size = sample.size();
  EXPECT_EQ(error_after(size, [](EditableFile*) {}), "");
  EXPECT_EQ(LoadError(Bytes(sample.begin(), sample.begin() + 63)),
            "63 bytes are too few for a .vmexe header of 64");
  const size_t room = (size - sizeof(wire::FileHeader)) / sizeof(wire::SectionEntry);
  EXPECT_EQ(
      error_after(size,
                  [&](EditableFile* file) { file->header.section_count = static_cast<uint32_t>(room + 1); }),
      std::to_string(room + 1) + " sections do not fit the file");
  EXPECT_EQ(error_after(size_t{wire::kMaxSections} * 100,
                        [](EditableFile* file) { file->header.section_count = wire::kMaxSections + 1; }),
            "1025 sections do not fit the file");
  EXPECT_EQ(error_after(size, [](EditableFile* file) { file->entries[2].name[0] = 0; }),
            "a section's name is malformed");
  EXPECT_THAT(error_after(size,
                          [&](EditableFile* file) {
                            file->entries.back().bytes = size - file->entries.back().offset + 1;
                          }),
              HasSubstr("are misplaced"));
  const size_t odd = wire::AlignUp(size, 64) + 63;
  EXPECT_THAT(error_after(odd,
                          [&](EditableFile* file) {
                            file->entries.back().offset = odd + 1;
                            file->entries.back().bytes = 0;
                          }),
              HasSubstr("are misplaced"));
  EXPECT_EQ(error_after(size,
                        [](EditableFile* file) {
                          file->entries[0].bytes = file->entries[1].offset - file->entries[0].offset + 1;
                        }),
            "section 'code' overlaps what is before it");
}

TEST(Damage, WhatLiesBehindTheLastSectionIsFoundByVerify) {
  const std::string path = ::testing::TempDir() + "/behind.vmexe";
  for (const int value : {0, 1}) {
    Bytes file = SampleFile();
    EditableFile parts(file);
    file.resize(file.size() + 8);
    file.back() = static_cast<std::byte>(value);
    parts.header.file_bytes = file.size();
    parts.Seal(&file);
    WriteFile(path, file);
    const Status status = VerifyFile(path);
    EXPECT_EQ(status.has_value(), value == 0);
    EXPECT_THAT(status ? "" : status.error().message,
                value == 0 ? HasSubstr("") : HasSubstr("belong to no section and are not 0"));
  }
  std::filesystem::remove(path);
}

TEST(Damage, MissingSections) {
  for (auto [name, message] :
       {std::pair{"metadata", "no section 'metadata'"},
        {"code", "no section 'code'"},
        {"constants", "constant 'small': 5 bytes at 0 of a section of 0"},
        {"kernels.cpu.x86-64-v3", "kernel library 'x86-64-v3': no section 'kernels.cpu.x86-64-v3'"}}) {
    EditableFile parts(SampleFile());
    parts.Remove(name);
    EXPECT_EQ(LoadError(parts.Build()), message);
  }
}

}  // namespace
}  // namespace tvmvm
