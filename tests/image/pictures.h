// Small pictures as files of each format, written by the formats' own libraries or, where there is none, by
// hand.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tvmvm::testing {

using File = std::vector<uint8_t>;

// Red, green and blue, row by row from the top.
struct Picture {
  int width = 0, height = 0;
  std::vector<uint8_t> pixels;
};

// Smooth colors, so that lossy formats keep them.
inline Picture Gradient(int width, int height) {
  Picture picture{width, height, {}};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      for (int channel : {8 * x + 2 * y, 255 - 6 * y, 4 * (x + y) + 40})
        picture.pixels.push_back(static_cast<uint8_t>(channel));
  return picture;
}

inline void Append(File* file, std::string_view text) {
  for (char c : text) file->push_back(static_cast<uint8_t>(c));
}
inline void AppendLittle(File* file, uint32_t value, int count) {
  for (int i = 0; i < count; ++i) file->push_back(static_cast<uint8_t>(value >> (8 * i)));
}

File WriteBmp(const Picture& picture);
File WritePnm(const Picture& picture);
File WritePng(const Picture& picture, bool is_interlaced);
File WriteJpeg(const Picture& picture, bool is_progressive);
File WriteTiff(const Picture& picture);
File WriteWebp(const Picture& picture);
File WriteJpeg2000(const Picture& picture);

}  // namespace tvmvm::testing
