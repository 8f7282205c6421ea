#include "vm/image/canvas.h"

#include <cstdio>
#include <cstring>

namespace tvmvm::image {
namespace {

constexpr int32_t kBgr = 1, kGrey = 2;

// The luma of ITU-R 601-2 in 16-bit fixed point, rounded.
uint8_t Luma(const uint8_t* rgb) {
  return static_cast<uint8_t>((rgb[0] * 19595 + rgb[1] * 38470 + rgb[2] * 7471 + 0x8000) >> 16);
}

}  // namespace

bool Canvas::Begin(int64_t width, int64_t height, int64_t scratch) {
  if (width < 1 || height < 1 || width > kMostPixels || height > kMostPixels || width * height > kMostPixels)
    return Fail("a picture of " + std::to_string(width) + " x " + std::to_string(height) + " pixels, 1 to " +
                std::to_string(kMostPixels) + " are wanted");
  width_ = width;
  height_ = height;
  pixels_ = request_.place(request_.context, width, height, scratch);
  if (pixels_ == nullptr) result_ = TVMVM_IMAGE_ENDED;
  return pixels_ != nullptr;
}

void Canvas::PutRgb(int64_t row, const uint8_t* pixels, int step) {
  if (request_.format == kGrey) {
    uint8_t* to = pixels_ + row * width_;
    for (int64_t x = 0; x < width_; ++x) to[x] = Luma(pixels + x * step);
    return;
  }
  uint8_t* to = pixels_ + row * width_ * 3;
  const int first = request_.format == kBgr ? 2 : 0;
  for (int64_t x = 0; x < width_; ++x, to += 3, pixels += step) {
    to[first] = pixels[0];
    to[1] = pixels[1];
    to[2 - first] = pixels[2];
  }
}

void Canvas::PutGrey(int64_t row, const uint8_t* pixels, int step) {
  const int channels = request_.format == kGrey ? 1 : 3;
  uint8_t* to = pixels_ + row * width_ * channels;
  for (int64_t x = 0; x < width_; ++x, to += channels, pixels += step)
    std::memset(to, *pixels, static_cast<size_t>(channels));
}

bool Canvas::IsStopped() {
  if (result_ != TVMVM_IMAGE_DECODED) return true;
  if (request_.stopped(request_.context) != 0) result_ = TVMVM_IMAGE_ENDED;
  return result_ != TVMVM_IMAGE_DECODED;
}

bool Canvas::Fail(const std::string& why) {
  if (result_ == TVMVM_IMAGE_DECODED) {
    result_ = TVMVM_IMAGE_WRONG;
    std::snprintf(request_.error, request_.error_size, "%s", why.c_str());
  }
  return false;
}

bool BeginsWith(std::span<const uint8_t> bytes, std::string_view text) {
  return bytes.size() >= text.size() && std::memcmp(bytes.data(), text.data(), text.size()) == 0;
}

}  // namespace tvmvm::image
