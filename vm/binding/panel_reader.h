// A constant that stands in the panels of another one, row by row.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tvm-vm/program.h"

namespace tvmvm {

// Of a constant on a device.
int64_t BytesOf(const ConstantSpec& constant);

// Looks into the program's tables. The constant has a place, which the verifier accepted.
class PanelReader {
 public:
  PanelReader(const Program& program, const ConstantSpec& constant);

  // Rows lie along the innermost axis of the place.
  int64_t rows() const { return rows_; }
  int64_t row_bytes() const { return inner_.extent * element_bytes_; }
  // row_bytes() of a row.
  void ReadRow(int64_t row, std::byte* out) const;

 private:
  const PanelPlace& place_;
  const std::byte* panels_;
  int64_t element_bytes_, rows_ = 1;
  PanelPlace::Axis inner_{1, 0, false};
};

}  // namespace tvmvm
