#include "compiler/schedules/packing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <span>
#include <utility>

namespace tvmvm::tensor {
namespace {

constexpr int kMaxBlockPanels = 4;

// Element offsets of all positions along `axes`, in row-major order of those axes.
std::vector<int64_t> Offsets(std::span<const int64_t> dims, std::span<const int64_t> axes) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  std::vector<int64_t> offsets{0};
  for (int64_t axis : axes) {
    std::vector<int64_t> next;
    next.reserve(offsets.size() * static_cast<size_t>(dims[axis]));
    for (int64_t base : offsets)
      for (int64_t i = 0; i < dims[axis]; ++i) next.push_back(base + i * strides[axis]);
    offsets = std::move(next);
  }
  return offsets;
}

bool IsContiguous(std::span<const int64_t> offsets) {
  for (size_t i = 1; i < offsets.size(); ++i)
    if (offsets[i] != offsets[i - 1] + 1) return false;
  return true;
}

// One panel from `source`, the data at the batch's first element. `Element` is an unsigned integer of the
// element's size.
template <class Element>
void PackPanel(const std::byte* source, std::span<const int64_t> depth, std::span<const int64_t> columns,
               bool contiguous_columns, std::byte* target) {
  constexpr size_t kBytes = sizeof(Element);
  if (contiguous_columns) {
    for (size_t k = 0; k < depth.size(); ++k)
      std::memcpy(target + k * kPanelColumns * kBytes, source + (depth[k] + columns[0]) * kBytes,
                  columns.size() * kBytes);
    return;
  }
  // A few rows of the panel at a time, so that its lines stay in cache while the columns are read one by one.
  constexpr size_t kBlock = 64;
  for (size_t k0 = 0; k0 < depth.size(); k0 += kBlock) {
    size_t k1 = std::min(k0 + kBlock, depth.size());
    for (size_t j = 0; j < columns.size(); ++j) {
      for (size_t k = k0; k < k1; ++k) {
        Element element;
        std::memcpy(&element, source + (depth[k] + columns[j]) * kBytes, kBytes);
        std::memcpy(target + (k * kPanelColumns + j) * kBytes, &element, kBytes);
      }
    }
  }
}

using PackPanelFunction = void (*)(const std::byte*, std::span<const int64_t>, std::span<const int64_t>, bool,
                                   std::byte*);

PackPanelFunction PackPanelOf(int64_t element_bytes) {
  switch (element_bytes) {
    case 1:
      return PackPanel<uint8_t>;
    case 2:
      return PackPanel<uint16_t>;
    case 4:
      return PackPanel<uint32_t>;
    case 8:
      return PackPanel<uint64_t>;
    default:
      return nullptr;
  }
}

}  // namespace

Status CheckPackable(DType dtype, std::span<const int64_t> dims, const OperandAxes& axes, int64_t panels) {
  int64_t element_bytes = DTypeBits(dtype) / 8;
  if (!PackPanelOf(element_bytes) || IsSubByte(dtype))
    return MakeError(Code::kUnsupported,
                     fmt::format("a constant of type {} cannot be packed into panels", DTypeName(dtype)));
  int64_t bytes = kPanelColumns * element_bytes;
  bool overflows = __builtin_mul_overflow(bytes, panels, &bytes);
  for (const std::vector<int64_t>* list : {&axes.batch, &axes.depth})
    for (int64_t axis : *list)
      overflows |= __builtin_mul_overflow(bytes, dims[static_cast<size_t>(axis)], &bytes);
  if (overflows || bytes > (int64_t{1} << 46))
    return MakeError(Code::kUnsupported, fmt::format("a constant of {} panels is too large to pack", panels));
  return {};
}

ir::TensorData PackPanels(const ir::TensorData& data, const OperandAxes& axes, int64_t panels) {
  int64_t element_bytes = DTypeBits(data.dtype) / 8;
  PackPanelFunction pack = PackPanelOf(element_bytes);
  std::vector<int64_t> batch = Offsets(data.dims, axes.batch), depth = Offsets(data.dims, axes.depth),
                       columns = Offsets(data.dims, axes.free);
  int64_t batches = static_cast<int64_t>(batch.size()), steps = static_cast<int64_t>(depth.size());
  int64_t panel_bytes = steps * kPanelColumns * element_bytes;
  std::vector<std::byte> packed(static_cast<size_t>(panel_bytes * panels * batches));
  for (int64_t b = 0; b < batches && steps > 0; ++b) {
    for (size_t first = 0; first < columns.size(); first += kPanelColumns) {
      size_t count = std::min<size_t>(kPanelColumns, columns.size() - first);
      std::span<const int64_t> panel_columns = std::span(columns).subspan(first, count);
      int64_t panel = b * panels + static_cast<int64_t>(first) / kPanelColumns;
      pack(data.bytes.data() + batch[b] * element_bytes, depth, panel_columns, IsContiguous(panel_columns),
           packed.data() + panel * panel_bytes);
    }
  }
  return ir::TensorData::Owned(data.dtype, {batches, panels, steps, kPanelColumns}, std::move(packed));
}

PanelPlace PlaceInPanels(std::span<const int64_t> dims, const OperandAxes& axes, int64_t panels) {
  std::vector<PanelPlace::Axis> all(dims.size());
  // Gives each axis its step, the innermost the given one; the step of what is around all of them.
  const auto give_steps = [&](std::span<const int64_t> list, int64_t step, bool is_columns) {
    for (size_t i = list.size(); i-- > 0;) {
      const auto axis = static_cast<size_t>(list[i]);
      all[axis] = {dims[axis], step, is_columns};
      step *= dims[axis];
    }
    return step;
  };
  give_steps(axes.free, 1, true);
  PanelPlace place;
  place.panel = give_steps(axes.depth, kPanelColumns, false);
  give_steps(axes.batch, panels * place.panel, false);
  // Neighbours that are one axis there.
  for (size_t k = all.size(); k-- > 1;) {
    PanelPlace::Axis &outer = all[k - 1], &inner = all[k];
    if (outer.extent != 1 && inner.extent != 1 &&
        (outer.is_columns != inner.is_columns || outer.step != inner.extent * inner.step))
      continue;
    if (inner.extent != 1) outer = {outer.extent * inner.extent, inner.step, inner.is_columns};
    all.erase(all.begin() + static_cast<ptrdiff_t>(k));
  }
  for (const PanelPlace::Axis& axis : all) place.Add(axis);
  return place;
}

ir::TensorData PackBytePanels(const ir::TensorData& data, const OperandAxes& axes, int64_t panels) {
  std::vector<int64_t> batch = Offsets(data.dims, axes.batch), depth = Offsets(data.dims, axes.depth),
                       columns = Offsets(data.dims, axes.free);
  int64_t batches = static_cast<int64_t>(batch.size()), words = (static_cast<int64_t>(depth.size()) + 3) / 4;
  int64_t panel_bytes = words * kPanelColumns * 4;
  std::vector<std::byte> packed(static_cast<size_t>(panel_bytes * panels * batches));
  for (size_t b = 0; b < batch.size(); ++b) {
    std::byte* batch_start = packed.data() + static_cast<int64_t>(b) * panels * panel_bytes;
    for (size_t j = 0; j < columns.size(); ++j) {
      std::byte* column = batch_start + static_cast<int64_t>(j / kPanelColumns) * panel_bytes +
                          static_cast<int64_t>(j % kPanelColumns) * 4;
      for (size_t k = 0; k < depth.size(); ++k)
        column[(k / 4) * kPanelColumns * 4 + k % 4] = data.bytes[batch[b] + depth[k] + columns[j]];
    }
  }
  return ir::TensorData::Owned(DType::kU32, {batches, panels, words, kPanelColumns}, std::move(packed));
}

int BlockPanels(const ir::Dim& columns) {
  const auto count = columns.constant();
  if (!count) return kMaxBlockPanels;
  return static_cast<int>(
      std::clamp<int64_t>((*count + kPanelColumns - 1) / kPanelColumns, 1, kMaxBlockPanels));
}

bool HasManyPanels(const ir::Dim& columns) {
  return columns.constant().value_or(INT64_MAX) > kMaxBlockPanels * kPanelColumns;
}

ir::Dim PackedPanels(const ir::Dim& columns) {
  int panels = BlockPanels(columns);
  return CeilDiv(columns, panels * kPanelColumns) * panels;
}

}  // namespace tvmvm::tensor
