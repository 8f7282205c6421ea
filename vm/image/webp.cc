// WebP by libwebp.
#include <webp/decode.h>

#include <vector>

#include "vm/image/canvas.h"

namespace tvmvm::image {
namespace {

bool Decode(Canvas& canvas) {
  std::span<const uint8_t> bytes = canvas.bytes();
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(bytes.data(), bytes.size(), &features) != VP8_STATUS_OK)
    return canvas.Fail("WebP: no header of a picture");
  if (features.has_animation != 0) return canvas.Fail("WebP: an animation is no single picture");
  const int64_t step = int64_t{3} * features.width, size = step * features.height;
  // Beside the row buffers the lossless decoder holds 4 bytes a pixel.
  if (!canvas.Begin(features.width, features.height, size + int64_t{4} * features.width * features.height))
    return false;
  std::vector<uint8_t> pixels(static_cast<size_t>(size));
  if (WebPDecodeRGBInto(bytes.data(), bytes.size(), pixels.data(), pixels.size(), static_cast<int>(step)) ==
      nullptr)
    return canvas.Fail("WebP: the picture is broken or cut");
  for (int64_t row = 0; row < features.height; ++row) canvas.PutRgb(row, pixels.data() + row * step);
  return true;
}

}  // namespace

const Format kWebp{"WebP",
                   [](std::span<const uint8_t> bytes) {
                     return bytes.size() >= 12 && BeginsWith(bytes, "RIFF") &&
                            BeginsWith(bytes.subspan(8), "WEBP");
                   },
                   Decode};

}  // namespace tvmvm::image
