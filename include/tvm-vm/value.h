// What goes in and out of a program: a tensor, a sequence, an optional, a tuple.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "tvm-vm/export.h"
#include "tvm-vm/program.h"
#include "tvm-vm/tensor.h"

namespace tvmvm {

// Copying a Value shares what it holds. Values hold one another as deep as memory goes: a Value of a million
// tuples, one in the other, is made and dropped without deep recursion.
class TVMVM_EXPORT Value {
 public:
  Value() = default;     // nothing: an optional without element, or "make a new one" for an output
  Value(Tensor tensor);  // NOLINT: a tensor is a value; an empty handle is nothing
  static Value Sequence(std::vector<Value> elements);
  // A constructor of an algebraic data type: `tag` tells which.
  static Value Tuple(int64_t tag, std::vector<Value> fields);

  bool is_none() const { return kind_ == Kind::kNone; }
  bool is_tensor() const { return kind_ == Kind::kTensor; }
  bool is_sequence() const { return kind_ == Kind::kSequence; }
  bool is_tuple() const { return kind_ == Kind::kTuple; }
  std::string_view kind_name() const;               // "nothing", "tensor", "sequence", "tuple"
  const Tensor& tensor() const { return tensor_; }  // is_tensor()
  Tensor& tensor() { return tensor_; }
  const std::vector<Value>& elements() const;  // is_sequence() or is_tuple()
  int64_t tag() const { return tag_; }         // is_tuple()

 private:
  enum class Kind : uint8_t { kNone, kTensor, kSequence, kTuple };
  struct TVMVM_PRIVATE Elements;
  Kind kind_ = Kind::kNone;
  int64_t tag_ = 0;
  Tensor tensor_;
  std::shared_ptr<const Elements> elements_;
};

}  // namespace tvmvm
