// What asks for shapes or changes them without moving an element.
#include <fmt/core.h>

#include <algorithm>

#include "compiler/graph/core_op.h"
#include "compiler/onnx/ops/onnx_axes.h"
#include "compiler/onnx/ops/onnx_control.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

void Identity(OnnxContext& c) { c.Out(0, c.in(0)); }

void Shape(OnnxContext& c) {
  OpBuilder& b = c.b;
  const Dims& dims = b.dims(c.in(0));
  auto rank = static_cast<int64_t>(dims.size());
  auto clamp = [rank](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank); };
  int64_t start = clamp(c.Int("start", 0));
  int64_t end = std::max(start, clamp(c.Int("end", rank)));
  c.Out(0, b.DimsTensor(Dims(dims.begin() + start, dims.begin() + end)));
}

void Size(OnnxContext& c) { c.Out(0, c.b.DimScalar(Product(c.b.dims(c.in(0))))); }

bool MayBeNegative(OpBuilder& b, const Dim& dim) { return RangeOf(dim, b.module().Ranges()).low < 0; }

// a / b for products of dims, where common factors cancel: a reshape that keeps a symbolic axis stays free of
// divisions.
Dim Quotient(Dims numerator, Dims denominator) {
  int64_t above = 1;
  int64_t below = 1;
  auto take_constants = [](Dims& dims, int64_t* product) {
    std::erase_if(dims, [&](const Dim& dim) {
      auto known = dim.constant();
      return known.has_value() && !__builtin_mul_overflow(*product, *known, product);
    });
  };
  for (auto factor = denominator.begin(); factor != denominator.end();) {
    auto same = std::find(numerator.begin(), numerator.end(), *factor);
    if (same == numerator.end()) {
      ++factor;
      continue;
    }
    numerator.erase(same);
    factor = denominator.erase(factor);
  }
  take_constants(numerator, &above);
  take_constants(denominator, &below);
  if (below > 0 && above % below == 0) {
    above /= below;
    below = 1;
  }
  Dim divisor = Dim(below) * Product(denominator);
  Dim dividend = Dim(above) * Product(numerator);
  if (divisor.IsConstant(1)) return dividend;
  return FloorDiv(dividend, divisor.is_constant() && divisor.value() > 0 ? divisor : Max(divisor, 1));
}

// Target dims of a reshape: 0 keeps the input's dimension (unless allow_zero), -1 is what is left. An element
// that is known only at run time may be either; one that comes from shapes is a size.
Dims ReshapeDims(OnnxContext& c, const Dims& from, const Dims& wanted, bool allow_zero) {
  OpBuilder& b = c.b;
  auto has = [&wanted](int64_t size) {
    return std::ranges::any_of(wanted, [&](const Dim& d) { return d.IsConstant(size); });
  };
  if (allow_zero && has(0) && has(-1)) {
    b.Fail(Code::kInvalidArgument, "the shape has an element -1 beside one that is 0");
    return {};
  }
  Dims result;
  std::optional<size_t> inferred;
  bool dynamic = false;
  for (size_t i = 0; i < wanted.size(); ++i) {
    Dim size = wanted[i];
    if (auto known = size.constant()) {
      if (*known == 0 && !allow_zero) {
        if (i >= from.size()) {
          b.Fail(Code::kInvalidArgument,
                 fmt::format("element {} of the shape is 0, the input has rank {}", i, from.size()));
          return {};
        }
        size = from[i];
      } else if (*known == -1) {
        if (inferred.has_value()) {
          b.Fail(Code::kInvalidArgument, "the shape has two elements -1");
          return {};
        }
        inferred = i;
      } else if (*known < 0) {
        b.Fail(Code::kInvalidArgument, fmt::format("the shape has the element {}", *known));
        return {};
      }
    } else if (MayBeNegative(b, size)) {
      dynamic = true;
      if (!allow_zero && i < from.size()) size = Select(Equal(size, 0), from[i], size);
    }
    result.push_back(size);
  }
  if (!dynamic && !inferred.has_value()) return result;
  if (!dynamic) {
    Dims others = result;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(*inferred));
    result[*inferred] = Quotient(from, others);
    return result;
  }
  Dim known = 1, unknown = 0;
  for (const Dim& size : result) {
    b.Require(LessEqual(-1, size), "the shape has the element {0}", {size});
    known = known * Select(Equal(size, -1), 1, size);
    unknown = unknown + Equal(size, -1);
  }
  b.Require(LessEqual(unknown, 1), "the shape has {0} elements -1", {unknown});
  b.Require(Or(Equal(unknown, 0), NotEqual(known, 0)), "the shape has an element -1 beside one that is 0",
            {});
  Dim rest = FloorDiv(Product(from), Max(known, 1));
  for (Dim& size : result) size = Select(Equal(size, -1), rest, size);
  return result;
}

void Reshape(OnnxContext& c) {
  OpBuilder& b = c.b;
  Dims wanted = c.version < 5 ? DimsOf(c.Ints("shape")) : b.ReadDims(c.in(1));
  if (b.failed()) return;
  Dims dims = ReshapeDims(c, b.dims(c.in(0)), wanted, c.Int("allowzero", 0) != 0);
  if (!b.failed()) c.Out(0, b.Reshape(c.in(0), dims));
}

void Flatten(OnnxContext& c) {
  OpBuilder& b = c.b;
  Dims dims = b.dims(c.in(0));
  auto rank = static_cast<int64_t>(dims.size());
  int64_t axis = c.Int("axis", 1);
  if (axis < 0) axis += rank;
  if (axis < 0 || axis > rank) {
    b.Fail(Code::kInvalidArgument, fmt::format("axis {} is outside [-{}, {}]", c.Int("axis", 1), rank, rank));
    return;
  }
  Dim outer = Product(Dims(dims.begin(), dims.begin() + axis));
  Dim inner = Product(Dims(dims.begin() + axis, dims.end()));
  c.Out(0, b.Reshape(c.in(0), {outer, inner}));
}

// Takes the axes of size 1 from `axis` on away; `kept` are the dims before it that stay. Where only running
// tells whether a size is 1 there is a branch for both: the rank of the result depends on it.
ValueId SqueezeOnes(OnnxContext& c, size_t axis, Dims kept) {
  OpBuilder& b = c.b;
  const Dims dims = b.dims(c.in(0));
  RangeLookup ranges = b.module().Ranges();
  for (; axis < dims.size(); ++axis) {
    DimRange range = RangeOf(dims[axis], ranges);
    if (range.low == 1 && range.high == 1) continue;
    bool may_be_one = range.low <= 1 && 1 <= range.high;
    Dims longer = kept;
    longer.push_back(dims[axis]);
    if (may_be_one) {
      auto go_on = [&](const Dims& so_far) -> Expected<std::vector<ValueId>> {
        return std::vector{SqueezeOnes(c, axis + 1, so_far)};
      };
      std::vector<ValueId> results = BuildIf(
          b, Equal(dims[axis], 1), [&] { return go_on(kept); }, [&] { return go_on(longer); });
      return results.empty() ? c.in(0) : results[0];
    }
    kept = std::move(longer);
  }
  return b.Reshape(c.in(0), kept);
}

void RequireOnes(OpBuilder& b, const Dims& dims, const Dims& flags) {
  for (size_t axis = 0; axis < flags.size(); ++axis)
    b.Require(Or(Not(flags[axis]), Equal(dims[axis], 1)),
              fmt::format("axis {} has size {{0}}, only one of size 1 can go", axis), {dims[axis]});
}

void RequireDifferent(OpBuilder& b, const Dims& flags, size_t count) {
  Dim found = CountOf(flags);
  b.Require(Equal(found, static_cast<int64_t>(count)),
            fmt::format("{{0}} different ones among {} axes", count), {found});
}

// Without axes every axis of size 1 goes.
void Squeeze(OnnxContext& c) {
  OpBuilder& b = c.b;
  Dims dims = b.dims(c.in(0));
  bool is_any = IsListOfAnyLength(c, 1);
  auto axes = is_any ? std::optional(Dims()) : ReadAxes(c, 1);
  if (b.failed()) return;
  if (!axes.has_value()) return c.Out(0, SqueezeOnes(c, 0, {}));
  int rank = static_cast<int>(dims.size());
  Dims flags = is_any ? FlagsOfList(c, c.in(1), rank, 0) : AxisFlags(c, *axes, rank);
  RequireOnes(b, dims, flags);
  if (b.failed()) return;
  if (is_any || ConstantFlags(flags).has_value()) return c.Out(0, DropAxes(c, c.in(0), flags));
  RequireDifferent(b, flags, axes->size());
  c.Out(0, b.Reshape(c.in(0), KeptDims(dims, flags, rank - static_cast<int>(axes->size()))));
}

void Unsqueeze(OnnxContext& c) {
  OpBuilder& b = c.b;
  auto axes = ReadAxes(c, 1);
  if (b.failed()) return;
  if (!axes.has_value()) {
    b.Fail(Code::kInvalidArgument, "the axes are missing");
    return;
  }
  Dims dims = b.dims(c.in(0));
  int rank = static_cast<int>(dims.size() + axes->size());
  Dims flags = AxisFlags(c, *axes, rank);
  if (b.failed()) return;
  if (auto known = ConstantFlags(flags)) {
    if (known->size() != axes->size()) {
      b.Fail(Code::kInvalidArgument, "an axis is given twice");
      return;
    }
    return c.Out(0, b.Unsqueeze(c.in(0), *known));
  }
  RequireDifferent(b, flags, axes->size());
  Dims result;
  Dim before = 0;  // number of the input's axes so far
  for (int i = 0; i < rank; ++i) {
    Dim size = 1;
    for (size_t from = 0; from < dims.size(); ++from)
      size = Select(And(Not(flags[static_cast<size_t>(i)]), Equal(before, static_cast<int64_t>(from))),
                    dims[from], size);
    result.push_back(size);
    before = before + Not(flags[static_cast<size_t>(i)]);
  }
  c.Out(0, b.Reshape(c.in(0), result));
}

// Each size that is wanted is the axis's own, or 1, or any where the axis has size 1 or is not there.
void RequireExpands(OpBuilder& b, const Dims& dims, const Dims& wanted) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Dim& size = wanted[wanted.size() - 1 - i];
    b.Require(LessEqual(0, size), fmt::format("element {} of the shape is {{0}}", wanted.size() - 1 - i),
              {size});
    if (i >= dims.size()) continue;
    const Dim& dim = dims[dims.size() - 1 - i];
    b.Require(Or(Or(Equal(size, dim), Equal(size, 1)), Equal(dim, 1)),
              fmt::format("element {} of the shape is {{0}}, the axis has size {{1}}", wanted.size() - 1 - i),
              {size, dim});
  }
}

void Expand(OnnxContext& c) {
  OpBuilder& b = c.b;
  Dims wanted = b.ReadDims(c.in(1));
  RequireExpands(b, b.dims(c.in(0)), wanted);
  if (b.failed()) return;
  auto dims = BroadcastDims(b.dims(c.in(0)), wanted);
  if (!dims) {
    b.Fail(dims.error().code, dims.error().message);
    return;
  }
  c.Out(0, b.Expand(c.in(0), *dims));
}

constexpr OnnxOp kRows[] = {
    {"", "Identity", 1, kLatest, 1, 1, "", Identity, kAnyValue},
    // Between a GPU and the host, in models that ONNX Runtime wrote.
    {"", "MemcpyFromHost", 1, kLatest, 1, 1, "", Identity, kAnyValue},
    {"", "MemcpyToHost", 1, kLatest, 1, 1, "", Identity, kAnyValue},
    {"", "Shape", 1, kLatest, 1, 1, "start end", Shape, kAllTypes},
    {"", "Size", 1, kLatest, 1, 1, "", Size, kAllTypes},
    {"", "Reshape", 1, 4, 1, 1, "shape", Reshape, kAllTypes, StringUse::kMoved},
    {"", "Reshape", 5, kLatest, 2, 2, "allowzero", Reshape, kAllTypes, StringUse::kMoved},
    {"", "Flatten", 1, kLatest, 1, 1, "axis", Flatten, kAllTypes, StringUse::kMoved},
    {"", "Squeeze", 1, 12, 1, 1, "axes", Squeeze, kAllTypes, StringUse::kMoved},
    {"", "Squeeze", 13, kLatest, 1, 2, "", Squeeze, kAllTypes, StringUse::kMoved},
    {"", "Unsqueeze", 1, 12, 1, 1, "axes", Unsqueeze, kAllTypes, StringUse::kMoved},
    {"", "Unsqueeze", 13, kLatest, 2, 2, "", Unsqueeze, kAllTypes, StringUse::kMoved},
    {"", "Expand", 8, kLatest, 2, 2, "", Expand, kAllTypes, StringUse::kMoved},
};

}  // namespace

std::span<const OnnxOp> OnnxShapeRows() { return kRows; }

}  // namespace tvmvm::ir
