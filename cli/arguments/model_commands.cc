// The commands that compile and run models.
#include "cli/arguments/command_line.h"
#include "cli/arguments/shared_options.h"
#include "cli/commands.h"
#include "cli/files.h"
#include "cli/model.h"

namespace tvmvm::cli {

void AddCompile(CLI::App& app, Action* action) {
  auto arguments = std::make_shared<CompileArguments>();
  CLI::App* command = AddCommand(
      app, "compile", "Compile an ONNX model into a .vmexe file",
      "  tvm-vm compile bert.onnx -o bert.vmexe\n"
      "  tvm-vm compile - -o bert.vmexe < bert.onnx\n"
      "  tvm-vm compile bert.onnx -o bert.vmexe --dim batch=1..8 --dim seq=1..512\n"
      "  tvm-vm compile bert.onnx -o bert.vmexe --dim batch=1 --dim seq=1..384 --memory-budget 6MB\n"
      "  tvm-vm compile bert.onnx -o bert.vmexe --device vulkan,opencl,cpu --print-placement\n"
      "  tvm-vm compile bert.onnx -o bert.vmexe --target x86-64-v3 --time-passes\n"
      "  tvm-vm compile gpt2.onnx -o gpt2.vmexe --weights int4 --print-weights\n"
      "  tvm-vm compile bert.onnx -o bert.vmexe --write-schedule bert.schedule\n"
      "  tvm-vm compile bert.onnx -o bert.vmexe --schedule bert.schedule\n"
      "  tvm-vm compile bert.onnx --print-after fuse-groups --stop-after fuse-groups");
  CompileOptions& options = arguments->options;
  command->add_option("model", arguments->model, "The model; - is standard input")
      ->required()
      ->type_name("MODEL.onnx");
  CLI::Option* output =
      command
          ->add_option("-o,--output", arguments->output,
                       "The file to write, else MODEL.vmexe beside the model; - is standard output")
          ->type_name("FILE");
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
  AddDonations(command, &options.donate);
  AddMemoryBudget(command, &options.memory_budget);
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
  command
      ->add_option("--schedule", arguments->schedule,
                   "Build kernels as this file says instead of as the compiler chooses (docs/schedules.md)")
      ->type_name("FILE");
  command
      ->add_option("--write-schedule", arguments->write_schedule,
                   "Write what the compiler chose for each kernel, as a file for --schedule")
      ->type_name("FILE");
  command->add_flag_callback(
      "--exact-convolutions", [&options] { options.disabled_passes.push_back("choose-winograd"); },
      "Add up every product of 3 x 3 convolutions, instead of fewer of sums (Winograd): slower");
  command->add_flag("--verify-passes", options.verify_passes, "Check what each pass leaves");
  command->add_flag("--time-passes", options.time_passes, "Print the time that each pass took");
  AddThreads(command, &options.threads);
  command->add_flag("--json", arguments->json, "Print the result as JSON");
  command->callback([=] {
    if (output->count() == 0 && stop->count() == 0) {
      if (IsStandard(arguments->model)) throw CLI::RequiredError("--output");
      arguments->output = ProgramNameFor(arguments->model);
    }
    *action = [arguments] { return CompileCommand(*arguments); };
  });
}

void AddRun(CLI::App& app, Action* action) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command = AddCommand(
      app, "run", "Run a model once and show its outputs",
      "  tvm-vm run model.vmexe --input x.npy\n"
      "  tvm-vm run model.vmexe --device vulkan,cpu --input x.npy\n"
      "  tvm-vm run bert.vmexe --input ids=ids.npy --input mask=mask.npy --output-dir out\n"
      "  tvm-vm run bert.vmexe --input ids=random:1x128:0..30522 --input mask=1 --dim batch=1 --dim seq=128\n"
      "  tvm-vm run bert.vmexe --input 'ids=[[101, 2023, 102]]' --input 'mask=[[1, 1, 1]]'\n"
      "  tvm-vm run bert.vmexe --input all.npz\n"
      "  tvm-vm run model.vmexe --input x=x.bin:4x128x64\n"
      "  tvm-vm run model.vmexe --input test_data_set_0 --expect test_data_set_0\n"
      "  tvm-vm run model.vmexe --input x=random:4x128x64 --seed 7\n"
      "  tvm-vm run model.vmexe --dim batch=4 --dim length=128\n"
      "  tvm-vm run signed.vmexe --trust signed --key release.key.pub\n"
      "  tvm-vm run model.vmexe --input - --output-dir - < x.npy > y.npy\n"
      "  tvm-vm run model.vmexe --input x.npy --expect y=y.npy --rtol 1e-4\n"
      "  tvm-vm run model.onnx --dump all --output-dir values\n"
      "  tvm-vm run model.onnx --trace-values --timeout 10 --max-bytes 2G");
  AddModel(command, &arguments->model);
  AddTrust(command, &arguments->model.trust);
  AddInputs(command, &arguments->inputs);
  AddLimits(command, &arguments->limits);
  AddSandbox(command, &arguments->sandbox);
  CLI::Option* folder = command
                            ->add_option("--output-dir", arguments->output_dir,
                                         "Write each output to DIR/NAME.npy, or a sequence to the folder "
                                         "DIR/NAME; - writes the one output as .npy "
                                         "to standard output")
                            ->type_name("DIR");
  CLI::Option* expect =
      AddParsed<Expectation>(
          command, "--expect", ParseExpectation,
          [arguments](Expectation e) { arguments->expectations.push_back(std::move(e)); },
          "Compare an output with a file, or all with a test_data_set folder; a difference gives exit code 1")
          ->type_name("[NAME=]FILE");
  command->add_option("--rtol", arguments->rtol, "Relative tolerance of --expect (else 1e-3; bf16: 2^-6)")
      ->type_name("X")
      ->needs(expect);
  command
      ->add_option("--atol", arguments->atol,
                   "Absolute tolerance of --expect (else 1e-7; 16-bit floats and smaller: 1e-5)")
      ->type_name("X")
      ->needs(expect);
  command
      ->add_option("--dump", arguments->dump,
                   "Write the values of this node, or the value of this name, of an .onnx model, or \"all\" "
                   "values, to "
                   "--output-dir; in the body of a loop by name, an element for each step")
      ->needs(folder)
      ->type_name("NODE|all");
  command->add_flag("--trace-values", arguments->trace_values,
                    "Show the type and shape of what each node of an .onnx model makes, step by step");
  command->add_flag("--json", arguments->json, "Print the outputs' names, types and files as JSON");
  command->callback([=] { *action = [arguments] { return RunCommand(*arguments); }; });
}

void AddBench(CLI::App& app, Action* action) {
  auto arguments = std::make_shared<BenchArguments>();
  CLI::App* command = AddCommand(
      app, "bench", "Time a model",
      "  tvm-vm bench model.vmexe --dim batch=1 --dim length=128 --threads 1\n"
      "  tvm-vm bench model.vmexe --input x.npy --seconds 5 --json\n"
      "  tvm-vm bench model.vmexe --repeat 100 --profile --trace trace.json\n"
      "  tvm-vm bench model.vmexe --shapes shapes.txt --repeat 20 --times times.csv\n"
      "  tvm-vm bench model.vmexe --clients 4 --threads 1\n"
      "  tvm-vm bench model.vmexe --clients 4 --memory-pool 100M --pool-wait 5\n"
      "  tvm-vm bench gpt2.vmexe --device vulkan,cpu --resident\n"
      "  tvm-vm bench model.vmexe --sandbox\n"
      "A line of --shapes is a shape: NAME=N for dims, and inputs as --input takes them, without spaces\n"
      "inside; # begins a remark. The runs of --profile and --trace come after the timed ones, as many\n"
      "as --repeat says, else up to ten; the profile is that of the shortest.\n"
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
  AddTrust(command, &arguments->model.trust);
  AddInputs(command, &arguments->inputs);
  AddLimits(command, &arguments->limits);
  AddSandbox(command, &arguments->sandbox);
  CLI::Option* seconds =
      command->add_option("--seconds", arguments->seconds, "How long to run after the first runs")
          ->check(Seconds())
          ->type_name("SECONDS")
          ->capture_default_str();
  command->add_option("--repeat", arguments->repeat, "How many times to run after that")
      ->check(Within(1, INT64_MAX))
      ->type_name("N")
      ->excludes(seconds);
  command->add_option("--warm-up", arguments->warm_up, "Runs between the first and the timed ones")
      ->check(Within(0, INT64_MAX))
      ->type_name("N")
      ->capture_default_str();
  CLI::Option* clients =
      command->add_option("--clients", arguments->clients, "Runs at once, each with memory of its own")
          ->check(Within(1, 4096))
          ->type_name("N")
          ->capture_default_str();
  CLI::Option* pool =
      AddSize(command, "--memory-pool", &arguments->memory_pool, "Memory that all clients share: 500M, 2Gi");
  command
      ->add_option("--pool-wait", arguments->pool_wait,
                   "Seconds that a run waits for memory of the pool, else it fails at once")
      ->check(Seconds())
      ->type_name("SECONDS")
      ->needs(pool);
  CLI::Option* shapes = command
                            ->add_option("--shapes", arguments->shapes,
                                         "Time every shape of this file, in one table; - is standard input")
                            ->type_name("FILE");
  command->add_option("--times", arguments->times, "Write the time of every run: shape,client,run,ms")
      ->type_name("FILE");
  CLI::Option* profile =
      command->add_flag("--profile", arguments->profile, "Add a table of the kernels (see below)")
          ->excludes(shapes);
  command->add_flag("--measure", arguments->measure, "Measure this machine anew for --profile")
      ->needs(profile);
  command
      ->add_flag("--resident", arguments->resident,
                 "With a GPU: keep inputs and outputs in its memory, as services do with caches")
      ->excludes(clients);
  command->add_option("--trace", arguments->trace, "Write a Chrome trace (chrome://tracing, Perfetto)")
      ->type_name("FILE")
      ->excludes(shapes);
  // What looks into a run, or brings it memory, is in the tool's own process.
  for (const char* other : {"--memory-pool", "--profile", "--resident", "--trace"})
    command->get_option("--sandbox")->excludes(command->get_option(other));
  command->add_flag("--json", arguments->json, "Print the result as JSON");
  command->callback([=] { *action = [arguments] { return BenchCommand(*arguments); }; });
}

void AddPlan(CLI::App& app, Action* action) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App* command =
      AddCommand(app, "plan", "Say what memory a run will take, without running it",
                 "  tvm-vm plan bert.vmexe --dim batch=4 --dim seq=384\n"
                 "  tvm-vm plan bert.vmexe --dim batch=1..8 --dim seq=128 --json\n"
                 "  tvm-vm plan bert.vmexe --dim batch=4 --dim seq=384 --svg memory.svg\n"
                 "Weights are not read, kernels not loaded and devices not opened. The peak is exact\n"
                 "where neither sizes nor branches depend on data; with a range, and where they do,\n"
                 "it is a range. A dimension without a name is called INPUT[AXIS]: --dim 'x[0]=4'.");
  AddModel(command, &arguments->model);
  AddDims(command, &arguments->dims, false, "The size of a dimension, or the sizes that it may have");
  command->add_option("--html", arguments->html, "Write a page with the picture and the largest values")
      ->type_name("FILE");
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
      ->check(Within(0, 4096))
      ->type_name("N")
      ->capture_default_str();
  command->add_option("--timeout", arguments->timeout_seconds, "Seconds that one test may take")
      ->check(Seconds())
      ->type_name("SECONDS")
      ->capture_default_str();
  AddMaxBytes(command, &arguments->max_bytes);
  AddThreads(command, &arguments->threads);
  command->add_flag("--json", arguments->json, "Print the results as JSON");
  command->callback([=] { *action = [arguments] { return TestCommand(*arguments); }; });
}

}  // namespace tvmvm::cli
