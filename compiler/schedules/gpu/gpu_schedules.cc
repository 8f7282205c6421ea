#include "compiler/schedules/gpu/gpu_schedules.h"

namespace tvmvm::tensor {
namespace {

constexpr ParameterScope kAll = ParameterScope::kEveryLevel;
constexpr AllowedValues kCount{0, 1 << 30}, kSome{1, 1 << 30}, kItems{32, 256, 1, true};

constexpr ScheduleParameter kProduct[] = {
    Parameter<&GpuProductSchedule::thin_rows>("thin_rows", {0, 1 << 20}, kAll,
                                              "rows up to which a few tiles are summed by whole groups"),
    Parameter<&GpuProductSchedule::few_tiles>("few_tiles", kCount, kAll, "small tiles that are a few"),
    Parameter<&GpuProductSchedule::busy_large>("busy_large", kCount, kAll,
                                               "tiles of 128 x 128 from which on they are taken"),
    Parameter<&GpuProductSchedule::busy_middle>("busy_middle", kCount, kAll,
                                                "tiles of 64 x 64 from which on they are taken"),
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
constexpr ScheduleParameter kRows[] = {
    Parameter<&GpuRowsSchedule::row_items>("row_items", kItems, kAll, "work-items that take a row"),
    Parameter<&GpuRowsSchedule::read_at_once>("read_at_once", {1, 16}, kAll,
                                              "elements whose reads are on their way together"),
    Parameter<&GpuRowsSchedule::short_row>("short_row", kCount, kAll,
                                           "elements of a row that one work-item takes"),
    Parameter<&GpuRowsSchedule::many_rows>("many_rows", kCount, kAll,
                                           "rows apart in memory that work-items take"),
    Parameter<&GpuRowsSchedule::few_rows>("few_rows", kCount, kAll, "fewer rows than that are shared"),
    Parameter<&GpuRowsSchedule::long_row>("long_row", kCount, kAll, "where they are longer than that"),
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
const ScheduleFamily GpuRowsSchedule::kFamily{"gpu_rows", "softmax, normalisations, reductions", kRows};
const ScheduleFamily GpuPullsSchedule::kFamily{"gpu_pulls", "everything that is one element after the other",
                                               kPulls};

std::span<const ScheduleFamily* const> GpuScheduleFamilies() {
  static constexpr const ScheduleFamily* kFamilies[] = {
      &GpuProductSchedule::kFamily, &GpuRowsSchedule::kFamily, &GpuPullsSchedule::kFamily};
  return kFamilies;
}

}  // namespace tvmvm::tensor
