// Sequences: making, reading and changing them. sequence_tensors.cc goes between them and tensors.
#include <algorithm>

#include "vm/host/operands.h"

namespace tvmvm {
namespace {

std::string Described(const Object* object) {
  if (object == nullptr || object->kind != ObjectKind::kTensor) return "a " + std::string(KindOf(object));
  return "a tensor of " + std::string(DTypeName(static_cast<const TensorObject*>(object)->dtype));
}

// All elements of a sequence are of one kind, tensors of one element type; optionals without element are of
// any.
Status CheckElement(const ContainerObject& sequence, const Object* element) {
  if (element == nullptr) return MakeError(Code::kInvalidArgument, "there is no element to put in");
  if (element->kind == ObjectKind::kBuffer)
    return MakeError(Code::kInvalidProgram, "a buffer cannot be an element");
  const auto there = std::find_if(sequence.elements.begin(), sequence.elements.end(),
                                  [](const Object* held) { return held != nullptr; });
  if (there == sequence.elements.end()) return {};
  const Object* first = *there;
  bool same = first->kind == element->kind;
  if (same && element->kind == ObjectKind::kTensor)
    same = static_cast<const TensorObject*>(first)->dtype == static_cast<const TensorObject*>(element)->dtype;
  if (same) return {};
  return MakeError(Code::kInvalidArgument,
                   Described(element) + " put into a sequence whose elements are each " + Described(first));
}

// The operand itself when it may be changed in place (its reference then becomes the result's), else a copy
// with room for `room` elements. `not_in_place`: what the sequence is about to hold.
Expected<Owned<ContainerObject>> ToChange(HostCall& call, ContainerObject* sequence, bool take, size_t room,
                                          const Object* not_in_place) {
  if (take && sequence->refs == 1 && sequence != not_in_place) {
    TVMVM_CHECK_OK(call.pool.Reserve(sequence, room));
    // For as long as the change may fail, the register's reference and this one.
    ObjectPool::Retain(sequence);
    return Owned<ContainerObject>(call.pool, sequence);
  }
  Owned<ContainerObject> copy(call.pool, call.pool.NewContainer(ObjectKind::kSequence));
  TVMVM_CHECK_OK(call.pool.Reserve(copy.get(), std::max(room, sequence->elements.size())));
  for (Object* element : sequence->elements) {
    ObjectPool::Retain(element);
    copy->elements.push_back(element);
  }
  return copy;
}

// Gives `changed` as the result; where it is operand 0 itself, its register forgets it.
void GiveChanged(HostCall& call, Owned<ContainerObject> changed) {
  if (changed.get() == call.refs[0]) {
    --changed->refs;  // the register's: one reference moves to the result
    call.moved = 0;
  }
  call.ref_results[0] = changed.Give();
}

}  // namespace

// ()(elements...)
Status HostSequenceConstruct(HostCall& call) {
  Owned<ContainerObject> sequence(call.pool, call.pool.NewContainer(ObjectKind::kSequence));
  TVMVM_CHECK_OK(call.pool.Reserve(sequence.get(), call.refs.size()));
  for (Object* element : call.refs) {
    TVMVM_CHECK_OK(CheckElement(*sequence, element));
    TVMVM_TRY(Object * held, Retained(call, element));
    sequence->elements.push_back(held);
  }
  call.ref_results[0] = sequence.Give();
  return {};
}

// (position, take)(sequence, element)
Status HostSequenceInsert(HostCall& call) {
  TVMVM_TRY(ContainerObject * sequence, SequenceOperand(call, 0));
  const size_t count = sequence->elements.size();
  TVMVM_TRY(size_t position, PositionIn(call.scalars[0], count, /*end_too=*/true, "sequence"));
  TVMVM_CHECK_OK(CheckElement(*sequence, call.refs[1]));
  const bool take = call.scalars[1] != 0;
  TVMVM_TRY(Owned<ContainerObject> changed, ToChange(call, sequence, take, count + 1, call.refs[1]));
  TVMVM_TRY(Object * held, Retained(call, call.refs[1]));
  changed->elements.insert(changed->elements.begin() + static_cast<std::ptrdiff_t>(position), held);
  GiveChanged(call, std::move(changed));
  return {};
}

// (position, take)(sequence)
Status HostSequenceErase(HostCall& call) {
  TVMVM_TRY(ContainerObject * sequence, SequenceOperand(call, 0));
  const size_t count = sequence->elements.size();
  TVMVM_TRY(size_t position, PositionIn(call.scalars[0], count, /*end_too=*/false, "sequence"));
  TVMVM_TRY(Owned<ContainerObject> changed, ToChange(call, sequence, call.scalars[1] != 0, count, nullptr));
  auto erased = changed->elements.begin() + static_cast<std::ptrdiff_t>(position);
  call.pool.Release(*erased);
  changed->elements.erase(erased);
  GiveChanged(call, std::move(changed));
  return {};
}

// (position)(sequence) -> the element
Status HostSequenceAt(HostCall& call) {
  TVMVM_TRY(ContainerObject * sequence, SequenceOperand(call, 0));
  TVMVM_TRY(size_t position,
            PositionIn(call.scalars[0], sequence->elements.size(), /*end_too=*/false, "sequence"));
  Object* element = sequence->elements[position];
  ObjectPool::Retain(element);
  call.ref_results[0] = element;
  return {};
}

// ()(sequence) -> (length)
Status HostSequenceLength(HostCall& call) {
  TVMVM_TRY(ContainerObject * sequence, SequenceOperand(call, 0));
  call.scalar_results[0] = static_cast<int64_t>(sequence->elements.size());
  return {};
}

}  // namespace tvmvm
