// The commands: each does its work and returns an exit code (console.h), or an error that main prints.
#pragma once

#include "cli/command_info.h"
#include "cli/options.h"
#include "tvm-vm/status.h"

namespace tvmvm::cli {

Expected<int> CompileCommand(const CompileArguments& arguments);
Expected<int> RunCommand(const RunArguments& arguments);
Expected<int> BenchCommand(const BenchArguments& arguments);
Expected<int> PlanCommand(const PlanArguments& arguments);
Expected<int> TestCommand(const TestArguments& arguments);
Expected<int> InspectCommand(const InspectArguments& arguments);
Expected<int> DisasmCommand(const DisasmArguments& arguments);
Expected<int> AsmCommand(const AsmArguments& arguments);
Expected<int> WarmCommand(const WarmArguments& arguments);
Expected<int> KeygenCommand(const KeygenArguments& arguments);
Expected<int> SignCommand(const SignArguments& arguments);
Expected<int> VerifyCommand(const VerifyArguments& arguments);
Expected<int> OpsCommand(const OpsArguments& arguments);
Expected<int> DevicesCommand(const DevicesArguments& arguments);
Expected<int> VersionCommand(const VersionArguments& arguments);
Expected<int> CompletionCommand(const std::vector<CommandInfo>& commands, const std::string& shell);
Expected<int> ManCommand(const std::vector<CommandInfo>& commands, const std::string& name);

}  // namespace tvmvm::cli
