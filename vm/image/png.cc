// PNG by libpng.
#include <png.h>

#include <algorithm>
#include <csetjmp>
#include <vector>

#include "vm/image/canvas.h"

namespace tvmvm::image {
namespace {

// What libpng's callbacks see. libpng leaves a function by longjmp, so all that has a destructor is here.
struct State {
  explicit State(Canvas& canvas) : canvas(canvas) {}
  ~State() { png_destroy_read_struct(&png, &info, nullptr); }

  Canvas& canvas;
  png_structp png = nullptr;
  png_infop info = nullptr;
  size_t at = 0;
  std::vector<uint8_t> pixels;  // a row, or all of an interlaced picture
};

[[noreturn]] void OnError(png_structp png, png_const_charp message) {
  auto* state = static_cast<State*>(png_get_error_ptr(png));
  state->canvas.Fail(std::string("PNG: ") + message);
  png_longjmp(png, 1);
}

void OnWarning(png_structp, png_const_charp) {}

void OnRead(png_structp png, png_bytep to, size_t count) {
  auto* state = static_cast<State*>(png_get_io_ptr(png));
  std::span<const uint8_t> bytes = state->canvas.bytes();
  if (bytes.size() - state->at < count) png_error(png, "the file ends too early");
  std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(state->at), count, to);
  state->at += count;
}

void Put(Canvas& canvas, int64_t row, const uint8_t* pixels, int channels) {
  channels >= 3 ? canvas.PutRgb(row, pixels, channels) : canvas.PutGrey(row, pixels, channels);
}

// 8 bits a channel, grey or colored; transparency is left out.
bool Read(State& state) {
  png_structp png = state.png;
  Canvas& canvas = state.canvas;
  png_read_info(png, state.info);
  const int64_t width = png_get_image_width(png, state.info), height = png_get_image_height(png, state.info);
  png_set_expand(png);
  png_set_strip_16(png);
  const int passes = png_set_interlace_handling(png);
  png_read_update_info(png, state.info);
  const auto step = static_cast<int64_t>(png_get_rowbytes(png, state.info));
  const int channels = png_get_channels(png, state.info);
  const int64_t rows = passes > 1 ? height : 1;
  if (!canvas.Begin(width, height, step * rows)) return false;
  state.pixels.resize(static_cast<size_t>(step * rows));
  for (int pass = 0; pass < passes; ++pass) {
    for (int64_t row = 0; row < height; ++row) {
      if (row % 64 == 0 && canvas.IsStopped()) return false;
      uint8_t* to = state.pixels.data() + (passes > 1 ? row * step : 0);
      png_read_row(png, to, nullptr);
      if (pass == passes - 1) Put(canvas, row, to, channels);
    }
  }
  png_read_end(png, nullptr);
  return true;
}

bool Decode(Canvas& canvas) {
  constexpr png_alloc_size_t kMostChunk = 8 << 20;
  State state(canvas);
  state.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &state, OnError, OnWarning);
  state.info = state.png == nullptr ? nullptr : png_create_info_struct(state.png);
  if (state.info == nullptr) {
    canvas.RunOutOfMemory();
    return false;
  }
  if (setjmp(png_jmpbuf(state.png)) != 0) return false;
  png_set_user_limits(state.png, Canvas::kMostPixels, Canvas::kMostPixels);
  png_set_chunk_cache_max(state.png, 128);
  png_set_chunk_malloc_max(state.png, kMostChunk);
  png_set_read_fn(state.png, &state, OnRead);
  return Read(state);
}

}  // namespace

const Format kPng{
    "PNG", [](std::span<const uint8_t> bytes) { return BeginsWith(bytes, "\x89PNG\r\n\x1a\n"); }, Decode};

}  // namespace tvmvm::image
