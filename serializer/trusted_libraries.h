// Which of a program's kernel libraries may run.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tvm-vm/program.h"
#include "tvm-vm/trust.h"

namespace tvmvm {

struct TrustOptions {
  Trust trust = Trust::kAny;
  std::span<const PublicKey> keys;
  bool with_constants = false;  // kSigned: the constants are as they were signed, too; reads all of them
};

struct TrustedLibraries {
  std::vector<KernelLibrarySpec> libraries;  // views of the program
  std::string refused;                       // why others are not among them; "" where all are
};

// With kSigned: metadata, code and debug sections of the file that the program was loaded from are hashed,
// the rows of the kernels, and the kernels. Where one of the first is not what was signed, no library is
// trusted. With kSignedKernels the first are not looked at. That what is launched has a contract is up to
// whoever binds the program.
TrustedLibraries LibrariesToTrust(const Program& program, const TrustOptions& options);

}  // namespace tvmvm
