// Sections made with bad intent: digests and structure are right, what stands in them is not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "serializer/program_generated.h"
#include "tests/serializer/editable_file.h"
#include "tests/serializer/sample_file.h"

namespace tvmvm {
namespace {

using ::testing::HasSubstr;
using Bytes = std::vector<std::byte>;

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
