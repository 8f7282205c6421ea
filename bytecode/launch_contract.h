// LaunchContract: what a launch must fulfil so that the kernel stays within its buffers, made ready to be
// asked at each launch (KernelSpec::contract has the text).
//
// The text is expressions of bytecode/dim_expression.h with ";" between them, over the grid x, y, z and the
// scalars s0, s1, ...: bytes of scratch for a worker; bytes of each buffer, from the address on that the
// launch gives; conditions, which must not be 0. Here it is straight-line arithmetic on a row of values that
// begins with the numbers of the launch; what is said twice is computed once, constants when the program is
// read.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "tvm-vm/program.h"
#include "tvm-vm/status.h"

namespace tvmvm {

// Immutable; threads may share it.
class LaunchContract {
 public:
  // Where the values begin with what a launch gives.
  static constexpr size_t kGrid = 0, kScratch = 3, kFirstScalar = 4;
  static constexpr size_t kMostValues = 1024;

  // Of a kernel that has a contract. Errors: kInvalidProgram naming the kernel and the expression.
  static Expected<LaunchContract> Parse(const KernelSpec& kernel);

  // The values of a launch, all but its numbers and what follows from them.
  std::span<const int64_t> initial() const { return initial_; }
  // What is to be computed where a number is another one than before: a set of parts.
  uint64_t DependsOn(size_t number) const { return users_[number]; }
  static constexpr uint64_t kAll = ~uint64_t{0};
  // Computes those parts; the others are there. The expression that fails, by its number in the text: a
  // condition is 0, there is less scratch than wanted, or a value is none of 64 bits; nullopt: all is well.
  // After a failure everything is to be computed again.
  std::optional<uint32_t> Evaluate(int64_t* values, uint64_t parts = kAll) const;
  // The value that says how many bytes the buffer must have.
  uint32_t bytes(size_t buffer) const { return bytes_[buffer]; }

 private:
  friend class ContractReader;
  // Checks, behind the operators of dim_op.h.
  static constexpr uint8_t kIsSet = 64, kIsEqual = 65, kIsAtMost = 66;
  struct Step {
    uint8_t operation = 0;
    uint16_t operands[3] = {0, 0, 0};
    uint16_t result = 0;
    uint16_t expression = 0;  // that it belongs to
  };

  static constexpr size_t kMostParts = 64;

  std::vector<int64_t> initial_;
  std::vector<Step> steps_;
  std::vector<uint32_t> ends_;   // of each part among the steps: those that follow from the same numbers
  std::vector<uint64_t> users_;  // of each number, the parts
  std::vector<uint32_t> bytes_;
};

// An expression of a contract, by its number; "" where there are no more.
std::string_view ContractExpression(std::string_view contract, size_t number);

}  // namespace tvmvm
