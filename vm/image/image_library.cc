#include "vm/image/image_library.h"

#include <exception>

#include "tvm-vm/version.h"
#include "vm/image/canvas.h"

namespace tvmvm::image {
namespace {

constexpr const Format* kFormats[] = {&kBmp, &kJpeg, &kJpeg2000, &kPng, &kTiff, &kWebp, &kPnm};

void Decode(Canvas& canvas) {
  for (const Format* format : kFormats) {
    if (!format->begins(canvas.bytes())) continue;
    const bool done = format->decode(canvas);
    if (!done && canvas.result() == TVMVM_IMAGE_DECODED)
      canvas.Fail(std::string("a broken ") + format->name + " file");
    return;
  }
  canvas.Fail("the bytes are none of BMP, JPEG, JPEG 2000, PNG, PNM, TIFF and WebP");
}

}  // namespace
}  // namespace tvmvm::image

uint32_t tvmvm_image_version() { return TVMVM_VERSION; }

int32_t tvmvm_image_decode(const tvmvm_image_request* request) {
  tvmvm::image::Canvas canvas(*request);
  try {
    tvmvm::image::Decode(canvas);
  } catch (const std::exception&) {
    canvas.RunOutOfMemory();
  }
  return canvas.result();
}
