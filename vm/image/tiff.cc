// TIFF by libtiff.
#include <tiffio.h>

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "vm/image/canvas.h"

namespace tvmvm::image {
namespace {

// The file in memory, and where libtiff reports to.
struct Source {
  Canvas& canvas;
  size_t at = 0;
};

Source& SourceOf(thandle_t handle) { return *static_cast<Source*>(handle); }

tmsize_t OnRead(thandle_t handle, void* to, tmsize_t count) {
  Source& source = SourceOf(handle);
  std::span<const uint8_t> bytes = source.canvas.bytes();
  if (count < 0 || source.at >= bytes.size()) return 0;
  const size_t given = std::min(static_cast<size_t>(count), bytes.size() - source.at);
  std::memcpy(to, bytes.data() + source.at, given);
  source.at += given;
  return static_cast<tmsize_t>(given);
}

tmsize_t OnWrite(thandle_t, void*, tmsize_t) { return 0; }

toff_t OnSeek(thandle_t handle, toff_t offset, int whence) {
  Source& source = SourceOf(handle);
  const size_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? source.at : source.canvas.bytes().size();
  source.at = base + static_cast<size_t>(offset);
  return source.at;
}

int OnClose(thandle_t) { return 0; }
toff_t OnSize(thandle_t handle) { return SourceOf(handle).canvas.bytes().size(); }

int OnError(TIFF*, void* user, const char*, const char* format, va_list arguments) {
  char message[200];
  std::vsnprintf(message, sizeof message, format, arguments);
  static_cast<Canvas*>(user)->Fail(std::string("TIFF: ") + message);
  return 1;
}
int OnWarning(TIFF*, void*, const char*, const char*, va_list) { return 1; }

struct Close {
  void operator()(TIFF* tiff) const { TIFFClose(tiff); }
  void operator()(TIFFOpenOptions* options) const { TIFFOpenOptionsFree(options); }
};

std::unique_ptr<TIFF, Close> Open(Source* source) {
  // No single piece is larger than the largest picture with 4 channels of 16 bits.
  constexpr tmsize_t kMostBytes = Canvas::kMostPixels * 8;
  std::unique_ptr<TIFFOpenOptions, Close> options(TIFFOpenOptionsAlloc());
  if (options == nullptr) return nullptr;
  TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), kMostBytes);
  TIFFOpenOptionsSetErrorHandlerExtR(options.get(), OnError, &source->canvas);
  TIFFOpenOptionsSetWarningHandlerExtR(options.get(), OnWarning, nullptr);
  // "m": not mapped, the bytes are in memory.
  return std::unique_ptr<TIFF, Close>(TIFFClientOpenExt("picture", "rm", source, OnRead, OnWrite, OnSeek,
                                                        OnClose, OnSize, nullptr, nullptr, options.get()));
}

// A strip or tile is held as a whole: small pictures must not claim large ones.
bool HasSanePieces(Canvas& canvas, TIFF* tiff, int64_t pixels) {
  const int64_t piece = TIFFIsTiled(tiff) != 0 ? TIFFTileSize64(tiff) : TIFFStripSize64(tiff);
  constexpr int64_t kAlways = 1 << 24;
  if (piece >= 0 && (piece <= kAlways || piece <= pixels * 16)) return true;
  return canvas.Fail("TIFF: pieces of " + std::to_string(piece) + " bytes for " + std::to_string(pixels) +
                     " pixels");
}

bool Decode(Canvas& canvas) {
  Source source{canvas};
  std::unique_ptr<TIFF, Close> tiff = Open(&source);
  if (tiff == nullptr) return canvas.Fail("TIFF: no directory of a picture");
  uint32_t width = 0, height = 0;
  TIFFGetField(tiff.get(), TIFFTAG_IMAGEWIDTH, &width);
  TIFFGetField(tiff.get(), TIFFTAG_IMAGELENGTH, &height);
  char why[1024] = "";
  if (TIFFRGBAImageOK(tiff.get(), why) == 0) return canvas.Fail(std::string("TIFF: ") + why);
  const int64_t pixels = int64_t{width} * height;
  if (pixels <= Canvas::kMostPixels && !HasSanePieces(canvas, tiff.get(), pixels)) return false;
  if (!canvas.Begin(width, height, pixels * 8)) return false;
  std::vector<uint32_t> raster(static_cast<size_t>(pixels));
  if (TIFFReadRGBAImageOriented(tiff.get(), width, height, raster.data(), ORIENTATION_TOPLEFT, 1) == 0)
    return canvas.Fail("TIFF: the picture is broken or cut");
  std::vector<uint8_t> row(size_t{width} * 3);
  for (uint32_t y = 0; y < height; ++y) {
    for (uint32_t x = 0; x < width; ++x) {
      const uint32_t pixel = raster[size_t{y} * width + x];
      row[3 * x] = static_cast<uint8_t>(TIFFGetR(pixel));
      row[3 * x + 1] = static_cast<uint8_t>(TIFFGetG(pixel));
      row[3 * x + 2] = static_cast<uint8_t>(TIFFGetB(pixel));
    }
    canvas.PutRgb(y, row.data());
  }
  return true;
}

}  // namespace

const Format kTiff{"TIFF",
                   [](std::span<const uint8_t> bytes) {
                     using std::string_view_literals::operator""sv;
                     return BeginsWith(bytes, "II*\0"sv) || BeginsWith(bytes, "MM\0*"sv) ||
                            BeginsWith(bytes, "II+\0"sv) || BeginsWith(bytes, "MM\0+"sv);
                   },
                   Decode};

}  // namespace tvmvm::image
