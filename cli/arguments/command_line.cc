#include "cli/arguments/command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "bytecode/device_kinds.h"
#include "cli/console.h"
#include "cli/spelling.h"
#include "tvm-vm/version.h"

namespace tvmvm::cli {
namespace {

constexpr const char* kFooter =
    "Exit codes: 0 fine; 1 the work failed or a comparison did not hold; 2 wrong usage.\n"
    "Results go to standard output, everything else to standard error.\n"
    "`tvm-vm COMMAND --help` shows a command's options and examples.";

std::vector<std::string> NamesOf(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  if (names.empty()) names.push_back(option.get_name());
  return names;
}

std::vector<std::string> ChoicesOf(const CLI::Option& option) {
  const std::string name = option.get_name();
  const std::string type = option.get_type_name();
  if (name == "--device") {
    std::vector<std::string> kinds;
    for (const DeviceKindInfo& kind : kDeviceKinds) kinds.emplace_back(kind.name);
    return kinds;
  }
  if (name == "--target") return {"host", "x86-64-v3", "x86-64-v4", "x86-64-v4-vnni", "aarch64"};
  if (type == "SHELL") return {"bash", "zsh", "fish"};
  std::vector<std::string> choices;
  if (type.find('|') == std::string::npos || type.find('[') != std::string::npos ||
      type.find('=') != std::string::npos)
    return choices;
  for (size_t at = 0; at <= type.size();) {
    const size_t bar = std::min(type.find('|', at), type.size());
    choices.push_back(type.substr(at, bar - at));
    at = bar + 1;
  }
  std::erase_if(choices, [](const std::string& choice) {
    return choice.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ") == std::string::npos;
  });
  return choices;
}

CommandInfo Describe(const CLI::App& command, const std::string& name) {
  CommandInfo info{.name = name,
                   .purpose = command.get_description(),
                   .usage = name.empty() ? "tvm-vm" : "tvm-vm " + name};
  info.footer = command.get_footer();
  bool has_options = false;
  std::string places;
  for (const CLI::Option* option : command.get_options()) {
    OptionInfo described{.names = NamesOf(*option), .help = option->get_description()};
    described.is_positional =
        option->get_positional() && option->get_lnames().empty() && option->get_snames().empty();
    described.is_required = option->get_required();
    described.value = option->get_items_expected_max() == 0 ? "" : option->get_type_name();
    described.choices = ChoicesOf(*option);
    if (described.is_positional)
      places += described.is_required ? " " + described.value : fmt::format(" [{}]", described.value);
    else
      has_options = true;
    info.options.push_back(std::move(described));
  }
  if (name.empty()) places = " COMMAND";
  info.usage += (has_options ? " [OPTION]..." : "") + places;
  return info;
}

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

// The option or command that an argument nobody expected may be.
std::string Meant(const CLI::App& app, const CLI::App* command, const std::string& message) {
  std::istringstream words(message.substr(std::min(message.size(), message.find(": ") + 1)));
  std::string given;
  for (std::string word; words >> word && !given.starts_with("-");) given = word;
  if (!given.starts_with("-")) return command ? "" : DidYouMean(given, CommandNames(app));
  std::vector<std::string> names;
  for (const CLI::Option* option : (command ? *command : app).get_options())
    for (const std::string& name : NamesOf(*option)) names.push_back(name);
  return DidYouMean(given, names);
}

}  // namespace

std::unique_ptr<CLI::App> MakeCommandLine(Action* action) {
  auto app =
      std::make_unique<CLI::App>("Compiles dynamic ONNX models into one file and runs them.", "tvm-vm");
  app->footer(kFooter);
  app->set_version_flag("-V,--version", "tvm-vm " + VersionText(Version()));
  CLI::Option* quiet = app->add_flag_callback(
      "-q,--quiet", [] { SetQuiet(); }, "No notes on standard error, errors alone");
  app->add_flag_callback(
         "-v,--verbose", [] { SetVerbose(); },
         "More notes: what is loaded, compiled and bound to which device, what that takes, what inputs are")
      ->excludes(quiet);
  app->require_subcommand(1);
  for (auto add : {AddCompile, AddRun, AddBench, AddPlan, AddTest, AddInspect, AddDisasm, AddAsm, AddVerify,
                   AddKeygen, AddSign, AddOps, AddListDevices, AddWarm, AddVersion, AddCompletion, AddMan})
    add(*app, action);
  for (CLI::App* command : app->get_subcommands({})) command->fallthrough();
  return app;
}

std::vector<CommandInfo> DescribeCommands(const CLI::App& app) {
  std::vector<CommandInfo> commands{Describe(app, "")};
  for (const CLI::App* command : app.get_subcommands({}))
    commands.push_back(Describe(*command, command->get_name()));
  return commands;
}

std::string UsageMessage(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  const CLI::App* command = chosen.empty() ? nullptr : chosen[0];
  std::string message = error.what();
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError))
    message += Meant(app, command, message);
  return fmt::format("tvm-vm: {}\n`tvm-vm{}{} --help` shows what there is.", message, command ? " " : "",
                     command ? command->get_name() : "");
}

}  // namespace tvmvm::cli
