#include "compiler/graph/attribute_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/graph/control.h"
#include "compiler/graph/tensor_elements.h"

namespace tvmvm::ir {
namespace {

const DecisionField* FindDecision(std::string_view name) {
  std::span<const DecisionField> fields = DecisionFields();
  auto found = std::ranges::find(fields, name, &DecisionField::name);
  return found == fields.end() ? nullptr : &*found;
}

class AttributeReader {
 public:
  explicit AttributeReader(TextReader* in) : in_(*in) {}

  Status Read(Node* node) {
    if (!in_.Take("{")) return {};
    do {
      std::string name(in_.Word());
      if (name.empty()) return in_.Fail("an attribute's name");
      TVMVM_CHECK_OK(in_.Want("="));
      if (const DecisionField* field = FindDecision(name)) {
        TVMVM_TRY(int64_t value, in_.Integer());
        field->Set(&node->decided, value);
        continue;
      }
      TVMVM_TRY(Attribute value, ParseAttribute());
      node->attributes[name] = NamesSymbols(*node->op, name) ? AsSymbols(std::move(value)) : std::move(value);
    } while (in_.Take(","));
    return in_.Want("}");
  }

 private:
  static Attribute AsSymbols(Attribute value) {
    if (auto* name = std::get_if<std::string>(&value)) return SymbolId(std::move(*name));
    auto* names = std::get_if<std::vector<std::string>>(&value);
    if (!names) return value;
    std::vector<SymbolId> symbols;
    for (std::string& name : *names) symbols.emplace_back(std::move(name));
    return symbols;
  }

  template <class T, class Parse>
  Expected<Attribute> ParseList(Parse parse) {
    TVMVM_CHECK_OK(in_.Want("["));
    std::vector<T> list;
    if (in_.Take("]")) return list;
    do {
      TVMVM_TRY(T value, parse());
      list.push_back(std::move(value));
    } while (in_.Take(","));
    TVMVM_CHECK_OK(in_.Want("]"));
    return list;
  }

  Expected<Attribute> ParseAttribute() {
    if (in_.Sees("\"")) {
      TVMVM_TRY(std::string text, in_.Quoted());
      return text;
    }
    if (in_.Sees("[")) return ParseList<int64_t>([this] { return in_.Integer(); });
    if (in_.Take("floats")) return ParseList<double>([this] { return in_.Number(); });
    if (in_.Take("strings")) return ParseList<std::string>([this] { return in_.Quoted(); });
    if (in_.Take("dims")) {
      TVMVM_TRY(Dims dims, in_.DimList());
      return dims;
    }
    if (in_.Take("dim")) {
      TVMVM_CHECK_OK(in_.Want("("));
      TVMVM_TRY(Dim dim, in_.DimUntil(")"));
      TVMVM_CHECK_OK(in_.Want(")"));
      return dim;
    }
    if (in_.Take("float")) {
      TVMVM_CHECK_OK(in_.Want("("));
      TVMVM_TRY(double value, in_.Number());
      TVMVM_CHECK_OK(in_.Want(")"));
      return value;
    }
    if (in_.Take("dense")) return ParseData();
    for (Layout layout : {Layout::kChannelsFirst, Layout::kChannelsLast})
      if (in_.Take(LayoutName(layout))) return layout;
    Expected<int64_t> integer = in_.Integer();
    if (integer) return *integer;
    TVMVM_TRY(DType dtype, ReadDType(in_));
    return dtype;
  }

  // dense<f32,[2,3]>[1, 2, 3, 4, 5, 6]
  Expected<Attribute> ParseData() {
    TensorData data;
    TVMVM_CHECK_OK(in_.Want("<"));
    TVMVM_TRY(data.dtype, ReadDType(in_));
    TVMVM_CHECK_OK(in_.Want(","));
    TVMVM_TRY(Attribute dims, ParseList<int64_t>([this] { return in_.Integer(); }));
    data.dims = std::get<std::vector<int64_t>>(dims);
    TVMVM_CHECK_OK(in_.Want(">"));
    if (in_.Sees("#")) return in_.Fail("the elements: a digest cannot be read back");
    int64_t count = 1;
    for (int64_t dim : data.dims) {
      constexpr int64_t kMaxElements = 1 << 20;
      if (dim < 0 || dim > kMaxElements || (count *= dim) > kMaxElements) return in_.Fail("a small tensor");
    }
    if (data.dtype == DType::kString) {
      TVMVM_TRY(Attribute strings, ParseList<std::string>([this] { return in_.Quoted(); }));
      data.strings = std::get<std::vector<std::string>>(strings);
      if (static_cast<int64_t>(data.strings.size()) != count)
        return in_.Fail(fmt::format("{} elements before this", count));
      return std::make_shared<const TensorData>(std::move(data));
    }
    if (!IsNumeric(data.dtype)) return in_.Fail("elements of a numeric type");
    return ParseElements(std::move(data), count);
  }

  Expected<Attribute> ParseElements(TensorData data, int64_t count) {
    std::vector<std::byte> bytes(static_cast<size_t>(DTypeBytes(data.dtype, count)));
    TVMVM_CHECK_OK(in_.Want("["));
    for (int64_t i = 0; i < count; ++i) {
      if (i > 0) TVMVM_CHECK_OK(in_.Want(","));
      tensor::Scalar value;
      if (IsFloat(data.dtype)) {
        TVMVM_TRY(value.number, in_.Number());
      } else if (data.dtype == DType::kU64) {
        TVMVM_TRY(Dim dim, UnsignedInteger());
        value.integer = dim.value();
      } else {
        TVMVM_TRY(value.integer, in_.Integer());
      }
      WriteElement(data.dtype, bytes, i, value);
    }
    TVMVM_CHECK_OK(in_.Want("]"));
    return std::make_shared<const TensorData>(
        TensorData::Owned(data.dtype, std::move(data.dims), std::move(bytes)));
  }

  // Beyond the range of int64 too; wrapped.
  Expected<Dim> UnsignedInteger() {
    std::string_view digits = in_.Word();
    uint64_t value = 0;
    for (char c : digits) {
      if (c < '0' || c > '9' || __builtin_mul_overflow(value, uint64_t{10}, &value) ||
          __builtin_add_overflow(value, static_cast<uint64_t>(c - '0'), &value))
        return in_.Fail("an unsigned integer before this");
    }
    return Dim(static_cast<int64_t>(value));
  }

  TextReader& in_;
};

}  // namespace

Status ReadAttributes(TextReader& in, Node* node) { return AttributeReader(&in).Read(node); }

Expected<DType> ReadDType(TextReader& in) {
  std::string_view word = in.Word();
  if (word == "invalid") return DType::kInvalid;
  if (auto dtype = DTypeFromName(word)) return *dtype;
  return in.Fail(fmt::format("an element type in place of '{}'", word));
}

}  // namespace tvmvm::ir
