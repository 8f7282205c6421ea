// Tensors into sequences of their parts, and sequences of parts into tensors.
#include <algorithm>

#include "vm/host/blocks.h"

namespace tvmvm {
namespace {

// The number at `index` of a tensor of i32 or i64.
int64_t NumberAt(const TensorObject& tensor, int64_t index) {
  return tensor.dtype == DType::kI32 ? DataOf<int32_t>(tensor)[index] : DataOf<int64_t>(tensor)[index];
}

// Lengths of the parts along an axis of `length`.
class PartLengths {
 public:
  static Expected<PartLengths> From(Object* sizes, int64_t length) {
    PartLengths parts;
    if (sizes == nullptr) {
      parts.each_ = 1;
      parts.count_ = length;
      return parts;
    }
    if (sizes->kind != ObjectKind::kTensor)
      return MakeError(Code::kInvalidArgument,
                       "'sizes' must be a tensor, it is a " + std::string(KindOf(sizes)));
    auto* tensor = static_cast<TensorObject*>(sizes);
    if ((tensor->dtype != DType::kI64 && tensor->dtype != DType::kI32) || tensor->shape.rank() > 1)
      return MakeError(Code::kInvalidArgument, "'sizes' must be a number or a list of i64 or i32, it is " +
                                                   std::string(DTypeName(tensor->dtype)) +
                                                   tensor->shape.ToString());
    if (tensor->shape.rank() == 0) {
      parts.each_ = NumberAt(*tensor, 0);
      if (parts.each_ <= 0)
        return MakeError(Code::kInvalidArgument, "parts of " + std::to_string(parts.each_) + " elements");
      parts.count_ = length / parts.each_ + (length % parts.each_ != 0);
      return parts;
    }
    parts.listed_ = tensor;
    parts.count_ = tensor->shape[0];
    int64_t rest = length;
    for (int64_t i = 0; i < parts.count_; ++i) {
      const int64_t part = NumberAt(*tensor, i);
      if (part < 0 || part > rest)
        return MakeError(Code::kInvalidArgument, "part " + std::to_string(i) + " of " + std::to_string(part) +
                                                     " elements, where " + std::to_string(rest) + " of " +
                                                     std::to_string(length) + " are left");
      rest -= part;
    }
    if (rest != 0)
      return MakeError(Code::kInvalidArgument, "the parts have " + std::to_string(length - rest) +
                                                   " elements together, the axis " + std::to_string(length));
    return parts;
  }

  int64_t count() const { return count_; }
  // Of part `index`, which begins at `begin` of an axis of `length`.
  int64_t At(int64_t index, int64_t begin, int64_t length) const {
    return listed_ != nullptr ? NumberAt(*listed_, index) : std::min(each_, length - begin);
  }

 private:
  int64_t each_ = 0;                      // one length for all but the last part
  const TensorObject* listed_ = nullptr;  // or one for each
  int64_t count_ = 0;
};

Shape WithoutAxis(const Shape& shape, int axis) {
  Shape result;
  for (int i = 0; i < shape.rank(); ++i)
    if (i != axis) result.push_back(shape[i]);
  return result;
}

// The elements are tensors of one element type. Errors: an empty sequence.
Status CheckTensors(const ContainerObject& sequence) {
  if (sequence.elements.empty())
    return MakeError(Code::kInvalidArgument, "the sequence has no elements to join");
  const auto* first = static_cast<const TensorObject*>(sequence.elements[0]);
  for (size_t i = 0; i < sequence.elements.size(); ++i) {
    const Object* element = sequence.elements[i];
    if (element == nullptr || element->kind != ObjectKind::kTensor)
      return MakeError(Code::kInvalidArgument,
                       "element " + std::to_string(i) + " is no tensor but " + std::string(KindOf(element)));
    if (const DType dtype = static_cast<const TensorObject*>(element)->dtype; dtype != first->dtype)
      return MakeError(Code::kInvalidArgument, "element " + std::to_string(i) + " is of " +
                                                   std::string(DTypeName(dtype)) + ", element 0 of " +
                                                   std::string(DTypeName(first->dtype)));
  }
  return CheckWholeBytes(first->dtype);
}

tl::unexpected<Error> ShapesDiffer(size_t number, const Shape& shape, const Shape& first, int axis) {
  return MakeError(Code::kInvalidArgument,
                   "element " + std::to_string(number) + " has shape " + shape.ToString() + ", element 0 " +
                       first.ToString() +
                       (axis >= 0 ? "; they may differ in axis " + std::to_string(axis) : ""));
}

// The shape of the elements joined along `axis`, which is one of theirs.
Expected<Shape> JoinedShape(const ContainerObject& sequence, int axis) {
  const Shape& first = static_cast<const TensorObject*>(sequence.elements[0])->shape;
  Shape joined = first;
  joined[axis] = 0;
  for (size_t i = 0; i < sequence.elements.size(); ++i) {
    const Shape& shape = static_cast<const TensorObject*>(sequence.elements[i])->shape;
    if (shape.rank() != first.rank()) return ShapesDiffer(i, shape, first, axis);
    for (int k = 0; k < shape.rank(); ++k)
      if (k != axis && shape[k] != first[k]) return ShapesDiffer(i, shape, first, axis);
    if (__builtin_add_overflow(joined[axis], shape[axis], &joined[axis]))
      return MakeError(Code::kInvalidArgument, "the elements are too long to join");
  }
  return joined;
}

// The shape of the elements, all alike, stacked along a new axis.
Expected<Shape> StackedShape(const ContainerObject& sequence, int axis) {
  const Shape& first = static_cast<const TensorObject*>(sequence.elements[0])->shape;
  for (size_t i = 0; i < sequence.elements.size(); ++i) {
    const Shape& shape = static_cast<const TensorObject*>(sequence.elements[i])->shape;
    if (!(shape == first)) return ShapesDiffer(i, shape, first, -1);
  }
  Shape stacked;
  for (int i = 0; i <= first.rank(); ++i)
    stacked.push_back(i < axis    ? first[i]
                      : i == axis ? static_cast<int64_t>(sequence.elements.size())
                                  : first[i - 1]);
  return stacked;
}

}  // namespace

// (axis, keep the axis)(tensor, sizes or null)
Status HostSequenceSplit(HostCall& call) {
  TVMVM_TRY(TensorObject * tensor, TensorOperand(call, 0, "tensor"));
  TVMVM_CHECK_OK(CheckWholeBytes(tensor->dtype));
  TVMVM_TRY(int axis, AxisIn(call.scalars[0], tensor->shape.rank()));
  const AroundAxis around = Around(tensor->shape, axis);
  TVMVM_TRY(PartLengths parts, PartLengths::From(call.refs[1], around.axis));
  const bool drop_axis = call.refs[1] == nullptr && call.scalars[1] == 0;

  Owned<ContainerObject> sequence(call.pool, call.pool.NewContainer(ObjectKind::kSequence));
  TVMVM_CHECK_OK(call.pool.Reserve(sequence.get(), static_cast<size_t>(parts.count())));
  int64_t begin = 0;
  for (int64_t i = 0; i < parts.count(); ++i) {
    if (i % 256 == 255) TVMVM_CHECK_OK(Poll(call));
    const int64_t length = parts.At(i, begin, around.axis);
    Shape shape = tensor->shape;
    shape[axis] = length;
    if (drop_axis) shape = WithoutAxis(shape, axis);
    TVMVM_TRY(Owned<TensorObject> part, NewTensor(call, tensor->dtype, shape));
    TVMVM_CHECK_OK(CopyBlocks(call, *part, *tensor,
                              {around.outer, length * around.inner, 0, length * around.inner,
                               begin * around.inner, around.axis * around.inner}));
    sequence->elements.push_back(part.Give());
    begin += length;
  }
  call.ref_results[0] = sequence.Give();
  return {};
}

// (axis, new axis)(sequence)
Status HostSequenceConcat(HostCall& call) {
  TVMVM_TRY(ContainerObject * sequence, SequenceOperand(call, 0));
  TVMVM_CHECK_OK(CheckTensors(*sequence));
  const bool stack = call.scalars[1] != 0;
  const auto* first = static_cast<const TensorObject*>(sequence->elements[0]);
  if (stack && first->shape.rank() == kMaxRank)
    return MakeError(Code::kUnsupported, "the result would have rank " + std::to_string(kMaxRank + 1));
  TVMVM_TRY(int axis, AxisIn(call.scalars[0], first->shape.rank() + (stack ? 1 : 0)));
  TVMVM_TRY(Shape shape, stack ? StackedShape(*sequence, axis) : JoinedShape(*sequence, axis));
  TVMVM_TRY(Owned<TensorObject> joined, NewTensor(call, first->dtype, shape));

  if (first->dtype == DType::kString) {
    int64_t bytes = 0;
    for (Object* element : sequence->elements) {
      TVMVM_TRY(const int64_t of_element, TextBytes(call, static_cast<const TensorObject&>(*element)));
      bytes += of_element;
    }
    TVMVM_CHECK_OK(ChargeTexts(call, *joined, bytes));
  }
  const AroundAxis around = Around(shape, axis);
  int64_t begin = 0;
  for (Object* element : sequence->elements) {
    const auto& part = static_cast<const TensorObject&>(*element);
    if (part.dtype != first->dtype)
      return MakeError(Code::kInvalidArgument, "elements of " + std::string(DTypeName(part.dtype)) + " and " +
                                                   std::string(DTypeName(first->dtype)) +
                                                   " cannot be joined");
    const int64_t length = stack ? 1 : part.shape[axis];
    TVMVM_CHECK_OK(CopyBlocks(call, *joined, part,
                              {around.outer, length * around.inner, begin * around.inner,
                               around.axis * around.inner, 0, length * around.inner}));
    begin += length;
  }
  call.ref_results[0] = joined.Give();
  return {};
}

}  // namespace tvmvm
