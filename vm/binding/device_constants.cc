#include "vm/binding/device_constants.h"

#include <algorithm>

#include "vm/binding/panel_reader.h"

namespace tvmvm {
namespace {

constexpr int64_t kPieceBytes = 8 << 20;

Status CopyOutOfPanels(const PanelReader& reader, DeviceMemory to, Queue* queue) {
  const int64_t bytes = reader.row_bytes(), most = std::max<int64_t>(kPieceBytes / bytes, 1);
  const std::unique_ptr<std::byte[]> piece(new std::byte[static_cast<size_t>(most * bytes)]);
  for (int64_t row = 0; row < reader.rows();) {
    const int64_t first = row, count = std::min(most, reader.rows() - row);
    for (; row < first + count; ++row) reader.ReadRow(row, piece.get() + (row - first) * bytes);
    TVMVM_CHECK_OK(queue->CopyIn({to, first * bytes}, piece.get(), count * bytes, nullptr));
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
    TVMVM_TRY(block.memory, constants->device_->Allocate(block.bytes, nullptr));
    constants->held_.push_back(id);
    if (constant.has_place()) {
      TVMVM_CHECK_OK(CopyOutOfPanels(PanelReader(program, constant), block.memory, queue.get()));
    } else if (block.bytes > 0) {
      TVMVM_CHECK_OK(queue->CopyIn({block.memory, 0}, constant.bytes.data(), block.bytes, nullptr));
    }
  }
  if (auto done = queue->Wait(nullptr); !done) return tl::unexpected(done.error());
  return constants;
}

DeviceConstants::~DeviceConstants() {
  for (uint32_t id : held_) device_->Free(blocks_[id].memory);
}

}  // namespace tvmvm
