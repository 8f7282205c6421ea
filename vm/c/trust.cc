// The functions of c_api.h about keys, counters and what is trusted.
#include "vm/c/trust.h"

#include <algorithm>
#include <cstddef>
#include <span>

#include "tvm-vm/trust.h"
#include "tvm-vm/vmexe.h"
#include "tvm-vm/warm.h"
#include "vm/c/objects.h"
#include "vm/c/run_space.h"
#include "vm/c/sized.h"

using tvmvm::Code;
using tvmvm::MakeError;
using tvmvm::Status;
using tvmvm::c::Guarded;
using tvmvm::c::NullArgument;
using tvmvm::c::ReadSized;

namespace tvmvm::c {

static_assert(TVMVM_TRUST_SIGNED == static_cast<int>(Trust::kSigned));
static_assert(TVMVM_TRUST_NONE == static_cast<int>(Trust::kNone));
static_assert(TVMVM_TRUST_SIGNED_KERNELS == static_cast<int>(Trust::kSignedKernels));

Status TrustFrom(const tvmvm_vm_options& read, VmOptions* options) {
  if (read.trust < TVMVM_TRUST_ANY || read.trust > TVMVM_TRUST_SIGNED_KERNELS)
    return MakeError(Code::kInvalidArgument,
                     "options.trust is " + std::to_string(read.trust) + ", which is no tvmvm_trust");
  if (read.trusted_keys == nullptr && read.trusted_key_count > 0) return NullArgument("options.trusted_keys");
  options->trust = static_cast<Trust>(read.trust);
  options->signed_constants = read.signed_constants != 0;
  for (size_t i = 0; i < read.trusted_key_count; ++i) {
    PublicKey key;
    std::copy_n(read.trusted_keys + i * key.bytes.size(), key.bytes.size(), key.bytes.begin());
    options->trusted_keys.push_back(key);
  }
  return {};
}

}  // namespace tvmvm::c

extern "C" {

tvmvm_status* tvmvm_program_load_with(const char* path, const tvmvm_load_options* options,
                                      tvmvm_program** program) {
  return Guarded([&]() -> Status {
    if (path == nullptr || program == nullptr) return NullArgument("path or program");
    tvmvm::LoadOptions chosen;
    if (options != nullptr) {
      TVMVM_TRY(const tvmvm_load_options read, ReadSized(*options, sizeof(tvmvm_load_options), "options"));
      chosen.check_constants = read.check_constants != 0;
    }
    TVMVM_TRY(auto loaded, tvmvm::LoadProgram(path, chosen));
    *program = new tvmvm_program{std::move(loaded)};
    return {};
  });
}

tvmvm_status* tvmvm_catch_cut_files(void) { return Guarded([] { return tvmvm::CatchCutFiles(); }); }

tvmvm_status* tvmvm_public_key_read(const char* path, uint8_t key[32]) {
  return Guarded([&]() -> Status {
    if (path == nullptr || key == nullptr) return NullArgument("path or key");
    TVMVM_TRY(const tvmvm::PublicKey read, tvmvm::ReadPublicKey(path));
    std::ranges::copy(read.bytes, key);
    return {};
  });
}

tvmvm_status* tvmvm_vm_get_counters(const tvmvm_vm* vm, tvmvm_run_counters* counters) {
  return Guarded([&]() -> Status {
    if (vm == nullptr || counters == nullptr) return NullArgument("vm or counters");
    return tvmvm::c::WriteCounters(vm->vm->counters(), counters);
  });
}

tvmvm_status* tvmvm_device_warm_with(const tvmvm_device* device, const tvmvm_program* program,
                                     const tvmvm_vm_options* options, size_t* kernels) {
  return Guarded([&]() -> Status {
    if (device == nullptr || program == nullptr) return NullArgument("device or program");
    tvmvm::VmOptions chosen;
    if (options != nullptr) {
      TVMVM_TRY(const tvmvm_vm_options read,
                ReadSized(*options, offsetof(tvmvm_vm_options, devices), "options"));
      TVMVM_CHECK_OK(tvmvm::c::TrustFrom(read, &chosen));
    }
    TVMVM_TRY(const tvmvm::WarmResult result,
              tvmvm::WarmKernels(*program->program, *device->device, {}, chosen.trust, chosen.trusted_keys));
    if (kernels != nullptr) *kernels = result.kernels;
    return {};
  });
}

}  // extern "C"
