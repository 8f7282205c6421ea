#include "vm/binding/device_constants.h"

namespace tvmvm {

Expected<std::shared_ptr<const DeviceConstants>> DeviceConstants::Upload(const Program& program,
                                                                         std::shared_ptr<Device> device,
                                                                         const std::vector<uint32_t>& ids) {
  std::shared_ptr<DeviceConstants> constants(new DeviceConstants(std::move(device)));
  constants->blocks_.resize(program.constants.size());
  constants->held_.reserve(ids.size());
  TVMVM_TRY(std::unique_ptr<Queue> queue, constants->device_->NewQueue());
  for (uint32_t id : ids) {
    const std::span<const std::byte> bytes = program.constants[id].bytes;
    const auto size = static_cast<int64_t>(bytes.size());
    TVMVM_TRY(constants->blocks_[id], constants->device_->Allocate(size));
    constants->held_.push_back(id);
    if (size > 0) TVMVM_CHECK_OK(queue->CopyIn({constants->blocks_[id], 0}, bytes.data(), size));
  }
  if (auto done = queue->Wait(nullptr); !done) return tl::unexpected(done.error());
  return constants;
}

DeviceConstants::~DeviceConstants() {
  for (uint32_t id : held_) device_->Free(blocks_[id]);
}

}  // namespace tvmvm
