#include "cli/arguments/shared_options.h"

#include <charconv>
#include <map>

#include "bytecode/device_kinds.h"

namespace tvmvm::cli {

CLI::Option* AddDims(CLI::App* app, DimBounds* dims, bool fixed, const std::string& help) {
  auto take = [dims, fixed](std::pair<std::string, DimBound> dim) {
    if (fixed && dim.second.low != dim.second.high)
      throw CLI::ValidationError("'" + dim.first + "': one number is wanted here, NAME=N");
    if (!dims->emplace(dim.first, dim.second).second)
      throw CLI::ValidationError("'" + dim.first + "' is given twice");
  };
  return AddParsed<std::pair<std::string, DimBound>>(
             app, "--dim", ParseDim, take,
             fixed ? "Size of a symbolic dimension for inputs that are made (else 1)" : help)
      ->type_name(fixed ? "NAME=N" : "NAME=LO..HI|NAME=N");
}

void AddInputs(CLI::App* app, InputArguments* inputs) {
  AddParsed<InputSpec>(
      app, "-i,--input", ParseInput, [inputs](InputSpec spec) { inputs->inputs.push_back(std::move(spec)); },
      "An input, [NAME=]WHAT. A file: .npy, .pb, .bin (the bytes alone; FILE.bin:4x128 says the dims), "
      ".json, - for "
      "standard input. A value: 5 (which fills the input), [1,2,3], true, '\"text\"'. Random numbers: "
      "random[:4x128][:LO..HI], from LO up to but without HI, else floats in [-1, 1), integers of 32 and 64 "
      "bits 0 or 1. "
      "Of a sequence a folder of 0.npy, 1.npy, ... or .npz; NAME=none for an optional without element. "
      "Without a NAME: "
      "the next input; .npz: an array for each input; a test_data_set folder: all inputs. With no --input "
      "all are random")
      ->type_name("[NAME=]WHAT");
  AddDims(app, &inputs->dims, true);
  app->add_option("--seed", inputs->seed, "Seed of random inputs")->type_name("N")->capture_default_str();
}

CLI::Validator Seconds() {
  auto check = [](std::string& text) {
    double seconds = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    bool is_number = error == std::errc() && end == text.data() + text.size();
    bool is_time = is_number && seconds >= 1e-7 && seconds <= 1e9;
    return is_time ? std::string() : text + " is no number of seconds from 1e-7 to 1e9";
  };
  return CLI::Validator(check, "");
}

CLI::Validator Within(int64_t low, int64_t high) { return CLI::Range(low, high).description(""); }

CLI::Option* AddSize(CLI::App* app, const std::string& flag, int64_t* bytes, const std::string& help) {
  return app->add_option(flag, *bytes, help)
      ->transform(CLI::Validator(CLI::AsSizeValue(true)).description(""))
      ->check(CLI::Validator(CLI::PositiveNumber).description(""))
      ->type_name("SIZE");
}

void AddMaxBytes(CLI::App* app, int64_t* bytes) {
  AddSize(
      app, "--max-bytes", bytes,
      "Memory that one run may take, and the inputs that are made for it: 500M, 2G; K, M and G are powers "
      "of 1000, Ki, Mi and Gi of 1024");
}

void AddLimits(CLI::App* app, LimitArguments* limits) {
  app->add_option("--timeout", limits->timeout_seconds, "Seconds that one run may take")
      ->check(Seconds())
      ->type_name("SECONDS");
  app->add_option("--max-steps", limits->max_steps, "Bytecode instructions that one run may take")
      ->check(Within(1, INT64_MAX))
      ->type_name("N");
  AddMaxBytes(app, &limits->max_bytes);
}

CLI::Option* AddDevices(CLI::App* app, std::vector<std::string>* devices) {
  auto check = [](std::string& text) {
    return KindOfSelection(text) ? std::string() : text + " is no device; there are: " + DeviceKindNames();
  };
  return app
      ->add_option("--device", *devices,
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
      ->check(CLI::IsMember({"host", "x86-64-v3", "x86-64-v4", "x86-64-v4-vnni", "aarch64"}).description(""))
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

void AddMemoryBudget(CLI::App* app, int64_t* bytes) {
  AddSize(app, "--memory-budget", bytes,
          "Memory that a run on the CPU may hold at the largest sizes of --dim: 4MB, 500K; K, M and G are "
          "powers of 1000, Ki, Mi and Gi of 1024. What does not fit is computed later, again or in parts");
}

void AddDonations(CLI::App* app, std::vector<std::pair<std::string, std::string>>* donate) {
  app->add_option_function<std::vector<std::string>>(
         "--donate",
         [donate](const std::vector<std::string>& texts) {
           for (const std::string& text : texts) {
             auto pair = ParseDonation(text);
             if (!pair) throw CLI::ValidationError("--donate", pair.error().message);
             donate->push_back(std::move(*pair));
           }
         },
         "The output may be written into the input's memory, which the caller hands over")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("INPUT=OUTPUT");
}

void AddImport(CLI::App* app, bool* strict_onnx, bool* distinct_dims) {
  app->add_flag("--strict-onnx", *strict_onnx,
                "An error where a model breaks ONNX's rules; else a warning says what is assumed");
  app->add_flag("--distinct-dims", *distinct_dims,
                "Dimensions of the inputs that have one name may differ in a call");
}

void AddThreads(CLI::App* app, int* threads) {
  app->add_option("--threads", *threads, "Threads to use; 0: as many as the process may use")
      ->check(Within(0, 4096))
      ->type_name("N")
      ->capture_default_str();
}

void AddTrust(CLI::App* app, TrustArguments* trust) {
  const std::map<std::string, Trust> names{{"any", Trust::kAny},
                                           {"signed", Trust::kSigned},
                                           {"signed-kernels", Trust::kSignedKernels},
                                           {"none", Trust::kNone}};
  CLI::Option* level =
      app->add_option("--trust", trust->trust,
                      "Whose kernels run: any, those of files that a key of --key signed, those "
                      "that one signed and that their contracts hold within their buffers, "
                      "whoever wrote the code that launches them, or none")
          ->transform(CLI::CheckedTransformer(names).description(""))
          ->type_name("any|signed|signed-kernels|none");
  app->add_option("--key", trust->keys, "A public key to trust, which `tvm-vm keygen` wrote")
      ->needs(level)
      ->allow_extra_args(false)
      ->type_name("FILE.pub");
  app->add_flag("--check-constants", trust->check_constants,
                "Read all weights first: their digest, and with --trust signed what was signed");
}

void AddSandbox(CLI::App* app, bool* sandbox) {
  CLI::Option* option = app->add_flag(
      "--sandbox", *sandbox,
      "Run in a process that can do nothing but compute, for kernels that nobody trusts: no files, no "
      "network, "
      "on the CPU, one thread unless --threads says more, 2G of memory and 60 seconds unless --max-bytes and "
      "--timeout say otherwise");
  for (const char* other : {"--trust", "--no-native", "--device"}) option->excludes(app->get_option(other));
}

void AddModel(CLI::App* app, ModelArguments* model) {
  app->add_option(
         "model", model->path,
         "A .vmexe file, or an .onnx file, which is compiled in memory for this machine; - is standard input")
      ->required()
      ->type_name("FILE");
  AddDevices(app, &model->devices);
  AddPrecision(app, &model->precision);
  AddImport(app, &model->import.strict_onnx, &model->import.distinct_dims);
  AddThreads(app, &model->threads);
  app->add_flag("--strict", model->strict, "With a GPU: an error where anything would run on the CPU");
  app->add_flag("--no-native", model->no_native, "Refuse a .vmexe file that runs code of its own");
}

CLI::App* AddCommand(CLI::App& app, const char* name, const char* purpose, const std::string& examples) {
  CLI::App* command = app.add_subcommand(name, purpose);
  command->footer("Examples:\n" + examples);
  return command;
}

}  // namespace tvmvm::cli
