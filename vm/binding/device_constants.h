// A program's constants on a device with memory of its own: copied there once, shared by all VMs of the
// program on that device.
#pragma once

#include <memory>
#include <vector>

#include "tvm-vm/device.h"
#include "tvm-vm/program.h"

namespace tvmvm {

// Immutable. Holds the device; gives the memory back with the last VM.
class DeviceConstants {
 public:
  struct Block {
    DeviceMemory memory;
    int64_t bytes = 0;
  };

  // Copies the listed constants, which are no strings; those that stand in others are made on the way, a few
  // megabytes at a time. Errors: the device's.
  static Expected<std::shared_ptr<const DeviceConstants>> Upload(const Program& program,
                                                                 std::shared_ptr<Device> device,
                                                                 const std::vector<uint32_t>& ids);
  ~DeviceConstants();
  DeviceConstants(const DeviceConstants&) = delete;
  DeviceConstants& operator=(const DeviceConstants&) = delete;

  // By ConstantId; of those that were not listed, a block of no bytes.
  const Block& operator[](uint32_t constant) const { return blocks_[constant]; }

 private:
  explicit DeviceConstants(std::shared_ptr<Device> device) : device_(std::move(device)) {}

  std::shared_ptr<Device> device_;
  std::vector<Block> blocks_;  // by ConstantId
  std::vector<uint32_t> held_;
};

}  // namespace tvmvm
