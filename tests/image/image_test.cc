// Pictures as pixels, and pictures that are cut, damaged or claim too much: an error, little memory, little
// time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>
#include <string>

#include "tests/image/pictures.h"
#include "tests/sanitizer.h"
#include "tests/tries.h"
#include "vm/image/image_library.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT
using ::testing::HasSubstr;

struct Decoded {
  int32_t result = -1;
  int64_t width = 0, height = 0, scratch = 0;
  std::vector<uint8_t> pixels;
  std::string error;
  int64_t most_bytes = int64_t{1} << 24;
  bool is_stopped = false;
};

uint8_t* Place(void* context, int64_t width, int64_t height, int64_t scratch) {
  auto& decoded = *static_cast<Decoded*>(context);
  decoded.width = width;
  decoded.height = height;
  decoded.scratch = scratch;
  if (width * height * 3 + scratch > decoded.most_bytes) return nullptr;
  decoded.pixels.resize(static_cast<size_t>(width * height * 3));
  return decoded.pixels.data();
}

int32_t IsStopped(void* context) { return static_cast<Decoded*>(context)->is_stopped ? 1 : 0; }

Decoded Decode(const File& file, int32_t format = 0, bool is_stopped = false) {
  Decoded decoded;
  decoded.is_stopped = is_stopped;
  char error[256] = "";
  // A copy of just this size: reading behind it is found.
  std::vector<uint8_t> bytes(file);
  bytes.shrink_to_fit();
  const tvmvm_image_request request{bytes.data(), bytes.size(), format, Place,
                                    IsStopped,    &decoded,     error,  sizeof error};
  decoded.result = tvmvm_image_decode(&request);
  decoded.error = error;
  return decoded;
}

struct Sample {
  std::string name;
  File file;
  int most_difference;  // of a channel, in lossy formats
};

std::vector<Sample> Samples(const Picture& picture) {
  return {{"bmp", WriteBmp(picture), 0},           {"pnm", WritePnm(picture), 0},
          {"png", WritePng(picture, false), 0},    {"interlaced png", WritePng(picture, true), 0},
          {"jpeg", WriteJpeg(picture, false), 12}, {"progressive jpeg", WriteJpeg(picture, true), 12},
          {"tiff", WriteTiff(picture), 0},         {"webp", WriteWebp(picture), 0},
          {"jpeg 2000", WriteJpeg2000(picture), 0}};
}

void ExpectPixels(const std::vector<uint8_t>& got, const std::vector<uint8_t>& want, int most_difference) {
  ASSERT_EQ(got.size(), want.size());
  int worst = 0;
  for (size_t i = 0; i < got.size(); ++i) worst = std::max(worst, std::abs(int{got[i]} - int{want[i]}));
  EXPECT_LE(worst, most_difference);
}

TEST(Image, EachFormatGivesItsPixels) {
  const Picture picture = Gradient(13, 9);
  for (const Sample& sample : Samples(picture)) {
    SCOPED_TRACE(sample.name);
    Decoded decoded = Decode(sample.file);
    EXPECT_EQ(decoded.result, TVMVM_IMAGE_DECODED) << decoded.error;
    EXPECT_EQ(decoded.width, 13);
    EXPECT_EQ(decoded.height, 9);
    ExpectPixels(decoded.pixels, picture.pixels, sample.most_difference);
  }
}

TEST(Image, BlueFirstAndGrey) {
  const Picture picture = Gradient(13, 9);
  Decoded blue_first = Decode(WritePng(picture, false), 1);
  Decoded grey = Decode(WritePng(picture, false), 2);
  for (size_t i = 0; i < picture.pixels.size(); i += 3) {
    EXPECT_EQ(blue_first.pixels[i], picture.pixels[i + 2]);
    EXPECT_EQ(blue_first.pixels[i + 1], picture.pixels[i + 1]);
    EXPECT_EQ(blue_first.pixels[i + 2], picture.pixels[i]);
    const double luma =
        0.299 * picture.pixels[i] + 0.587 * picture.pixels[i + 1] + 0.114 * picture.pixels[i + 2];
    EXPECT_NEAR(grey.pixels[i / 3], luma, 0.51);
  }
}

TEST(Image, EveryCutIsAnError) {
  for (const Sample& sample : Samples(Gradient(13, 9))) {
    SCOPED_TRACE(sample.name);
    // The last bytes of some files say nothing of the pixels.
    const size_t most = sample.file.size() - (sample.name == "jpeg 2000" ? 2 : 1);
    const size_t step = kSanitized ? 7 : 1;
    for (size_t size = 0; size < most; size += step) {
      Decoded decoded =
          Decode(File(sample.file.begin(), sample.file.begin() + static_cast<std::ptrdiff_t>(size)));
      EXPECT_EQ(decoded.result, TVMVM_IMAGE_WRONG) << size << " of " << sample.file.size() << " bytes";
      EXPECT_FALSE(decoded.error.empty());
    }
  }
}

TEST(Image, FlippedBitsEndWell) {
  std::mt19937 random(5);
  const auto rounds = static_cast<int>(Tries(1500, 200));
  for (const Sample& sample : Samples(Gradient(13, 9))) {
    SCOPED_TRACE(sample.name);
    for (int round = 0; round < rounds; ++round) {
      File file = sample.file;
      for (int flips = 1 + round % 4; flips > 0; --flips) {
        // Headers, which say how much memory is wanted, are hit as often as all the rest.
        const size_t size = flips % 2 != 0 ? std::min<size_t>(file.size(), 64) : file.size();
        file[random() % size] ^= static_cast<uint8_t>(1u << random() % 8);
      }
      Decoded decoded = Decode(file);
      EXPECT_NE(decoded.result, TVMVM_IMAGE_NO_MEMORY);
      EXPECT_EQ(decoded.result == TVMVM_IMAGE_WRONG, !decoded.error.empty());
    }
  }
}

TEST(Image, HugeSizesAreRefusedBeforeMemoryIsTaken) {
  File bmp = WriteBmp(Gradient(2, 2));
  bmp[21] = bmp[25] = 0x70;  // 0x70000002 x 0x70000002
  EXPECT_THAT(Decode(bmp).error, HasSubstr("a picture of 1879048194 x 1879048194 pixels"));
  File pnm;
  Append(&pnm, "P5 99999999999 1 255\n.");
  EXPECT_EQ(Decode(pnm).result, TVMVM_IMAGE_WRONG);
  File jpeg = WriteJpeg(Gradient(2, 2), false);
  for (size_t i = 0; i + 9 < jpeg.size(); ++i) {
    if (jpeg[i] != 0xff || jpeg[i + 1] != 0xc0) continue;
    jpeg[i + 5] = jpeg[i + 7] = 0xff;  // 65282 x 65282
    break;
  }
  EXPECT_THAT(Decode(jpeg).error, HasSubstr("a picture of 65282 x 65282 pixels"));
  File j2k = WriteJpeg2000(Gradient(8, 8));
  for (size_t i = 0; i + 20 < j2k.size(); ++i) {
    if (j2k[i] != 0xff || j2k[i + 1] != 0x4f) continue;
    j2k[i + 8] = j2k[i + 12] = 0x7f;  // the high byte of width and height
    EXPECT_NE(Decode(j2k).result, TVMVM_IMAGE_DECODED);
    break;
  }
}

TEST(Image, NothingIsDecodedWithoutAPlace) {
  for (const Sample& sample : Samples(Gradient(13, 9))) {
    SCOPED_TRACE(sample.name);
    Decoded decoded;
    decoded.most_bytes = 100;
    char error[64] = "";
    const tvmvm_image_request request{sample.file.data(), sample.file.size(), 0,     Place,
                                      IsStopped,          &decoded,           error, sizeof error};
    EXPECT_EQ(tvmvm_image_decode(&request), TVMVM_IMAGE_ENDED);
  }
}

TEST(Image, WhatIsNoPicture) {
  EXPECT_THAT(Decode({}).error, HasSubstr("none of BMP, JPEG"));
  EXPECT_THAT(Decode({'G', 'I', 'F', '8'}).error, HasSubstr("none of BMP, JPEG"));
  EXPECT_THAT(Decode({'B', 'M'}).error, HasSubstr("a BMP file with a header of 0 bytes"));
}

TEST(Image, PnmAsTextAndBits) {
  auto pixels = [](std::string_view text) {
    File file;
    Append(&file, text);
    Decoded decoded = Decode(file, 2);
    EXPECT_EQ(decoded.result, TVMVM_IMAGE_DECODED) << decoded.error;
    decoded.pixels.resize(static_cast<size_t>(decoded.width * decoded.height));
    return decoded.pixels;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(pixels("P1 3 2\n1 0 1\n#x\n010"), ElementsAre(0, 255, 0, 255, 0, 255));
  EXPECT_THAT(pixels("P2\n2 2\n15\n0 15\n5 10\n"), ElementsAre(0, 255, 85, 170));
  EXPECT_THAT(pixels("P3 1 1 255 255 255 255\n"), ElementsAre(255));
  EXPECT_THAT(pixels(std::string_view("P4 9 1\n\x80\x80", 9)),
              ElementsAre(0, 255, 255, 255, 255, 255, 255, 255, 0));
  EXPECT_THAT(pixels(std::string_view("P5 2 1 65535\n\xff\xff\x80\x00", 17)), ElementsAre(255, 128));
}

// Palettes, runs, and colors of 16 and 32 bits.
TEST(Image, BmpOfEachDepth) {
  auto header = [](int width, int height, int bits, int compression, int colors) {
    File file;
    Append(&file, "BM");
    for (int field : {0, 0, 54 + 4 * colors, 40, width, height})
      AppendLittle(&file, static_cast<uint32_t>(field), 4);
    AppendLittle(&file, 1u | static_cast<uint32_t>(bits) << 16, 4);
    for (int field : {compression, 0, 0, 0, colors, 0}) AppendLittle(&file, static_cast<uint32_t>(field), 4);
    for (int i = 0; i < colors; ++i) AppendLittle(&file, static_cast<uint32_t>(0x10101 * (10 * i + 1)), 4);
    return file;
  };
  auto grey = [](File file, std::string_view pixels) {
    Append(&file, pixels);
    Decoded decoded = Decode(file, 2);
    EXPECT_EQ(decoded.result, TVMVM_IMAGE_DECODED) << decoded.error;
    decoded.pixels.resize(static_cast<size_t>(decoded.width * decoded.height));
    return decoded.pixels;
  };
  using namespace std::string_view_literals;
  using ::testing::ElementsAre;
  EXPECT_THAT(grey(header(3, 1, 1, 0, 2), "\xa0\0\0\0"sv), ElementsAre(11, 1, 11));
  EXPECT_THAT(grey(header(3, 1, 4, 0, 4), "\x12\x30\0\0"sv), ElementsAre(11, 21, 31));
  EXPECT_THAT(grey(header(2, 2, 8, 0, 4), "\x01\x02\0\0\x03\x00\0\0"sv), ElementsAre(31, 1, 11, 21));
  EXPECT_THAT(grey(header(2, -2, 8, 0, 4), "\x01\x02\0\0\x03\x00\0\0"sv), ElementsAre(11, 21, 31, 1));
  EXPECT_THAT(grey(header(4, 1, 8, 1, 4), "\x02\x03\x02\x01\0\x01"sv), ElementsAre(31, 31, 11, 11));
  EXPECT_THAT(grey(header(4, 1, 8, 1, 4), "\x00\x03\x01\x02\x03\x00\0\x01"sv), ElementsAre(11, 21, 31, 1));
  EXPECT_THAT(grey(header(3, 2, 4, 2, 4), "\x03\x12\0\0\0\x02\x01\0\x02\x30\0\x01"sv),
              ElementsAre(1, 31, 1, 11, 21, 11));
  EXPECT_THAT(grey(header(2, 1, 16, 0, 0), "\xff\x7f\0\0"sv), ElementsAre(255, 0));
  EXPECT_THAT(grey(header(1, 1, 32, 0, 0), "\xff\xff\xff\0"sv), ElementsAre(255));
}

TEST(Image, ARunThatIsToEndEndsTheDecoding) {
  EXPECT_EQ(Decode(WritePng(Gradient(13, 9), false), 0, true).result, TVMVM_IMAGE_ENDED);
  EXPECT_EQ(Decode(WriteBmp(Gradient(13, 9)), 0, true).result, TVMVM_IMAGE_ENDED);
}

}  // namespace
}  // namespace tvmvm
