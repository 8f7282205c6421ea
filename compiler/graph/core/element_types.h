// Sets of element types, as the operator table names them, and the types that operators compute in.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "tvm-vm/dtype.h"

namespace tvmvm::ir {

class DTypeSet {
 public:
  constexpr DTypeSet() = default;
  constexpr DTypeSet(std::initializer_list<DType> types) {
    for (DType type : types) bits_ |= 1u << static_cast<int>(type);
  }
  constexpr bool contains(DType type) const { return (bits_ >> static_cast<int>(type) & 1) != 0; }
  constexpr bool contains(DTypeSet other) const { return (other.bits_ & ~bits_) == 0; }
  constexpr bool empty() const { return bits_ == 0; }
  friend constexpr bool operator==(DTypeSet, DTypeSet) = default;
  friend constexpr DTypeSet operator|(DTypeSet a, DTypeSet b) { return DTypeSet(a.bits_ | b.bits_); }
  friend constexpr DTypeSet operator-(DTypeSet a, DTypeSet b) { return DTypeSet(a.bits_ & ~b.bits_); }

 private:
  constexpr explicit DTypeSet(uint32_t bits) : bits_(bits) {}
  uint32_t bits_ = 0;
};

inline constexpr DTypeSet kFloats{DType::kF32, DType::kF64, DType::kF16, DType::kBF16};
inline constexpr DTypeSet kIntegers{DType::kI8, DType::kI16, DType::kI32, DType::kI64,
                                    DType::kU8, DType::kU16, DType::kU32, DType::kU64};
inline constexpr DTypeSet kNumbers = kFloats | kIntegers;
inline constexpr DTypeSet kBytes{DType::kI8, DType::kU8};
inline constexpr DTypeSet kBools{DType::kBool};
inline constexpr DTypeSet kStrings{DType::kString};
inline constexpr DTypeSet kComplex{DType::kC64, DType::kC128};
inline constexpr DTypeSet kFloat8{DType::kF8E4M3FN, DType::kF8E4M3FNUZ, DType::kF8E5M2, DType::kF8E5M2FNUZ,
                                  DType::kF8E8M0};
// Of less than a byte.
inline constexpr DTypeSet kPacked{DType::kI4, DType::kU4, DType::kF4E2M1, DType::kI2, DType::kU2};
inline constexpr DTypeSet kFloat6{DType::kF6E2M3, DType::kF6E3M2};
inline constexpr DTypeSet kFloatsWithoutNan = kFloat6 | DTypeSet{DType::kF4E2M1};
// But for float6, which few operators take.
inline constexpr DTypeSet kAllTypes = kNumbers | kBools | kStrings | kComplex | kFloat8 | kPacked;
// All of them, and also what is no tensor of known rank: sequences, optionals, maps, unranked tensors.
inline constexpr DTypeSet kAnyValue = kAllTypes | kFloat6 | DTypeSet{DType::kInvalid};

struct NamedDTypes {
  const char* name;
  DTypeSet types;
};
// The names that TypeNames uses, the larger ones first.
inline constexpr NamedDTypes kNamedDTypes[] = {
    {"any value", kAnyValue}, {"all", kAllTypes},      {"numbers", kNumbers},
    {"floats", kFloats},      {"integers", kIntegers}, {"complex", kComplex},
    {"float8", kFloat8},      {"packed", kPacked},     {"float6", kFloat6},
};

// What sums, roots and the like of this type are computed in before they are rounded once: f32 for floats of
// fewer bits, else the type itself.
constexpr DType WideType(DType dtype) {
  return (kFloat8 | kFloat6).contains(dtype) || dtype == DType::kF16 || dtype == DType::kBF16 ? DType::kF32
                                                                                              : dtype;
}

// {"numbers", "bool"}: by names where a named set is whole.
std::vector<std::string> TypeNames(DTypeSet types);
std::string TypesText(DTypeSet types);  // "numbers, bool"

}  // namespace tvmvm::ir
