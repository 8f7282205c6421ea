#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "cli/command_info.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "cli/spelling.h"
#include "tvm-vm/version.h"

namespace tvmvm::cli {
namespace {

// Text as roff has it: no hyphenated minus, no line that begins a request.
std::string Roff(std::string_view text) {
  std::string result;
  bool begins = true;
  for (char c : text) {
    if (begins && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
    begins = c == '\n';
  }
  return result;
}

std::string PageName(const std::string& command) { return command.empty() ? "tvm-vm" : "tvm-vm-" + command; }

std::string OptionText(const OptionInfo& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.names) names.push_back(fmt::format("\\fB{}\\fR", Roff(name)));
  std::string head = option.is_positional ? fmt::format("\\fI{}\\fR", Roff(option.value))
                                          : fmt::format("{}", fmt::join(names, ", "));
  if (!option.is_positional && !option.value.empty()) head += fmt::format(" \\fI{}\\fR", Roff(option.value));
  return fmt::format(".TP\n{}\n{}\n", head, Roff(option.help));
}

// Indented lines are examples, others are text.
std::string FooterText(const std::string& footer) {
  std::string text;
  bool in_examples = false;
  std::istringstream lines(footer);
  for (std::string line; std::getline(lines, line);) {
    if (line == "Examples:") {
      text += ".SH EXAMPLES\n";
      continue;
    }
    const bool is_example = line.starts_with("  ");
    if (is_example != in_examples) text += is_example ? ".nf\n" : ".fi\n.PP\n";
    in_examples = is_example;
    text += Roff(is_example ? line.substr(2) : line) + "\n";
  }
  return text + (in_examples ? ".fi\n" : "");
}

std::string Page(const CommandInfo& command, const std::vector<CommandInfo>& commands) {
  std::string purpose = command.purpose;
  while (purpose.ends_with('.')) purpose.pop_back();
  std::string text = fmt::format(".TH {} 1 \"\" \"tvm-vm {}\" \"User Commands\"\n",
                                 Roff(PageName(command.name)), VersionText(Version()));
  text += fmt::format(".SH NAME\n{} \\- {}\n", Roff(PageName(command.name)), Roff(purpose));
  text += fmt::format(".SH SYNOPSIS\n.B {}\n", Roff(command.usage));
  text += fmt::format(".SH DESCRIPTION\n{}.\n", Roff(purpose));
  if (command.name.empty()) {
    text += ".SH COMMANDS\n";
    for (const CommandInfo& other : commands)
      if (!other.name.empty())
        text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", Roff(other.name), Roff(other.purpose));
  }
  text += ".SH OPTIONS\n";
  for (const OptionInfo& option : command.options) text += OptionText(option);
  if (command.name.empty())
    text += ".SH EXIT STATUS\n.nf\n" + Roff(command.footer) + "\n.fi\n";
  else
    text += FooterText(command.footer);
  std::vector<std::string> pages;
  for (const CommandInfo& other : commands)
    if (other.name != command.name) pages.push_back(fmt::format(".BR {} (1)", Roff(PageName(other.name))));
  return text + fmt::format(".SH SEE ALSO\n{}\n", fmt::join(pages, ",\n"));
}

}  // namespace

Expected<std::string> ManPage(const std::vector<CommandInfo>& commands, const std::string& name) {
  auto found = std::ranges::find(commands, name, &CommandInfo::name);
  if (found != commands.end()) return Page(*found, commands);
  std::vector<std::string> names;
  for (const CommandInfo& command : commands) names.push_back(command.name);
  return MakeError(Code::kNotFound, fmt::format("'{}' is no command{}", name, DidYouMean(name, names)));
}

Expected<int> ManCommand(const std::vector<CommandInfo>& commands, const std::string& name) {
  TVMVM_TRY(std::string page, ManPage(commands, name));
  PrintResult(page);
  return kExitOk;
}

}  // namespace tvmvm::cli
