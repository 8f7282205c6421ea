#include "bytecode/format_text.h"

#include <gtest/gtest.h>

#include <limits>

namespace tvmvm {
namespace {

TEST(FormatText, PutsThingsInTheirPlaces) {
  const std::string text = "text";
  EXPECT_EQ(FormatText("{}: {} {}, {}{}", text, "other", std::string_view("view"), 'c', std::string("made")),
            "text: other view, cmade");
  EXPECT_EQ(FormatText("{}", ""), "");
  EXPECT_EQ(FormatText("{{\"{}\": {{}}}}", 1), "{\"1\": {}}");
  std::string all = "a";
  AppendText(&all, "{}b{}", 1, 2);
  EXPECT_EQ(all, "a1b2");
}

TEST(FormatText, WritesIntegersOfAllKinds) {
  EXPECT_EQ(FormatText("{} {} {}", -1, int64_t{INT64_MIN}, uint64_t{UINT64_MAX}),
            "-1 -9223372036854775808 18446744073709551615");
  EXPECT_EQ(FormatText("{} {} {}", uint8_t{200}, int8_t{-3}, uint16_t{65535}), "200 -3 65535");
  EXPECT_EQ(FormatText("{:02x} {:02x} {:04x} {:#x} {:x}", 5u, 255u, 0x1f, 0x80000001u, 171u),
            "05 ff 001f 0x80000001 ab");
  EXPECT_EQ(FormatText("{:9}|{:<4}|{:04}", 12345, 7, 42), "    12345|7   |0042");
}

TEST(FormatText, LaysTextsOut) {
  EXPECT_EQ(FormatText("{:>8}|{:<6}|{:3}|{:2}", "-", "cpu", "a", "longer"), "       -|cpu   |a  |longer");
}

TEST(FormatText, WritesNumbersWithTheirDigits) {
  EXPECT_EQ(FormatText("{:8.1f}|{:.3f}|{:.0f}|{:6.2f}", 3.14159, 2.0, 2.5, -1.005),
            "     3.1|2.000|2| -1.00");
  EXPECT_EQ(FormatText("{} {}", 0.1, 1.0), "0.1 1");
  EXPECT_EQ(FormatText("{:.3f}", std::numeric_limits<double>::max()).size(), 313u);
  EXPECT_EQ(FormatText("{:6.1f}|{:.1f}", std::numeric_limits<double>::infinity(), -0.0), "   inf|-0.0");
}

}  // namespace
}  // namespace tvmvm
