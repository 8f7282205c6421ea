// Windows and OS/2 bitmaps: 1, 4, 8, 16, 24 and 32 bits a pixel, run lengths, bit fields.
#include <bit>
#include <optional>
#include <vector>

#include "vm/image/canvas.h"

namespace tvmvm::image {
namespace {

enum Compression : uint32_t { kNone = 0, kRle8 = 1, kRle4 = 2, kBitFields = 3, kAlphaBitFields = 6 };

struct Header {
  int64_t width = 0, height = 0;
  bool top_down = false;
  uint32_t bits = 0, compression = kNone;
  size_t pixels = 0;        // where they begin
  size_t palette = 0;       // where it begins
  size_t palette_step = 4;  // bytes a color: blue, green, red[, 0]
  size_t colors = 0;
  uint32_t masks[3] = {0, 0, 0};  // red, green, blue
};

uint32_t Little(std::span<const uint8_t> bytes, size_t at, int count) {
  uint32_t value = 0;
  for (int i = 0; i < count; ++i) value |= uint32_t{bytes[at + static_cast<size_t>(i)]} << (8 * i);
  return value;
}

constexpr size_t kFileHeader = 14;

// The fields of the headers that Windows has had since version 3, `size` bytes.
void ReadWindowsHeader(std::span<const uint8_t> bytes, size_t size, Header* header) {
  header->width = static_cast<int32_t>(Little(bytes, 18, 4));
  header->height = static_cast<int32_t>(Little(bytes, 22, 4));
  header->top_down = header->height < 0;
  header->height = std::abs(header->height);
  header->bits = Little(bytes, 28, 2);
  header->compression = Little(bytes, 30, 4);
  header->colors = Little(bytes, 46, 4);
  const bool has_fields = header->compression == kBitFields || header->compression == kAlphaBitFields;
  header->palette = kFileHeader + size;
  if (has_fields && size == 40) header->palette += header->compression == kBitFields ? 12 : 16;
  if (has_fields && bytes.size() >= 66)
    for (size_t i = 0; i < 3; ++i) header->masks[i] = Little(bytes, 54 + 4 * i, 4);
}

std::optional<Header> ReadHeader(Canvas& canvas) {
  std::span<const uint8_t> bytes = canvas.bytes();
  Header header;
  const size_t size = bytes.size() >= 18 ? Little(bytes, 14, 4) : 0;
  if (size < 12 || size > 1024 || bytes.size() < kFileHeader + size || (size > 12 && size < 40)) {
    canvas.Fail("a BMP file with a header of " + std::to_string(size) + " bytes");
    return std::nullopt;
  }
  header.pixels = Little(bytes, 10, 4);
  if (size == 12) {
    header.width = Little(bytes, 18, 2);
    header.height = Little(bytes, 20, 2);
    header.bits = Little(bytes, 24, 2);
    header.palette = kFileHeader + size;
    header.palette_step = 3;
  } else {
    ReadWindowsHeader(bytes, size, &header);
  }
  const size_t most_colors = header.bits <= 8 ? size_t{1} << header.bits : 0;
  if (header.colors == 0 || header.colors > most_colors) header.colors = most_colors;
  return header;
}

// A palette as red, green and blue; colors beyond the file's end are black.
std::vector<uint8_t> Palette(std::span<const uint8_t> bytes, const Header& header) {
  std::vector<uint8_t> palette(size_t{3} << header.bits);
  for (size_t i = 0; i < header.colors; ++i) {
    const size_t at = header.palette + i * header.palette_step;
    if (at + 3 > bytes.size()) break;
    for (size_t channel = 0; channel < 3; ++channel) palette[3 * i + channel] = bytes[at + 2 - channel];
  }
  return palette;
}

// The bits under a mask as 0 to 255.
uint8_t Field(uint32_t pixel, uint32_t mask) {
  if (mask == 0) return 0;
  const uint64_t value = (pixel & mask) >> std::countr_zero(mask), most = mask >> std::countr_zero(mask);
  return static_cast<uint8_t>((value * 255 + most / 2) / most);
}

// One row of the file as red, green and blue.
void UnpackRow(const uint8_t* from, const Header& header, const std::vector<uint8_t>& palette, uint8_t* to) {
  const uint32_t bits = header.bits;
  for (int64_t x = 0; x < header.width; ++x, to += 3) {
    if (bits <= 8) {
      const int64_t bit = x * bits;
      const uint32_t index = (from[bit / 8] >> (8 - bits - bit % 8)) & ((1u << bits) - 1);
      for (size_t channel = 0; channel < 3; ++channel) to[channel] = palette[3 * index + channel];
    } else if (bits == 24) {
      for (int64_t channel = 0; channel < 3; ++channel) to[channel] = from[3 * x + 2 - channel];
    } else {
      const int count = static_cast<int>(bits / 8);
      const uint32_t pixel = Little({from + x * count, static_cast<size_t>(count)}, 0, count);
      for (size_t channel = 0; channel < 3; ++channel) to[channel] = Field(pixel, header.masks[channel]);
    }
  }
}

int64_t RowFromTop(const Header& header, int64_t row) {
  return header.top_down ? row : header.height - 1 - row;
}

bool DecodeRows(Canvas& canvas, const Header& header, const std::vector<uint8_t>& palette) {
  std::span<const uint8_t> bytes = canvas.bytes();
  const int64_t step = (header.width * header.bits + 31) / 32 * 4;
  const auto needed = static_cast<size_t>(step * header.height);
  if (header.pixels > bytes.size() || bytes.size() - header.pixels < needed)
    return canvas.Fail("a BMP file of " + std::to_string(bytes.size()) + " bytes, its pixels need " +
                       std::to_string(needed) + " from byte " + std::to_string(header.pixels));
  if (!canvas.Begin(header.width, header.height, header.width * 3)) return false;
  std::vector<uint8_t> pixels(static_cast<size_t>(header.width) * 3);
  for (int64_t row = 0; row < header.height; ++row) {
    if (row % 64 == 0 && canvas.IsStopped()) return false;
    UnpackRow(bytes.data() + header.pixels + row * step, header, palette, pixels.data());
    canvas.PutRgb(RowFromTop(header, row), pixels.data());
  }
  return true;
}

// Run lengths into palette indexes; what no run reaches is index 0.
class RunLengths {
 public:
  RunLengths(std::span<const uint8_t> bytes, const Header& header)
      : bytes_(bytes), header_(header), indexes_(static_cast<size_t>(header.width * header.height)) {}

  // False where the runs end too early.
  bool Decode() {
    size_t at = header_.pixels;
    while (at + 2 <= bytes_.size()) {
      const uint8_t count = bytes_[at], value = bytes_[at + 1];
      at += 2;
      if (count > 0) {
        for (int i = 0; i < count; ++i)
          Put(IsNibbles() && i % 2 == 0 ? value >> 4 : IsNibbles() ? value & 15 : value);
      } else if (value == 0) {
        x_ = 0;
        ++y_;
      } else if (value == 1) {
        return true;
      } else if (value == 2) {
        if (at + 2 > bytes_.size()) return false;
        x_ += bytes_[at];
        y_ += bytes_[at + 1];
        at += 2;
      } else {
        const size_t size = IsNibbles() ? (value + 1u) / 2 : value;
        if (bytes_.size() - at < size) return false;
        for (size_t i = 0; i < value; ++i)
          Put(!IsNibbles() ? bytes_[at + i] : i % 2 == 0 ? bytes_[at + i / 2] >> 4 : bytes_[at + i / 2] & 15);
        at += size + size % 2;
      }
    }
    return false;
  }
  const uint8_t* Row(int64_t row) const { return indexes_.data() + row * header_.width; }

 private:
  bool IsNibbles() const { return header_.compression == kRle4; }
  void Put(int index) {
    if (x_ < header_.width && y_ < header_.height)
      indexes_[static_cast<size_t>(y_ * header_.width + x_)] = static_cast<uint8_t>(index);
    ++x_;
  }

  std::span<const uint8_t> bytes_;
  const Header& header_;
  std::vector<uint8_t> indexes_;
  int64_t x_ = 0, y_ = 0;
};

bool DecodeRuns(Canvas& canvas, const Header& header, const std::vector<uint8_t>& palette) {
  if (header.pixels > canvas.bytes().size()) return canvas.Fail("a BMP file that ends before its pixels");
  if (!canvas.Begin(header.width, header.height, header.width * header.height)) return false;
  RunLengths runs(canvas.bytes(), header);
  if (!runs.Decode()) return canvas.Fail("a BMP file whose runs do not end");
  Header bytes = header;  // rows of one byte a pixel
  bytes.bits = 8;
  std::vector<uint8_t> colors = palette, pixels(static_cast<size_t>(header.width) * 3);
  colors.resize(3 * 256);
  for (int64_t row = 0; row < header.height; ++row) {
    if (row % 64 == 0 && canvas.IsStopped()) return false;
    UnpackRow(runs.Row(row), bytes, colors, pixels.data());
    canvas.PutRgb(RowFromTop(header, row), pixels.data());
  }
  return true;
}

bool Decode(Canvas& canvas) {
  std::optional<Header> header = ReadHeader(canvas);
  if (!header) return false;
  const uint32_t bits = header->bits;
  const bool is_run =
      (header->compression == kRle8 && bits == 8) || (header->compression == kRle4 && bits == 4);
  const bool has_fields = header->compression == kBitFields || header->compression == kAlphaBitFields;
  const bool is_plain = header->compression == kNone || (has_fields && (bits == 16 || bits == 32));
  const bool has_bits = bits == 1 || bits == 4 || bits == 8 || bits == 16 || bits == 24 || bits == 32;
  if (!has_bits || (!is_run && !is_plain))
    return canvas.Fail("a BMP file of " + std::to_string(bits) + " bits a pixel with compression " +
                       std::to_string(header->compression));
  if (header->width < 1 || header->height < 1 || header->width * header->height > Canvas::kMostPixels)
    return canvas.Begin(header->width, header->height, 0);  // says what is wrong
  if (!has_fields && bits >= 16)
    for (size_t i = 0; i < 3; ++i)
      header->masks[i] = bits == 16 ? 0x1fu << (10 - 5 * i) : 0xffu << (16 - 8 * i);
  std::vector<uint8_t> palette;
  if (bits <= 8) palette = Palette(canvas.bytes(), *header);
  return is_run ? DecodeRuns(canvas, *header, palette) : DecodeRows(canvas, *header, palette);
}

}  // namespace

const Format kBmp{"BMP", [](std::span<const uint8_t> bytes) { return BeginsWith(bytes, "BM"); }, Decode};

}  // namespace tvmvm::image
