// Panels of constants: where PlaceInPanels says, there PackPanels puts each element.
#include "compiler/schedules/packing.h"

#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <random>

#include "vm/binding/panel_reader.h"

namespace tvmvm::tensor {
namespace {

ir::TensorData Numbered(const std::vector<int64_t>& dims) {
  const int64_t count = std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<>());
  std::vector<int32_t> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 1);
  return ir::TensorData::FromVector(DType::kI32, dims, numbers);
}

// The data, out of its panels.
std::vector<int32_t> ReadBack(const ir::TensorData& data, const OperandAxes& axes, int64_t panels) {
  const ir::TensorData packed = PackPanels(data, axes, panels);
  Program program;
  program.constants.push_back({"packed", packed.dtype, packed.dims, packed.bytes, {}, {}});
  PanelPlace place = PlaceInPanels(data.dims, axes, panels);
  place.constant = ConstantId{0};
  program.constants.push_back({"data", data.dtype, data.dims, {}, {}, std::move(place)});
  PanelReader reader(program, program.constants[1]);
  std::vector<std::byte> found(data.bytes.size());
  EXPECT_EQ(static_cast<size_t>(reader.rows() * reader.row_bytes()), found.size());
  for (int64_t row = 0; row < reader.rows(); ++row)
    reader.ReadRow(row, found.data() + row * reader.row_bytes());
  std::vector<int32_t> numbers(found.size() / sizeof(int32_t));
  std::memcpy(numbers.data(), found.data(), found.size());
  return numbers;
}

TEST(Packing, ElementsAreReadBack) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    SCOPED_TRACE(round);
    std::vector<int64_t> dims(1 + random() % 5), order(dims.size());
    for (int64_t& dim : dims) dim = 1 + static_cast<int64_t>(random() % 9) * (random() % 4 == 0 ? 5 : 1);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    OperandAxes axes;
    int64_t columns = 1;
    for (int64_t axis : order) {
      const auto part = random() % 3;
      (part == 0 ? axes.batch : part == 1 ? axes.depth : axes.free).push_back(axis);
      if (part == 2) columns *= dims[static_cast<size_t>(axis)];
    }
    const int64_t panels = (columns + kPanelColumns - 1) / kPanelColumns + static_cast<int64_t>(random() % 3);
    const ir::TensorData data = Numbered(dims);
    std::vector<int32_t> wanted(static_cast<size_t>(data.element_count()));
    std::iota(wanted.begin(), wanted.end(), 1);
    ASSERT_EQ(ReadBack(data, axes, panels), wanted);
  }
}

}  // namespace
}  // namespace tvmvm::tensor
