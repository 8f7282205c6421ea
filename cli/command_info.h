// The tool's commands and options as data, for manual pages and for shells.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tvm-vm/status.h"

namespace tvmvm::cli {

struct OptionInfo {
  std::vector<std::string> names;  // "-i", "--input"; of what has its place on the line the name alone
  std::string value;               // "FILE"; empty: a flag
  std::string help;
  std::vector<std::string> choices;  // of the value, where they are few
  bool is_positional = false;
  bool is_required = false;
};

struct CommandInfo {
  std::string name;  // "" of the tool itself
  std::string purpose;
  std::string usage;  // "tvm-vm run [OPTIONS] model"
  std::vector<OptionInfo> options;
  std::string footer;  // examples, and what else is said
};

// "bash", "zsh" or "fish". The first command is the tool itself.
std::string CompletionScript(const std::vector<CommandInfo>& commands, std::string_view shell);
// As roff. `name`: of a command; "" for the tool. Errors: kNotFound with the names that there are.
Expected<std::string> ManPage(const std::vector<CommandInfo>& commands, const std::string& name);

}  // namespace tvmvm::cli
