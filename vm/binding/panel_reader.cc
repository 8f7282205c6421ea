#include "vm/binding/panel_reader.h"

#include <cstring>

#include "tvm-vm/shape.h"

namespace tvmvm {

int64_t BytesOf(const ConstantSpec& constant) {
  return constant.has_place() ? DTypeBytes(constant.dtype, Shape(constant.dims).ElementCount().value_or(0))
                              : static_cast<int64_t>(constant.bytes.size());
}

PanelReader::PanelReader(const Program& program, const ConstantSpec& constant)
    : place_(constant.place),
      panels_(program.constants[place_.constant.index].bytes.data()),
      element_bytes_(DTypeBytes(constant.dtype, 1)) {
  for (size_t k = 0; k < place_.axes(); ++k) {
    rows_ *= inner_.extent;
    inner_ = place_.axis(k);
  }
}

void PanelReader::ReadRow(int64_t row, std::byte* out) const {
  int64_t first = 0, column = 0;
  for (size_t k = place_.axes(); k-- > 1;) {
    const PanelPlace::Axis outer = place_.axis(k - 1);
    (outer.is_columns ? column : first) += row % outer.extent * outer.step;
    row /= outer.extent;
  }
  int64_t& moves = inner_.is_columns ? column : first;
  for (int64_t i = 0; i < inner_.extent; ++i, moves += inner_.step, out += element_bytes_) {
    const int64_t element =
        first + column / PanelPlace::kColumns * place_.panel + column % PanelPlace::kColumns;
    if (element_bytes_ == 4)
      std::memcpy(out, panels_ + element * 4, 4);
    else
      std::memcpy(out, panels_ + element * element_bytes_, static_cast<size_t>(element_bytes_));
  }
}

}  // namespace tvmvm
