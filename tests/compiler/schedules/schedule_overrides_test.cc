#include "compiler/schedules/schedule_overrides.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "compiler/schedules/cpu/cpu_schedules.h"
#include "compiler/schedules/cpu/matrix_product.h"
#include "tests/folders.h"
#include "tests/golden/golden.h"

namespace tvmvm::tensor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const TargetInfo kV3 = TargetInfoFor(CpuLevel::kX86_64_V3), kV4 = TargetInfoFor(CpuLevel::kX86_64_V4);

ScheduleOverrides Parsed(std::string_view text) {
  Expected<ScheduleOverrides> overrides = ScheduleOverrides::Parse(text, "a.schedule");
  EXPECT_TRUE(overrides) << overrides.error().message;
  return overrides ? *std::move(overrides) : ScheduleOverrides();
}

std::string ErrorOf(std::string_view text) {
  Expected<ScheduleOverrides> overrides = ScheduleOverrides::Parse(text, "a.schedule");
  return overrides ? "none" : overrides.error().message;
}

RowsSchedule Applied(std::string_view text, std::string_view problem, const TargetInfo& target) {
  RowsSchedule schedule;
  Parsed(text).Apply(RowsSchedule::kFamily, problem, target, &schedule);
  return schedule;
}

TEST(ScheduleOverridesTest, AnEntryIsForKernelsThatHaveItsWords) {
  const std::string_view text = "rows[dims=n,4  f32]@cpu: block_elements=64   # all of both\n";
  EXPECT_EQ(Applied(text, "f32 dims=n,4 reduced=0,1", kV3).block_elements, 64);
  EXPECT_EQ(Applied(text, "f16 dims=n,4 reduced=0,1", kV3).block_elements, 8192);
  EXPECT_EQ(Applied("rows[]@cpu: block_elements=128", "anything", kV4).block_elements, 128);
}

TEST(ScheduleOverridesTest, LaterEntriesWin) {
  const std::string_view text = "\n# a remark\nrows[]@cpu: lanes=4\nrows[]@x86-64-v4: lanes=16\n";
  EXPECT_EQ(Applied(text, "f32", kV3).lanes, 4);
  EXPECT_EQ(Applied(text, "f32", kV4).lanes, 16);
}

TEST(ScheduleOverridesTest, ErrorsNameThePlaceAndWhatIsAllowed) {
  EXPECT_EQ(ErrorOf("\nrows[]@cpu: lanes=3"),
            "a.schedule:2: 'lanes' is 3; allowed is a power of two from 1 to 64");
  EXPECT_EQ(ErrorOf("rows[]@cpu: block_elements=100"),
            "a.schedule:1: 'block_elements' is 100; allowed is a multiple of 64 from 64 to 16777216");
  EXPECT_EQ(ErrorOf("product[]@cpu: tile_rows=99"), "a.schedule:1: 'tile_rows' is 99; allowed is 1 to 12");
  EXPECT_EQ(ErrorOf("product[]@cpu: tile_rows=six"), "a.schedule:1: 'tile_rows' is six; allowed is 1 to 12");
  EXPECT_EQ(ErrorOf("rows[]@cpu: lanes"),
            "a.schedule:1: 'lanes' sets no parameter; entries are FAMILY[WORDS]@TARGET: PARAMETER=VALUE ...");
  EXPECT_EQ(
      ErrorOf("rows: lanes=4"),
      "a.schedule:1: 'rows: lanes=4' is no entry; entries are FAMILY[WORDS]@TARGET: PARAMETER=VALUE ...");
  EXPECT_THAT(ErrorOf("row[]@cpu: lanes=4"),
              HasSubstr("no family of schedules is named 'row'; there are: product, dots,"));
  EXPECT_EQ(ErrorOf("rows[]@cpu: lane=4"),
            "a.schedule:1: 'rows' has no parameter 'lane'; there are: block_elements, short_row, few_rows, "
            "lanes, unrolled_vectors");
  EXPECT_THAT(ErrorOf("rows[]@x86: lanes=4"),
              HasSubstr("'rows' has no target 'x86'; there are: cpu, x86-64-v4"));
  EXPECT_EQ(ErrorOf("gpu_rows[]@cpu: row_items=64"),
            "a.schedule:1: 'gpu_rows' has no target 'cpu'; there are: gpu");
  EXPECT_EQ(ErrorOf("rows[]@x86-64-v3: block_elements=64"),
            "a.schedule:1: 'block_elements' is the same at every CPU level: it is set for @cpu, not for "
            "@x86-64-v3");
}

TargetSchedule Chosen(const std::string& target, int64_t lanes, int64_t block = 8192) {
  RowsSchedule schedule;
  schedule.lanes = lanes;
  schedule.block_elements = block;
  return {target, Describe("f32 dims=n", schedule)};
}

TEST(ScheduleOverridesTest, WhatIsOfNoKernelIsSaid) {
  const std::vector<TargetSchedule> chosen{Chosen("x86-64-v3", 8)};
  const ScheduleOverrides overrides = Parsed(
      "rows[f32]@cpu: lanes=4\nrows[f16]@cpu: lanes=4\npulls[]@x86-64-v3: lanes=4\nrows[f16]@x86-64-v4: "
      "lanes=4");
  EXPECT_THAT(overrides.Unmatched(chosen),
              ElementsAre("a.schedule:2: no kernel of this model is rows[f16]@cpu",
                          "a.schedule:3: no kernel of this model is "
                          "pulls[]@x86-64-v3"));
  EXPECT_THAT(overrides.Unmatched({}), IsEmpty());
}

TEST(ScheduleOverridesTest, WritesEachKernelOnceAndLevelsApart) {
  const std::vector<TargetSchedule> chosen{Chosen("x86-64-v3", 8), Chosen("x86-64-v4", 16),
                                           Chosen("x86-64-v3", 8)};
  EXPECT_EQ(WriteSchedules(chosen),
            "rows[f32 dims=n]@cpu: block_elements=8192 short_row=28 few_rows=4\n"
            "rows[f32 dims=n]@x86-64-v3: lanes=8 unrolled_vectors=4\n"
            "rows[f32 dims=n]@x86-64-v4: lanes=16 unrolled_vectors=4\n");
}

TEST(ScheduleOverridesTest, WhatKernelsOfOneProblemDoNotShareIsLeftOut) {
  EXPECT_EQ(WriteSchedules({Chosen("x86-64-v3", 8), Chosen("x86-64-v3", 4)}),
            "rows[f32 dims=n]@cpu: block_elements=8192 short_row=28 few_rows=4\n"
            "rows[f32 dims=n]@x86-64-v3: unrolled_vectors=4\n");
}

// What a struct says of itself by default is allowed, and no two parameters are one.
TEST(ScheduleFamiliesTest, NamesDiffer) {
  std::set<std::string_view> families;
  for (const ScheduleFamily* family : ScheduleFamilies()) {
    EXPECT_TRUE(families.insert(family->name).second) << family->name;
    std::set<std::string_view> parameters;
    for (const ScheduleParameter& parameter : family->parameters) {
      EXPECT_TRUE(parameters.insert(parameter.name).second) << family->name << " " << parameter.name;
      EXPECT_LE(parameter.allowed.least, parameter.allowed.most);
      EXPECT_TRUE(parameter.allowed.Contains(parameter.allowed.least))
          << family->name << " " << parameter.name;
    }
  }
}

MatrixProduct ProductOf(const ir::Dim& columns, RightForm form = RightForm::kPanels) {
  MatrixProduct product;
  product.rows = ir::Dim::Symbol("m");
  product.columns = columns;
  product.depth = 768;
  product.accumulator = DType::kF32;
  product.right.form = form;
  return product;
}

std::string Fitted(const MatrixProduct& product, ProductSchedule schedule) {
  FitProduct(product, &schedule);
  return fmt::format("{} {} {} {} {}", schedule.block_panels, schedule.tile_panels, schedule.rows_of_4,
                     schedule.rows_of_3, schedule.rows_of_2);
}

TEST(ProductScheduleTest, IsChosenFromProblemAndTarget) {
  const ProductSchedule narrow = ChooseProduct(ProductOf(3072), kV3),
                        wide = ChooseProduct(ProductOf(3072), kV4);
  EXPECT_EQ(narrow.block_rows, wide.block_rows);
  EXPECT_EQ(narrow.tile_rows, 6);
  EXPECT_EQ(narrow.tile_panels, 1);
  EXPECT_EQ(wide.tile_rows, 6);
  EXPECT_EQ(wide.tile_panels, 4);
  const ProductSchedule odd = ChooseProduct(ProductOf(80), kV4);  // four panels would compute 128 columns
  EXPECT_EQ(odd.tile_rows, 12);
  EXPECT_EQ(odd.tile_panels, 2);
  EXPECT_EQ(ChooseProduct(ProductOf(3072, RightForm::kGathered), kV3).block_rows, 384);
}

// Rows that meet in one set of the first level of cache push each other out where they are many.
TEST(ProductScheduleTest, RowsThatMeetInACacheAreFew) {
  const auto rows_at = [](const ir::Dim& pitch, bool keeps_apart = false) {
    MatrixProduct product = ProductOf(80);
    product.left.dtype = DType::kF32;
    product.left.pitch = pitch;
    product.left.keeps_apart = keeps_apart;
    return ChooseProduct(product, kV4).tile_rows;
  };
  EXPECT_EQ(rows_at(768), 12);
  EXPECT_EQ(rows_at(1024), 6);
  EXPECT_EQ(rows_at(3072), 6);
  EXPECT_EQ(rows_at(ir::Dim::Symbol("k") * 1024), 6);
  EXPECT_EQ(rows_at(ir::Dim::Symbol("k")), 8);
  EXPECT_EQ(rows_at(ir::Dim::Symbol("k"), true), 12);
}

TEST(ProductScheduleTest, ChoicesFit) {
  for (const TargetInfo& target : {kV3, kV4})
    for (int64_t columns : {1, 16, 17, 40, 48, 64, 65, 100, 4096}) {
      const MatrixProduct product = ProductOf(columns);
      const ProductSchedule chosen = ChooseProduct(product, target);
      ProductSchedule fitted = chosen;
      FitProduct(product, &fitted);
      EXPECT_EQ(Describe("", fitted).values, Describe("", chosen).values) << columns;
    }
}

TEST(ProductScheduleTest, IsBroughtToWhatThereIs) {
  ProductSchedule wish;
  wish.block_panels = 10;
  wish.tile_panels = 3;
  wish.rows_of_4 = 3, wish.rows_of_3 = 4, wish.rows_of_2 = 2;
  EXPECT_EQ(Fitted(ProductOf(4096), wish), "8 2 3 0 0");
  EXPECT_EQ(Fitted(ProductOf(48), wish), "3 3 0 4 0");
  EXPECT_EQ(Fitted(ProductOf(16), wish), "1 1 0 0 0");
}

// The table of families in docs/schedules.md is this list.
TEST(ScheduleFamiliesTest, TheDocumentListsThem) {
  std::string table = "| family | parameter | allowed | of | meaning |\n|---|---|---|---|---|\n";
  for (const ScheduleFamily* family : ScheduleFamilies()) {
    table += fmt::format("| **{}** | | | | {} |\n", family->name, family->meaning);
    for (const ScheduleParameter& parameter : family->parameters)
      table +=
          fmt::format("| | `{}` | {} | {} | {} |\n", parameter.name, parameter.allowed.ToString(),
                      parameter.scope == ParameterScope::kOneLevel ? "a level" : "all", parameter.meaning);
  }
  const std::string path = SourcePath("docs/schedules.md"), heading = "## Families\n\n";
  std::ifstream file(path);
  std::stringstream stream;
  stream << file.rdbuf();
  const std::string text = stream.str();
  const size_t at = text.find(heading);
  ASSERT_NE(at, std::string::npos);
  const std::string wanted = text.substr(0, at) + heading + table;
  if (std::getenv("TVMVM_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << wanted;
  EXPECT_EQ(text, wanted) << "TVMVM_UPDATE_GOLDEN=1 writes it anew";
}

}  // namespace
}  // namespace tvmvm::tensor
