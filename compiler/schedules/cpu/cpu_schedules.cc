#include "compiler/schedules/cpu/cpu_schedules.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/schedules/cpu/matrix_product.h"
#include "compiler/schedules/cpu/tiles/gather_operands.h"
#include "compiler/schedules/cpu/tiles/micro_kernel.h"
#include "compiler/schedules/schedule_overrides.h"

namespace tvmvm::tensor {
namespace {

constexpr ParameterScope kAll = ParameterScope::kEveryLevel, kOwn = ParameterScope::kOneLevel;
constexpr AllowedValues kFlag{0, 1}, kLanes{1, 64, 1, true}, kRowCount{0, 1 << 20};

constexpr ScheduleParameter kProduct[] = {
    Parameter<&ProductSchedule::block_rows>("block_rows", {1, 4096}, kAll, "rows of a grid point, at most"),
    Parameter<&ProductSchedule::least_rows>("least_rows", {1, 4096}, kAll,
                                            "rows of a grid point, at least, where those would be few"),
    Parameter<&ProductSchedule::grid_points>("grid_points", {1, 4096}, kAll, "which are few"),
    Parameter<&ProductSchedule::block_panels>(
        "block_panels", {1, 32}, kAll,
        "panels of 16 columns of a grid point; with more than 4 in all, a multiple of 4"),
    Parameter<&ProductSchedule::depth_block>("depth_block", {0, 1 << 20, 64}, kAll,
                                             "steps of the depth that a grid point packs at once; 0: all"),
    Parameter<&ProductSchedule::tile_rows>("tile_rows", {1, kMostTileRows}, kOwn,
                                           "rows of a register tile in blocks of many rows"),
    Parameter<&ProductSchedule::tile_panels>("tile_panels", {1, 4}, kOwn,
                                             "panels of such a tile; a divisor of the block's"),
    Parameter<&ProductSchedule::rows_of_4>("rows_of_4", {0, kMostTileRows}, kOwn,
                                           "blocks of so few rows take tiles 4 panels wide"),
    Parameter<&ProductSchedule::rows_of_3>("rows_of_3", {0, kMostTileRows}, kOwn, "the same, 3 panels wide"),
    Parameter<&ProductSchedule::rows_of_2>("rows_of_2", {0, kMostTileRows}, kOwn, "the same, 2 panels wide"),
    Parameter<&ProductSchedule::round_updates>("round_updates", {1, 192}, kOwn,
                                               "updates of sums in a round of the loop over the depth"),
    Parameter<&ProductSchedule::round_steps>("round_steps", {1, 8}, kOwn,
                                             "steps of the depth in a round, at most"),
    Parameter<&ProductSchedule::has_rows_outside>("rows_outside", kFlag, kOwn,
                                                  "1: a row of tiles after the other; 0: a column of them"),
};
constexpr ScheduleParameter kDots[] = {
    Parameter<&DotsSchedule::block_panels>("block_panels", {1, 64}, kAll,
                                           "panels of 16 columns of a grid point"),
    Parameter<&DotsSchedule::columns_at_once>("columns_at_once", {1, 16, 1, true}, kOwn,
                                              "columns that share what is read of the row"),
};
constexpr ScheduleParameter kContraction[] = {
    Parameter<&ContractionSchedule::rows_in_place>(
        "rows_in_place", kRowCount, kAll, "rows up to which the right operand is read where it lies"),
    Parameter<&ContractionSchedule::rows_of_dots>("rows_of_dots", kRowCount, kAll,
                                                  "rows up to which columns along the depth are not packed"),
    Parameter<&ContractionSchedule::rows_of_codes>("rows_of_codes", kRowCount, kAll,
                                                   "rows up to which codes are decoded in registers"),
    Parameter<&ContractionSchedule::rows_of_halves>(
        "rows_of_halves", kRowCount, kAll, "rows up to which 16-bit weights are widened in registers"),
    Parameter<&ContractionSchedule::few_columns>(
        "few_columns", kRowCount, kAll,
        "columns up to which vectors run along rows, of which there are more"),
    Parameter<&ContractionSchedule::depth_of_dots>("depth_of_dots", kRowCount, kAll,
                                                   "depth from which on dot products compute these"),
};
constexpr ScheduleParameter kConvolution[] = {
    Parameter<&ConvolutionSchedule::planar_percent>(
        "planar_percent", {0, 100000}, kAll,
        "vectors run along pixels where that costs at most so much of what those along channels do"),
};
constexpr ScheduleParameter kDepthwise[] = {
    Parameter<&DepthwiseSchedule::tile_pixels>("tile_pixels", {1, 12}, kOwn, "pixels combined together"),
};
constexpr ScheduleParameter kTurned[] = {
    Parameter<&TurnedSchedule::percent>(
        "percent", {0, 100000}, kAll,
        "vectors run along channels where that costs at most so much of what those along rows do"),
    Parameter<&TurnedSchedule::block_pixels>("block_pixels", {1, 1 << 16}, kAll, "pixels of a grid point"),
    Parameter<&TurnedSchedule::tile_pixels>("tile_pixels", {1, 12}, kOwn, "pixels combined together"),
};
constexpr ScheduleParameter kPlanar[] = {
    Parameter<&PlanarSchedule::block_rows>("block_rows", {1, 1024}, kAll, "rows of a grid point"),
    Parameter<&PlanarSchedule::block_columns>("block_columns", {64, 1 << 16, 64}, kAll,
                                              "columns of a grid point"),
    Parameter<&PlanarSchedule::tile_rows>("tile_rows", {1, 8}, kOwn, "rows combined together"),
    Parameter<&PlanarSchedule::tile_vectors>("tile_vectors", {1, 4}, kOwn,
                                             "vectors of each, combined together"),
    Parameter<&PlanarSchedule::row_vectors>("row_vectors", {1, 8}, kOwn,
                                            "vectors combined together where there is only one row"),
    Parameter<&PlanarSchedule::lanes>("lanes", {4, 64, 1, true}, kOwn, "of a vector, at most"),
};
constexpr ScheduleParameter kRows[] = {
    Parameter<&RowsSchedule::block_elements>("block_elements", {64, 1 << 24, 64}, kAll,
                                             "elements of a grid point"),
    Parameter<&RowsSchedule::short_row>("short_row", kRowCount, kAll,
                                        "elements up to which a vector holds one of each of several rows"),
    Parameter<&RowsSchedule::few_rows>("few_rows", kRowCount, kAll,
                                       "so many that lie side by side are taken one by one"),
    Parameter<&RowsSchedule::lanes>("lanes", kLanes, kOwn, "of a vector, at most"),
    Parameter<&RowsSchedule::unrolled_vectors>("unrolled_vectors", {1, 8}, kOwn,
                                               "vectors of rows that are taken together"),
};
constexpr ScheduleParameter kPulls[] = {
    Parameter<&PullsSchedule::block_elements>("block_elements", {256, 1 << 24, 256}, kAll,
                                              "elements of a grid point"),
    Parameter<&PullsSchedule::tile_block>("tile_block", {16, 4096, 16}, kAll,
                                          "of each of two axes that are turned, in a grid point"),
    Parameter<&PullsSchedule::short_row>("short_row", kRowCount, kAll,
                                         "elements reduced up to which a vector is of several results"),
    Parameter<&PullsSchedule::few_rows>("few_rows", kRowCount, kAll,
                                        "so many results side by side are reduced one by one"),
    Parameter<&PullsSchedule::lanes>("lanes", kLanes, kOwn, "of a vector, at most"),
    Parameter<&PullsSchedule::unrolled_vectors>("unrolled_vectors", {1, 8}, kOwn,
                                                "vectors of reductions that are taken together"),
    Parameter<&PullsSchedule::streamed_kib>("streamed_kib", {0, 1 << 30}, kOwn,
                                            "kernels that move more write past the caches"),
};
constexpr ScheduleParameter kAttention[] = {
    Parameter<&AttentionSchedule::most_queries>("most_queries", {12, 768, 12}, kAll,
                                                "queries of a grid point, at most"),
    Parameter<&AttentionSchedule::cached_scores>("cached_scores", {1, 1 << 24}, kAll,
                                                 "scores of a grid point, at most"),
    Parameter<&AttentionSchedule::grid_points>("grid_points", {1, 4096}, kAll,
                                               "grid points that there are, where queries allow"),
};

// What a block of the right operand may take so that it stays in the second level of cache beside the rows.
constexpr int64_t kCachedRightBytes = 384 * 1024;
// The same for a block that is gathered in rows.
constexpr int64_t kCachedGatheredBytes = 512 * 1024;
// Rows of one block where the right operand is gathered or decoded for it and the left one is in place.
constexpr int64_t kGatheredRightRows = 384;
constexpr int64_t kPlainRows = 96;
// The same where there are few grid points: what is gathered for each is worth so many rows at least.
constexpr int64_t kLeastGatheredRightRows = 96, kLeastPlainRows = 24;
// Steps of the depth whose panels stay in the second level of cache, four of them, beside the sums.
constexpr int64_t kDepthBlock = 1024;
// Panels of one block where rows are dear to gather: the wider, the fewer times each row is.
constexpr int64_t kWidePanels = 8;
// The same where they share elements, which are the fewer for each column: the most, and so many that each
// element is multiplied this often at least. Fewer panels and rows are more grid points.
constexpr int64_t kMostSharedPanels = 32, kProductsOfShared = 3200;
constexpr int64_t kSharedRows = 48, kMostSharedRows = 64;  // the latter where there are grid points enough

int64_t BytesOf(DType type) { return DTypeBits(type) / 8; }

int64_t ChoosePanels(const MatrixProduct& product) {
  const int64_t least = BlockPanels(product.columns);
  if (!HasManyPanels(product.columns)) return least;
  if (product.right.form == RightForm::kRows) {
    const int64_t bytes = GatheredPitch(kWidePanels) * BytesOf(product.accumulator);
    return product.depth.constant().value_or(INT64_MAX) <= kCachedGatheredBytes / bytes ? kWidePanels : least;
  }
  if (product.right.form == RightForm::kShared) {
    int64_t panels = kMostSharedPanels;
    const int64_t products = std::min(product.rows.constant().value_or(1), kSharedRows) * product.right.taps;
    while (panels > kWidePanels && panels / 2 * products >= kProductsOfShared) panels /= 2;
    auto bytes = [&](int64_t count) {
      return product.right.elements(static_cast<int>(count)).constant().value_or(0) *
             BytesOf(product.accumulator);
    };
    while (panels > least && bytes(panels) > kCachedGatheredBytes / 2) panels /= 2;
    return panels;
  }
  return product.left.gather && product.left.is_dear ? kWidePanels : least;
}

// Whether tiles of four panels compute hardly any columns that do not exist.
bool SuitWideTiles(const ir::Dim& columns) {
  const std::optional<int64_t> count = columns.constant();
  if (!count) return false;
  const auto computed = [&](int64_t panels) {
    const int64_t width = panels * kPanelColumns;
    return (*count + width - 1) / width * width;
  };
  return computed(4) * 16 <= computed(1) * 17;
}

// Rows of a tile at most: a set of the first level of cache holds eight lines, in which rows meet that begin
// a multiple of `kBytesOfSets` apart, beside what the right operand takes.
int MostTileRows(const MatrixProduct& product) {
  constexpr int64_t kBytesOfSets = 4096;
  constexpr int kRowsThatMeet = 6, kRowsThatMayMeet = 8;
  const LeftOperand& left = product.left;
  if (left.keeps_apart) return kMostTileRows;
  const ir::Dim pitch =
      left.gather ? product.steps() * BytesOf(product.accumulator) : left.pitch * BytesOf(left.dtype);
  if (pitch.IsConstant(0)) return kMostTileRows;
  const ir::Dim beyond = FloorMod(pitch, kBytesOfSets);
  if (beyond.IsConstant(0)) return kRowsThatMeet;
  return beyond.is_constant() ? kMostTileRows : kRowsThatMayMeet;
}

}  // namespace

const ScheduleFamily ProductSchedule::kFamily{"product", "matrix products, convolutions among them",
                                              kProduct};
const ScheduleFamily DotsSchedule::kFamily{"dots", "a few rows by columns that lie along the depth", kDots};
const ScheduleFamily ContractionSchedule::kFamily{"contraction", "which kernels a contraction gets",
                                                  kContraction};
const ScheduleFamily ConvolutionSchedule::kFamily{"convolution", "which kernels a convolution gets",
                                                  kConvolution};
const ScheduleFamily DepthwiseSchedule::kFamily{
    "depthwise", "convolutions of channels_last data of narrow groups", kDepthwise};
const ScheduleFamily TurnedSchedule::kFamily{
    "turned", "depthwise convolutions of channels_first data with vectors along channels", kTurned};
const ScheduleFamily PlanarSchedule::kFamily{
    "planar", "windows and depthwise convolutions of channels_first data", kPlanar};
const ScheduleFamily RowsSchedule::kFamily{"rows", "softmax, normalisations", kRows};
const ScheduleFamily PullsSchedule::kFamily{"pulls", "elementwise operators, movement, other reductions",
                                            kPulls};
const ScheduleFamily AttentionSchedule::kFamily{"attention", "attention in one kernel", kAttention};

std::span<const ScheduleFamily* const> CpuScheduleFamilies() {
  static constexpr const ScheduleFamily* kFamilies[] = {
      &ProductSchedule::kFamily,     &DotsSchedule::kFamily,      &ContractionSchedule::kFamily,
      &ConvolutionSchedule::kFamily, &DepthwiseSchedule::kFamily, &TurnedSchedule::kFamily,
      &PlanarSchedule::kFamily,      &RowsSchedule::kFamily,      &PullsSchedule::kFamily,
      &AttentionSchedule::kFamily,
  };
  return kFamilies;
}

ProductSchedule ChooseProduct(const MatrixProduct& product, const TargetInfo& target) {
  ProductSchedule schedule;
  const bool gathers_right = IsGathered(product.right.form);
  schedule.block_rows = gathers_right ? kGatheredRightRows : kPlainRows;
  schedule.least_rows = gathers_right ? kLeastGatheredRightRows : kLeastPlainRows;
  if (product.right.form == RightForm::kShared)
    schedule.block_rows = kMostSharedRows, schedule.least_rows = kSharedRows;
  if (product.left.gather) schedule.block_rows = GatheredBlockRows(product.depth);
  schedule.block_panels = ChoosePanels(product);
  const int panels = BlockPanels(product.columns);
  const TilePlan plan = product.right.form == RightForm::kCoded
                            ? PlanCodedTiles(target, panels)
                            : PlanTiles(target, {.accumulator = product.accumulator,
                                                 .block_panels = panels,
                                                 .dots = product.of_bytes,
                                                 .may_be_wide = SuitWideTiles(product.columns),
                                                 .most_rows = MostTileRows(product)});
  schedule.tile_rows = plan.rows;
  schedule.tile_panels = plan.panels;
  for (const TilePlan::Few& few : plan.few)
    (few.panels == 4   ? schedule.rows_of_4
     : few.panels == 3 ? schedule.rows_of_3
                       : schedule.rows_of_2) = few.max_rows;
  if (product.right.gather_part && product.depth.constant().value_or(INT64_MAX) > kDepthBlock)
    schedule.depth_block = kDepthBlock;
  const ir::Dim right =
      product.steps() * (schedule.block_panels * kPanelColumns * BytesOf(product.accumulator));
  schedule.has_rows_outside = right.constant().value_or(0) <= kCachedRightBytes;
  return schedule;
}

TilePlan TilesOf(const ProductSchedule& schedule) {
  TilePlan plan{{}, static_cast<int>(schedule.tile_rows), static_cast<int>(schedule.tile_panels)};
  for (auto [rows, panels] :
       {std::pair(schedule.rows_of_4, 4), std::pair(schedule.rows_of_3, 3), std::pair(schedule.rows_of_2, 2)})
    if (rows > 0) plan.few.push_back({static_cast<int>(rows), panels});
  return plan;
}

void FitProduct(const MatrixProduct& product, ProductSchedule* schedule) {
  const int64_t least = BlockPanels(product.columns);
  schedule->block_panels =
      HasManyPanels(product.columns) ? std::max(schedule->block_panels / least, int64_t{1}) * least : least;
  if (!product.right.gather_part) schedule->depth_block = 0;
  schedule->least_rows = std::min(schedule->least_rows, schedule->block_rows);
  while (least % schedule->tile_panels != 0) --schedule->tile_panels;
  int64_t below = 0;
  for (auto [rows, panels] : {std::pair(&schedule->rows_of_4, 4), std::pair(&schedule->rows_of_3, 3),
                              std::pair(&schedule->rows_of_2, 2)}) {
    if (least % panels != 0 || *rows <= below) *rows = 0;
    below = std::max(below, *rows);
  }
}

namespace {

// As a word of a schedule's problem.
const char* NameOf(RightForm form) {
  switch (form) {
    case RightForm::kPanels:
      return "panels";
    case RightForm::kInPlace:
      return "in_place";
    case RightForm::kGathered:
      return "gathered";
    case RightForm::kRows:
      return "rows";
    case RightForm::kShared:
      return "shared_rows";
    case RightForm::kBytes:
      return "bytes";
    case RightForm::kDigits:
      return "digits";
    case RightForm::kColumns:
      return "columns";
    case RightForm::kCoded:
      return "codes";
  }
  return "unknown";
}

}  // namespace

KernelSchedule DecideProduct(const GroupView& group, const TargetInfo& target, std::string_view kernel,
                             MatrixProduct* product) {
  std::string problem =
      fmt::format("{} {} batch={} rows={} columns={} depth={} left={} right={}", kernel,
                  product->of_bytes ? "bytes" : DTypeName(product->accumulator), WordOf(product->batch),
                  WordOf(product->rows), WordOf(product->columns), WordOf(product->depth),
                  product->left.gather ? "gathered" : "in_place", NameOf(product->right.form));
  if (product->right.form == RightForm::kColumns)
    return Decide(group, target, std::move(problem), &product->dots);
  product->schedule = ChooseProduct(*product, target);
  return Decide(group, target, std::move(problem), &product->schedule,
                [&](ProductSchedule* schedule) { FitProduct(*product, schedule); });
}

}  // namespace tvmvm::tensor
