#include "vm/binding/device_constants.h"

#include <algorithm>

#include "vm/binding/panel_reader.h"

namespace tvmvm {
namespace {

constexpr int64_t kPieceBytes = 8 << 20;

Status CopyOutOfPanels(const Program& program, const ConstantSpec& constant, DeviceMemory to, Queue* queue) {
  PanelReader reader(program, constant);
  const int64_t rows_at_once = std::max<int64_t>(kPieceBytes / reader.row_bytes(), 1);
  std::vector<std::byte> piece;
  for (int64_t row = 0; row < reader.rows();) {
    const int64_t first = row, end = std::min(first + rows_at_once, reader.rows());
    piece.resize(static_cast<size_t>((end - first) * reader.row_bytes()));
    for (std::byte* out = piece.data(); row < end; ++row, out += reader.row_bytes()) reader.ReadRow(out);
    const DeviceSpan place{to, first * reader.row_bytes()};
    TVMVM_CHECK_OK(queue->CopyIn(place, piece.data(), static_cast<int64_t>(piece.size())));
    TVMVM_CHECK_OK(queue->Wait(nullptr));
  }
  return {};
}

}  // namespace

Expected<std::shared_ptr<const DeviceConstants>> DeviceConstants::Upload(const Program& program,
                                                                         std::shared_ptr<Device> device,
                                                                         const std::vector<uint32_t>& ids) {
  std::shared_ptr<DeviceConstants> constants(new DeviceConstants(std::move(device)));
  constants->blocks_.resize(program.constants.size());
  constants->held_.reserve(ids.size());
  TVMVM_TRY(std::unique_ptr<Queue> queue, constants->device_->NewQueue());
  for (uint32_t id : ids) {
    const ConstantSpec& constant = program.constants[id];
    Block& block = constants->blocks_[id];
    block.bytes = BytesOf(constant);
    TVMVM_TRY(block.memory, constants->device_->Allocate(block.bytes));
    constants->held_.push_back(id);
    if (constant.place) {
      TVMVM_CHECK_OK(CopyOutOfPanels(program, constant, block.memory, queue.get()));
    } else if (block.bytes > 0) {
      TVMVM_CHECK_OK(queue->CopyIn({block.memory, 0}, constant.bytes.data(), block.bytes));
    }
  }
  if (auto done = queue->Wait(nullptr); !done) return tl::unexpected(done.error());
  return constants;
}

DeviceConstants::~DeviceConstants() {
  for (uint32_t id : held_) device_->Free(blocks_[id].memory);
}

}  // namespace tvmvm
