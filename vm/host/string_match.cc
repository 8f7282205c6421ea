// Texts against regular expressions.
#include <algorithm>
#include <memory>

#include "bytecode/companion_library.h"
#include "bytecode/steady_time.h"
#include "vm/host/operands.h"
#include "vm/regex/regex_library.h"

namespace tvmvm {
namespace {

struct RegexLibrary {
  decltype(&tvmvm_regex_compile) compile = nullptr;
  decltype(&tvmvm_regex_size) size = nullptr;
  decltype(&tvmvm_regex_full_match) full_match = nullptr;
  decltype(&tvmvm_regex_free) free = nullptr;
};

Expected<const RegexLibrary*> Library() {
  static RegexLibrary library;
  static CompanionLibrary companion("regular expressions", TVMVM_REGEX_LIBRARY, "tvmvm_regex_version");
  TVMVM_CHECK_OK(companion.Open({{"tvmvm_regex_compile", reinterpret_cast<void**>(&library.compile)},
                                 {"tvmvm_regex_size", reinterpret_cast<void**>(&library.size)},
                                 {"tvmvm_regex_full_match", reinterpret_cast<void**>(&library.full_match)},
                                 {"tvmvm_regex_free", reinterpret_cast<void**>(&library.free)}}));
  return &library;
}

tl::unexpected<Error> NoMemory() {
  return MakeError(Code::kOutOfMemory, "the host has no memory to match a pattern");
}

// No text takes RE2 more than this many nanoseconds for each byte and each instruction of the pattern's
// program. Mostly it is one or two a byte, by states that it makes once; what makes a new state with every
// byte was measured with 18 to 30 an instruction, and up to 7 once RE2 has no memory for states.
constexpr int64_t kWorst = 40;

class Matcher {
 public:
  Matcher(const RegexLibrary& library, const void* regex)
      : library_(library), regex_(regex), worst_(kWorst * std::max(library.size(regex), 1)) {}

  // RE2 cannot be interrupted. Where a text may take longer than is left, its beginnings are matched, each
  // longer by as much as there is time for at worst: what was matched before takes about what it took.
  Expected<bool> Match(const HostCall& call, const std::string& text) const {
    if (call.deadline_ns == 0) return MatchBytes(text, text.size());
    for (int64_t size = 0, taken = 0;;) {
      const int64_t begin = SteadyNanoseconds(), left = call.deadline_ns - begin;
      const int64_t more = (left - 2 * taken) / worst_, rest = static_cast<int64_t>(text.size()) - size;
      if (more <= 0) return TooLate(text.size(), left);
      size += std::min(more, rest);
      TVMVM_TRY(const bool is_match, MatchBytes(text, static_cast<size_t>(size)));
      if (more >= rest) return is_match;
      TVMVM_CHECK_OK(Poll(call));
      taken = SteadyNanoseconds() - begin;
    }
  }
  int64_t WorstTime(const std::string& text) const { return worst_ * static_cast<int64_t>(text.size() + 1); }

 private:
  Expected<bool> MatchBytes(const std::string& text, size_t size) const {
    const int match = library_.full_match(regex_, text.data(), size);
    if (match < 0) return NoMemory();
    return match == 1;
  }

  static tl::unexpected<Error> TooLate(size_t size, int64_t left) {
    return MakeError(Code::kDeadlineExceeded,
                     "to match a text of " + std::to_string(size) + " bytes may take longer than the " +
                         std::to_string(std::max<int64_t>(left, 0) / 1000) + " microseconds that are left");
  }

  const RegexLibrary& library_;
  const void* const regex_;
  const int64_t worst_;  // a byte, in nanoseconds
};

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
  const Matcher matcher(*library, regex.get());
  int64_t i = 0;
  for (const std::string& text : StringsOf(*strings)) {
    TVMVM_TRY(const bool is_match, matcher.Match(call, text));
    DataOf<uint8_t>(*matches)[i++] = static_cast<uint8_t>(is_match);
    TVMVM_CHECK_OK(PollWork(call, matcher.WorstTime(text)));
  }
  call.ref_results[0] = matches.Give();
  return {};
}

}  // namespace tvmvm
