// The command line: every command with its options, which fills plain arguments (options.h) and says what is
// to be done with them. This folder alone knows CLI11.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <vector>

#include "cli/command_info.h"
#include "tvm-vm/status.h"

namespace tvmvm::cli {

using Action = std::function<Expected<int>()>;

// Parsing sets `action`, which outlives the app. Not to be moved: commands refer to it.
std::unique_ptr<CLI::App> MakeCommandLine(Action* action);
std::vector<CommandInfo> DescribeCommands(const CLI::App& app);
// What is said of a command line that is wrong: the reason, and the command whose help is meant.
std::string UsageMessage(const CLI::App& app, const CLI::ParseError& error);

void AddCompile(CLI::App& app, Action* action);
void AddRun(CLI::App& app, Action* action);
void AddBench(CLI::App& app, Action* action);
void AddPlan(CLI::App& app, Action* action);
void AddTest(CLI::App& app, Action* action);
void AddInspect(CLI::App& app, Action* action);
void AddDisasm(CLI::App& app, Action* action);
void AddAsm(CLI::App& app, Action* action);
void AddVerify(CLI::App& app, Action* action);
void AddKeygen(CLI::App& app, Action* action);
void AddSign(CLI::App& app, Action* action);
void AddOps(CLI::App& app, Action* action);
void AddListDevices(CLI::App& app, Action* action);
void AddWarm(CLI::App& app, Action* action);
void AddVersion(CLI::App& app, Action* action);
void AddCompletion(CLI::App& app, Action* action);
void AddMan(CLI::App& app, Action* action);

}  // namespace tvmvm::cli
