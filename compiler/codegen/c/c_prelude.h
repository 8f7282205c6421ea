// Functions that printed GPU kernels call, in both dialects. Private to this folder.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace tvmvm::codegen {

// Languages like C that kernels are printed in. Both name types alike: i8 ... u64, f32, f64.
enum class Dialect : uint8_t { kOpenClC, kGlsl };

// What a text needs that not all do. Matrices (loop_ir.h) and subgroups are for GLSL alone.
struct TextNeeds {
  bool f64 = false, matrices = false, subgroups = false;
};

// What stands before all code: type names and conversions. In OpenCL
// C also the macros of kernels that serve devices of two kinds. Where TVMVM_SERIAL is defined (CPUs, whose
// drivers would have to make loops of work-items themselves), a work-group is one work-item, and FOR_ITEMS
// are loops over those that are written; elsewhere FOR_ITEMS is nothing.
std::string DialectHeader(Dialect dialect, const TextNeeds& needs);

// The functions that a text needs, each once and behind those that it calls itself.
class Prelude {
 public:
  explicit Prelude(Dialect dialect) : dialect_(dialect) {}
  void Need(std::string_view function);  // a name of the table in c_prelude.cc
  void Add(const Prelude& other) { needed_.insert(other.needed_.begin(), other.needed_.end()); }
  std::string Text() const;

 private:
  Dialect dialect_;
  std::set<std::string, std::less<>> needed_;
};

}  // namespace tvmvm::codegen
