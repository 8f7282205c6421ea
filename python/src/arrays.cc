#include "arrays.h"

#include <dlpack/dlpack.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "element_types.h"
#include "errors.h"
#include "exchange.h"
#include "sub_byte.h"

namespace nb = nanobind;

namespace tvmvm::python {

const Py_buffer* Borrowings::Buffer(nb::handle object, int flags) {
  Py_buffer& buffer = buffers_.emplace_back();
  if (PyObject_GetBuffer(object.ptr(), &buffer, flags) == 0) return &buffer;
  buffers_.pop_back();
  PyErr_Clear();
  return nullptr;
}

void Borrowings::Release() {
  for (Py_buffer& buffer : buffers_) PyBuffer_Release(&buffer);
  buffers_.clear();
  objects_.clear();
  saw_torch = false;
}

namespace {

std::string TypeNameOf(nb::handle object) {
  return nb::cast<std::string>(
      nb::handle(reinterpret_cast<PyObject*>(Py_TYPE(object.ptr()))).attr("__name__"));
}

bool IsNumPyArray(nb::handle object) {
  if (NumPy() == nullptr) return false;
  static const nb::handle type = nb::object(NumPy()->attr("ndarray")).release();
  return PyObject_IsInstance(object.ptr(), type.ptr()) == 1;
}

bool IsAligned(const void* data, DType dtype) {
  return reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(ElementAlignment(dtype)) == 0;
}

Shape ShapeOf(const Py_buffer& buffer) {
  if (buffer.ndim > kMaxRank)
    RaiseInvalid("an array of rank " + std::to_string(buffer.ndim) + ", at most " + std::to_string(kMaxRank) +
                 " is possible");
  Shape shape;
  for (int axis = 0; axis < buffer.ndim; ++axis) shape.push_back(buffer.shape[axis]);
  return shape;
}

// A tensor without owner; an empty handle where the object's memory is not dense, native and aligned. `as`:
// the type of the elements where the buffer says another one of the same size.
Tensor FromBuffer(nb::handle object, int flags, DType as, Borrowings& borrowings) {
  const Py_buffer* buffer = borrowings.Buffer(object, flags | PyBUF_FORMAT | PyBUF_C_CONTIGUOUS);
  if (buffer == nullptr) return {};
  const std::optional<DType> dtype =
      as != DType::kInvalid ? as : DTypeFromBufferFormat(buffer->format, buffer->itemsize);
  if (!dtype || !IsAligned(buffer->buf, *dtype)) return {};
  return Tensor::Borrow(*dtype, ShapeOf(*buffer), buffer->buf);
}

std::string TextOf(nb::handle text) {
  if (PyUnicode_Check(text.ptr())) return nb::cast<std::string>(text);
  if (nb::isinstance<nb::bytes>(text)) {
    nb::bytes bytes = nb::borrow<nb::bytes>(text);
    return {bytes.c_str(), bytes.size()};
  }
  RaiseInvalid("an array of strings has an element of type " + TypeNameOf(text));
}

Tensor FromStrings(nb::handle object) {
  if (PyUnicode_Check(object.ptr()) || nb::isinstance<nb::bytes>(object))
    return Tensor::FromStrings(Shape{}, {TextOf(object)});
  if (NumPy() == nullptr) {  // lists, flat
    std::vector<std::string> strings;
    for (nb::handle element : nb::borrow<nb::iterable>(object)) strings.push_back(TextOf(element));
    return Tensor::FromStrings(Shape{static_cast<int64_t>(strings.size())}, strings);
  }
  nb::object array = NumPy()->attr("asarray")(object);
  const std::string kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
  if (kind.find_first_of("OSUT") != 0 && nb::cast<int64_t>(array.attr("size")) > 0)
    RaiseInvalid("element type " + nb::cast<std::string>(array.attr("dtype").attr("name")) +
                 " given, strings are wanted");
  Shape shape;
  for (nb::handle dim : nb::borrow<nb::tuple>(array.attr("shape"))) shape.push_back(nb::cast<int64_t>(dim));
  std::vector<std::string> strings;
  for (nb::handle element : nb::borrow<nb::list>(array.attr("ravel")().attr("tolist")()))
    strings.push_back(TextOf(element));
  return Tensor::FromStrings(shape, std::move(strings));
}

// Arrays whose memory no buffer shows as it is: types of ml_dtypes, foreign byte order, strides, strings.
Tensor FromNumPy(nb::object array, bool is_written, Borrowings& borrowings) {
  const std::optional<DType> dtype = DTypeFromNumPy(array.attr("dtype"));
  if (!dtype)
    RaiseInvalid("arrays of " + nb::cast<std::string>(array.attr("dtype").attr("name")) + " are not taken");
  if (is_written && (*dtype == DType::kString || IsSubByte(*dtype)))
    Raise({Code::kUnsupported,
           std::string("memory for an output of ") + PythonName(*dtype) + ": NumPy keeps it otherwise"});
  if (*dtype == DType::kString) return FromStrings(array);
  if (!is_written) array = NumPy()->attr("require")(array, NumPyType(*dtype), "CA");
  const bool is_native = BufferFormat(*dtype) != nullptr;
  nb::object plain = is_native ? array : array.attr("view")(DTypeBits(*dtype) == 16 ? "uint16" : "uint8");
  const int flags = is_written ? PyBUF_WRITABLE : 0;
  Tensor tensor = FromBuffer(plain, flags, is_native ? DType::kInvalid : *dtype, borrowings);
  if (tensor.empty_handle() || tensor.dtype() != *dtype)
    RaiseInvalid("memory that a run writes is a writable, contiguous, aligned array in native byte order");
  return IsSubByte(*dtype) ? PackSubBytes(tensor) : tensor;
}

// Gives the capsule's tensor a second owner: the first is done with it.
Expected<Tensor> TakeCapsule(nb::handle capsule) {
  auto* managed = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (managed == nullptr) throw nb::python_error();
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  return Tensor::FromDLPack(managed);
}

// torch's types of a byte that DLPack has no number for, or one that is too new.
std::optional<DType> TorchByteType(nb::handle type) {
  static const auto* types = [] {
    auto* found = new std::vector<std::pair<nb::handle, DType>>;  // as long as the process lives
    const nb::object torch = nb::module_::import_("torch");
    for (int i = 1; i < kDTypeCount; ++i) {
      const auto dtype = static_cast<DType>(i);
      if (DTypeBits(dtype) == 8 && IsFloat(dtype) && nb::hasattr(torch, PythonName(dtype)))
        found->emplace_back(nb::object(torch.attr(PythonName(dtype))).release(), dtype);
    }
    return found;
  }();
  for (const auto& [torch_type, dtype] : *types)
    if (torch_type.is(type)) return dtype;
  return std::nullopt;
}

Tensor FromTorch(nb::object object, bool is_written) {
  if (nb::object(object.attr("requires_grad")).is(nb::handle(Py_True))) object = object.attr("detach")();
  if (!is_written && nb::cast<bool>(object.attr("is_neg")())) object = object.attr("resolve_neg")();
  if (!is_written && nb::cast<bool>(object.attr("is_conj")())) object = object.attr("resolve_conj")();
  const std::optional<DType> byte_type = TorchByteType(nb::object(object.attr("dtype")));
  if (byte_type) object = object.attr("view")(nb::module_::import_("torch").attr("uint8"));
  Expected<Tensor> tensor = TakeCapsule(object.attr("__dlpack__")());
  if (!tensor && !is_written && !nb::cast<bool>(object.attr("is_contiguous")()))
    tensor = TakeCapsule(object.attr("contiguous")().attr("__dlpack__")());
  if (!tensor) Raise(tensor.error());
  return byte_type ? Tensor::Share(*byte_type, tensor->shape(), tensor->data(), tensor->owner())
                   : *std::move(tensor);
}

// The object's memory without a capsule, which `borrowings` keep; an empty handle where that takes more.
Tensor FromExchange(nb::handle object, const ExchangeApi& api, Borrowings& borrowings) {
  DLManagedTensor managed{};
  managed.deleter = [](DLManagedTensor*) {};
  if (api.view_of_object(object.ptr(), &managed.dl_tensor) != 0) {
    PyErr_Clear();
    return {};
  }
  if (managed.dl_tensor.dtype.code == kDLComplex) return {};  // torch may owe a conjugation
  const Expected<Tensor> tensor = Tensor::FromDLPack(&managed);
  if (!tensor || (tensor->data() == nullptr && tensor->element_count() > 0)) return {};
  borrowings.Keep(nb::borrow(object));
  return Tensor::Borrow(tensor->dtype(), tensor->shape(), const_cast<void*>(tensor->data()));
}

Tensor FromDLPack(nb::handle object, bool is_written, Borrowings& borrowings) {
  const ArrayClass& about = ClassOfArray(object.type());
  if (about.is_torch) borrowings.saw_torch = true;
  // A negation that torch owes is not in the memory.
  const bool is_plain = !about.is_torch || nb::object(object.attr("is_neg")()).is(nb::handle(Py_False));
  if (is_plain && about.api != nullptr && about.api->view_of_object != nullptr) {
    Tensor tensor = FromExchange(object, *about.api, borrowings);
    if (!tensor.empty_handle()) return tensor;
  }
  if (about.is_torch) return FromTorch(nb::borrow(object), is_written);
  Expected<Tensor> tensor = TakeCapsule(object.attr("__dlpack__")());
  if (tensor || is_written || NumPy() == nullptr) return OrRaise(std::move(tensor));
  return FromNumPy(NumPy()->attr("from_dlpack")(object), is_written, borrowings);
}

Tensor FromObject(nb::handle object, DType wanted, bool is_written, Borrowings& borrowings) {
  if (nb::isinstance<Tensor>(object)) return nb::cast<const Tensor&>(object);
  const bool has_format = wanted == DType::kInvalid || BufferFormat(wanted) != nullptr;
  if (has_format && PyObject_CheckBuffer(object.ptr())) {
    Tensor tensor = FromBuffer(object, is_written ? PyBUF_WRITABLE : 0, DType::kInvalid, borrowings);
    if (!tensor.empty_handle()) [[likely]]
      return tensor;
  }
  if (IsNumPyArray(object)) return FromNumPy(nb::borrow(object), is_written, borrowings);
  if (nb::hasattr(object, "__dlpack__")) return FromDLPack(object, is_written, borrowings);
  if (is_written) RaiseType("an output's memory is an array, not " + TypeNameOf(object));
  if (wanted == DType::kString) return FromStrings(object);
  if (NumPy() == nullptr || wanted == DType::kInvalid)
    RaiseType("an array is wanted, not " + TypeNameOf(object));
  nb::object array;
  if (nb::hasattr(object, "__array__"))
    array = NumPy()->attr("asarray")(object);
  else
    array = NumPy()->attr("asarray")(object, NumPyType(wanted));
  borrowings.Keep(array);
  return FromNumPy(array, false, borrowings);
}

// Export to Python: the memory's owner is an object of the Tensor class.
nb::object NumPyStrings(const Tensor& tensor) {
  nb::list strings;
  for (const std::string& text : tensor.strings()) {
    PyObject* decoded =
        PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "surrogateescape");
    if (decoded == nullptr) throw nb::python_error();
    strings.append(nb::steal(decoded));
  }
  nb::object array = NumPy()->attr("empty")(strings.size(), NumPyType(DType::kString));
  array[nb::slice(nb::none(), nb::none(), nb::none())] = strings;
  return array.attr("reshape")(ShapeTuple(tensor.shape()));
}

// An object of the class that the functions are of, which shares the memory.
nb::object ToExchange(const Tensor& tensor, const ExchangeApi& api) {
  DLManagedTensor* managed = OrRaise(tensor.ToDLPack());
  auto* versioned = new ManagedTensor1{};
  versioned->version = {1, 0};
  versioned->manager_ctx = managed;
  versioned->dl_tensor = managed->dl_tensor;
  versioned->deleter = [](ManagedTensor1* self) {
    auto* inner = static_cast<DLManagedTensor*>(self->manager_ctx);
    inner->deleter(inner);
    delete self;
  };
  void* object = nullptr;
  if (api.managed_to_object(versioned, &object) != 0) throw nb::python_error();
  return nb::steal(static_cast<PyObject*>(object));
}

nb::object TorchTensorOf(Tensor tensor) {
  static const nb::handle torch = nb::object(nb::module_::import_("torch")).release();
  static const nb::handle from_dlpack = nb::object(torch.attr("from_dlpack")).release();
  const DType dtype = tensor.dtype();
  const bool is_byte_float = IsFloat(dtype) && DTypeBits(dtype) == 8;
  if (is_byte_float) tensor = Tensor::Share(DType::kU8, tensor.shape(), tensor.data(), tensor.owner());
  static const ArrayClass about = ClassOfArray(nb::object(torch.attr("Tensor")));
  nb::object result = about.api ? ToExchange(tensor, *about.api) : from_dlpack(CapsuleOf(tensor));
  return is_byte_float ? nb::object(result.attr("view")(torch.attr(PythonName(dtype)))) : result;
}

}  // namespace

Tensor InputTensor(nb::handle object, DType wanted, Borrowings& borrowings) {
  return FromObject(object, wanted, false, borrowings);
}

Tensor OutputTensor(nb::handle object, Borrowings& borrowings) {
  return FromObject(object, DType::kInvalid, true, borrowings);
}

Tensor OwningTensor(nb::handle object, DType wanted) {
  auto borrowings = std::make_unique<Borrowings>();
  Tensor tensor = InputTensor(object, wanted, *borrowings);
  if (tensor.owner() || tensor.dtype() == DType::kString || tensor.device()) return tensor;
  std::shared_ptr<void> owner(borrowings.release(), [](void* held) {
    nb::gil_scoped_acquire lock;
    delete static_cast<Borrowings*>(held);
  });
  return Tensor::Share(tensor.dtype(), tensor.shape(), tensor.data(), std::move(owner));
}

nb::object ShapeTuple(const Shape& shape) {
  PyObject* tuple = PyTuple_New(shape.rank());
  if (tuple == nullptr) throw nb::python_error();
  nb::object owner = nb::steal(tuple);
  for (int axis = 0; axis < shape.rank(); ++axis) {
    PyObject* dim = PyLong_FromLongLong(shape[axis]);
    if (dim == nullptr || PyTuple_SetItem(tuple, axis, dim) != 0) throw nb::python_error();
  }
  return owner;
}

nb::object CapsuleOf(const Tensor& tensor) {
  DLManagedTensor* managed = OrRaise(tensor.ToDLPack());
  PyObject* capsule = PyCapsule_New(managed, "dltensor", [](PyObject* self) {
    if (PyCapsule_IsValid(self, "dltensor") == 0) return;  // taken
    auto* unused = static_cast<DLManagedTensor*>(PyCapsule_GetPointer(self, "dltensor"));
    unused->deleter(unused);
  });
  if (capsule == nullptr) {
    managed->deleter(managed);
    throw nb::python_error();
  }
  return nb::steal(capsule);
}

nb::object NumPyArrayOf(Tensor tensor) {
  if (NumPy() == nullptr) Raise({Code::kUnsupported, "NumPy is not installed"});
  if (tensor.device()) tensor = OrRaise(tensor.CopyTo(nullptr));
  const DType dtype = tensor.dtype();
  if (dtype == DType::kString) return NumPyStrings(tensor);
  if (IsSubByte(dtype)) tensor = OrRaise(UnpackSubBytes(tensor));
  static const nb::handle make_array = nb::object(NumPy()->attr("ndarray")).release();
  nb::object shape = ShapeTuple(tensor.shape());
  nb::object memory = nb::cast(std::move(tensor));
  PyObject* arguments[] = {shape.ptr(), NumPyType(dtype).ptr(), memory.ptr()};
  PyObject* array = PyObject_Vectorcall(make_array.ptr(), arguments, 3, nullptr);
  if (array == nullptr) throw nb::python_error();
  return nb::steal(array);
}

nb::object ArrayOf(Tensor tensor, ResultKind kind) {
  switch (kind) {
    case ResultKind::kNumPy:
      return NumPyArrayOf(std::move(tensor));
    case ResultKind::kTorch:
      if (IsSubByte(tensor.dtype()) || tensor.dtype() == DType::kString)  // which torch has not
        return NumPyArrayOf(std::move(tensor));
      return TorchTensorOf(std::move(tensor));
    default:
      return nb::cast(std::move(tensor));
  }
}

}  // namespace tvmvm::python
