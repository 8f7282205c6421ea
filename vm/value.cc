#include "tvm-vm/value.h"

#include <exception>

namespace tvmvm {

// Values that one sequence or tuple holds. Destroying values may drop the last share of others: those wait in
// a list of the thread until the outermost destructor comes to them.
struct Value::Elements {
  explicit Elements(std::vector<Value> elements) : values(std::move(elements)) {}
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;
  ~Elements();

  std::vector<Value> values;
};

namespace {
thread_local std::vector<std::vector<Value>>* t_waiting = nullptr;
}

Value::Elements::~Elements() {
  if (t_waiting != nullptr) {
    try {
      t_waiting->push_back(std::move(values));
    } catch (const std::exception&) {
      // No memory for the list: they go at once, one level deeper.
    }
    return;
  }
  std::vector<std::vector<Value>> waiting;
  t_waiting = &waiting;
  values.clear();
  while (!waiting.empty()) {
    std::vector<Value> next = std::move(waiting.back());
    waiting.pop_back();
    next.clear();
  }
  t_waiting = nullptr;
}

Value::Value(Tensor tensor)
    : kind_(tensor.empty_handle() ? Kind::kNone : Kind::kTensor), tensor_(std::move(tensor)) {}

Value Value::Sequence(std::vector<Value> elements) {
  Value value;
  value.kind_ = Kind::kSequence;
  value.elements_ = std::make_shared<const Elements>(std::move(elements));
  return value;
}

Value Value::Tuple(int64_t tag, std::vector<Value> fields) {
  Value value;
  value.kind_ = Kind::kTuple;
  value.tag_ = tag;
  value.elements_ = std::make_shared<const Elements>(std::move(fields));
  return value;
}

std::string_view Value::kind_name() const {
  switch (kind_) {
    case Kind::kNone:
      return "nothing";
    case Kind::kTensor:
      return "tensor";
    case Kind::kSequence:
      return "sequence";
    case Kind::kTuple:
      return "tuple";
  }
  return "nothing";
}

const std::vector<Value>& Value::elements() const { return elements_->values; }

}  // namespace tvmvm
