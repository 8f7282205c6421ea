// tvm_vm.Tensor: memory of the library's with Python's protocols for arrays.
#include <dlpack/dlpack.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "arrays.h"
#include "devices.h"
#include "element_types.h"
#include "errors.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace tvmvm::python {
namespace {

// What a view of a tensor refers to.
struct ViewLayout {
  std::vector<Py_ssize_t> shape, strides;
};

int FailBuffer(Py_buffer* view, const char* message) {
  view->obj = nullptr;
  PyErr_SetString(PyExc_BufferError, message);
  return -1;
}

void FillLayout(const Tensor& tensor, const char* format, Py_buffer* view) {
  auto layout = std::make_unique<ViewLayout>();
  int64_t stride = view->itemsize;
  for (int64_t dim : tensor.shape().dims()) layout->shape.push_back(dim);
  layout->strides.resize(layout->shape.size());
  for (size_t axis = layout->shape.size(); axis-- > 0; stride *= layout->shape[axis])
    layout->strides[axis] = stride;
  view->ndim = static_cast<int>(layout->shape.size());
  view->shape = layout->shape.data();
  view->strides = layout->strides.data();
  view->format = const_cast<char*>(format);
  view->internal = layout.release();
}

int GetBuffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  static char nothing[16];
  const Tensor& tensor = *nb::inst_ptr<Tensor>(self);
  if (tensor.dtype() == DType::kString) return FailBuffer(view, "strings have no buffer");
  if (tensor.device()) return FailBuffer(view, "the memory is a device's: to(None) makes a copy on the host");
  void* data = tensor.data() ? tensor.data() : nothing;
  if (PyBuffer_FillInfo(view, self, data, tensor.byte_count(), /*readonly=*/0, flags) != 0) return -1;
  const char* format = BufferFormat(tensor.dtype());
  if ((flags & PyBUF_ND) != PyBUF_ND || format == nullptr) return 0;
  try {
    view->itemsize = DTypeBits(tensor.dtype()) / 8;
    FillLayout(tensor, format, view);
  } catch (const std::exception&) {
    PyBuffer_Release(view);
    PyErr_NoMemory();
    return -1;
  }
  if ((flags & PyBUF_FORMAT) != PyBUF_FORMAT) view->format = nullptr;
  if ((flags & PyBUF_STRIDES) != PyBUF_STRIDES) view->strides = nullptr;
  return 0;
}

void ReleaseBuffer(PyObject*, Py_buffer* view) noexcept {
  delete static_cast<ViewLayout*>(view->internal);
  view->internal = nullptr;
}

PyType_Slot kBufferSlots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(GetBuffer)},
                              {Py_bf_releasebuffer, reinterpret_cast<void*>(ReleaseBuffer)},
                              {0, nullptr}};

DType DTypeArgument(const std::string& name) {
  const std::optional<DType> dtype = DTypeFromPythonName(name);
  if (!dtype) RaiseInvalid("there is no element type '" + name + "'");
  return *dtype;
}

std::string Describe(const Tensor& tensor) {
  return std::string("tvm_vm.Tensor(") + PythonName(tensor.dtype()) + tensor.shape().ToString() + " on " +
         (tensor.device() ? tensor.device()->name() : "cpu") + ")";
}

Tensor MakeEmpty(const std::vector<int64_t>& shape, const std::string& dtype, const DevicePointer* device) {
  const Shape dims = OrRaise(Shape::Create(shape));
  return OrRaise(Tensor::AllocateOn(device ? device->device : nullptr, DTypeArgument(dtype), dims));
}

Tensor CopyTo(const Tensor& tensor, const DevicePointer* device) {
  nb::gil_scoped_release unlocked;
  Expected<Tensor> copy = tensor.CopyTo(device ? device->device : nullptr);
  nb::gil_scoped_acquire lock;
  return OrRaise(std::move(copy));
}

}  // namespace

void AddTensorClass(nb::module_& module) {
  nb::class_<Tensor>(
      module, "Tensor", nb::type_slots(kBufferSlots), nb::is_weak_referenceable(),
      "A dense row-major array in memory of the host or of a device. Shares memory with NumPy, "
      "and with others by DLPack.")
      .def(
          "__init__",
          [](Tensor* self, nb::handle array, const std::optional<std::string>& dtype,
             const DevicePointer* device) {
            Tensor tensor = OwningTensor(array, dtype ? DTypeArgument(*dtype) : DType::kInvalid);
            new (self) Tensor(device ? CopyTo(tensor, device) : std::move(tensor));
          },
          "array"_a, "dtype"_a.none() = nb::none(), "device"_a.none() = nb::none(),
          "Shares the array's memory; with `device`, a copy there.")
      .def_static("empty", &MakeEmpty, "shape"_a, "dtype"_a = "float32", "device"_a.none() = nb::none(),
                  "Uninitialised memory, of a device or of the host.")
      .def_prop_ro("dtype", [](const Tensor& tensor) { return PythonName(tensor.dtype()); })
      .def_prop_ro("shape", [](const Tensor& tensor) { return ShapeTuple(tensor.shape()); })
      .def_prop_ro("nbytes", &Tensor::byte_count)
      .def_prop_ro("device",
                   [](const Tensor& tensor) { return tensor.device() ? tensor.device()->name() : "cpu"; })
      .def("to", &CopyTo, "device"_a.none(), "A copy in the device's memory; None: in the host's.")
      .def(
          "numpy", [](const Tensor& tensor) { return NumPyArrayOf(tensor); },
          "As a NumPy array that shares the memory, where NumPy has the type.")
      .def(
          "__array__",
          [](const Tensor& tensor, nb::object dtype, nb::object copy) {
            nb::object array = NumPyArrayOf(tensor);
            if (!dtype.is_none()) array = array.attr("astype")(dtype, "copy"_a = false);
            return copy.is_none() || !nb::cast<bool>(copy) ? array : nb::object(array.attr("copy")());
          },
          "dtype"_a = nb::none(), "copy"_a = nb::none())
      .def("__dlpack__", [](const Tensor& tensor, nb::kwargs) { return CapsuleOf(tensor); })
      .def("__dlpack_device__", [](const Tensor&) { return nb::make_tuple(static_cast<int>(kDLCPU), 0); })
      .def("__repr__", &Describe);
}

}  // namespace tvmvm::python
