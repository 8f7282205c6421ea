// Strings: taking, comparing, joining and splitting them.
#include <algorithm>
#include <unordered_map>

#include "vm/host/operands.h"

namespace tvmvm {
namespace {

// Characters that end words where no delimiter is given.
constexpr std::string_view kSpaces = " \t\n\v\f\r";

// Where the next delimiter, or the next space where there is none, begins; npos: nowhere. Looks for the run's
// end after every part of the text.
Expected<size_t> FindEnd(const HostCall& call, std::string_view text, std::string_view delimiter) {
  const size_t length = std::max<size_t>(1, delimiter.size());
  const size_t part = std::max<size_t>(1, (size_t{1} << 16) / length);  // each place may be compared in whole
  for (size_t begin = 0; begin < text.size(); begin += part) {
    const std::string_view here = text.substr(begin, part + length - 1);
    const size_t end = delimiter.empty() ? here.find_first_of(kSpaces) : here.find(delimiter);
    TVMVM_CHECK_OK(PollWork(call, static_cast<int64_t>(16 + std::min(here.size(), end))));
    if (end != std::string_view::npos) return begin + end;
  }
  return std::string_view::npos;
}

// Calls `piece`, which gives a Status, for each piece of `text` in order: what lies between delimiters, or
// words where `delimiter` is empty. After `most` splits the rest is one piece; -1: no limit.
template <class Piece>
Status SplitText(const HostCall& call, std::string_view text, std::string_view delimiter, int64_t most,
                 Piece piece) {
  const bool words = delimiter.empty();
  for (int64_t splits = 0;; ++splits) {
    if (words) {
      while (!text.empty() && kSpaces.find(text[0]) != std::string_view::npos) {
        text.remove_prefix(1);
        TVMVM_CHECK_OK(PollWork(call, 4));
      }
      if (text.empty()) return {};
    }
    size_t end = std::string_view::npos;
    if (splits != most) {
      TVMVM_TRY(end, FindEnd(call, text, delimiter));
    }
    TVMVM_CHECK_OK(piece(text.substr(0, end)));
    if (end == std::string_view::npos) return {};
    text.remove_prefix(end + (words ? 1 : delimiter.size()));
  }
}

// Which of several tensors' strings, counted through, stands at a position.
class Strings {
 public:
  explicit Strings(std::vector<TensorObject*> tensors) : tensors_(std::move(tensors)) {
    for (TensorObject* tensor : tensors_) {
      total_ += ElementCount(*tensor);
      ends_.push_back(total_);
    }
  }
  int64_t total() const { return total_; }
  // `position` is within [0, total).
  const std::string& At(int64_t position) const {
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), position);
    const auto number = static_cast<size_t>(end - ends_.begin());
    const std::vector<std::string>& strings = StringsOf(*tensors_[number]);
    return strings[strings.size() - static_cast<size_t>(*end - position)];
  }

 private:
  std::vector<TensorObject*> tensors_;
  std::vector<int64_t> ends_;
  int64_t total_ = 0;
};

}  // namespace

// ()(positions, strings...)
Status HostStringTake(HostCall& call) {
  if (call.refs.empty()) return MakeError(Code::kInvalidProgram, "there are no positions");
  TVMVM_TRY(TensorObject * positions, TypedOperand(call, 0, DType::kI64, "positions"));
  std::vector<TensorObject*> tensors;
  for (size_t i = 1; i < call.refs.size(); ++i) {
    TVMVM_TRY(TensorObject * tensor, StringsOperand(call, i, "strings"));
    tensors.push_back(tensor);
  }
  const Strings strings(std::move(tensors));
  const auto* at = DataOf<int64_t>(*positions);
  const int64_t count = ElementCount(*positions);
  int64_t bytes = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (at[i] < 0 || at[i] >= strings.total())
      return MakeError(Code::kInvalidArgument, "position " + std::to_string(at[i]) + " of " +
                                                   std::to_string(strings.total()) + " strings");
    if (__builtin_add_overflow(bytes, TextBytes(strings.At(at[i]).size()), &bytes)) bytes = INT64_MAX;
    TVMVM_CHECK_OK(PollStep(call, i));
  }
  TVMVM_TRY(Owned<TensorObject> taken, NewTensor(call, DType::kString, positions->shape));
  TVMVM_CHECK_OK(ChargeTexts(call, *taken, bytes));
  for (int64_t i = 0; i < count; ++i) {
    TVMVM_CHECK_OK(Append(call, &StringsOf(*taken)[static_cast<size_t>(i)], strings.At(at[i])));
  }
  call.ref_results[0] = taken.Give();
  return {};
}

// ()(strings...) -> ids...
Status HostStringIds(HostCall& call) {
  std::unordered_map<std::string_view, int64_t> ids;
  for (size_t k = 0; k < call.refs.size(); ++k) {
    TVMVM_TRY(TensorObject * strings, StringsOperand(call, k, "strings"));
    TVMVM_TRY(Owned<TensorObject> numbers, NewTensor(call, DType::kI64, strings->shape));
    auto* number = DataOf<int64_t>(*numbers);
    for (const std::string& text : StringsOf(*strings)) {
      *number++ = ids.try_emplace(text, static_cast<int64_t>(ids.size())).first->second;
      TVMVM_CHECK_OK(PollWork(call, static_cast<int64_t>(64 + text.size())));
    }
    call.ref_results[k] = numbers.Give();
  }
  return {};
}

// ()(a, b)
Status HostStringConcat(HostCall& call) {
  TVMVM_TRY(TensorObject * a, StringsOperand(call, 0, "a"));
  TVMVM_TRY(TensorObject * b, StringsOperand(call, 1, "b"));
  if (!(a->shape == b->shape))
    return MakeError(Code::kInvalidArgument,
                     "shapes " + a->shape.ToString() + " and " + b->shape.ToString() + " differ");
  const size_t count = StringsOf(*a).size();
  int64_t bytes = 0;
  for (size_t i = 0; i < count; ++i) {
    bytes += TextBytes(StringsOf(*a)[i].size() + StringsOf(*b)[i].size());
    TVMVM_CHECK_OK(PollWork(call, 4));
  }
  TVMVM_TRY(Owned<TensorObject> joined, NewTensor(call, DType::kString, a->shape));
  TVMVM_CHECK_OK(ChargeTexts(call, *joined, bytes));
  for (size_t i = 0; i < count; ++i) {
    std::string& text = StringsOf(*joined)[i];
    text.reserve(StringsOf(*a)[i].size() + StringsOf(*b)[i].size());
    TVMVM_CHECK_OK(Append(call, &text, StringsOf(*a)[i]));
    TVMVM_CHECK_OK(Append(call, &text, StringsOf(*b)[i]));
  }
  call.ref_results[0] = joined.Give();
  return {};
}

// (most splits, 1 when a delimiter is given)(strings, delimiter) -> (pieces, counts)
Status HostStringSplit(HostCall& call) {
  const int64_t most = call.scalars[0] < 0 ? -1 : call.scalars[0];
  TVMVM_TRY(TensorObject * strings, StringsOperand(call, 0, "strings"));
  std::string_view delimiter;
  if (call.scalars[1] != 0) {
    TVMVM_TRY(TensorObject * given, StringsOperand(call, 1, "delimiter"));
    if (ElementCount(*given) != 1)
      return MakeError(Code::kInvalidArgument, std::to_string(ElementCount(*given)) + " delimiters given");
    delimiter = StringsOf(*given)[0];
  }
  if (strings->shape.rank() == kMaxRank)
    return MakeError(Code::kUnsupported, "the result would have rank " + std::to_string(kMaxRank + 1));
  TVMVM_TRY(Owned<TensorObject> counts, NewTensor(call, DType::kI64, strings->shape));
  int64_t longest = 0;
  int64_t bytes = 0;
  int64_t step = 0;
  for (const std::string& text : StringsOf(*strings)) {
    int64_t count = 0;
    TVMVM_CHECK_OK(SplitText(call, text, delimiter, most, [&](std::string_view) {
      ++count;
      return Status();
    }));
    DataOf<int64_t>(*counts)[step] = count;
    longest = std::max(longest, count);
    bytes += TextBytes(text.size());  // at most: the pieces are never longer together
    ++step;
  }
  Shape shape = strings->shape;
  shape.push_back(longest);
  TVMVM_TRY(Owned<TensorObject> pieces, NewTensor(call, DType::kString, shape));
  TVMVM_CHECK_OK(ChargeTexts(call, *pieces, bytes));
  step = 0;
  for (const std::string& text : StringsOf(*strings)) {
    auto to = StringsOf(*pieces).begin() + static_cast<std::ptrdiff_t>(step * longest);
    ++step;
    TVMVM_CHECK_OK(SplitText(call, text, delimiter, most,
                             [&](std::string_view piece) { return Append(call, &*to++, piece); }));
  }
  call.ref_results[0] = pieces.Give();
  call.ref_results[1] = counts.Give();
  return {};
}

}  // namespace tvmvm
