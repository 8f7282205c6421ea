// Files that are cut, damaged, made by another version or made with bad intent.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "serializer/program_generated.h"
#include "tests/serializer/editable_file.h"
#include "tests/serializer/sample_program.h"
#include "tvm-vm/assembler.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm {
namespace {

using ::testing::HasSubstr;
using Bytes = std::vector<std::byte>;

Bytes SampleFile() { return *SerializeProgram(*SampleProgram(false)); }

std::string LoadError(const Bytes& file) {
  auto program = LoadProgramFromMemory(file);
  return program ? "" : program.error().message;
}

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
  int loaded = 0;
  for (int i = 0; i < 6000; ++i) {
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
  EXPECT_LT(loaded, 6000);
}

TEST(Damage, MutatedSectionTablesNeverCrash) {
  const Bytes file = SampleFile();
  uint64_t state = 7;
  for (int i = 0; i < 6000; ++i) {
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

TEST(Versions, NewerMajorIsRefusedAndNewerMinorIsRead) {
  Bytes file = SampleFile();
  EditableFile newer(file);
  newer.header.major = 2;
  newer.header.minor = 3;
  newer.Seal(&file);
  auto program = LoadProgramFromMemory(file);
  ASSERT_FALSE(program);
  EXPECT_EQ(program.error().code, Code::kUnsupported);
  EXPECT_EQ(program.error().message, "the file has format version 2.3, this build reads version 1.3");
  newer.header.major = 1;
  newer.Seal(&file);
  EXPECT_EQ(LoadError(file), "");
}

TEST(Versions, UnknownSections) {
  EditableFile optional(SampleFile());
  optional.Add("notes", false, Bytes(10));
  EXPECT_EQ(LoadError(optional.Build()), "");
  EditableFile required(SampleFile());
  required.Add("notes", true, Bytes(10));
  EXPECT_EQ(LoadError(required.Build()), "the file needs section 'notes', which this build does not know");
}

TEST(Versions, DebugSectionIsOptional) {
  EditableFile parts(SampleFile());
  parts.Remove("debug");
  auto program = LoadProgramFromMemory(parts.Build());
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_TRUE((*program)->main().lines.empty());
  // What instructions use is not in the debug section.
  EXPECT_THAT(Disassemble(**program), HasSubstr("n is {0}, at most 512"));
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

// A section of the sample after an edit of its object form.
template <class Root>
Bytes WithSection(std::string_view name, const std::function<void(typename Root::NativeTableType*)>& edit) {
  EditableFile parts(SampleFile());
  Bytes& section = parts.section(name);
  typename Root::NativeTableType table;
  flatbuffers::GetRoot<Root>(section.data())->UnPackTo(&table);
  edit(&table);
  flatbuffers::FlatBufferBuilder builder;
  builder.Finish(Root::Pack(builder, &table));
  auto begin = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  section.assign(begin, begin + builder.GetSize());
  return parts.Build();
}

Bytes WithMetadata(const std::function<void(schema::ProgramT*)>& edit) {
  return WithSection<schema::Program>("metadata", edit);
}

TEST(Damage, KernelRowsAreChecked) {
  auto error_after = [](const std::function<void(schema::KernelRowsT*)>& edit) {
    return LoadError(WithSection<schema::KernelRows>("kernels.rows", edit));
  };
  EXPECT_EQ(error_after([](schema::KernelRowsT*) {}), "");
  EXPECT_THAT(error_after([](schema::KernelRowsT* rows) { rows->kernels[0]->device = 9; }),
              HasSubstr("kernel 'scale': unknown device 9"));
  EXPECT_THAT(error_after([](schema::KernelRowsT* rows) { rows->kernels[0]->buffers[0] = 9; }),
              HasSubstr("unknown access 9"));
  EXPECT_THAT(error_after([](schema::KernelRowsT* rows) { rows->libraries[0]->form = 9; }),
              HasSubstr("unknown form 9"));
  EXPECT_THAT(error_after([](schema::KernelRowsT* rows) { rows->kernels.clear(); }), HasSubstr("kernel"));
  EditableFile cut(SampleFile());
  cut.section("kernels.rows").resize(3);
  EXPECT_EQ(LoadError(cut.Build()), "section 'kernels.rows' is malformed");
}

// What the metadata says of kernels counts in files alone that have no section for it.
TEST(Damage, KernelsStandInOnePlace) {
  const std::string both = "the metadata and section 'kernels.rows' both have kernels";
  EXPECT_EQ(LoadError(WithMetadata([](schema::ProgramT* program) {
              program->kernels.push_back(std::make_unique<schema::KernelT>());
            })),
            both);
  EXPECT_EQ(LoadError(WithMetadata([](schema::ProgramT* program) {
              program->libraries.push_back(std::make_unique<schema::KernelLibraryT>());
              program->libraries.back()->section = "kernels.cpu.x86-64-v3";
            })),
            both);
}

TEST(Damage, MetadataIsCheckedBeyondItsStructure) {
  auto error_after = [](const std::function<void(schema::ProgramT*)>& edit) {
    return LoadError(WithMetadata(edit));
  };
  EXPECT_EQ(error_after([](schema::ProgramT*) {}), "");
  EXPECT_THAT(error_after([](schema::ProgramT* program) { program->functions[0]->code_begin = 1; }),
              HasSubstr("words of code at 1, wanted at 0"));
  EXPECT_THAT(
      error_after([](schema::ProgramT* program) { program->functions[0]->code_words = ~uint64_t{0}; }),
      HasSubstr("words of code at 0"));
  EXPECT_THAT(error_after([](schema::ProgramT* program) { ++program->functions[0]->code_words; }),
              HasSubstr("words of code at 0, wanted at 0 and at most"));
  EXPECT_THAT(error_after([](schema::ProgramT* program) { program->functions.clear(); }),
              HasSubstr("the functions have 0 words of code"));
  EXPECT_THAT(
      error_after([](schema::ProgramT* program) { program->constants[0]->offset = ~uint64_t{0} - 2; }),
      HasSubstr("constant 'small': 5 bytes at 18446744073709551613 of a section of"));
  // A byte beyond the section, and one byte too many.
  const size_t constants = EditableFile(SampleFile()).section("constants").size();
  const std::string of_section = " of a section of " + std::to_string(constants);
  EXPECT_EQ(error_after([&](schema::ProgramT* program) { program->constants[0]->offset = constants + 1; }),
            "constant 'small': 5 bytes at " + std::to_string(constants + 1) + of_section);
  EXPECT_EQ(error_after([&](schema::ProgramT* program) { program->constants[0]->offset = constants - 4; }),
            "constant 'small': 5 bytes at " + std::to_string(constants - 4) + of_section);
  EXPECT_THAT(error_after([](schema::ProgramT* program) { program->constants[0]->offset = 1; }),
              HasSubstr("its bytes are not 64-byte aligned"));
  EXPECT_THAT(error_after([](schema::ProgramT* program) { program->constants[0]->bytes = 4; }),
              HasSubstr("4 bytes for 5 elements of u8"));
  EXPECT_THAT(error_after([](schema::ProgramT* program) { program->constants[0]->dtype = 200; }),
              HasSubstr("unknown dtype 200"));
  EXPECT_THAT(error_after([](schema::ProgramT* program) { program->constants[0]->dims.assign(33, 1); }),
              HasSubstr("rank 33, at most 32"));
  EXPECT_THAT(
      error_after([](schema::ProgramT* program) { program->functions[0]->inputs[0]->type->kind = 9; }),
      HasSubstr("unknown kind of type 9"));
  EXPECT_THAT(error_after([](schema::ProgramT* program) { program->functions[0]->inputs[0]->type.reset(); }),
              HasSubstr("a parameter has no type"));
  EXPECT_THAT(error_after([](schema::ProgramT* program) { program->entry = 1; }),
              HasSubstr("entry function 1 does not exist"));
  EXPECT_THAT(error_after([](schema::ProgramT* program) { program->gpu_entry = 1; }),
              HasSubstr("entry function 1 does not exist"));
  EXPECT_THAT(error_after([](schema::ProgramT* program) {
                program->device_entries.push_back(std::make_unique<schema::DeviceEntryT>());
                program->device_entries.back()->devices = {3};
              }),
              HasSubstr("an entry for device 3, the program has 2"));
  EXPECT_THAT(error_after([](schema::ProgramT* program) { program->devices = {schema::Device(0, 1)}; }),
              HasSubstr("the first device of the program is not the host's CPU"));
  EXPECT_THAT(error_after([](schema::ProgramT* program) { program->gpu_entry = -2; }),
              HasSubstr("entry function -2 of class gpu"));
  EXPECT_THAT(error_after([](schema::ProgramT* program) { program->gpu_entry = int64_t{1} << 32; }),
              HasSubstr("entry function 4294967296 of class gpu"));
  EXPECT_THAT(error_after([](schema::ProgramT* program) {
                for (int i = 0; i < 20; ++i) {
                  auto outer = std::make_unique<schema::TypeT>();
                  outer->kind = 1;
                  outer->elements.push_back(std::move(program->functions[0]->inputs[0]->type));
                  program->functions[0]->inputs[0]->type = std::move(outer);
                }
              }),
              HasSubstr("types nested more than 16 deep"));
}

// Files of a megabyte that would unpack to terabytes, because every table refers to the same vectors.
TEST(Damage, SharedVectorsDoNotMultiply) {
  constexpr size_t kMany = 100000;
  auto error_of = [](auto make_constant) {
    EditableFile parts(SampleFile());
    flatbuffers::FlatBufferBuilder builder;
    auto constants = builder.CreateVector(std::vector(kMany, make_constant(&builder)));
    builder.Finish(schema::CreateProgram(builder, 0, 0, 0, 0, constants));
    auto begin = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
    parts.section("metadata").assign(begin, begin + builder.GetSize());
    parts.section("code").clear();
    return LoadError(parts.Build());
  };
  EXPECT_EQ(error_of([](flatbuffers::FlatBufferBuilder* builder) {
              auto text = schema::CreateText(*builder, builder->CreateString("x"));
              return schema::CreateConstant(*builder, 0, 14, 0, 0, 0,
                                            builder->CreateVector(std::vector(kMany, text)));
            }),
            "section 'metadata' is malformed");
  EXPECT_EQ(error_of([](flatbuffers::FlatBufferBuilder* builder) {
              return schema::CreateConstant(*builder, builder->CreateString(std::string(kMany, 'x')));
            }),
            "the metadata refers to the same bytes over and over");
  EXPECT_EQ(error_of([](flatbuffers::FlatBufferBuilder* builder) {
              return schema::CreateConstant(*builder, 0, 1,
                                            builder->CreateVector(std::vector<int64_t>(kMany, 1)));
            }),
            "the metadata refers to the same bytes over and over");
}

TEST(Damage, SharedNumbersDoNotMultiply) {
  constexpr size_t kMany = 3000;
  const auto put = [](const flatbuffers::FlatBufferBuilder& builder, Bytes* section) {
    auto begin = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
    section->assign(begin, begin + builder.GetSize());
  };
  const auto error_of = [&](auto make_program) {
    EditableFile parts(SampleFile());
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(make_program(builder));
    put(builder, &parts.section("metadata"));
    parts.section("code").clear();
    return LoadError(parts.Build());
  };
  const auto error_of_kernels = [&](auto add) {
    return error_of([&](flatbuffers::FlatBufferBuilder& builder) {
      const auto numbers = builder.CreateVector(std::vector<uint8_t>(kMany));
      schema::KernelBuilder kernel(builder);
      (kernel.*add)(numbers);
      const auto kernels = builder.CreateVector(std::vector(kMany, kernel.Finish()));
      schema::ProgramBuilder program(builder);
      program.add_kernels(kernels);
      return program.Finish();
    });
  };
  const std::string refused = "the metadata refers to the same bytes over and over";
  EXPECT_EQ(error_of_kernels(&schema::KernelBuilder::add_buffers), refused);
  EXPECT_EQ(error_of_kernels(&schema::KernelBuilder::add_alignments), refused);
  EXPECT_EQ(error_of([&](flatbuffers::FlatBufferBuilder& builder) {
              const auto numbers = builder.CreateVector(std::vector<uint32_t>(kMany));
              schema::FunctionBuilder function(builder);
              function.add_device_inputs(numbers);
              const auto functions = builder.CreateVector(std::vector(kMany, function.Finish()));
              schema::ProgramBuilder program(builder);
              program.add_functions(functions);
              return program.Finish();
            }),
            refused);
  EXPECT_EQ(error_of([&](flatbuffers::FlatBufferBuilder& builder) {
              const auto values = builder.CreateVectorOfStructs(std::vector<schema::Interval>(kMany));
              const auto plans =
                  builder.CreateVector(std::vector(kMany, schema::CreatePlan(builder, values)));
              schema::ProgramBuilder program(builder);
              program.add_plans(plans);
              return program.Finish();
            }),
            refused);

  EditableFile parts(SampleFile());
  flatbuffers::FlatBufferBuilder metadata, debug;
  const auto functions = metadata.CreateVector(std::vector(kMany, schema::CreateFunction(metadata)));
  metadata.Finish(schema::CreateProgram(metadata, functions));
  const auto lines = debug.CreateVectorOfStructs(std::vector<schema::Line>(kMany));
  const auto tables = debug.CreateVector(std::vector(kMany, schema::CreateFunctionLines(debug, lines)));
  debug.Finish(schema::CreateDebug(debug, tables));
  put(metadata, &parts.section("metadata"));
  put(debug, &parts.section("debug"));
  parts.section("code").clear();
  EXPECT_EQ(LoadError(parts.Build()), refused);
}

// FlatBuffers' verifier proves that a vector lies in the section, not that its numbers are aligned.
TEST(Damage, DimsAreReadWhereverTheyLie) {
  for (size_t padding : {4, 8}) {
    EditableFile parts(SampleFile());
    flatbuffers::FlatBufferBuilder builder;
    const auto words = builder.CreateVector(std::vector<uint32_t>{3, 0, 5, 0});
    auto* length = reinterpret_cast<uint32_t*>(builder.GetCurrentBufferPointer());
    ASSERT_EQ(*length, 4u);
    *length = 2;
    builder.CreateVector(std::vector<uint8_t>(padding));
    const flatbuffers::Offset<flatbuffers::Vector<int64_t>> dims(words.o);
    const auto constant = schema::CreateConstant(builder, 0, 1, dims);
    const auto constants = builder.CreateVector(std::vector{constant});
    builder.Finish(schema::CreateProgram(builder, 0, 0, 0, 0, constants));
    auto begin = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
    parts.section("metadata").assign(begin, begin + builder.GetSize());
    parts.section("code").clear();
    parts.Remove("debug");
    EXPECT_EQ(LoadError(parts.Build()), "entry function 0 does not exist, the program has 0");
  }
}

TEST(Damage, DebugSectionIsChecked) {
  auto error_after = [](const std::function<void(schema::DebugT*)>& edit) {
    EditableFile parts(SampleFile());
    Bytes& section = parts.section("debug");
    schema::DebugT debug;
    flatbuffers::GetRoot<schema::Debug>(section.data())->UnPackTo(&debug);
    edit(&debug);
    flatbuffers::FlatBufferBuilder builder;
    builder.Finish(schema::Debug::Pack(builder, &debug));
    auto begin = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
    section.assign(begin, begin + builder.GetSize());
    return LoadError(parts.Build());
  };
  EXPECT_EQ(error_after([](schema::DebugT*) {}), "");
  EXPECT_EQ(error_after([](schema::DebugT* debug) { debug->functions.clear(); }),
            "line tables of 0 functions, the program has 1");
  EXPECT_EQ(error_after([](schema::DebugT* debug) { debug->strings[0]->index = 3; }),
            "debug string 3 does not exist or is set twice");
  EXPECT_EQ(error_after([](schema::DebugT* debug) { debug->strings[0]->index = 1; }),
            "debug string 1 does not exist or is set twice");
  EXPECT_THAT(
      error_after([](schema::DebugT* debug) { debug->functions[0]->lines[0] = schema::Line(0, 1000); }),
      HasSubstr("names string 1000"));
}

}  // namespace
}  // namespace tvmvm
