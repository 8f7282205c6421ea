// Constants that stand in the panels of another one, on the way to a device.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <numeric>

#include "bytecode/blob.h"
#include "devices/null/null_device.h"
#include "tests/vm/text_program.h"
#include "tvm-vm/vmexe.h"
#include "vm/binding/device_constants.h"
#include "vm/binding/panel_reader.h"

namespace tvmvm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

PanelPlace Place(int64_t panel, std::initializer_list<PanelPlace::Axis> axes) {
  PanelPlace place;
  place.panel = panel;
  for (const PanelPlace::Axis& axis : axes) place.Add(axis);
  return place;
}

// What constant 1 is on a device. Element i of constant 0 is i.
template <class Element>
std::vector<Element> OnDevice(DType dtype, int64_t elements, std::vector<int64_t> dims, PanelPlace place) {
  std::vector<Element> numbers(static_cast<size_t>(elements));
  std::iota(numbers.begin(), numbers.end(), Element{0});
  auto blob = *CopyToBlob(std::as_bytes(std::span(numbers)));
  Program program;
  program.storage.push_back(blob.owner);
  program.constants.push_back({"packed", dtype, {elements}, blob.bytes, {}, {}});
  place.constant = ConstantId{0};
  program.constants.push_back({"rows", dtype, std::move(dims), {}, {}, std::move(place)});
  const std::shared_ptr<Device> device = CreateNullDevice({});
  auto constants = DeviceConstants::Upload(program, device, {1});
  EXPECT_TRUE(constants) << constants.error().message;
  if (!constants) return {};
  const DeviceConstants::Block& block = (**constants)[1];
  EXPECT_EQ(block.bytes, BytesOf(program.constants[1]));
  std::vector<Element> found(static_cast<size_t>(block.bytes) / sizeof(Element));
  auto queue = *device->NewQueue();
  EXPECT_TRUE(queue->CopyOut(found.data(), {block.memory, 0}, block.bytes, nullptr));
  EXPECT_TRUE(queue->Wait(nullptr));
  return found;
}

// [depth][columns] and [columns][depth] of 20 columns, in panels [2][depth 3][16].
TEST(PanelConstants, MatricesEitherWay) {
  const auto at = [](int64_t k, int64_t c) { return c / 16 * 48 + k * 16 + c % 16; };
  const PanelPlace::Axis depth{3, 16, false}, columns{20, 1, true};
  std::vector<uint8_t> rows, turned;
  for (int64_t k = 0; k < 3; ++k)
    for (int64_t c = 0; c < 20; ++c) rows.push_back(static_cast<uint8_t>(at(k, c)));
  for (int64_t c = 0; c < 20; ++c)
    for (int64_t k = 0; k < 3; ++k) turned.push_back(static_cast<uint8_t>(at(k, c)));
  EXPECT_EQ(OnDevice<uint8_t>(DType::kU8, 96, {3, 20}, Place(48, {depth, columns})), rows);
  EXPECT_EQ(OnDevice<uint8_t>(DType::kU8, 96, {20, 3}, Place(48, {columns, depth})), turned);
}

// Columns of two axes, around one of the depth: column = 10 * a + b.
TEST(PanelConstants, ColumnsOfSeveralAxes) {
  const auto found = OnDevice<double>(DType::kF64, 64, {2, 2, 10},
                                      Place(32, {{2, 10, true}, {2, 16, false}, {10, 1, true}}));
  std::vector<double> wanted;
  for (int a = 0; a < 2; ++a)
    for (int k = 0; k < 2; ++k)
      for (int b = 0; b < 10; ++b) wanted.push_back((10 * a + b) / 16 * 32 + k * 16 + (10 * a + b) % 16);
  EXPECT_EQ(found, wanted);
}

TEST(PanelConstants, OneElement) {
  EXPECT_THAT(OnDevice<int16_t>(DType::kI16, 16, {}, {}), ElementsAre(0));
  EXPECT_THAT(OnDevice<int16_t>(DType::kI16, 16, {1, 1}, Place(0, {{1, 5, false}})), ElementsAre(0));
}

// More than what is made at a time, in rows that do not divide it.
TEST(PanelConstants, LargeOnesAreMadeInPieces) {
  constexpr int64_t kRows = 1999, kColumns = 3001, kPanels = (kColumns + 15) / 16;
  const auto found = OnDevice<uint32_t>(DType::kU32, kPanels * kRows * 16, {kRows, kColumns},
                                        Place(kRows * 16, {{kRows, 16, false}, {kColumns, 1, true}}));
  ASSERT_EQ(found.size(), static_cast<size_t>(kRows * kColumns));
  for (int64_t row = 0; row < kRows; ++row)
    for (int64_t column = 0; column < kColumns; ++column)
      ASSERT_EQ(found[static_cast<size_t>(row * kColumns + column)],
                column / 16 * kRows * 16 + row * 16 + column % 16);
}

TEST(PanelConstants, StandInTextsAndFiles) {
  const std::string text = R"(entry @main
constant c0 "w": u8[32] hex "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
constant c1 "m": u8[2, 16] in c0 panel 32 axes [2, 16, 0, 16, 1, 1]

func @main() -> () frame 0, 0 {
  return [], []
}
)";
  auto program = Assemble(text);
  ASSERT_TRUE(program) << program.error().message;
  EXPECT_EQ(Disassemble(**program), text);
  auto loaded = LoadProgramFromMemory(*SerializeProgram(**program));
  ASSERT_TRUE(loaded) << loaded.error().message;
  EXPECT_EQ(Disassemble(**loaded), text);
  const auto error = [](const std::string& line) {
    auto refused = Assemble("constant c0 \"m\": u8[2] in " + line + "\n");
    return refused ? "" : refused.error().message;
  };
  EXPECT_THAT(error("w"), HasSubstr("wanted a constant, found 'w'"));
  EXPECT_THAT(error("c1 steps"), HasSubstr("wanted 'panel'"));
  EXPECT_THAT(error("c1 panel 2 [2]"), HasSubstr("wanted 'axes'"));
}

}  // namespace
}  // namespace tvmvm
