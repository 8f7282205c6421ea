// tvm-vm: reads the command line into plain arguments (options.h) and calls the command.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <exception>
#include <string>
#include <vector>

#include "cli/arguments/command_line.h"
#include "cli/console.h"
#include "cli/json.h"
#include "cli/spelling.h"
#include "tvm-vm/vmexe.h"

namespace tvmvm::cli {
namespace {

// An error, for machines too where they read.
int Fail(const Error& error, bool as_json) {
  PrintError(error);
  if (!as_json) return kExitFailed;
  PrintResult(FormatJson(Json{{"error", {{"code", CodeName(error.code)}, {"message", error.message}}}}));
  (void)FlushResults();
  return kExitFailed;
}

// `help` and `help COMMAND` are `--help` and `COMMAND --help`.
std::vector<std::string> WithoutHelpCommand(int argc, char** argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (words.empty() || words[0] != "help") return words;
  words.erase(words.begin());
  words.push_back("--help");
  return words;
}

int Main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of FlushResults
  if (Status status = CatchCutFiles(); !status) PrintError(status.error());
  Action action;
  const std::unique_ptr<CLI::App> app = MakeCommandLine(&action);
  std::vector<std::string> words = WithoutHelpCommand(argc, argv);
  const bool as_json = std::ranges::find(words, "--json") != words.end();
  try {
    app->parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app->exit(error) == 0 ? kExitOk : kExitUsage;
    if (!words.empty() && !words[0].starts_with('-') && app->get_subcommands().empty()) {
      std::vector<std::string> names = {"help"};
      for (const CLI::App* command : app->get_subcommands({})) names.push_back(command->get_name());
      fmt::print(stderr, "tvm-vm: '{}' is no command{}\n`tvm-vm --help` shows what there is.\n", words[0],
                 DidYouMean(words[0], names));
    } else {
      fmt::print(stderr, "{}\n", UsageMessage(*app, error));
    }
    return kExitUsage;
  }
  Expected<int> code = action();
  if (!code) return Fail(code.error(), as_json);
  if (Status status = FlushResults(); !status) return Fail(status.error(), false);
  return *code;
}

}  // namespace
}  // namespace tvmvm::cli

int main(int argc, char** argv) {
  try {
    return tvmvm::cli::Main(argc, argv);
  } catch (const std::exception& error) {
    tvmvm::cli::PrintError({tvmvm::Code::kInternal, error.what()});
    return tvmvm::cli::kExitFailed;
  }
}
