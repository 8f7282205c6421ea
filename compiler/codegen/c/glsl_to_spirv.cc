#include "compiler/codegen/c/glsl_to_spirv.h"

#include <fmt/format.h>

#include "compiler/codegen/c/spirv_matrices.h"
#include "compiler/codegen/c/spirv_tools.h"
#include "compiler/codegen/gpu_codegen.h"

#if TVMVM_HAS_GLSLANG
#include <glslang/Public/ShaderLang.h>
#include <glslang/SPIRV/GlslangToSpv.h>

// From glslang's library of default limits; its header's name differs between versions.
extern const TBuiltInResource* GetDefaultResources();
#endif

namespace tvmvm::codegen {

#if TVMVM_HAS_GLSLANG

namespace {

// Counts its users by itself: one for the process is enough.
struct Process {
  Process() { glslang::InitializeProcess(); }
  ~Process() { glslang::FinalizeProcess(); }
};

}  // namespace

bool CanMakeSpirv() { return true; }

Expected<std::vector<uint32_t>> GlslToSpirv(const std::string& text, const std::string& name) {
  static const Process process;
  glslang::TShader shader(EShLangCompute);
  const char* source = text.c_str();
  shader.setStrings(&source, 1);
  shader.setEnvInput(glslang::EShSourceGlsl, EShLangCompute, glslang::EShClientVulkan, 100);
  shader.setEnvClient(glslang::EShClientVulkan, glslang::EShTargetVulkan_1_1);
  shader.setEnvTarget(glslang::EShTargetSpv, glslang::EShTargetSpv_1_3);
  auto messages = static_cast<EShMessages>(EShMsgSpvRules | EShMsgVulkanRules);
  glslang::TProgram program;
  bool is_right = shader.parse(GetDefaultResources(), 450, false, messages);
  if (is_right) {
    program.addShader(&shader);
    is_right = program.link(messages);
  }
  if (!is_right)
    return MakeError(Code::kInternal, fmt::format("kernel '{}': malformed GLSL: {}{}", name,
                                                  shader.getInfoLog(), program.getInfoLog()));
  std::vector<uint32_t> words;
  glslang::SpvOptions options;
  options.disableOptimizer = true;
  glslang::GlslangToSpv(*program.getIntermediate(EShLangCompute), words, &options);
  GiveMatricesTheirElements(&words);
#ifndef NDEBUG
  // The validator of the time does not know matrices.
  if (!HasMatrixTypes(words)) TVMVM_CHECK_OK(CheckSpirv(words, name));
#endif
  return words;
}

#else

bool CanMakeSpirv() { return false; }

Expected<std::vector<uint32_t>> GlslToSpirv(const std::string&, const std::string& name) {
  return MakeError(Code::kUnsupported,
                   fmt::format("kernel '{}': this build has no glslang, so it makes no SPIR-V", name));
}

#endif

}  // namespace tvmvm::codegen
