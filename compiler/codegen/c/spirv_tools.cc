#include "compiler/codegen/c/spirv_tools.h"

#include <fmt/format.h>

#if TVMVM_HAS_SPIRV_TOOLS
#include <spirv-tools/libspirv.hpp>
#include <spirv-tools/optimizer.hpp>
#endif

namespace tvmvm::codegen {

#if TVMVM_HAS_SPIRV_TOOLS

namespace {

constexpr spv_target_env kEnvironment = SPV_ENV_VULKAN_1_1;

spvtools::MessageConsumer AppendTo(std::string* messages) {
  return
      [messages](spv_message_level_t level, const char*, const spv_position_t& position, const char* text) {
        if (level <= SPV_MSG_ERROR) *messages += fmt::format("\n  {}: {}", position.index, text);
      };
}

spvtools::ValidatorOptions Rules() {
  spvtools::ValidatorOptions rules;
  rules.SetScalarBlockLayout(true);  // the arguments' block, as GL_EXT_scalar_block_layout lays it out
  return rules;
}

Status Validate(const std::vector<uint32_t>& words, const std::string& name) {
  std::string messages;
  spvtools::SpirvTools tools(kEnvironment);
  tools.SetMessageConsumer(AppendTo(&messages));
  if (tools.Validate(words.data(), words.size(), Rules())) return {};
  return MakeError(Code::kInternal, fmt::format("kernel '{}': malformed SPIR-V:{}", name, messages));
}

}  // namespace

Status CheckSpirv(const std::vector<uint32_t>& words, const std::string& name) {
  TVMVM_CHECK_OK(Validate(words, name));
  std::string messages;
  spvtools::Optimizer optimizer(kEnvironment);
  optimizer.SetMessageConsumer(AppendTo(&messages));
  optimizer.RegisterPerformancePasses();
  spvtools::OptimizerOptions options;
  options.set_run_validator(false);
  std::vector<uint32_t> optimized;
  if (!optimizer.Run(words.data(), words.size(), &optimized, options))
    return MakeError(Code::kInternal, fmt::format("kernel '{}': SPIR-V is not optimized:{}", name, messages));
  return Validate(optimized, name);
}

#else

Status CheckSpirv(const std::vector<uint32_t>&, const std::string&) { return {}; }

#endif

}  // namespace tvmvm::codegen
