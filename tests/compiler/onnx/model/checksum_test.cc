#include "compiler/onnx/model/checksum.h"

#include <gtest/gtest.h>

#include <string>

namespace tvmvm::ir {
namespace {

std::string Of(const std::string& text) { return ChecksumOf(std::as_bytes(std::span(text))); }

// The examples of FIPS 180, and what coreutils' sha1sum says around the ends of blocks.
TEST(Checksum, IsSha1) {
  EXPECT_EQ(Of(""), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(Of("abc"), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(Of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "84983e441c3bd26ebaae4aa1f95129e5e54670f1");
  EXPECT_EQ(Of(std::string(1000000, 'a')), "34aa973cd4c4daa4f61eeb2bdbad27316534016f");
  EXPECT_EQ(Of(std::string(55, 'x')), "cef734ba81a024479e09eb5a75b6ddae62e6abf1");
  EXPECT_EQ(Of(std::string(56, 'x')), "901305367c259952f4e7af8323f480d59f81335b");
  EXPECT_EQ(Of(std::string(63, 'x')), "0ddc4e0cccd9a12850deb5abb0853a4425559fec");
  EXPECT_EQ(Of(std::string(64, 'x')), "bb2fa3ee7afb9f54c6dfb5d021f14b1ffe40c163");
  EXPECT_EQ(Of(std::string(65, 'x')), "78c741ddc482e4cdf8c474a0876347a0905b6233");
  EXPECT_EQ(Of(std::string(119, 'x')), "4300320394f7ee239bcdce7d3b8bcee173a0cd5c");
  EXPECT_EQ(Of(std::string(120, 'x')), "ceb2821639c4b6dcb10bce0e522ca2e608ce056d");
}

}  // namespace
}  // namespace tvmvm::ir
