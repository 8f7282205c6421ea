#include "vm/binding/panel_reader.h"

#include <cstring>

#include "tvm-vm/shape.h"

namespace tvmvm {

int64_t BytesOf(const ConstantSpec& constant) {
  return constant.place ? DTypeBytes(constant.dtype, Shape(constant.dims).ElementCount().value_or(0))
                        : static_cast<int64_t>(constant.bytes.size());
}

PanelReader::PanelReader(const Program& program, const ConstantSpec& constant)
    : place_(*constant.place),
      panels_(program.constants[place_.constant.index].bytes.data()),
      element_bytes_(DTypeBytes(constant.dtype, 1)) {
  if (place_.axes.empty()) return;
  inner_ = place_.axes.back();
  at_.resize(place_.axes.size() - 1);
  for (size_t axis = 0; axis < at_.size(); ++axis) rows_ *= place_.axes[axis].extent;
}

void PanelReader::ReadRow(std::byte* out) {
  int64_t first = first_, column = column_;
  int64_t& moves = inner_.is_columns ? column : first;
  for (int64_t i = 0; i < inner_.extent; ++i, moves += inner_.step, out += element_bytes_) {
    const int64_t element =
        first + column / PanelPlace::kColumns * place_.panel + column % PanelPlace::kColumns;
    if (element_bytes_ == 4)
      std::memcpy(out, panels_ + element * 4, 4);
    else
      std::memcpy(out, panels_ + element * element_bytes_, static_cast<size_t>(element_bytes_));
  }
  for (size_t axis = at_.size(); axis-- > 0;) {
    const auto& [extent, step, is_columns] = place_.axes[axis];
    int64_t& moved = is_columns ? column_ : first_;
    moved += step;
    if (++at_[axis] < extent) return;
    moved -= extent * step;
    at_[axis] = 0;
  }
}

}  // namespace tvmvm
