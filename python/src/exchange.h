// DLPack's functions in C for classes that have them (`__dlpack_c_exchange_api__`, torch from 2.10 on): what
// a capsule of Python takes microseconds for takes them a fraction of one. Types of DLPack 1, which the
// headers of older systems do not have.
#pragma once

#include <dlpack/dlpack.h>
#include <nanobind/nanobind.h>

#include <cstdint>

namespace tvmvm::python {

// Fixed by DLPack for all versions 1.x.
struct DlpackVersion {
  uint32_t major, minor;
};
struct ManagedTensor1 {
  DlpackVersion version;
  void* manager_ctx;
  void (*deleter)(ManagedTensor1* self);
  uint64_t flags;
  DLTensor dl_tensor;
};
struct ExchangeApi {
  DlpackVersion version;
  const ExchangeApi* previous;
  int (*allocate)(DLTensor* prototype, ManagedTensor1** out, void* error_context,
                  void (*set_error)(void* error_context, const char* kind, const char* message));
  int (*managed_from_object)(void* object, ManagedTensor1** out);
  int (*managed_to_object)(ManagedTensor1* tensor, void** out);
  int (*view_of_object)(void* object, DLTensor* out);  // may be null; valid as long as the object is
  int (*current_stream)(int32_t device_type, int32_t device_id, void** out);
};

// What is known of the class of an array; looked at once for each class.
struct ArrayClass {
  bool is_torch = false;
  const ExchangeApi* api = nullptr;  // null: it has none, or one of another version
};
const ArrayClass& ClassOfArray(nanobind::handle type);

}  // namespace tvmvm::python
