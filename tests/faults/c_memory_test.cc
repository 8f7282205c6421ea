// As memory_test.cc, through the C interface: from a file to a result.
#include <filesystem>
#include <memory>

#include "tests/faults/fail_each.h"
#include "tests/faults/faulty_models.h"
#include "tvm-vm/c_api.h"
#include "tvm-vm/vmexe.h"
#include "vm/c/objects.h"

namespace tvmvm::testing {
namespace {

template <auto free>
struct Free {
  template <class T>
  void operator()(T* object) const {
    free(object);
  }
};
template <class T, auto free>
using Owner = std::unique_ptr<T, Free<free>>;

// The error of a status, which is freed.
Status Taken(tvmvm_status* status) {
  const Owner<tvmvm_status, tvmvm_status_free> owner(status);
  if (status == nullptr) return {};
  return tl::unexpected(Error{static_cast<Code>(tvmvm_status_code(status)), ""});
}

class CMemoryEnds : public ::testing::TestWithParam<std::tuple<std::string, Fault>> {};

TEST_P(CMemoryEnds, FromTheFileToTheResult) {
  const FaultyModel model = MakeFaultyModel(std::get<0>(GetParam()));
  ASSERT_TRUE(model.program);
  const std::string path = ::testing::TempDir() + "c_memory_ends_" + std::to_string(getpid()) + ".vmexe";
  ASSERT_EQ(TextOf(SaveProgram(*model.program, path)), "");
  std::vector<tvmvm_value> inputs;
  for (const Value& input : model.inputs) inputs.push_back({input});
  std::vector<const tvmvm_value*> given;
  for (const tvmvm_value& input : inputs) given.push_back(&input);
  std::vector<tvmvm_device> devices;
  for (const std::shared_ptr<Device>& device : model.options.devices) devices.push_back({device});
  std::vector<const tvmvm_device*> used;
  for (const tvmvm_device& device : devices) used.push_back(&device);
  tvmvm_vm_options options = {};
  options.size = sizeof options;
  options.threads = 1;
  options.devices = used.data();
  options.device_count = used.size();

  auto run = [&](tvmvm_invocation* invocation) -> Status {
    std::vector<tvmvm_value*> outputs(model.program->main().outputs.size());
    const Status status = Taken(
        tvmvm_invocation_run_values(invocation, given.data(), given.size(), outputs.data(), outputs.size()));
    for (tvmvm_value* output : outputs) tvmvm_value_free(output);
    return status;
  };
  auto all = [&]() -> Status {
    tvmvm_program* program = nullptr;
    TVMVM_CHECK_OK(Taken(tvmvm_program_load(path.c_str(), &program)));
    const Owner<tvmvm_program, tvmvm_program_free> program_owner(program);
    tvmvm_vm* vm = nullptr;
    TVMVM_CHECK_OK(Taken(tvmvm_vm_create(program, &options, &vm)));
    const Owner<tvmvm_vm, tvmvm_vm_free> vm_owner(vm);
    tvmvm_invocation* invocation = nullptr;
    TVMVM_CHECK_OK(Taken(tvmvm_invocation_create(vm, &invocation)));
    const Owner<tvmvm_invocation, tvmvm_invocation_free> invocation_owner(invocation);
    TVMVM_CHECK_OK(run(invocation));
    tvmvm_invocation_trim(invocation);
    return run(invocation);
  };
  // The vector of outputs above is the test's own, and its missing memory the test's.
  auto guarded = [&]() -> Status {
    try {
      return all();
    } catch (const std::bad_alloc&) {
      return tl::unexpected(Error{Code::kOutOfMemory, ""});
    }
  };
  Fault fault = std::get<1>(GetParam());
  fault.loses_memory = model.loses_memory;
  FailEach("C: " + model.name, fault, guarded, IsOutOfMemory, [&] { EXPECT_EQ(TextOf(all()), ""); });
  std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(, CMemoryEnds,
                         ::testing::Combine(::testing::ValuesIn(FaultyModelNames()),
                                            ::testing::ValuesIn(MemoryFaults())),
                         &NameOfFault);

}  // namespace
}  // namespace tvmvm::testing
