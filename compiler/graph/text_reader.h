// Characters of the graph IR's text form: spaces, words, numbers, quoted text, and errors that say where.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>

#include "compiler/dim/dim.h"
#include "tvm-vm/status.h"

namespace tvmvm::ir {

class TextReader {
 public:
  explicit TextReader(std::string_view text) : text_(text) {}

  bool AtEnd();
  // Takes the token when it comes next.
  bool Take(std::string_view token);
  bool Sees(std::string_view token);
  Status Want(std::string_view token);
  // Letters, digits, '_' and '.'; empty where none comes next.
  std::string_view Word();
  Expected<int64_t> Integer();  // "inf" and "-inf" give the extremes
  Expected<double> Number();
  Expected<std::string> Quoted();
  // Up to one of the characters `stops` outside of parentheses and quotes.
  Expected<Dim> DimUntil(std::string_view stops);
  Expected<Dims> DimList();  // "[n, 4]"
  // From here on the symbol stands for the dim.
  void NameDim(SymbolId symbol, Dim dim) { named_.emplace(std::move(symbol), std::move(dim)); }
  tl::unexpected<Error> Fail(std::string_view wanted);

 private:
  void SkipSpace();
  std::string_view text_;
  size_t position_ = 0;
  std::unordered_map<SymbolId, Dim> named_;
};

}  // namespace tvmvm::ir
