// The two forms in which a caller gives inputs and takes outputs, seen as one: tensors, or values.
#pragma once

#include <span>
#include <utility>

#include "tvm-vm/value.h"

namespace tvmvm {

// Inputs of a call. Borrows what the caller has.
class Arguments {
 public:
  Arguments(std::span<const Tensor> tensors) : tensors_(tensors) {}                 // NOLINT: a view
  Arguments(std::span<const Value> values) : values_(values), are_values_(true) {}  // NOLINT: a view

  size_t size() const { return are_values_ ? values_.size() : tensors_.size(); }
  // Null for what is no tensor.
  const Tensor* tensor(size_t number) const {
    if (are_values_) return values_[number].is_tensor() ? &values_[number].tensor() : nullptr;
    return tensors_[number].empty_handle() ? nullptr : &tensors_[number];
  }
  // Null where tensors were given.
  const Value* value(size_t number) const { return are_values_ ? &values_[number] : nullptr; }

 private:
  std::span<const Tensor> tensors_;
  std::span<const Value> values_;
  bool are_values_ = false;
};

// Places for the outputs of a call.
class Results {
 public:
  Results(std::span<Tensor> tensors) : tensors_(tensors) {}                 // NOLINT: a view
  Results(std::span<Value> values) : values_(values), are_values_(true) {}  // NOLINT: a view

  size_t size() const { return are_values_ ? values_.size() : tensors_.size(); }
  bool are_values() const { return are_values_; }
  // A tensor that lies there already, or null.
  const Tensor* tensor(size_t number) const {
    if (are_values_) return values_[number].is_tensor() ? &values_[number].tensor() : nullptr;
    return tensors_[number].empty_handle() ? nullptr : &tensors_[number];
  }
  // `value` is a tensor or nothing where the places are tensors.
  void Put(size_t number, Value value) {
    if (are_values_)
      values_[number] = std::move(value);
    else
      tensors_[number] = std::move(value.tensor());
  }

 private:
  std::span<Tensor> tensors_;
  std::span<Value> values_;
  bool are_values_ = false;
};

}  // namespace tvmvm
