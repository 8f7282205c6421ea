// Memory that grows while a loop runs that does not know its number of steps.
#include <algorithm>

#include "vm/host/operands.h"

namespace tvmvm {

// (bytes)(buffer or null). What is there already and large enough is given back as it is.
Status HostBufferGrow(HostCall& call) {
  const int64_t wanted = call.scalars[0];
  Object* object = call.refs[0];
  if (wanted < 0)
    return MakeError(Code::kInvalidArgument, "a buffer of " + std::to_string(wanted) + " bytes");
  if (object != nullptr && object->kind != ObjectKind::kBuffer)
    return MakeError(Code::kInvalidArgument,
                     "'buffer' must be a buffer, it is a " + std::string(KindOf(object)));
  auto* old = static_cast<Buffer*>(object);
  if (old != nullptr && old->bytes >= wanted && !old->read_only && old->origin == BufferOrigin::kHost) {
    ObjectPool::Retain(old);
    call.ref_results[0] = old;
    return {};
  }
  constexpr int64_t kLeast = 256;
  const int64_t held = old != nullptr ? old->bytes : 0;
  const int64_t roomy = std::max({wanted, kLeast, held > INT64_MAX / 2 ? wanted : 2 * held});
  // Where twice as much is not to be had, as much as wanted may be.
  Expected<Buffer*> buffer = call.pool.AllocateBuffer(roomy, "buffer");
  if (!buffer && roomy > wanted) buffer = call.pool.AllocateBuffer(wanted, "buffer");
  if (!buffer) return tl::unexpected(buffer.error());
  call.ref_results[0] = *buffer;
  return held > 0 ? Copy(call, (*buffer)->data, old->data, std::min(held, (*buffer)->bytes)) : Status();
}

}  // namespace tvmvm
