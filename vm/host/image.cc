// Pictures, by the library of picture formats.
#include <optional>

#include "bytecode/companion_library.h"
#include "vm/host/scratch.h"
#include "vm/image/image_library.h"

namespace tvmvm {
namespace {

using Decode = decltype(&tvmvm_image_decode);

Expected<Decode> Decoder() {
  static Decode decode = nullptr;
  static CompanionLibrary companion("pictures", TVMVM_IMAGE_LIBRARY, "tvmvm_image_version");
  TVMVM_CHECK_OK(companion.Open({{"tvmvm_image_decode", reinterpret_cast<void**>(&decode)}}));
  return decode;
}

// One decoding: what the library calls back.
struct Decoding {
  HostCall& call;
  int64_t channels;
  std::optional<Owned<TensorObject>> picture = std::nullopt;
  std::optional<Scratch> scratch = std::nullopt;
  Status status = {};
};

uint8_t* Place(void* context, int64_t width, int64_t height, int64_t bytes) {
  auto& decoding = *static_cast<Decoding*>(context);
  Expected<Scratch> scratch = Scratch::Charge(decoding.call, bytes);
  if (!scratch) {
    decoding.status = tl::unexpected(std::move(scratch.error()));
    return nullptr;
  }
  decoding.scratch.emplace(std::move(*scratch));
  auto picture = NewTensor(decoding.call, DType::kU8, Shape{height, width, decoding.channels});
  if (!picture) {
    decoding.status = tl::unexpected(std::move(picture.error()));
    return nullptr;
  }
  decoding.picture.emplace(std::move(*picture));
  return DataOf<uint8_t>(**decoding.picture);
}

int32_t IsStopped(void* context) {
  auto& decoding = *static_cast<Decoding*>(context);
  decoding.status = Poll(decoding.call);
  return decoding.status ? 0 : 1;
}

}  // namespace

// (0 RGB, 1 BGR, 2 grey)(bytes) -> u8[height, width, channels]
Status HostImageDecode(HostCall& call) {
  TVMVM_TRY(TensorObject * bytes, TypedOperand(call, 0, DType::kU8, "bytes"));
  const int64_t format = call.scalars[0];
  if (format < 0 || format > 2)
    return MakeError(Code::kInvalidArgument, "pixel format " + std::to_string(format));
  TVMVM_TRY(const Decode decode, Decoder());
  char error[256] = "";
  Decoding decoding{call, format == 2 ? 1 : 3};
  tvmvm_image_request request{.bytes = DataOf<uint8_t>(*bytes),
                              .size = static_cast<size_t>(ElementCount(*bytes)),
                              .format = static_cast<int32_t>(format),
                              .place = Place,
                              .stopped = IsStopped,
                              .context = &decoding,
                              .error = error,
                              .error_size = sizeof error};
  const int32_t result = decode(&request);
  if (!decoding.status) return decoding.status;
  if (result == TVMVM_IMAGE_WRONG) return MakeError(Code::kInvalidArgument, error);
  if (result != TVMVM_IMAGE_DECODED) return MakeError(Code::kOutOfMemory, "the host has no memory left");
  call.ref_results[0] = decoding.picture->Give();
  return {};
}

}  // namespace tvmvm
