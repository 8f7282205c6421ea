// The commands that show, check and prepare files, and those about the tool itself.
#include <fmt/format.h>

#include "bytecode/device_kinds.h"
#include "cli/arguments/command_line.h"
#include "cli/arguments/shared_options.h"
#include "cli/commands.h"

namespace tvmvm::cli {

void AddInspect(CLI::App& app, Action* action) {
  auto arguments = std::make_shared<InspectArguments>();
  CLI::App* command = AddCommand(
      app, "inspect", "Show what a .vmexe or an .onnx file holds",
      "  tvm-vm inspect model.vmexe\n  tvm-vm inspect model.onnx\n  tvm-vm inspect model.vmexe --json\n"
      "  tvm-vm inspect model.onnx --dot graph.dot");
  command->add_option("file", arguments->path, "The file")->required()->type_name("FILE");
  command->add_flag("--json", arguments->json, "Print as JSON");
  command
      ->add_option("--dot", arguments->dot,
                   "Write the graph of an .onnx file for Graphviz: dot -Tsvg FILE -o graph.svg; - is standard output")
      ->type_name("FILE");
  command->callback([=] { *action = [arguments] { return InspectCommand(*arguments); }; });
}

void AddDisasm(CLI::App& app, Action* action) {
  auto arguments = std::make_shared<DisasmArguments>();
  CLI::App* command =
      AddCommand(app, "disasm", "Print a program's bytecode as text",
                 "  tvm-vm disasm model.vmexe\n  tvm-vm disasm model.vmexe --constants -o model.vmasm");
  command->add_option("file", arguments->path, "A .vmexe file, or an .onnx file, which is compiled")
      ->required()
      ->type_name("FILE");
  command->add_option("-o,--output", arguments->output, "Write here instead of to standard output")
      ->type_name("FILE");
  command->add_flag("--constants", arguments->constants,
                    "Small constants in full, so that asm can read them back");
  command->callback([=] { *action = [arguments] { return DisasmCommand(*arguments); }; });
}

void AddAsm(CLI::App& app, Action* action) {
  auto arguments = std::make_shared<AsmArguments>();
  CLI::App* command =
      AddCommand(app, "asm", "Assemble bytecode text into a .vmexe file",
                 "  tvm-vm asm model.vmasm -o model.vmexe\n"
                 "Text holds no machine code: a program with kernels can be looked at then, not run.");
  command->add_option("file", arguments->path, "The text")->required()->type_name("FILE");
  command->add_option("-o,--output", arguments->output, "The file to write")->required()->type_name("FILE");
  command->callback([=] { *action = [arguments] { return AsmCommand(*arguments); }; });
}

void AddVerify(CLI::App& app, Action* action) {
  auto arguments = std::make_shared<VerifyArguments>();
  CLI::App* command =
      AddCommand(app, "verify", "Check .vmexe files: digests, structure, bytecode, and signatures",
                 "  tvm-vm verify model.vmexe\n  tvm-vm verify signed.vmexe --key release.key.pub");
  command->add_option("files", arguments->paths, "The files")->required()->type_name("FILE...");
  command
      ->add_option("--key", arguments->keys,
                   "A public key: the owner of one of those given has to have signed all of each file")
      ->allow_extra_args(false)
      ->type_name("FILE.pub");
  command->add_flag("--json", arguments->json, "Print as JSON");
  command->callback([=] { *action = [arguments] { return VerifyCommand(*arguments); }; });
}

void AddKeygen(CLI::App& app, Action* action) {
  auto arguments = std::make_shared<KeygenArguments>();
  CLI::App* command =
      AddCommand(app, "keygen", "Make a pair of keys to sign .vmexe files with",
                 "  tvm-vm keygen new.key\n"
                 "The secret key is for its owner alone (mode 0600); FILE.pub, the public one, is for all\n"
                 "who check. Neither may exist before.");
  command->add_option("file", arguments->path, "Where the secret key goes")->required()->type_name("FILE");
  command->callback([=] { *action = [arguments] { return KeygenCommand(*arguments); }; });
}

void AddSign(CLI::App& app, Action* action) {
  auto arguments = std::make_shared<SignArguments>();
  CLI::App* command = AddCommand(app, "sign", "Sign a .vmexe file",
                                 "  tvm-vm sign model.vmexe --key release.key\n"
                                 "  tvm-vm sign model.vmexe --key release.key -o signed.vmexe\n"
                                 "Signatures that others made of the same contents stay.");
  command->add_option("file", arguments->path, "The file")->required()->type_name("FILE");
  command->add_option("--key", arguments->key, "The secret key, which nobody else may read")
      ->required()
      ->type_name("FILE");
  command->add_option("-o,--output", arguments->output, "Write here instead of in its place")
      ->type_name("FILE");
  command->callback([=] { *action = [arguments] { return SignCommand(*arguments); }; });
}

void AddOps(CLI::App& app, Action* action) {
  auto arguments = std::make_shared<OpsArguments>();
  CLI::App* command =
      AddCommand(app, "ops", "List the ONNX operators that are supported, or those that a model needs",
                 "  tvm-vm ops\n"
                 "  tvm-vm ops --model model.onnx\n"
                 "  tvm-vm ops --markdown > docs/operators.md\n"
                 "With --model, an operator that is not supported gives exit code 1.");
  CLI::Option* model = command
                           ->add_option("--model", arguments->model,
                                        "Show what this model needs, in its subgraphs and functions too")
                           ->type_name("MODEL.onnx");
  CLI::Option* json = command->add_flag("--json", arguments->json, "Print as JSON");
  command->add_flag("--markdown", arguments->markdown, "Print the table as docs/operators.md has it")
      ->excludes(model)
      ->excludes(json);
  command->callback([=] { *action = [arguments] { return OpsCommand(*arguments); }; });
}

// A line for each kind of device.
static std::string DescribedKinds() {
  std::string text;
  for (const DeviceKindInfo& kind : kDeviceKinds) text += fmt::format("\n  {:<8}{}", kind.name, kind.meaning);
  return text;
}

void AddListDevices(CLI::App& app, Action* action) {
  auto arguments = std::make_shared<DevicesArguments>();
  CLI::App* command =
      AddCommand(app, "devices", "List the devices of this machine and what they can do",
                 "  tvm-vm devices\n"
                 "A device is selected by its name, or by a part of its hardware's or driver's: opencl,\n"
                 "opencl:1, vulkan:nvidia. The kinds:" +
                     DescribedKinds());
  command->add_flag("--json", arguments->json, "Print as JSON");
  command->callback([=] { *action = [arguments] { return DevicesCommand(*arguments); }; });
}

void AddWarm(CLI::App& app, Action* action) {
  auto arguments = std::make_shared<WarmArguments>();
  CLI::App* command =
      AddCommand(app, "warm", "Build the GPU kernels of a .vmexe file ahead of the first run",
                 "  tvm-vm warm model.vmexe --device vulkan\n"
                 "  tvm-vm warm model.vmexe --device vulkan:nvidia,opencl:nvidia\n"
                 "What the drivers make of them is kept in $TVMVM_CACHE_DIR, else in $XDG_CACHE_HOME/tvm-vm\n"
                 "or ~/.cache/tvm-vm, for each device that --device names.");
  command->add_option("file", arguments->path, "The file")->required()->type_name("FILE");
  AddDevices(command, &arguments->devices);
  command->get_option("--device")->required();
  AddTrust(command, &arguments->trust);
  command->add_flag("--json", arguments->json, "Print as JSON");
  command->callback([=] { *action = [arguments] { return WarmCommand(*arguments); }; });
}

void AddVersion(CLI::App& app, Action* action) {
  auto arguments = std::make_shared<VersionArguments>();
  CLI::App* command =
      AddCommand(app, "version", "Show the version of the tool, of its files and of the compiler",
                 "  tvm-vm version\n  tvm-vm version --json");
  command->add_flag("--json", arguments->json, "Print as JSON");
  command->callback([=] { *action = [arguments] { return VersionCommand(*arguments); }; });
}

void AddCompletion(CLI::App& app, Action* action) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command =
      AddCommand(app, "completion", "Print what completes commands and options in a shell",
                 "  tvm-vm completion bash > ~/.local/share/bash-completion/completions/tvm-vm\n"
                 "  tvm-vm completion zsh > ~/.zfunc/_tvm-vm\n"
                 "  tvm-vm completion fish > ~/.config/fish/completions/tvm-vm.fish");
  command->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""))
      ->type_name("SHELL");
  command->callback(
      [=, &app] { *action = [shell, &app] { return CompletionCommand(DescribeCommands(app), *shell); }; });
}

void AddMan(CLI::App& app, Action* action) {
  auto name = std::make_shared<std::string>();
  CLI::App* command = AddCommand(app, "man", "Print the manual page of the tool or of a command, for man",
                                 "  tvm-vm man > tvm-vm.1\n  tvm-vm man compile > tvm-vm-compile.1");
  command->add_option("command", *name, "The command")->type_name("COMMAND");
  command->callback(
      [=, &app] { *action = [name, &app] { return ManCommand(DescribeCommands(app), *name); }; });
}

}  // namespace tvmvm::cli
