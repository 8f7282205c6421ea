// Texts against regular expressions.
#include <memory>

#include "bytecode/companion_library.h"
#include "vm/host/operands.h"
#include "vm/regex/regex_library.h"

namespace tvmvm {
namespace {

struct RegexLibrary {
  decltype(&tvmvm_regex_compile) compile = nullptr;
  decltype(&tvmvm_regex_full_match) full_match = nullptr;
  decltype(&tvmvm_regex_free) free = nullptr;
};

Expected<const RegexLibrary*> Library() {
  static RegexLibrary library;
  static CompanionLibrary companion("regular expressions", TVMVM_REGEX_LIBRARY, "tvmvm_regex_version");
  TVMVM_CHECK_OK(companion.Open({{"tvmvm_regex_compile", reinterpret_cast<void**>(&library.compile)},
                                 {"tvmvm_regex_full_match", reinterpret_cast<void**>(&library.full_match)},
                                 {"tvmvm_regex_free", reinterpret_cast<void**>(&library.free)}}));
  return &library;
}

tl::unexpected<Error> NoMemory() {
  return MakeError(Code::kOutOfMemory, "the host has no memory to match a pattern");
}

}  // namespace

// ()(strings, pattern) -> bools
Status HostStringMatch(HostCall& call) {
  TVMVM_TRY(TensorObject * strings, StringsOperand(call, 0, "strings"));
  TVMVM_TRY(TensorObject * patterns, StringsOperand(call, 1, "pattern"));
  if (ElementCount(*patterns) != 1)
    return MakeError(Code::kInvalidArgument, std::to_string(ElementCount(*patterns)) + " patterns given");
  const std::string& pattern = StringsOf(*patterns)[0];
  TVMVM_TRY(const RegexLibrary* library, Library());
  char error[256] = "";
  std::unique_ptr<void, decltype(library->free)> regex(
      library->compile(pattern.data(), pattern.size(), error, sizeof error), library->free);
  if (regex == nullptr && *error == '\0') return NoMemory();
  if (regex == nullptr) return MakeError(Code::kInvalidArgument, "pattern '" + pattern + "': " + error);

  TVMVM_TRY(Owned<TensorObject> matches, NewTensor(call, DType::kBool, strings->shape));
  int64_t i = 0;
  for (const std::string& text : StringsOf(*strings)) {
    const int match = library->full_match(regex.get(), text.data(), text.size());
    if (match < 0) return NoMemory();
    DataOf<uint8_t>(*matches)[i++] = static_cast<uint8_t>(match);
    TVMVM_CHECK_OK(PollWork(call, static_cast<int64_t>(1024 + 8 * text.size())));
  }
  call.ref_results[0] = matches.Give();
  return {};
}

}  // namespace tvmvm
