#include "values.h"

#include <string>
#include <utility>
#include <vector>

#include "errors.h"

namespace nb = nanobind;

namespace tvmvm::python {
namespace {

nb::handle TaggedClass() {
  static const nb::handle tagged = nb::object(nb::module_::import_("tvm_vm.tagged").attr("Tagged")).release();
  return tagged;
}

Value InputTuple(nb::handle object, const TypeSpec& type, Borrowings& borrowings) {
  if (!nb::isinstance(object, TaggedClass())) RaiseType("a tvm_vm.Tagged is wanted");
  nb::sequence fields = nb::borrow<nb::sequence>(object.attr("fields"));
  if (nb::len(fields) != type.elements.size())
    RaiseInvalid("a tuple of " + std::to_string(nb::len(fields)) + " fields, wanted are " +
                 std::to_string(type.elements.size()));
  std::vector<Value> values;
  for (size_t i = 0; i < type.elements.size(); ++i)
    values.push_back(InputValue(nb::object(fields[i]), type.elements[i], borrowings));
  return Value::Tuple(nb::cast<int64_t>(object.attr("tag")), std::move(values));
}

Value InputSequence(nb::handle object, const TypeSpec& type, Borrowings& borrowings) {
  if (!nb::isinstance<nb::list>(object) && !nb::isinstance<nb::tuple>(object))
    RaiseType("a sequence is a list or a tuple of its elements");
  std::vector<Value> values;
  for (nb::handle element : nb::borrow<nb::sequence>(object))
    values.push_back(InputValue(element, type.elements.at(0), borrowings));
  return Value::Sequence(std::move(values));
}

}  // namespace

Value InputValue(nb::handle object, const TypeSpec& type, Borrowings& borrowings) {
  if (object.is_none()) return {};
  const TypeSpec& inner = WithoutOptional(type);
  switch (inner.kind) {
    case ValueKind::kSequence:
      return InputSequence(object, inner, borrowings);
    case ValueKind::kTuple:
      return InputTuple(object, inner, borrowings);
    default:
      return InputTensor(object, inner.dtype, borrowings);
  }
}

nb::object ObjectOf(Value value, ResultKind kind) {
  if (value.is_none()) return nb::none();
  if (value.is_tensor()) return ArrayOf(std::move(value.tensor()), kind);
  nb::list elements;
  for (const Value& element : value.elements()) elements.append(ObjectOf(element, kind));
  return value.is_sequence() ? nb::object(elements) : TaggedClass()(value.tag(), elements);
}

}  // namespace tvmvm::python
