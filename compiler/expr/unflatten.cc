#include "compiler/expr/unflatten.h"

namespace tvmvm::tensor {

std::vector<Expr> Unflatten(const Expr& flat, const ir::Dims& dims) {
  std::vector<Expr> index(dims.size(), IntConstant(0));
  std::vector<size_t> axes;
  for (size_t axis = 0; axis < dims.size(); ++axis)
    if (!dims[axis].IsConstant(1)) axes.push_back(axis);
  Expr rest = flat;
  for (size_t i = axes.size(); i-- > 0;) {
    Expr size = DimValue(dims[axes[i]]);
    index[axes[i]] = i == 0 ? rest : FloorMod(rest, size);
    if (i > 0) rest = FloorDiv(rest, size);
  }
  return index;
}

}  // namespace tvmvm::tensor
