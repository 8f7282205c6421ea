// Tuples: constructors of algebraic data types.
#include <algorithm>

#include "vm/host/operands.h"

namespace tvmvm {

// (tag)(fields...); a field may be null.
Status HostTupleMake(HostCall& call) {
  Owned<ContainerObject> tuple(call.pool, call.pool.NewContainer(ObjectKind::kTuple));
  tuple->tag = call.scalars[0];
  // A tuple without fields is counted as one with one.
  TVMVM_CHECK_OK(call.pool.Reserve(tuple.get(), std::max<size_t>(1, call.refs.size())));
  for (Object* field : call.refs) {
    TVMVM_TRY(Object * held, Retained(call, field));
    tuple->elements.push_back(held);
  }
  call.ref_results[0] = tuple.Give();
  return {};
}

// ()(tuple) -> (tag)
Status HostTupleTag(HostCall& call) {
  TVMVM_TRY(ContainerObject * tuple, TupleOperand(call, 0));
  call.scalar_results[0] = tuple->tag;
  return {};
}

// (number of constructors)(tuple) -> (tag)
Status HostTupleCase(HostCall& call) {
  TVMVM_TRY(ContainerObject * tuple, TupleOperand(call, 0));
  if (tuple->tag < 0 || tuple->tag >= call.scalars[0])
    return MakeError(Code::kInvalidArgument, "a tuple with the tag " + std::to_string(tuple->tag) +
                                                 ", want one below " + std::to_string(call.scalars[0]));
  call.scalar_results[0] = tuple->tag;
  return {};
}

// (number)(tuple) -> the field
Status HostTupleGet(HostCall& call) {
  TVMVM_TRY(ContainerObject * tuple, TupleOperand(call, 0));
  const int64_t number = call.scalars[0];
  if (number < 0 || number >= static_cast<int64_t>(tuple->elements.size()))
    return MakeError(Code::kInvalidArgument, "field " + std::to_string(number) + " of a tuple of " +
                                                 std::to_string(tuple->elements.size()) + " (tag " +
                                                 std::to_string(tuple->tag) + ")");
  Object* field = tuple->elements[static_cast<size_t>(number)];
  ObjectPool::Retain(field);
  call.ref_results[0] = field;
  return {};
}

// (kind, dtype)(value)
Status HostValueCheck(HostCall& call) {
  const auto kind = static_cast<ValueKind>(call.scalars[0]);
  const auto dtype = static_cast<DType>(call.scalars[1]);
  if (kind == ValueKind::kTuple) return TupleOperand(call, 0).map([](ContainerObject*) {});
  if (kind == ValueKind::kTensor) return TypedOperand(call, 0, dtype, "field").map([](TensorObject*) {});
  if (kind != ValueKind::kSequence) return MakeError(Code::kInvalidProgram, "fields cannot be of this kind");
  TVMVM_TRY(ContainerObject * sequence, SequenceOperand(call, 0));
  for (const Object* element : sequence->elements) {
    const bool is_tensor = element != nullptr && element->kind == ObjectKind::kTensor;
    if (is_tensor && static_cast<const TensorObject*>(element)->dtype == dtype) continue;
    return MakeError(Code::kInvalidArgument,
                     "an element of a field that is no tensor of " + std::string(DTypeName(dtype)));
  }
  return {};
}

}  // namespace tvmvm
