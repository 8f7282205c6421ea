// Pictures.
#include <fmt/core.h>

#include <algorithm>

#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

void ImageDecoder(OnnxContext& c) {
  constexpr std::string_view kFormats[] = {"RGB", "BGR", "Grayscale"};
  OpBuilder& b = c.b;
  std::string wanted = c.Text("pixel_format", "RGB");
  auto format = std::find(std::begin(kFormats), std::end(kFormats), wanted) - std::begin(kFormats);
  if (format == static_cast<std::ptrdiff_t>(std::size(kFormats))) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("the attribute 'pixel_format' is '{}', RGB, BGR or Grayscale is wanted", wanted));
    return;
  }
  if (b.rank(c.in(0)) != 1 || b.dtype(c.in(0)) != DType::kU8) {
    b.Fail(Code::kInvalidArgument,
           fmt::format("the input is {}, wanted tensor<u8,[n]>", b.type(c.in(0)).ToString()));
    return;
  }
  auto size = [&] { return b.module().FreshSymbol({.range = {1, INT32_MAX}}); };
  Dim height = size(), width = size();
  Type picture = Type::Tensor(DType::kU8, {height, width, wanted == "Grayscale" ? 1 : 3});
  c.Out(0, b.Host(HostFunctionId::kImageDecode, {c.in(0)}, {picture}, {static_cast<int64_t>(format)})[0]);
}

constexpr OnnxOp kRows[] = {
    {"", "ImageDecoder", 20, kLatest, 1, 1, "pixel_format", ImageDecoder, DTypeSet{DType::kU8},
     StringUse::kNative, Runs::kOnHost},
};

}  // namespace

std::span<const OnnxOp> OnnxImageRows() { return kRows; }

}  // namespace tvmvm::ir
