// The writers of pictures.h.
#include "tests/image/pictures.h"

// clang-format off: jpeglib.h wants stdio.h first
#include <jpeglib.h>
#include <stdio.h>
// clang-format on
#include <openjpeg.h>
#include <png.h>
#include <tiffio.h>
#include <webp/encode.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace tvmvm::testing {
namespace {

// Bytes that libraries write and go back in.
struct Memory {
  File bytes;
  size_t at = 0;

  size_t Write(const void* from, size_t count) {
    bytes.resize(std::max(bytes.size(), at + count));
    if (count > 0) std::memcpy(bytes.data() + at, from, count);
    at += count;
    return count;
  }
};

}  // namespace

File WriteBmp(const Picture& picture) {
  const int step = (picture.width * 3 + 3) / 4 * 4;
  File file;
  Append(&file, "BM");
  for (uint32_t field : {54 + step * picture.height, 0, 54, 40, picture.width, picture.height})
    AppendLittle(&file, field, 4);
  AppendLittle(&file, 1 | 24 << 16, 4);
  for (int i = 0; i < 6; ++i) AppendLittle(&file, 0, 4);
  for (int y = picture.height - 1; y >= 0; --y) {
    for (int x = 0; x < picture.width; ++x)
      for (int channel : {2, 1, 0})
        file.push_back(picture.pixels[static_cast<size_t>((y * picture.width + x) * 3 + channel)]);
    file.resize(file.size() + static_cast<size_t>(step - picture.width * 3));
  }
  return file;
}

File WritePnm(const Picture& picture) {
  File file;
  Append(&file, "P6\n# a comment\n" + std::to_string(picture.width) + " " + std::to_string(picture.height) +
                    "\n255\n");
  file.insert(file.end(), picture.pixels.begin(), picture.pixels.end());
  return file;
}

File WritePng(const Picture& picture, bool is_interlaced) {
  Memory memory;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &memory,
      [](png_structp to, png_bytep from, size_t count) {
        static_cast<Memory*>(png_get_io_ptr(to))->Write(from, count);
      },
      [](png_structp) {});
  png_set_IHDR(png, info, static_cast<png_uint_32>(picture.width), static_cast<png_uint_32>(picture.height),
               8, PNG_COLOR_TYPE_RGB, is_interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  std::vector<png_bytep> rows;
  for (int y = 0; y < picture.height; ++y)
    rows.push_back(const_cast<uint8_t*>(picture.pixels.data()) + y * picture.width * 3);
  png_set_rows(png, info, rows.data());
  png_write_png(png, info, PNG_TRANSFORM_IDENTITY, nullptr);
  png_destroy_write_struct(&png, &info);
  return memory.bytes;
}

File WriteJpeg(const Picture& picture, bool is_progressive) {
  jpeg_compress_struct jpeg = {};
  jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* bytes = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &bytes, &size);
  jpeg.image_width = static_cast<JDIMENSION>(picture.width);
  jpeg.image_height = static_cast<JDIMENSION>(picture.height);
  jpeg.input_components = 3;
  jpeg.in_color_space = JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 98, TRUE);
  if (is_progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  for (int y = 0; y < picture.height; ++y) {
    JSAMPROW row = const_cast<uint8_t*>(picture.pixels.data()) + y * picture.width * 3;
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  File file(bytes, bytes + size);
  jpeg_destroy_compress(&jpeg);
  free(bytes);
  return file;
}

File WriteTiff(const Picture& picture) {
  Memory memory;
  auto read = [](thandle_t, void*, tmsize_t) { return tmsize_t{0}; };
  auto write = [](thandle_t to, void* from, tmsize_t count) {
    return static_cast<tmsize_t>(static_cast<Memory*>(to)->Write(from, static_cast<size_t>(count)));
  };
  auto seek = [](thandle_t in, toff_t offset, int whence) {
    auto* memory = static_cast<Memory*>(in);
    memory->at = (whence == SEEK_SET ? 0 : whence == SEEK_CUR ? memory->at : memory->bytes.size()) + offset;
    return static_cast<toff_t>(memory->at);
  };
  TIFF* tiff = TIFFClientOpen(
      "picture", "w", &memory, read, write, seek, [](thandle_t) { return 0; },
      [](thandle_t of) { return static_cast<toff_t>(static_cast<Memory*>(of)->bytes.size()); }, nullptr,
      nullptr);
  TIFFSetField(tiff, TIFFTAG_IMAGEWIDTH, picture.width);
  TIFFSetField(tiff, TIFFTAG_IMAGELENGTH, picture.height);
  TIFFSetField(tiff, TIFFTAG_BITSPERSAMPLE, 8);
  TIFFSetField(tiff, TIFFTAG_SAMPLESPERPIXEL, 3);
  TIFFSetField(tiff, TIFFTAG_ROWSPERSTRIP, 4);
  TIFFSetField(tiff, TIFFTAG_COMPRESSION, COMPRESSION_LZW);
  TIFFSetField(tiff, TIFFTAG_PHOTOMETRIC, PHOTOMETRIC_RGB);
  TIFFSetField(tiff, TIFFTAG_PLANARCONFIG, PLANARCONFIG_CONTIG);
  for (int y = 0; y < picture.height; ++y)
    TIFFWriteScanline(tiff, const_cast<uint8_t*>(picture.pixels.data()) + y * picture.width * 3,
                      static_cast<uint32_t>(y), 0);
  TIFFClose(tiff);
  return memory.bytes;
}

File WriteWebp(const Picture& picture) {
  uint8_t* bytes = nullptr;
  const size_t size =
      WebPEncodeLosslessRGB(picture.pixels.data(), picture.width, picture.height, picture.width * 3, &bytes);
  File file(bytes, bytes + size);
  WebPFree(bytes);
  return file;
}

File WriteJpeg2000(const Picture& picture) {
  Memory memory;
  opj_image_cmptparm_t component = {};
  component.dx = component.dy = 1;
  component.w = static_cast<OPJ_UINT32>(picture.width);
  component.h = static_cast<OPJ_UINT32>(picture.height);
  component.prec = 8;
  opj_image_cmptparm_t components[] = {component, component, component};
  opj_image_t* image = opj_image_create(3, components, OPJ_CLRSPC_SRGB);
  image->x1 = component.w;
  image->y1 = component.h;
  for (size_t i = 0; i < picture.pixels.size(); ++i) image->comps[i % 3].data[i / 3] = picture.pixels[i];
  opj_cparameters_t parameters;
  opj_set_default_encoder_parameters(&parameters);
  parameters.tcp_numlayers = 1;
  parameters.cp_disto_alloc = 1;
  parameters.numresolution = 3;
  parameters.tcp_mct = 1;
  opj_codec_t* codec = opj_create_compress(OPJ_CODEC_JP2);
  opj_setup_encoder(codec, &parameters, image);
  opj_stream_t* stream = opj_stream_default_create(OPJ_FALSE);
  opj_stream_set_user_data(stream, &memory, nullptr);
  opj_stream_set_write_function(stream, [](void* from, OPJ_SIZE_T count, void* to) {
    return static_cast<Memory*>(to)->Write(from, count);
  });
  opj_stream_set_seek_function(stream, [](OPJ_OFF_T to, void* in) -> OPJ_BOOL {
    static_cast<Memory*>(in)->at = static_cast<size_t>(to);
    return OPJ_TRUE;
  });
  opj_stream_set_skip_function(stream, [](OPJ_OFF_T count, void* in) -> OPJ_OFF_T {
    static_cast<Memory*>(in)->at += static_cast<size_t>(count);
    return count;
  });
  opj_start_compress(codec, image, stream);
  opj_encode(codec, stream);
  opj_end_compress(codec, stream);
  opj_stream_destroy(stream);
  opj_destroy_codec(codec);
  opj_image_destroy(image);
  return memory.bytes;
}

}  // namespace tvmvm::testing
