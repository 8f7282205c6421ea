// What decoders paint on: takes rows of any decoder and stores them in the wanted pixel format.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "vm/image/image_library.h"

namespace tvmvm::image {

class Canvas {
 public:
  // Larger pictures are refused, whatever they claim: this bounds time and memory.
  static constexpr int64_t kMostPixels = int64_t{1} << 27;

  explicit Canvas(const tvmvm_image_request& request) : request_(request) {}

  std::span<const uint8_t> bytes() const { return {request_.bytes, request_.size}; }
  // Says how large the picture is, once and before memory is taken for it. `scratch` as in image_library.h.
  // False: give up.
  bool Begin(int64_t width, int64_t height, int64_t scratch);
  int64_t width() const { return width_; }
  int64_t height() const { return height_; }
  // Stores a row from the top: `step` bytes a pixel, of which the first three are red, green and blue, or the
  // first one is grey.
  void PutRgb(int64_t row, const uint8_t* pixels, int step = 3);
  void PutGrey(int64_t row, const uint8_t* pixels, int step = 1);
  // True when the run is to end: asked every few rows.
  bool IsStopped();
  // The picture is wrong. The first message stays. Always false.
  bool Fail(const std::string& why);

  int32_t result() const { return result_; }
  void RunOutOfMemory() { result_ = TVMVM_IMAGE_NO_MEMORY; }

 private:
  const tvmvm_image_request& request_;
  uint8_t* pixels_ = nullptr;
  int64_t width_ = 0, height_ = 0;
  int32_t result_ = TVMVM_IMAGE_DECODED;
};

// The formats. Each is asked whether the bytes begin as its files do; decoders return false after Fail or
// where the canvas said to end. They may throw std::bad_alloc.
struct Format {
  const char* name;
  bool (*begins)(std::span<const uint8_t> bytes);
  bool (*decode)(Canvas& canvas);
};
extern const Format kBmp, kJpeg, kJpeg2000, kPng, kPnm, kTiff, kWebp;

// True where the bytes begin with `text`, which may hold zeros.
bool BeginsWith(std::span<const uint8_t> bytes, std::string_view text);

}  // namespace tvmvm::image
