#include "compiler/schedules/gpu/gpu_schedules.h"

#include "compiler/schedules/gpu/schedule_gpu_product.h"

namespace tvmvm::tensor {
namespace {

constexpr ParameterScope kAll = ParameterScope::kEveryLevel;
constexpr AllowedValues kCount{0, 1 << 30}, kSome{1, 1 << 30}, kItems{32, 256, 1, true};

constexpr ScheduleParameter kProduct[] = {
    Parameter<&GpuProductSchedule::thin_rows>("thin_rows", {0, 1 << 20}, kAll,
                                              "rows up to which a few tiles are summed by whole groups"),
    Parameter<&GpuProductSchedule::few_tiles>("few_tiles", kCount, kAll, "small tiles that are a few"),
    Parameter<&GpuProductSchedule::busy_large>("busy_large", kCount, kAll,
                                               "large tiles from which on they are taken"),
    Parameter<&GpuProductSchedule::busy_middle>("busy_middle", kCount, kAll,
                                                "middle tiles from which on they are taken"),
    Parameter<&GpuProductSchedule::busy_halves>("busy_halves", kCount, kAll,
                                                "tiles from which on factors of f16 take them"),
    Parameter<&GpuProductSchedule::many_tiles>("many_tiles", kCount, kAll,
                                               "tiles below which groups share the depth of each"),
    Parameter<&GpuProductSchedule::long_depth>("long_depth", kSome, kAll, "depth from which on they do"),
    Parameter<&GpuProductSchedule::shortest_share>("shortest_share", kSome, kAll,
                                                   "depth of a share, at least"),
    Parameter<&GpuProductSchedule::most_shares>("most_shares", {1, 1024}, kAll, "shares of a tile, at most"),
    Parameter<&GpuProductSchedule::busy_groups>("busy_groups", kSome, kAll, "groups that shares make up to"),
};
constexpr AllowedValues kSide{16, 256, 1, true};
constexpr ScheduleParameter kTile[] = {
    Parameter<&ProductTile::rows>("rows", kSide, kAll, "rows of a group"),
    Parameter<&ProductTile::columns>("columns", kSide, kAll, "columns of a group"),
    Parameter<&ProductTile::depth>("depth", {4, 32, 1, true}, kAll, "of a slice in shared memory"),
    Parameter<&ProductTile::item_rows>("item_rows", {4, 8, 1, true}, kAll, "rows of a work-item's sums"),
    Parameter<&ProductTile::item_columns>("item_columns", {4, 8, 1, true}, kAll,
                                          "columns of a work-item's sums"),
    Parameter<&ProductTile::lanes_across>("lanes_across", {1, 32, 1, true}, kAll,
                                          "of 32 neighbouring work-items, so many lie along the columns"),
    Parameter<&ProductTile::parties>("parties", {1, 8, 1, true}, kAll,
                                     "that take turns at slices, each summing the whole tile"),
};
constexpr ScheduleParameter kRows[] = {
    Parameter<&GpuRowsSchedule::row_items>("row_items", kItems, kAll, "work-items that take a row"),
    Parameter<&GpuRowsSchedule::read_at_once>("read_at_once", {1, 16}, kAll,
                                              "elements whose reads are on their way together"),
    Parameter<&GpuRowsSchedule::short_row>("short_row", kCount, kAll,
                                           "elements of a row that one work-item takes"),
    Parameter<&GpuRowsSchedule::many_rows>("many_rows", kCount, kAll,
                                           "rows apart in memory that work-items take"),
    Parameter<&GpuRowsSchedule::few_rows>("few_rows", kCount, kAll,
                                          "fewer rows than that are shared; in stages, a quarter of it"),
    Parameter<&GpuRowsSchedule::long_row>("long_row", kCount, kAll,
                                          "where they are longer than that; in stages, than four times that"),
    Parameter<&GpuRowsSchedule::busy_groups>("busy_groups", kSome, kAll, "groups that shares make up to"),
    Parameter<&GpuRowsSchedule::shortest_share>("shortest_share", kSome, kAll,
                                                "elements of a share, at least"),
    Parameter<&GpuRowsSchedule::held_bytes>("held_bytes", {64, 24 << 10}, kAll,
                                            "of shared memory, for elements of a row"),
};
constexpr ScheduleParameter kPulls[] = {
    Parameter<&GpuPullsSchedule::group_items>("group_items", kItems, kAll, "work-items of a group"),
};

}  // namespace

const ScheduleFamily GpuProductSchedule::kFamily{"gpu_product", "which kernels a product or convolution gets",
                                                 kProduct};
const ScheduleFamily ProductTile::kFamily{
    "gpu_tile",
    "the tiles of products: what a group computes; a tile that cannot be divided so stays as it is", kTile};
const ScheduleFamily GpuRowsSchedule::kFamily{"gpu_rows", "softmax, normalisations, reductions", kRows};
const ScheduleFamily GpuPullsSchedule::kFamily{"gpu_pulls", "everything that is one element after the other",
                                               kPulls};

std::span<const ScheduleFamily* const> GpuScheduleFamilies() {
  static constexpr const ScheduleFamily* kFamilies[] = {&GpuProductSchedule::kFamily, &ProductTile::kFamily,
                                                        &GpuRowsSchedule::kFamily,
                                                        &GpuPullsSchedule::kFamily};
  return kFamilies;
}

}  // namespace tvmvm::tensor
