#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "cli/command_info.h"
#include "cli/commands.h"
#include "cli/console.h"

namespace tvmvm::cli {
namespace {

// What a value is, for completion: of a folder or of a file, or one of some words.
bool IsFolder(const OptionInfo& option) { return option.value.starts_with("DIR"); }
bool IsFile(const OptionInfo& option) {
  return option.value.find("FILE") != std::string::npos || option.value.starts_with("MODEL") ||
         option.value == "[NAME=]WHAT";
}

std::string Replaced(std::string text, std::string_view what, std::string_view with) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

// Up to where the first sentence or remark ends.
std::string Short(const std::string& help) {
  return help.substr(0, std::min(help.find(". "), help.find("; ")));
}

std::vector<std::string> Flags(const CommandInfo& command) {
  std::vector<std::string> flags;
  for (const OptionInfo& option : command.options)
    if (!option.is_positional) flags.insert(flags.end(), option.names.begin(), option.names.end());
  return flags;
}

std::vector<std::string> CommandNames(const std::vector<CommandInfo>& commands) {
  std::vector<std::string> names;
  for (const CommandInfo& command : commands)
    if (!command.name.empty()) names.push_back(command.name);
  return names;
}

// ---- bash ----

std::string BashValue(const OptionInfo& option) {
  if (!option.choices.empty())
    return fmt::format("COMPREPLY=($(compgen -W '{}' -- \"$word\"))", fmt::join(option.choices, " "));
  if (IsFolder(option)) return "compopt -o filenames; COMPREPLY=($(compgen -d -- \"$word\"))";
  if (IsFile(option)) return "compopt -o filenames; COMPREPLY=($(compgen -f -- \"$word\"))";
  return "COMPREPLY=()";
}

std::string BashCommand(const CommandInfo& command) {
  std::string text;
  std::string values;
  for (const OptionInfo& option : command.options)
    if (!option.is_positional && !option.value.empty())
      values += fmt::format("        {}) {}; return ;;\n", fmt::join(option.names, "|"), BashValue(option));
  text += fmt::format("    {})\n", command.name.empty() ? "''" : command.name);
  if (!values.empty()) text += "      case \"$before\" in\n" + values + "      esac\n";
  text += fmt::format("      flags='{}'\n", fmt::join(Flags(command), " "));
  for (const OptionInfo& option : command.options)
    if (option.is_positional && !option.choices.empty())
      text += fmt::format("      words='{}'\n", fmt::join(option.choices, " "));
  return text + "      ;;\n";
}

std::string Bash(const std::vector<CommandInfo>& commands) {
  std::string text =
      "# bash completion for tvm-vm\n"
      "_tvm_vm() {\n"
      "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} command='' flags='' "
      "words='' i\n"
      "  for ((i = 1; i < COMP_CWORD; ++i)); do\n"
      "    case ${COMP_WORDS[i]} in -*) ;; *) command=${COMP_WORDS[i]}; break ;; esac\n"
      "  done\n"
      "  case \"$command\" in\n";
  for (const CommandInfo& command : commands) text += BashCommand(command);
  text += fmt::format(
      "  esac\n"
      "  if [[ $word == -* ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$flags\" -- \"$word\"))\n"
      "  elif [[ -z $command || $command == help ]]; then\n"
      "    COMPREPLY=($(compgen -W '{} help' -- \"$word\"))\n"
      "  elif [[ -n $words ]]; then\n"
      "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
      "  else\n"
      "    compopt -o filenames\n"
      "    COMPREPLY=($(compgen -f -- \"$word\"))\n"
      "  fi\n"
      "}}\n"
      "complete -F _tvm_vm tvm-vm\n",
      fmt::join(CommandNames(commands), " "));
  return text;
}

// ---- zsh ----

std::string ZshText(const std::string& text) {
  std::string escaped = Replaced(text, "'", "'\\''");
  for (const char* sign : {"[", "]", ":"}) escaped = Replaced(escaped, sign, std::string("\\") + sign);
  return escaped;
}

std::string ZshValue(const OptionInfo& option) {
  if (!option.choices.empty()) return fmt::format("({})", fmt::join(option.choices, " "));
  if (IsFolder(option)) return "_files -/";
  return IsFile(option) ? "_files" : " ";
}

std::string ZshOption(const OptionInfo& option) {
  const std::string value =
      option.value.empty() ? "" : fmt::format(":{}:{}", ZshText(option.value), ZshValue(option));
  if (option.is_positional) return fmt::format(" \\\n        '*{}'", value);
  std::string text;
  for (const std::string& name : option.names)
    text += fmt::format(" \\\n        '*{}[{}]{}'", name, ZshText(Short(option.help)), value);
  return text;
}

std::string Zsh(const std::vector<CommandInfo>& commands) {
  std::string names, cases;
  for (const CommandInfo& command : commands) {
    if (command.name.empty()) continue;
    names += fmt::format("    '{}:{}'\n", command.name, ZshText(command.purpose));
    cases += fmt::format("      {})\n        _arguments", command.name);
    for (const OptionInfo& option : command.options) cases += ZshOption(option);
    cases += "\n        ;;\n";
  }
  return "#compdef tvm-vm\n\n_tvm_vm() {\n  local -a commands\n  commands=(\n" + names +
         "    'help:Show the options and examples of a command'\n  )\n"
         "  if (( CURRENT == 2 )); then\n    _describe command commands\n  else\n    shift words\n    (( "
         "CURRENT-- ))\n"
         "    case $words[1] in\n" +
         cases +
         "      help)\n        _describe command commands\n        ;;\n    esac\n  fi\n}\n\n_tvm_vm \"$@\"\n";
}

// ---- fish ----

std::string FishText(const std::string& text) { return Replaced(Replaced(text, "\\", "\\\\"), "'", "\\'"); }

std::string FishOption(const std::string& when, const OptionInfo& option) {
  std::string text = "complete -c tvm-vm -n '" + when + "'";
  for (const std::string& name : option.names) {
    if (option.is_positional) continue;
    text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
  }
  if (!option.choices.empty()) {
    text += fmt::format(" -x -a '{}'", fmt::join(option.choices, " "));
  } else if (IsFolder(option)) {
    text += " -x -a '(__fish_complete_directories)'";
  } else if (!option.value.empty()) {
    text += IsFile(option) ? (option.is_positional ? " -F" : " -r -F") : " -x";
  }
  return text + fmt::format(" -d '{}'\n", FishText(Short(option.help)));
}

std::string Fish(const std::vector<CommandInfo>& commands) {
  std::string text = "# fish completion for tvm-vm\ncomplete -c tvm-vm -f\n";
  for (const CommandInfo& command : commands) {
    std::string when = "__fish_use_subcommand";
    if (!command.name.empty()) {
      text += fmt::format("complete -c tvm-vm -n '__fish_use_subcommand' -a '{}' -d '{}'\n", command.name,
                          FishText(command.purpose));
      when = "__fish_seen_subcommand_from " + command.name;
    }
    for (const OptionInfo& option : command.options) text += FishOption(when, option);
  }
  return text + fmt::format("complete -c tvm-vm -n '__fish_seen_subcommand_from help' -a '{}'\n",
                            fmt::join(CommandNames(commands), " "));
}

}  // namespace

std::string CompletionScript(const std::vector<CommandInfo>& commands, std::string_view shell) {
  if (shell == "zsh") return Zsh(commands);
  return shell == "fish" ? Fish(commands) : Bash(commands);
}

Expected<int> CompletionCommand(const std::vector<CommandInfo>& commands, const std::string& shell) {
  PrintResult(CompletionScript(commands, shell));
  return kExitOk;
}

}  // namespace tvmvm::cli
