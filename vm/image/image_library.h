/* The library of picture formats, libtvm-vm-image: BMP, JPEG, JPEG 2000, PNG, PNM, TIFF and WebP behind one C
 * function. The runtime opens it when a program first decodes a picture, so that whoever never does needs
 * neither it nor what it links. No exception passes. Thread-safe. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "tvm-vm/export.h"

extern "C" {

/* TVMVM_VERSION of the library. */
TVMVM_EXPORT uint32_t tvmvm_image_version();

struct tvmvm_image_request {
  const uint8_t* bytes;
  size_t size;
  int32_t format; /* 0 RGB, 1 BGR: three bytes a pixel; 2 grey: one */
  /* Asked once, when the picture's size is known and before memory of that size is taken. `scratch` is about
   * what decoding takes beside the pixels. Gives the place for height * width pixels, or null to end the
   * decoding. */
  uint8_t* (*place)(void* context, int64_t width, int64_t height, int64_t scratch);
  int32_t (*stopped)(void* context); /* asked now and then: 1 to end the decoding */
  void* context;
  char* error; /* why the picture is wrong, cut to error_size - 1 characters */
  size_t error_size;
};

enum tvmvm_image_result {
  TVMVM_IMAGE_DECODED = 0,
  TVMVM_IMAGE_WRONG = 1, /* `error` says why */
  TVMVM_IMAGE_ENDED = 2, /* `place` or `stopped` said so */
  TVMVM_IMAGE_NO_MEMORY = 3,
};

TVMVM_EXPORT int32_t tvmvm_image_decode(const struct tvmvm_image_request* request);
}
