// What GLSL's compiler leaves open in modules with matrices (MatrixHeader in c_prelude.cc).
#pragma once

#include <cstdint>
#include <vector>

namespace tvmvm::codegen {

// Whether a module declares SPV_KHR_cooperative_matrix's types.
bool HasMatrixTypes(const std::vector<uint32_t>& words);
// In those types the elements' type stands as a constant, its width in bits: puts the floating-point type
// there, declared before them, and the capability for it. Modules without such types stay as they are.
void GiveMatricesTheirElements(std::vector<uint32_t>* words);

}  // namespace tvmvm::codegen
