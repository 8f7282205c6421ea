// Tensors and attributes of cases in JSON.
#pragma once

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/elements.h"
#include "tests/compiler/onnx/importer/onnx_writer.h"
#include "tvm-vm/vm.h"

namespace tvmvm {

// {"type": "f32", "dims": [2], "values": [1, "nan"]}
inline Tensor TensorOf(const nlohmann::json& text) {
  auto dtype = DTypeFromName(text["type"].get<std::string>());
  std::vector<int64_t> dims = text["dims"];
  auto tensor = Tensor::Allocate(dtype.value_or(DType::kInvalid), Shape(dims));
  EXPECT_TRUE(tensor) << text["type"];
  int64_t index = 0;
  for (const nlohmann::json& value : text["values"]) {
    if (!IsFloat(*dtype))
      cli::WriteInteger(*tensor, index++, value.get<int64_t>());
    else
      cli::WriteFloat(*tensor, index++,
                      value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>());
  }
  EXPECT_EQ(index, tensor->element_count());
  return *tensor;
}

// As ONNX's raw data: floats of six bits lie side by side.
inline std::string BytesOfTensor(const Tensor& tensor) {
  std::string bytes(static_cast<const char*>(tensor.data()), static_cast<size_t>(tensor.byte_count()));
  if (!IsFloat6(tensor.dtype())) return bytes;
  std::string packed(static_cast<size_t>(PackedFloat6Bytes(tensor.element_count())), '\0');
  for (size_t bit = 0; bit < bytes.size() * 6; ++bit)
    if (bytes[bit / 6] >> (bit % 6) & 1)
      packed[bit / 8] = static_cast<char>(packed[bit / 8] | 1 << (bit % 8));
  return packed;
}

inline std::string AttributeOf(const std::string& name, const nlohmann::json& value) {
  if (value.is_number_integer()) return ir::IntAttribute(name, value);
  if (value.is_number_float()) return ir::FloatAttribute(name, value);
  if (value.is_string()) return ir::TextAttribute(name, value);
  if (!value.empty() && value[0].is_string()) return ir::TextsAttribute(name, value);
  if (value.empty() || value[0].is_number_integer()) return ir::IntsAttribute(name, value);
  std::vector<float> numbers = value;
  return ir::Message([&](auto& w) {
    w.add_string(1, name);
    w.add_packed_float(7, numbers.begin(), numbers.end());
    w.add_int32(20, 6);
  });
}

}  // namespace tvmvm
