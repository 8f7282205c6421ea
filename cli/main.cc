// tvm-vm: reads the command line into plain arguments (options.h) and calls the command. The only file that
// knows CLI11.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <csignal>
#include <exception>
#include <functional>

#include "bytecode/device_kinds.h"
#include "cli/commands.h"
#include "cli/console.h"
#include "tvm-vm/version.h"

namespace tvmvm::cli {
namespace {

using Action = std::function<Expected<int>()>;

constexpr const char* kFooter =
    "Exit codes: 0 fine; 1 the work failed or a comparison did not hold; 2 wrong usage.\n"
    "Results go to standard output, everything else to standard error.\n"
    "`tvm-vm COMMAND --help` shows a command's options and examples.";

// Makes a CLI11 callback of a parser that returns Expected<T>: its message becomes a usage error.
template <class T>
std::function<void(const std::vector<std::string>&)> ParseEach(Expected<T> (*parse)(std::string_view),
                                                               std::function<void(T)> take) {
  return [parse, take](const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      Expected<T> value = parse(text);
      if (!value) throw CLI::ValidationError(value.error().message);
      take(std::move(*value));
    }
  };
}

template <class T>
CLI::Option* AddParsed(CLI::App* app, const std::string& flags, Expected<T> (*parse)(std::string_view),
                       std::function<void(T)> take, const std::string& help) {
  auto callback = ParseEach<T>(parse, std::move(take));
  return app->add_option_function<std::vector<std::string>>(flags, callback, help)->allow_extra_args(false);
}

// With `fixed`, only NAME=N makes sense.
CLI::Option* AddDims(CLI::App* app, DimBounds* dims, bool fixed,
                     const std::string& help = "What is known of a symbolic dimension, for every call") {
  auto take = [dims, fixed](std::pair<std::string, DimBound> dim) {
    if (fixed && dim.second.low != dim.second.high)
      throw CLI::ValidationError("'" + dim.first + "': one number is wanted here, NAME=N");
    (*dims)[dim.first] = dim.second;
  };
  return AddParsed<std::pair<std::string, DimBound>>(
             app, "--dim", ParseDim, take,
             fixed ? "Size of a symbolic dimension for inputs that are made (else 1)" : help)
      ->type_name(fixed ? "NAME=N" : "NAME=LO..HI|NAME=N");
}

void AddInputs(CLI::App* app, InputArguments* inputs) {
  AddParsed<InputSpec>(
      app, "-i,--input", ParseInput, [inputs](InputSpec spec) { inputs->inputs.push_back(std::move(spec)); },
      "An input: [NAME=]FILE.npy or .pb; of strings also .json; of a sequence a folder of 0.npy, 1.npy, ... "
      "or .npz; or [NAME=]random[:4x128]; NAME=none for an optional without element; with no --input, all "
      "are made at "
      "random")
      ->type_name("[NAME=]FILE|random");
  AddDims(app, &inputs->dims, true);
  app->add_option("--seed", inputs->seed, "Seed of random inputs")->capture_default_str();
}

// What a clock of nanoseconds can add up; NaN is no time.
CLI::Validator Seconds() {
  auto check = [](std::string& text) {
    double seconds = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    bool is_number = error == std::errc() && end == text.data() + text.size();
    bool is_time = is_number && seconds >= 1e-7 && seconds <= 1e9;
    return is_time ? std::string() : text + " is no number of seconds from 1e-7 to 1e9";
  };
  return CLI::Validator(check, "in [1e-7 - 1e9]");
}

void AddMaxBytes(CLI::App* app, int64_t* bytes) {
  app->add_option("--max-bytes", *bytes, "Memory that one run may take, as in 500M or 2G")
      ->transform(CLI::AsSizeValue(false))
      ->check(CLI::PositiveNumber);
}

void AddLimits(CLI::App* app, LimitArguments* limits) {
  app->add_option("--timeout", limits->timeout_seconds, "Seconds that one run may take")->check(Seconds());
  app->add_option("--max-steps", limits->max_steps, "Bytecode instructions that one run may take")
      ->check(CLI::PositiveNumber);
  AddMaxBytes(app, &limits->max_bytes);
}

void AddDevices(CLI::App* app, std::vector<std::string>* devices) {
  auto check = [](std::string& text) {
    return KindOfSelection(text) ? std::string() : text + " is no device; there are: " + DeviceKindNames();
  };
  app->add_option("--device", *devices,
                  "Devices in order of preference: " + DeviceKindNames(false) +
                      "; the fastest of a kind, or with opencl:1 or vulkan:nvidia a certain one")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Validator(check, ""))
      ->type_name("NAME[,NAME]");
}

void AddTargets(CLI::App* app, std::vector<std::string>* targets, const std::string& otherwise) {
  app->add_option("--target", *targets,
                  "CPU levels to make kernels for: host, x86-64-v3, x86-64-v4, x86-64-v4-vnni (else " +
                      otherwise + ")")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"host", "x86-64-v3", "x86-64-v4", "x86-64-v4-vnni", "aarch64"}))
      ->type_name("LEVEL[,LEVEL]");
}

void AddPrecision(CLI::App* app, Precision* precision) {
  const std::map<std::string, Precision> names{{"fp32", Precision::kF32}, {"fp16", Precision::kF16}};
  app->add_option(
         "--precision", *precision,
         "With a GPU: what products read may be kept as fp16 there (sums and the CPU are fp32 in any "
         "case)")
      ->transform(CLI::CheckedTransformer(names).description(""))
      ->type_name("fp32|fp16");
}

void AddWeights(CLI::App* app, WeightStorage* weights, bool* prints) {
  const std::map<std::string, WeightStorage> names{
      {"as-given", WeightStorage::kAsGiven}, {"int8", WeightStorage::kInt8}, {"int4", WeightStorage::kInt4}};
  app->add_option("--weights", *weights,
                  "Keep large weights of products and tables as integers of 8 or 4 bits, in blocks with a "
                  "scale (off unless asked for; everything is computed in fp32)")
      ->transform(CLI::CheckedTransformer(names).description(""))
      ->type_name("int8|int4|as-given");
  app->add_flag("--print-weights", *prints,
                "With --weights: print what became of each weight, and its error, to standard error");
}

void AddImport(CLI::App* app, bool* strict_onnx, bool* distinct_dims) {
  app->add_flag("--strict-onnx", *strict_onnx,
                "An error where a model breaks ONNX's rules; else a warning says what is assumed");
  app->add_flag("--distinct-dims", *distinct_dims,
                "Dimensions of the inputs that have one name may differ in a call");
}

void AddThreads(CLI::App* app, int* threads) {
  app->add_option("--threads", *threads, "Threads to use; 0: as many as the process may use")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
}

void AddModel(CLI::App* app, ModelArguments* model) {
  app->add_option("model", model->path,
                  "A .vmexe file, or an .onnx file, which is compiled in memory for this machine")
      ->required()
      ->type_name("FILE");
  AddDevices(app, &model->devices);
  AddPrecision(app, &model->precision);
  AddImport(app, &model->import.strict_onnx, &model->import.distinct_dims);
  AddThreads(app, &model->threads);
  app->add_flag("--no-native", model->no_native, "Refuse a .vmexe file that runs code of its own");
}

CLI::App* AddCommand(CLI::App& app, const char* name, const char* purpose, const std::string& examples) {
  CLI::App* command = app.add_subcommand(name, purpose);
  command->footer("Examples:\n" + examples);
  return command;
}

void AddCompile(CLI::App& app, Action* action) {
  auto arguments = std::make_shared<CompileArguments>();
  CLI::App* command =
      AddCommand(app, "compile", "Compile an ONNX model into a .vmexe file",
                 "  tvm-vm compile bert.onnx -o bert.vmexe\n"
                 "  tvm-vm compile bert.onnx -o bert.vmexe --dim batch=1..8 --dim seq=1..512\n"
                 "  tvm-vm compile bert.onnx -o bert.vmexe --device vulkan,opencl,cpu --print-placement\n"
                 "  tvm-vm compile bert.onnx -o bert.vmexe --target x86-64-v3 --time-passes\n"
                 "  tvm-vm compile gpt2.onnx -o gpt2.vmexe --weights int4 --print-weights\n"
                 "  tvm-vm compile bert.onnx --print-after fuse --stop-after fuse");
  CompileOptions& options = arguments->options;
  command->add_option("model", arguments->model, "The model")->required()->type_name("MODEL.onnx");
  CLI::Option* output =
      command->add_option("-o,--output", arguments->output, "The file to write")->type_name("FILE");
  AddDevices(command, &options.devices);
  command->add_flag("--strict", options.strict, "With a GPU: an error where anything would run on the CPU");
  command->add_flag("--prefer-gpu", options.prefer_gpu,
                    "With a GPU: small models run there, too, though the CPU alone is faster");
  command->add_flag("--print-placement", options.print_placement,
                    "With a GPU: print what runs on which device, and why");
  AddPrecision(command, &options.precision);
  AddWeights(command, &options.weights, &arguments->print_weights);
  AddTargets(command, &options.targets, "x86-64-v3, x86-64-v4, and x86-64-v4-vnni for quantized models");
  AddDims(command, &options.dims, false);
  AddImport(command, &options.strict_onnx, &options.distinct_dims);
  command->add_flag("--bitcode", options.bitcode,
                    "Also pack LLVM bitcode, to be compiled where no packed level fits");
  command
      ->add_option("--print-after", options.print_after, "Print the model after this pass, or after \"all\"")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("PASS");
  CLI::Option* stop =
      command->add_option("--stop-after", options.stop_after, "End after this pass; nothing is written")
          ->type_name("PASS");
  command
      ->add_option("--disable-pass", options.disabled_passes,
                   "Leave this optional pass out, or \"all\" of them")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("PASS");
  command->add_flag_callback(
      "--exact-convolutions", [&options] { options.disabled_passes.push_back("choose-winograd"); },
      "Add up every product of 3 x 3 convolutions, instead of fewer of sums (Winograd): slower");
  command->add_flag("--verify-passes", options.verify_passes, "Check what each pass leaves");
  command->add_flag("--time-passes", options.time_passes, "Print the time that each pass took");
  AddThreads(command, &options.threads);
  command->add_flag("--json", arguments->json, "Print the result as JSON");
  command->callback([=] {
    if (output->count() == 0 && stop->count() == 0) throw CLI::RequiredError("--output");
    *action = [arguments] { return CompileCommand(*arguments); };
  });
}

void AddRun(CLI::App& app, Action* action) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command =
      AddCommand(app, "run", "Run a model once and show its outputs",
                 "  tvm-vm run model.vmexe --input x.npy\n"
                 "  tvm-vm run model.vmexe --device vulkan,cpu --input x.npy\n"
                 "  tvm-vm run model.vmexe --input ids=ids.npy --input mask=mask.npy --output-dir out\n"
                 "  tvm-vm run model.vmexe --input x=random:4x128 --seed 7\n"
                 "  tvm-vm run model.vmexe --dim batch=4 --dim seq=128\n"
                 "  tvm-vm run model.vmexe --input x.npy --expect y=y.npy --rtol 1e-4\n"
                 "  tvm-vm run model.onnx --dump all --output-dir values\n"
                 "  tvm-vm run model.onnx --trace-values --timeout 10 --max-bytes 2G");
  AddModel(command, &arguments->model);
  AddInputs(command, &arguments->inputs);
  AddLimits(command, &arguments->limits);
  CLI::Option* folder =
      command
          ->add_option("--output-dir", arguments->output_dir,
                       "Write each output to DIR/NAME.npy, or a sequence to the folder DIR/NAME")
          ->type_name("DIR");
  AddParsed<Expectation>(
      command, "--expect", ParseExpectation,
      [arguments](Expectation e) { arguments->expectations.push_back(std::move(e)); },
      "Compare an output with a file; a difference gives exit code 1")
      ->type_name("[NAME=]FILE");
  command->add_option("--rtol", arguments->rtol, "Relative tolerance of --expect (else 1e-3; bf16: 2^-6)");
  command->add_option("--atol", arguments->atol,
                      "Absolute tolerance of --expect (else 1e-7; 16-bit floats and smaller: 1e-5)");
  command
      ->add_option("--dump", arguments->dump,
                   "Write the values of this node of an .onnx model, or of \"all\", to --output-dir")
      ->needs(folder)
      ->type_name("NODE|all");
  command->add_flag("--trace-values", arguments->trace_values,
                    "Show the type and shape of what each node of an .onnx model makes, step by step");
  command->add_flag("--json", arguments->json, "Print the outputs' names, types and files as JSON");
  command->callback([=] { *action = [arguments] { return RunCommand(*arguments); }; });
}

void AddBench(CLI::App& app, Action* action) {
  auto arguments = std::make_shared<BenchArguments>();
  CLI::App* command =
      AddCommand(app, "bench", "Time a model",
                 "  tvm-vm bench model.vmexe --dim batch=1 --dim seq=128 --threads 1\n"
                 "  tvm-vm bench model.vmexe --input x.npy --seconds 5 --json\n"
                 "  tvm-vm bench model.vmexe --repeat 100 --profile --trace trace.json\n"
                 "  tvm-vm bench gpt2.vmexe --device vulkan,cpu --resident\n"
                 "--profile shows each kernel's time, GFLOP/s and GB/s, and what part that is of "
                 "what this\n"
                 "CPU does at most: %flops of the multiply-adds of the level in use, %bytes of the "
                 "bandwidth\n"
                 "of the cache or memory that the launch's bytes fit into, %limit of the one that "
                 "binds it.\n"
                 "The machine is measured once, for a second, and the figures are kept in the "
                 "folder of\n"
                 "kernels ($TVMVM_CACHE_DIR, else ~/.cache/tvm-vm).");
  AddModel(command, &arguments->model);
  AddInputs(command, &arguments->inputs);
  AddLimits(command, &arguments->limits);
  CLI::Option* seconds =
      command->add_option("--seconds", arguments->seconds, "How long to run after the first run")
          ->check(Seconds())
          ->capture_default_str();
  command->add_option("--repeat", arguments->repeat, "How many times to run after the first run")
      ->check(CLI::Range(int64_t{1}, INT64_MAX))
      ->excludes(seconds);
  CLI::Option* profile =
      command->add_flag("--profile", arguments->profile, "Add a table of the kernels (see below)");
  command->add_flag("--measure", arguments->measure, "Measure this machine anew for --profile")
      ->needs(profile);
  command->add_flag("--resident", arguments->resident,
                    "With a GPU: keep inputs and outputs in its memory, as services do with caches");
  command->add_option("--trace", arguments->trace, "Write a Chrome trace (chrome://tracing, Perfetto)")
      ->type_name("FILE");
  command->add_flag("--json", arguments->json, "Print the result as JSON");
  command->callback([=] { *action = [arguments] { return BenchCommand(*arguments); }; });
}

void AddPlan(CLI::App& app, Action* action) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App* command =
      AddCommand(app, "plan", "Say what memory a run will take, without running it",
                 "  tvm-vm plan model.vmexe --dim batch=4 --dim seq=384\n"
                 "  tvm-vm plan model.vmexe --dim batch=1..8 --dim seq=128 --json\n"
                 "  tvm-vm plan model.vmexe --dim batch=4 --dim seq=384 --svg memory.svg\n"
                 "Weights are not read, kernels not loaded and devices not opened. The peak is exact\n"
                 "where neither sizes nor branches depend on data; with a range, and where they do,\n"
                 "it is a range. A dimension without a name is called INPUT[AXIS]: --dim 'x[0]=4'.");
  AddModel(command, &arguments->model);
  AddDims(command, &arguments->dims, false, "The size of a dimension, or the sizes that it may have");
  command->add_option("--svg", arguments->svg, "Write a picture: values as boxes over time and place")
      ->type_name("FILE");
  command->add_flag("--json", arguments->json, "Print the result as JSON");
  command->callback([=] { *action = [arguments] { return PlanCommand(*arguments); }; });
}

void AddTest(CLI::App& app, Action* action) {
  auto arguments = std::make_shared<TestArguments>();
  CLI::App* command =
      AddCommand(app, "test", "Run folders in the layout of the ONNX backend tests",
                 "  tvm-vm test onnx/node/test_add\n"
                 "  tvm-vm test onnx/node/* --jobs 4 --json\n"
                 "Each folder holds model.onnx and test_data_set_K/{input,output}_I.pb. "
                 "Tolerances: rtol 1e-3 and atol 1e-7\n"
                 "(1e-5 for floats of 16 bits and fewer), or those of the folder's data.json "
                 "{\"rtol\", \"atol\"}; with --precision\n"
                 "fp16, f32 outputs may be off by 2^-8 of the largest, too. Every test runs in\n"
                 "a process of its own; errors count as failed.");
  command->add_option("folders", arguments->folders, "Test folders, or folders of test folders")
      ->required()
      ->type_name("DIR...");
  AddDevices(command, &arguments->devices);
  command->add_flag("--strict", arguments->strict,
                    "With a GPU: an error where anything would run on the CPU");
  AddPrecision(command, &arguments->precision);
  AddImport(command, &arguments->import.strict_onnx, &arguments->import.distinct_dims);
  AddTargets(command, &arguments->targets, "host");
  command->add_option("--jobs", arguments->jobs, "Tests at a time; 0: one for each CPU")
      ->check(CLI::Range(0, 4096))
      ->capture_default_str();
  command->add_option("--timeout", arguments->timeout_seconds, "Seconds that one test may take")
      ->check(Seconds())
      ->capture_default_str();
  AddMaxBytes(command, &arguments->max_bytes);
  AddThreads(command, &arguments->threads);
  command->add_flag("--json", arguments->json, "Print the results as JSON");
  command->callback([=] { *action = [arguments] { return TestCommand(*arguments); }; });
}

void AddInspect(CLI::App& app, Action* action) {
  auto arguments = std::make_shared<InspectArguments>();
  CLI::App* command = AddCommand(app, "inspect", "Show what a .vmexe file holds",
                                 "  tvm-vm inspect model.vmexe\n  tvm-vm inspect model.vmexe --json");
  command->add_option("file", arguments->path, "The file")->required()->type_name("FILE");
  command->add_flag("--json", arguments->json, "Print as JSON");
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
  CLI::App* command = AddCommand(app, "asm", "Assemble bytecode text into a .vmexe file",
                                 "  tvm-vm asm model.vmasm -o model.vmexe");
  command->add_option("file", arguments->path, "The text")->required()->type_name("FILE");
  command->add_option("-o,--output", arguments->output, "The file to write")->required()->type_name("FILE");
  command->callback([=] { *action = [arguments] { return AsmCommand(*arguments); }; });
}

void AddVerify(CLI::App& app, Action* action) {
  auto arguments = std::make_shared<VerifyArguments>();
  CLI::App* command = AddCommand(app, "verify", "Check .vmexe files: digests, structure, bytecode",
                                 "  tvm-vm verify model.vmexe");
  command->add_option("files", arguments->paths, "The files")->required()->type_name("FILE...");
  command->add_flag("--json", arguments->json, "Print as JSON");
  command->callback([=] { *action = [arguments] { return VerifyCommand(*arguments); }; });
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
std::string DescribedKinds() {
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
  command->add_flag("--json", arguments->json, "Print as JSON");
  command->callback([=] { *action = [arguments] { return WarmCommand(*arguments); }; });
}

int Main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of FlushResults
  CLI::App app("Compiles dynamic ONNX models into one file and runs them.", "tvm-vm");
  app.footer(kFooter);
  app.set_version_flag("--version", "tvm-vm " + VersionText(Version()));
  app.require_subcommand(1);
  Action action;
  for (auto add : {AddCompile, AddRun, AddBench, AddPlan, AddTest, AddInspect, AddDisasm, AddAsm, AddVerify,
                   AddOps, AddListDevices, AddWarm})
    add(app, &action);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    bool names_command = argc > 1 && argv[1][0] != '-';
    if (names_command && app.get_subcommands().empty()) {
      PrintNote(fmt::format("'{}' is no command of tvm-vm\nRun with --help for more information.", argv[1]));
      return kExitUsage;
    }
    return app.exit(error) == 0 ? kExitOk : kExitUsage;
  }
  Expected<int> code = action();
  if (!code) {
    PrintError(code.error());
    return kExitFailed;
  }
  if (Status status = FlushResults(); !status) {
    PrintError(status.error());
    return kExitFailed;
  }
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
