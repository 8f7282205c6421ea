// Arrays of Python as Tensors that share their memory, and Tensors as arrays of Python.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "tvm-vm/tensor.h"

namespace tvmvm::python {

// What a call holds of its caller's objects until it ends. Belongs to who holds the interpreter's lock.
class Borrowings {
 public:
  Borrowings() = default;
  Borrowings(const Borrowings&) = delete;
  Borrowings& operator=(const Borrowings&) = delete;
  ~Borrowings() { Release(); }

  // A view that Release gives back; null, without an exception set, where the object has none of that kind.
  const Py_buffer* Buffer(nanobind::handle object, int flags);
  void Keep(nanobind::object object) { objects_.push_back(std::move(object)); }
  void Release();

  bool saw_torch = false;  // one of the objects was a tensor of torch

 private:
  std::vector<Py_buffer> buffers_;
  std::vector<nanobind::object> objects_;
};

// What a call gives its results as.
enum class ResultKind {
  kAuto,  // torch tensors where an input is one, else NumPy's arrays, and Tensors where there is no NumPy
  kNumPy,
  kTorch,
  kTensor,
};

// The object's memory as a tensor, for as long as `borrowings` hold it. What cannot be shared is copied:
// strided or misaligned arrays, strings, types that NumPy keeps otherwise, lists and numbers. `wanted` is the
// element type of what has none of its own. Raises InvalidArgument, TypeError.
Tensor InputTensor(nanobind::handle object, DType wanted, Borrowings& borrowings);
// The same for memory that a run writes: nothing is copied, what cannot be shared is an error.
Tensor OutputTensor(nanobind::handle object, Borrowings& borrowings);
// Shares the object's memory and keeps the object alive.
Tensor OwningTensor(nanobind::handle object, DType wanted);

// `kind` is not kAuto. Memory is shared but for strings and types of less than a byte.
nanobind::object ArrayOf(Tensor tensor, ResultKind kind);
nanobind::object NumPyArrayOf(Tensor tensor);

nanobind::object ShapeTuple(const Shape& shape);
// A DLPack capsule that shares the memory. Raises Unsupported for types that DLPack lacks.
nanobind::object CapsuleOf(const Tensor& tensor);

void AddTensorClass(nanobind::module_& module);

}  // namespace tvmvm::python
