// Texts without stop words, in one case.
#include <unordered_set>

#include "vm/host/letter_case.h"
#include "vm/host/scratch.h"

namespace tvmvm {
namespace {

Expected<std::string> InCase(const HostCall& call, const std::string& text, LetterCase wanted) {
  std::string result;
  result.reserve(text.size());
  size_t at = 0;
  do {
    const size_t begin = at;
    AppendInCase(text, wanted, &at, &result);
    TVMVM_CHECK_OK(PollWork(call, static_cast<int64_t>(64 + 8 * (at - begin))));
  } while (at < text.size());
  return result;
}

}  // namespace

// (0 keep, 1 lower, 2 upper; 1 when case matters)(strings, stop words or null)
Status HostStringNormalize(HostCall& call) {
  const int64_t change = call.scalars[0];
  if (change < 0 || change > 2) return MakeError(Code::kInvalidProgram, "case " + std::to_string(change));
  const bool case_matters = call.scalars[1] != 0;
  TVMVM_TRY(TensorObject * strings, StringsOperand(call, 0, "strings"));
  const Shape& shape = strings->shape;
  if (shape.rank() != 1 && !(shape.rank() == 2 && shape[0] == 1))
    return MakeError(Code::kInvalidArgument,
                     "'strings' must have shape [C] or [1, C], it has " + shape.ToString());

  auto key = [&](const std::string& text) -> Expected<std::string> {
    if (case_matters) return text;
    return InCase(call, text, LetterCase::kLower);
  };
  std::unordered_set<std::string> stop_words;
  if (call.refs[1] != nullptr) {
    TVMVM_TRY(TensorObject * given, StringsOperand(call, 1, "stop words"));
    for (const std::string& word : StringsOf(*given)) {
      TVMVM_TRY(std::string stop_word, key(word));
      stop_words.insert(std::move(stop_word));
    }
  }
  TVMVM_TRY(const Scratch table,
            Scratch::Charge(call, static_cast<int64_t>(sizeof(std::string)) * ElementCount(*strings)));
  std::vector<std::string> kept;
  kept.reserve(StringsOf(*strings).size());
  for (const std::string& text : StringsOf(*strings)) {
    if (!stop_words.empty()) {
      TVMVM_TRY(const std::string word, key(text));
      if (stop_words.count(word) > 0) continue;
    }
    if (change == 0) {
      TVMVM_CHECK_OK(Append(call, &kept.emplace_back(), text));
    } else {
      TVMVM_TRY(std::string changed,
                InCase(call, text, change == 1 ? LetterCase::kLower : LetterCase::kUpper));
      kept.push_back(std::move(changed));
    }
  }
  // One empty text stands for nothing.
  if (kept.empty()) kept.emplace_back();

  Shape result = shape;
  result[result.rank() - 1] = static_cast<int64_t>(kept.size());
  TVMVM_TRY(Owned<TensorObject> texts, NewTensor(call, DType::kString, result));
  StringsOf(*texts) = std::move(kept);
  TVMVM_TRY(const int64_t text_bytes, TextBytes(call, *texts));
  TVMVM_CHECK_OK(ChargeTexts(call, *texts, text_bytes));
  call.ref_results[0] = texts.Give();
  return {};
}

}  // namespace tvmvm
