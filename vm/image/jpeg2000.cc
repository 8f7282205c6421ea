// JPEG 2000 by OpenJPEG: .jp2 files and bare codestreams.
#include <openjpeg.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "vm/image/canvas.h"

namespace tvmvm::image {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kFile = "\0\0\0\x0cjP  \r\n\x87\n"sv;
constexpr std::string_view kStream = "\xff\x4f\xff\x51"sv;  // start of codestream, then sizes
constexpr int64_t kMostTiles = 1 << 14;

uint64_t Big(std::span<const uint8_t> bytes, size_t at, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value = value << 8 | bytes[at + i];
  return value;
}

// The codestream within a file's boxes; empty where there is none.
std::span<const uint8_t> Codestream(std::span<const uint8_t> bytes) {
  if (BeginsWith(bytes, kStream)) return bytes;
  size_t at = 0;
  while (bytes.size() - at >= 8) {
    uint64_t size = Big(bytes, at, 4);
    size_t header = 8;
    if (size == 1 && bytes.size() - at >= 16) {
      size = Big(bytes, at + 8, 8);
      header = 16;
    }
    if (size == 0) size = bytes.size() - at;
    if (size < header || size > bytes.size() - at) size = bytes.size() - at;
    if (std::memcmp(bytes.data() + at + 4, "jp2c", 4) == 0 && size >= header)
      return bytes.subspan(at + header, size - header);
    at += size;
  }
  return {};
}

// What the codestream claims, looked at before OpenJPEG takes memory for it. False: it is no picture, or too
// large.
bool Begin(Canvas& canvas) {
  std::span<const uint8_t> stream = Codestream(canvas.bytes());
  if (!BeginsWith(stream, kStream) || stream.size() < 42) return canvas.Fail("JPEG 2000: no codestream");
  auto field = [&](size_t k) { return static_cast<int64_t>(Big(stream, 8 + 4 * k, 4)); };
  const int64_t width = field(0) - field(2), height = field(1) - field(3);
  const int64_t tile_width = field(4), tile_height = field(5);
  const auto components = static_cast<int64_t>(Big(stream, 40, 2));
  if (components < 1 || components > 4)
    return canvas.Fail("JPEG 2000: " + std::to_string(components) + " components, 1 to 4 are wanted");
  if (tile_width < 1 || tile_height < 1) return canvas.Fail("JPEG 2000: empty tiles");
  const int64_t tiles = (field(0) / tile_width + 1) * (field(1) / tile_height + 1);
  if (tiles > kMostTiles) return canvas.Fail("JPEG 2000: " + std::to_string(tiles) + " tiles");
  // OpenJPEG holds samples as 32-bit numbers, as coefficients and as pixels.
  return canvas.Begin(
      width, height,
      std::min(width, Canvas::kMostPixels) * std::min(height, Canvas::kMostPixels) * components * 8);
}

struct Source {
  std::span<const uint8_t> bytes;
  size_t at = 0;
};

OPJ_SIZE_T OnRead(void* to, OPJ_SIZE_T count, void* user) {
  auto& source = *static_cast<Source*>(user);
  const size_t given = std::min(count, source.bytes.size() - source.at);
  if (given == 0) return static_cast<OPJ_SIZE_T>(-1);
  std::memcpy(to, source.bytes.data() + source.at, given);
  source.at += given;
  return given;
}

OPJ_OFF_T OnSkip(OPJ_OFF_T count, void* user) {
  auto& source = *static_cast<Source*>(user);
  if (count < 0) return -1;
  const auto left = static_cast<OPJ_OFF_T>(source.bytes.size() - source.at);
  source.at += static_cast<size_t>(std::min(count, left));
  return std::min(count, left);
}

OPJ_BOOL OnSeek(OPJ_OFF_T to, void* user) {
  auto& source = *static_cast<Source*>(user);
  if (to < 0 || static_cast<size_t>(to) > source.bytes.size()) return OPJ_FALSE;
  source.at = static_cast<size_t>(to);
  return OPJ_TRUE;
}

void OnError(const char* message, void* user) {
  std::string text = message;
  while (!text.empty() && text.back() == '\n') text.pop_back();
  static_cast<Canvas*>(user)->Fail("JPEG 2000: " + text);
}
void OnRemark(const char*, void*) {}

struct Free {
  void operator()(opj_image_t* image) const { opj_image_destroy(image); }
};
struct FreeCodec {
  using pointer = opj_codec_t*;
  void operator()(opj_codec_t* codec) const { opj_destroy_codec(codec); }
};
struct FreeStream {
  using pointer = opj_stream_t*;
  void operator()(opj_stream_t* stream) const { opj_stream_destroy(stream); }
};

std::unique_ptr<opj_image_t, Free> Read(Canvas& canvas) {
  Source source{canvas.bytes()};
  std::unique_ptr<opj_stream_t, FreeStream> stream(opj_stream_default_create(OPJ_TRUE));
  std::unique_ptr<opj_codec_t, FreeCodec> codec(
      opj_create_decompress(BeginsWith(canvas.bytes(), kStream) ? OPJ_CODEC_J2K : OPJ_CODEC_JP2));
  if (stream == nullptr || codec == nullptr) {
    canvas.RunOutOfMemory();
    return nullptr;
  }
  opj_stream_set_user_data(stream.get(), &source, nullptr);
  opj_stream_set_user_data_length(stream.get(), source.bytes.size());
  opj_stream_set_read_function(stream.get(), OnRead);
  opj_stream_set_skip_function(stream.get(), OnSkip);
  opj_stream_set_seek_function(stream.get(), OnSeek);
  opj_set_error_handler(codec.get(), OnError, &canvas);
  opj_set_warning_handler(codec.get(), OnRemark, nullptr);
  opj_set_info_handler(codec.get(), OnRemark, nullptr);
  opj_dparameters_t parameters;
  opj_set_default_decoder_parameters(&parameters);
  opj_image_t* read = nullptr;
  bool done = opj_setup_decoder(codec.get(), &parameters) != 0 &&
              opj_read_header(stream.get(), codec.get(), &read) != 0;
  std::unique_ptr<opj_image_t, Free> image(read);
  done = done && opj_decode(codec.get(), stream.get(), image.get()) != 0 &&
         opj_end_decompress(codec.get(), stream.get()) != 0;
  return done ? std::move(image) : nullptr;
}

// A component's sample at a place of the picture as 0 to 255; components may be coarser than the picture.
uint8_t Sample(const opj_image_t& image, const opj_image_comp_t& component, int64_t x, int64_t y) {
  const int64_t column = std::min<int64_t>(
      (image.x0 + x) / component.dx - (image.x0 + component.dx - 1) / component.dx, component.w - 1);
  const int64_t row = std::min<int64_t>(
      (image.y0 + y) / component.dy - (image.y0 + component.dy - 1) / component.dy, component.h - 1);
  int64_t value = component.data[std::max<int64_t>(row, 0) * component.w + std::max<int64_t>(column, 0)];
  if (component.sgnd != 0) value += int64_t{1} << (component.prec - 1);
  value = component.prec > 8   ? value >> (component.prec - 8)
          : component.prec < 8 ? value * 255 / ((1 << component.prec) - 1)
                               : value;
  return static_cast<uint8_t>(std::clamp<int64_t>(value, 0, 255));
}

// Luma and chroma to red, green and blue.
void ToRgb(uint8_t* pixel) {
  const double y = pixel[0], blue = pixel[1] - 128.0, red = pixel[2] - 128.0;
  const double rgb[] = {y + 1.402 * red, y - 0.344136 * blue - 0.714136 * red, y + 1.772 * blue};
  for (int i = 0; i < 3; ++i) pixel[i] = static_cast<uint8_t>(std::clamp(rgb[i] + 0.5, 0.0, 255.0));
}

bool IsWhole(const opj_image_t& image, int64_t width, int64_t height) {
  if (image.numcomps < 1 || image.x1 - image.x0 != width || image.y1 - image.y0 != height) return false;
  for (OPJ_UINT32 i = 0; i < image.numcomps; ++i) {
    const opj_image_comp_t& component = image.comps[i];
    if (component.data == nullptr || component.w == 0 || component.h == 0 || component.prec < 1 ||
        component.prec > 31 || component.dx == 0 || component.dy == 0)
      return false;
  }
  return true;
}

bool Decode(Canvas& canvas) {
  if (!Begin(canvas)) return false;
  std::unique_ptr<opj_image_t, Free> image = Read(canvas);
  if (image == nullptr || !IsWhole(*image, canvas.width(), canvas.height()))
    return canvas.Fail("JPEG 2000: the picture is broken or cut");
  const OPJ_UINT32 channels = image->numcomps >= 3 ? 3 : 1;
  const bool is_luma =
      channels == 3 && (image->color_space == OPJ_CLRSPC_SYCC || image->comps[1].dx > image->comps[0].dx);
  std::vector<uint8_t> row(static_cast<size_t>(canvas.width()) * channels);
  for (int64_t y = 0; y < canvas.height(); ++y) {
    if (y % 64 == 0 && canvas.IsStopped()) return false;
    for (int64_t x = 0; x < canvas.width(); ++x) {
      uint8_t* pixel = row.data() + x * channels;
      for (OPJ_UINT32 i = 0; i < channels; ++i) pixel[i] = Sample(*image, image->comps[i], x, y);
      if (is_luma) ToRgb(pixel);
    }
    channels == 3 ? canvas.PutRgb(y, row.data()) : canvas.PutGrey(y, row.data());
  }
  return true;
}

}  // namespace

const Format kJpeg2000{
    "JPEG 2000",
    [](std::span<const uint8_t> bytes) { return BeginsWith(bytes, kFile) || BeginsWith(bytes, kStream); },
    Decode};

}  // namespace tvmvm::image
