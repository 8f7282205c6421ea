// Texts without stop words, in one case.
#include <unordered_set>

#include "vm/host/letter_case.h"
#include "vm/host/operands.h"

namespace tvmvm {

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

  auto key = [&](const std::string& text) { return case_matters ? text : InCase(text, LetterCase::kLower); };
  std::unordered_set<std::string> stop_words;
  if (call.refs[1] != nullptr) {
    TVMVM_TRY(TensorObject * given, StringsOperand(call, 1, "stop words"));
    for (const std::string& word : StringsOf(*given)) stop_words.insert(key(word));
  }
  std::vector<std::string> kept;
  int64_t step = 0;
  for (const std::string& text : StringsOf(*strings)) {
    TVMVM_CHECK_OK(PollStep(call, step++));
    if (!stop_words.empty() && stop_words.count(key(text)) > 0) continue;
    kept.push_back(change == 0 ? text : InCase(text, change == 1 ? LetterCase::kLower : LetterCase::kUpper));
  }
  // One empty text stands for nothing.
  if (kept.empty()) kept.emplace_back();

  Shape result = shape;
  result[result.rank() - 1] = static_cast<int64_t>(kept.size());
  TVMVM_TRY(Owned<TensorObject> texts, NewTensor(call, DType::kString, result));
  StringsOf(*texts) = std::move(kept);
  TVMVM_CHECK_OK(ChargeTexts(call, *texts, TextBytes(*texts)));
  call.ref_results[0] = texts.Give();
  return {};
}

}  // namespace tvmvm
