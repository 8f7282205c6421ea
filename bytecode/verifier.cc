#include "bytecode/verifier.h"

#include "bytecode/format_text.h"
#include "bytecode/verifier/checks.h"

namespace tvmvm {
namespace verifier {

Status FunctionContext::Fail(const DecodedInstruction& instruction, std::string_view what) const {
  std::string_view node = program.SourceNode(function, instruction.word);
  std::string place = node.empty() ? std::string() : FormatText(" (node {})", node);
  return Refuse("@{}:{} {}: {}{}", function.name, instruction.word, instruction.info->mnemonic, what, place);
}

namespace {

Status VerifyFunction(const Program& program, const FunctionSpec& function) {
  FunctionContext context{program, function, {}};
  TVMVM_CHECK_OK(VerifyFrame(context));
  TVMVM_CHECK_OK(VerifyLayout(&context));
  for (size_t i = 0; i < context.starts.size(); ++i) {
    DecodedInstruction instruction = context.At(i);
    TVMVM_CHECK_OK(VerifyOperands(context, instruction));
    TVMVM_CHECK_OK(VerifyUse(context, instruction));
  }
  return VerifyAssignment(context);
}

}  // namespace
}  // namespace verifier

Status VerifyProgram(const Program& program) {
  TVMVM_CHECK_OK(verifier::VerifyTables(program));
  for (const FunctionSpec& function : program.functions)
    TVMVM_CHECK_OK(verifier::VerifyFunction(program, function));
  return {};
}

}  // namespace tvmvm
