// JPEG by libjpeg-turbo.
// jpeglib.h wants stdio.h first.
// clang-format off
#include <stdio.h>
#include <jpeglib.h>
#include <jerror.h>
// clang-format on

#include <csetjmp>
#include <vector>

#include "vm/image/canvas.h"

namespace tvmvm::image {
namespace {

// Each scan of a progressive picture is a pass over all of it.
constexpr int kMostScans = 200;

// What libjpeg's callbacks see. libjpeg leaves a function by longjmp, so all that has a destructor is here.
struct State {
  explicit State(Canvas& canvas) : canvas(canvas) {}
  ~State() { jpeg_destroy_decompress(&jpeg); }

  Canvas& canvas;
  jpeg_decompress_struct jpeg = {};
  jpeg_error_mgr errors = {};
  jpeg_progress_mgr progress = {};
  std::jmp_buf leave;
  std::vector<uint8_t> row;
};

State& StateOf(j_common_ptr jpeg) { return *static_cast<State*>(jpeg->client_data); }

[[noreturn]] void OnError(j_common_ptr jpeg) {
  char message[JMSG_LENGTH_MAX];
  jpeg->err->format_message(jpeg, message);
  State& state = StateOf(jpeg);
  if (jpeg->err->msg_code == JERR_OUT_OF_MEMORY)
    state.canvas.RunOutOfMemory();
  else
    state.canvas.Fail(std::string("JPEG: ") + message);
  std::longjmp(state.leave, 1);
}

// Data that ends too early, or is not what was coded, is an error; other remarks are not.
void OnMessage(j_common_ptr jpeg, int level) {
  const int code = jpeg->err->msg_code;
  if (level < 0 && (code == JWRN_JPEG_EOF || code == JWRN_HIT_MARKER || code == JWRN_HUFF_BAD_CODE))
    OnError(jpeg);
}

void OnProgress(j_common_ptr jpeg) {
  State& state = StateOf(jpeg);
  const int scans = state.jpeg.input_scan_number;
  if (scans > kMostScans) state.canvas.Fail("JPEG: more than " + std::to_string(kMostScans) + " scans");
  if (scans > kMostScans || state.canvas.IsStopped()) std::longjmp(state.leave, 1);
}

// Inks to colors. Adobe's programs write inks inverted.
void PutInks(State& state, int64_t y) {
  const bool is_inverted = state.jpeg.saw_Adobe_marker != 0;
  for (JDIMENSION x = 0; x < state.jpeg.output_width; ++x) {
    uint8_t* inks = state.row.data() + 4 * x;
    const int black = is_inverted ? inks[3] : 255 - inks[3];
    for (int i = 0; i < 3; ++i) {
      const int light = is_inverted ? inks[i] : 255 - inks[i];
      inks[i] = static_cast<uint8_t>((light * black + 127) / 255);
    }
  }
  state.canvas.PutRgb(y, state.row.data(), 4);
}

bool Read(State& state) {
  jpeg_decompress_struct& jpeg = state.jpeg;
  Canvas& canvas = state.canvas;
  jpeg_create_decompress(&jpeg);
  jpeg.progress = &state.progress;
  jpeg_mem_src(&jpeg, canvas.bytes().data(), canvas.bytes().size());
  jpeg_read_header(&jpeg, TRUE);
  const bool is_grey = jpeg.jpeg_color_space == JCS_GRAYSCALE;
  const bool is_inks = jpeg.jpeg_color_space == JCS_CMYK || jpeg.jpeg_color_space == JCS_YCCK;
  jpeg.out_color_space = is_grey ? JCS_GRAYSCALE : is_inks ? JCS_CMYK : JCS_RGB;
  // Progressive pictures are held as coefficients of 2 bytes.
  const int64_t pixels = int64_t{jpeg.image_width} * jpeg.image_height;
  const int64_t held = jpeg_has_multiple_scans(&jpeg) ? pixels * 2 * jpeg.num_components : 0;
  if (!canvas.Begin(jpeg.image_width, jpeg.image_height, held)) return false;
  jpeg_start_decompress(&jpeg);
  state.row.resize(size_t{jpeg.output_width} * static_cast<size_t>(jpeg.output_components));
  while (jpeg.output_scanline < jpeg.output_height) {
    const int64_t y = jpeg.output_scanline;
    JSAMPROW row = state.row.data();
    if (jpeg_read_scanlines(&jpeg, &row, 1) != 1) return canvas.Fail("JPEG: the file ends too early");
    if (is_inks)
      PutInks(state, y);
    else
      is_grey ? canvas.PutGrey(y, row) : canvas.PutRgb(y, row);
  }
  jpeg_finish_decompress(&jpeg);
  return true;
}

bool Decode(Canvas& canvas) {
  State state(canvas);
  state.jpeg.err = jpeg_std_error(&state.errors);
  state.jpeg.client_data = &state;
  state.errors.error_exit = OnError;
  state.errors.emit_message = OnMessage;
  state.progress.progress_monitor = OnProgress;
  if (setjmp(state.leave) != 0) return false;
  return Read(state);
}

}  // namespace

const Format kJpeg{"JPEG", [](std::span<const uint8_t> bytes) { return BeginsWith(bytes, "\xff\xd8\xff"); },
                   Decode};

}  // namespace tvmvm::image
