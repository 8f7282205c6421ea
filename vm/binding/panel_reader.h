// A constant that stands in the panels of another one, row by row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tvm-vm/program.h"

namespace tvmvm {

// Of a constant on a device.
int64_t BytesOf(const ConstantSpec& constant);

// Holds references to the program's tables. The constant has a place, which the verifier accepted.
class PanelReader {
 public:
  PanelReader(const Program& program, const ConstantSpec& constant);

  // Rows lie along the innermost axis of the place.
  int64_t rows() const { return rows_; }
  int64_t row_bytes() const { return inner_.extent * element_bytes_; }
  // The next row, row_bytes() of it. To be called rows() times at most.
  void ReadRow(std::byte* out);

 private:
  const PanelPlace& place_;
  const std::byte* panels_;
  int64_t element_bytes_, rows_ = 1;
  PanelPlace::Axis inner_;
  std::vector<int64_t> at_;  // indices of the outer axes
  int64_t first_ = 0, column_ = 0;
};

}  // namespace tvmvm
