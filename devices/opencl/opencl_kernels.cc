#include "devices/opencl/opencl_kernels.h"

#include <algorithm>

#include "bytecode/digest.h"

namespace tvmvm {
namespace {

constexpr size_t kMostLogBytes = 2000;  // of a compiler's words in a message

std::string BuildOptions(const OpenClHardware& hardware) {
  std::string options = "-cl-std=CL1.2";
  // A work-group is one work-item with loops there: the text has both forms.
  options += hardware.is_cpu ? " -DTVMVM_SERIAL -w" : " -w";  // drivers print how many warnings there were
  if (hardware.has_exact_division) options += " -cl-fp32-correctly-rounded-divide-sqrt";
  return options;
}

std::string CacheKey(const OpenClHardware& hardware, const std::string& options,
                     std::span<const std::byte> source) {
  std::string key = "opencl program 1";
  for (const std::string& part :
       {hardware.platform_name, hardware.name, hardware.driver, hardware.version, options})
    key += "\n" + part;
  return key + "\n" + DigestOf(source).Hex();
}

const KernelLibrarySpec* FindLibrary(std::span<const KernelLibrarySpec> libraries) {
  for (const KernelLibrarySpec& library : libraries)
    if (library.form == KernelForm::kOpenClC) return &library;
  return nullptr;
}

uint64_t NewId() {
  static std::atomic<uint64_t> last{0};
  return ++last;
}

}  // namespace

OpenClKernelSet::OpenClKernelSet(std::shared_ptr<OpenClContext> context)
    : context_(std::move(context)), id_(NewId()) {}

OpenClKernelSet::~OpenClKernelSet() {
  if (program_ != nullptr) context_->f().ReleaseProgram(program_);
}

Expected<std::unique_ptr<KernelSet>> OpenClKernelSet::Create(std::shared_ptr<OpenClContext> context,
                                                             const CacheFolder& cache,
                                                             std::span<const KernelSpec> kernels,
                                                             std::span<const KernelLibrarySpec> libraries,
                                                             const LoadProgress& progress) {
  std::unique_ptr<OpenClKernelSet> set(new OpenClKernelSet(std::move(context)));
  if (kernels.empty()) return set;
  const KernelLibrarySpec* library = FindLibrary(libraries);
  if (library == nullptr)
    return MakeError(Code::kUnsupported, set->context_->name() + ": the program holds no OpenCL C kernels");
  TVMVM_CHECK_OK(set->Build(cache, library->bytes, progress != nullptr));
  set->kernels_.resize(kernels.size());
  for (uint32_t i = 0; i < kernels.size(); ++i) TVMVM_CHECK_OK(set->Inspect(kernels[i], i));
  if (progress) progress(kernels.size());
  return set;
}

Status OpenClKernelSet::Build(const CacheFolder& cache, std::span<const std::byte> source, bool is_ahead) {
  const std::string options = BuildOptions(context_->hardware());
  const std::string key = CacheKey(context_->hardware(), options, source);
  if (std::optional<std::vector<std::byte>> binary = cache.Load(key);
      binary && BuildFromBinary(*binary, options))
    return {};
  TVMVM_CHECK_OK(BuildFromSource(source, options));
  if (context_->hardware().keeps_cache && !is_ahead) return {};
  if (std::vector<std::byte> binary = Binary(); !binary.empty()) cache.Store(key, binary);
  return {};
}

// False where the driver does not take it: it is made from source then.
bool OpenClKernelSet::BuildFromBinary(const std::vector<std::byte>& binary, const std::string& options) {
  const OpenClFunctions& f = context_->f();
  cl_device_id device = context_->device();
  const size_t size = binary.size();
  auto* bytes = reinterpret_cast<const unsigned char*>(binary.data());
  cl_int status = CL_SUCCESS, result = CL_SUCCESS;
  program_ = f.CreateProgramWithBinary(context_->context(), 1, &device, &size, &bytes, &status, &result);
  if (result == CL_SUCCESS && status == CL_SUCCESS &&
      f.BuildProgram(program_, 1, &device, options.c_str(), nullptr, nullptr) == CL_SUCCESS)
    return true;
  if (program_ != nullptr) f.ReleaseProgram(program_);
  program_ = nullptr;
  return false;
}

Status OpenClKernelSet::BuildFromSource(std::span<const std::byte> source, const std::string& options) {
  const OpenClFunctions& f = context_->f();
  if (source.empty()) return MakeError(Code::kInvalidProgram, "the OpenCL C library is empty");
  cl_device_id device = context_->device();
  auto* text = reinterpret_cast<const char*>(source.data());
  const size_t size = source.size();
  cl_int result = CL_SUCCESS;
  program_ = f.CreateProgramWithSource(context_->context(), 1, &text, &size, &result);
  TVMVM_CHECK_OK(context_->Check(result, "clCreateProgramWithSource"));
  result = f.BuildProgram(program_, 1, &device, options.c_str(), nullptr, nullptr);
  if (result == CL_SUCCESS) return {};
  if (result != CL_BUILD_PROGRAM_FAILURE) return context_->CheckKernel(result, "clBuildProgram");
  return MakeError(Code::kInvalidProgram, "the kernels do not build on " + context_->name() + " (" +
                                              context_->hardware().name + "): " + BuildLog());
}

std::string OpenClKernelSet::BuildLog() const {
  size_t size = 0;
  const OpenClFunctions& f = context_->f();
  f.GetProgramBuildInfo(program_, context_->device(), CL_PROGRAM_BUILD_LOG, 0, nullptr, &size);
  std::string log(size, '\0');
  if (f.GetProgramBuildInfo(program_, context_->device(), CL_PROGRAM_BUILD_LOG, size, log.data(), nullptr) !=
      CL_SUCCESS)
    return "no reason given";
  log.resize(std::min({log.size(), log.find('\0'), kMostLogBytes}));
  return log;
}

std::vector<std::byte> OpenClKernelSet::Binary() const {
  const OpenClFunctions& f = context_->f();
  size_t size = 0;  // one device, one binary
  if (f.GetProgramInfo(program_, CL_PROGRAM_BINARY_SIZES, sizeof size, &size, nullptr) != CL_SUCCESS)
    return {};
  std::vector<std::byte> binary(size);
  void* to = binary.data();
  if (f.GetProgramInfo(program_, CL_PROGRAM_BINARIES, sizeof to, &to, nullptr) != CL_SUCCESS) return {};
  return binary;
}

Expected<cl_kernel> OpenClKernelSet::NewKernelObject(uint32_t index) const {
  cl_int result = CL_SUCCESS;
  cl_kernel kernel = context_->f().CreateKernel(program_, kernels_[index].symbol.c_str(), &result);
  TVMVM_CHECK_OK(context_->Check(result, "clCreateKernel"));
  return kernel;
}

// Reads the work-group's size and checks that the kernel is what its row says.
Status OpenClKernelSet::Inspect(const KernelSpec& spec, uint32_t index) {
  const OpenClFunctions& f = context_->f();
  OpenClKernel& kernel = kernels_[index];
  kernel.symbol = spec.symbol;
  kernel.buffers = static_cast<uint32_t>(spec.buffers.size());
  kernel.scalars = spec.scalar_count;
  const std::string name = "kernel '" + spec.name + "'";
  cl_int result = CL_SUCCESS;
  cl_kernel object = f.CreateKernel(program_, spec.symbol.c_str(), &result);
  if (result == CL_INVALID_KERNEL_NAME)
    return MakeError(Code::kInvalidProgram,
                     name + ": the OpenCL C library has no symbol '" + spec.symbol + "'");
  TVMVM_CHECK_OK(context_->Check(result, "clCreateKernel"));
  cl_uint arguments = 0;
  size_t largest = 0;
  result = f.GetKernelInfo(object, CL_KERNEL_NUM_ARGS, sizeof arguments, &arguments, nullptr);
  if (result == CL_SUCCESS)
    result = f.GetKernelWorkGroupInfo(object, context_->device(), CL_KERNEL_COMPILE_WORK_GROUP_SIZE,
                                      sizeof kernel.group, kernel.group.data(), nullptr);
  if (result == CL_SUCCESS)
    result = f.GetKernelWorkGroupInfo(object, context_->device(), CL_KERNEL_WORK_GROUP_SIZE, sizeof largest,
                                      &largest, nullptr);
  f.ReleaseKernel(object);
  TVMVM_CHECK_OK(context_->Check(result, (name + ": what it needs").c_str()));
  if (arguments != kernel.argument_count())
    return MakeError(Code::kInvalidProgram, name + " has " + std::to_string(arguments) +
                                                " arguments in OpenCL C, its row asks for " +
                                                std::to_string(kernel.argument_count()));
  const size_t items = kernel.group[0] * kernel.group[1] * kernel.group[2];
  if (items == 0) return MakeError(Code::kInvalidProgram, name + " has no reqd_work_group_size");
  if (items > largest)
    return MakeError(Code::kUnsupported, name + " needs work-groups of " + std::to_string(items) + ", " +
                                             context_->name() + " (" + context_->hardware().name +
                                             ") runs it with " + std::to_string(largest));
  return {};
}

}  // namespace tvmvm
