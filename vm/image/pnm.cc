// Portable bitmaps, graymaps and pixmaps, as text (P1, P2, P3) and as bytes (P4, P5, P6).
#include <optional>
#include <vector>

#include "vm/image/canvas.h"

namespace tvmvm::image {
namespace {

bool IsSpace(uint8_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool IsDigit(uint8_t c) { return c >= '0' && c <= '9'; }

class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  // White space and comments, which run from # to the line's end.
  void SkipSpace() {
    while (at_ < bytes_.size() && (IsSpace(bytes_[at_]) || bytes_[at_] == '#')) {
      if (bytes_[at_] == '#')
        while (at_ < bytes_.size() && bytes_[at_] != '\n') ++at_;
      else
        ++at_;
    }
  }
  // Nothing where there is no number, or one that is too large.
  std::optional<int64_t> Number() {
    SkipSpace();
    int64_t value = 0;
    const size_t begin = at_;
    while (at_ < bytes_.size() && IsDigit(bytes_[at_]) && value < (int64_t{1} << 32))
      value = value * 10 + (bytes_[at_++] - '0');
    return at_ > begin ? std::optional(value) : std::nullopt;
  }
  // One digit of a bitmap, which need not stand apart.
  std::optional<int64_t> Bit() {
    SkipSpace();
    if (at_ == bytes_.size() || (bytes_[at_] != '0' && bytes_[at_] != '1')) return std::nullopt;
    return bytes_[at_++] - '0';
  }
  void Skip(size_t count) { at_ += count; }
  // The next bytes; null where they are too few.
  const uint8_t* Take(size_t count) {
    if (at_ > bytes_.size() || bytes_.size() - at_ < count) return nullptr;
    at_ += count;
    return bytes_.data() + at_ - count;
  }
  size_t left() const { return at_ < bytes_.size() ? bytes_.size() - at_ : 0; }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
};

struct Header {
  char kind = '6';  // '1' to '6'
  int64_t width = 0, height = 0, most = 1;

  bool is_text() const { return kind <= '3'; }
  bool is_bits() const { return kind == '1' || kind == '4'; }
  int64_t channels() const { return kind == '3' || kind == '6' ? 3 : 1; }
  int64_t sample_bytes() const { return most > 255 ? 2 : 1; }
  int64_t row_bytes() const { return is_bits() ? (width + 7) / 8 : width * channels() * sample_bytes(); }
  // A sample as 0 to 255; ink, which is 1 in a bitmap, is black.
  uint8_t Scale(int64_t sample) const {
    if (is_bits()) return sample != 0 ? 0 : 255;
    return static_cast<uint8_t>((std::min(sample, most) * 255 + most / 2) / most);
  }
};

bool ReadTextRow(Reader& reader, const Header& header, std::vector<uint8_t>& row) {
  for (uint8_t& sample : row) {
    std::optional<int64_t> value = header.is_bits() ? reader.Bit() : reader.Number();
    if (!value) return false;
    sample = header.Scale(*value);
  }
  return true;
}

bool ReadByteRow(Reader& reader, const Header& header, std::vector<uint8_t>& row) {
  const uint8_t* bytes = reader.Take(static_cast<size_t>(header.row_bytes()));
  if (bytes == nullptr) return false;
  for (size_t i = 0; i < row.size(); ++i) {
    int64_t sample = header.is_bits() ? bytes[i / 8] >> (7 - i % 8) & 1 : bytes[i];
    if (header.sample_bytes() == 2) sample = bytes[2 * i] << 8 | bytes[2 * i + 1];
    row[i] = header.Scale(sample);
  }
  return true;
}

bool Decode(Canvas& canvas) {
  Reader reader(canvas.bytes());
  Header header{.kind = static_cast<char>(canvas.bytes()[1])};
  reader.Skip(2);
  std::optional<int64_t> width = reader.Number(), height = reader.Number();
  std::optional<int64_t> most = header.is_bits() ? std::optional<int64_t>(1) : reader.Number();
  if (!width || !height || !most || *most < 1 || *most > 65535)
    return canvas.Fail("a PNM file whose width, height and greatest value are wrong");
  header.width = *width;
  header.height = *height;
  header.most = *most;
  if (!header.is_text()) reader.Skip(1);
  // A sample takes at least one byte, or one bit: fewer bytes than that need no memory to tell.
  const bool is_sane = header.width <= Canvas::kMostPixels && header.height <= Canvas::kMostPixels;
  const int64_t row_bytes = header.is_text() ? header.width * header.channels() : header.row_bytes();
  if (is_sane && header.height > 0 && static_cast<int64_t>(reader.left()) / header.height < row_bytes)
    return canvas.Fail("a PNM file that ends before its pixels do");
  if (!canvas.Begin(header.width, header.height, header.width * header.channels())) return false;
  std::vector<uint8_t> row(static_cast<size_t>(header.width * header.channels()));
  for (int64_t y = 0; y < header.height; ++y) {
    if (y % 64 == 0 && canvas.IsStopped()) return false;
    const bool is_there =
        header.is_text() ? ReadTextRow(reader, header, row) : ReadByteRow(reader, header, row);
    if (!is_there) return canvas.Fail("a PNM file that ends before its pixels do");
    header.channels() == 3 ? canvas.PutRgb(y, row.data()) : canvas.PutGrey(y, row.data());
  }
  return true;
}

}  // namespace

const Format kPnm{"PNM",
                  [](std::span<const uint8_t> bytes) {
                    return bytes.size() > 2 && bytes[0] == 'P' && bytes[1] >= '1' && bytes[1] <= '6' &&
                           (IsSpace(bytes[2]) || bytes[2] == '#');
                  },
                  Decode};

}  // namespace tvmvm::image
