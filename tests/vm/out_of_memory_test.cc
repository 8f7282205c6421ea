// Whichever allocation fails, a run ends with an error and gives back all that it took: the same Invocation
// runs right afterwards, within the memory that a run needs.
#include <gmock/gmock.h>

#include "devices/null/null_device.h"
#include "tests/program_texts.h"
#include "tests/vm/allocation_count.h"
#include "tests/vm/host_program.h"
#include "tvm-vm/memory_pool.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT

struct Case {
  std::string name;
  std::string text;
  std::vector<Value> inputs;
  std::vector<int64_t> wanted;  // the elements of output 0
  bool on_device = false;
  bool gives_output = false;  // the caller gives the memory of output 0
};

// Enough that what is lost once does not fit a second time.
std::vector<int64_t> Many(int times = 1) {
  std::vector<int64_t> numbers;
  for (int64_t i = 0; i < 1000 * times; ++i) numbers.push_back(i % 1000);
  return numbers;
}

Value SomeSequence() { return Value::Sequence({Value(Ints(Many())), Value(Ints({})), Value(Ints(Many()))}); }

std::vector<Case> Cases() {
  const std::string of_one = R"(("x": i64[k]) -> ("y": i64[m]))";
  std::vector<Case> cases;
  cases.push_back({"arena", std::string(testing::kCopyInSteps), {Value(Ints(Many()))}, Many()});
  cases.push_back(cases.back());
  cases.back().name = "arena, output given";
  cases.back().gives_output = true;
  cases.push_back({"sequences",
                   HostProgram(of_one, R"(
  i0 = const 0
  i1 = const 1
  [], [r3] = host sequence.construct, [], [r0, r0]
  [], [r3] = host sequence.insert, [i0, i1], [r3, r0]
  [], [r4] = host sequence.construct, [], [r3]
  [], [r5] = host sequence.at, [i0], [r4]
  [], [r9] = host sequence.concat, [i0, i0], [r5]
  return [], [r9])"),
                   {Value(Ints(Many()))},
                   Many(3)});
  cases.push_back({"containers in",
                   HostProgram(R"(("s": sequence<i64[k]>) -> ("y": i64[m], "z": sequence<i64[k]>))", R"(
  i0 = const 0
  [], [r9] = host sequence.concat, [i0, i0], [r0]
  return [], [r9, r0])"),
                   {SomeSequence()},
                   Many(2)});
  cases.push_back({"strings",
                   HostProgram(R"(("x": i64[k]) -> ("y": i64[k], "s": string[k]))", R"(
  i0 = dim r0, 0
  i1 = const 8
  i1 = mul i0, i1
  r1 = alloc string, [i0]
  r2 = output 1, [i0]
  r3 = output 0, [i0]
  copy [r3, r0], i1
  return [], [r3, r1])"),
                   {Value(Ints(Many()))},
                   Many()});
  cases.push_back({"device",
                   R"---(
entry @main
entry [1, 0] @gpu
kernel @k gpu symbol "k" scalars 0 buffers [read_aligned, write]
func @main("x": i64[2]) -> ("y": i64[2]) frame 4, 4 {
  i0 = const 2
  r1 = output 0, [i0]
  return [], [r1]
}
func @gpu("x": i64[2]) -> ("y": i64[2]) frame 12, 8 {
  i0 = const 0
  i1 = const 1
  i2 = const 2
  i3 = const 16
  i4 = const 8
  r2 = arena.on 1, i3
  copy [r2, r0], i3
  r3 = alloc.on 1, i64, [i2]
  r5 = arena.on 1, i3
  copy [r3, r2], i3
  launch @k, 1, [i1, i1, i1, i0, i0, i0], [], [r3+i4, r5]
  i5 = load r3, i0, i64
  r1 = output 0, [i2]
  copy [r1, r3], i3
  return [], [r1]
}
)---",
                   {Value(Ints({3, 4}))},
                   {3, 4},
                   true});
  return cases;
}

class OutOfMemory : public ::testing::TestWithParam<Case> {};

TEST_P(OutOfMemory, GivesEverythingBack) {
  const Case& test = GetParam();
  VmOptions options = TestOptions();
  auto pool = MemoryPool::Create(0);  // counts
  options.memory = pool;
  if (test.on_device) options.devices = {CreateNullDevice({})};
  auto vm = VmFromText(test.text, options);
  ASSERT_TRUE(vm);
  const size_t output_count = vm->program().main().outputs.size();
  auto run = [&](Invocation& invocation, std::vector<Value>* outputs) {
    outputs->assign(output_count, Value());
    if (test.gives_output) outputs->front() = Value(Ints(std::vector<int64_t>(test.wanted.size())));
    return [&invocation, &test, outputs] { return invocation.Run(test.inputs, *outputs); };
  };
  std::vector<Value> outputs;
  Invocation clean = vm->NewInvocation();
  ASSERT_EQ(TextOf(run(clean, &outputs)()), "");
  ASSERT_EQ(ToInts(outputs[0].tensor()), test.wanted);
  Limits limits;
  limits.max_bytes = pool->peak_bytes();

  bool has_failed = true;
  for (int64_t number = 0; has_failed; ++number) {
    ASSERT_LT(number, 10'000);
    Invocation invocation = vm->NewInvocation();
    auto once = run(invocation, &outputs);
    Status status;
    {
      FailingAllocation failing(number);
      status = once();
      has_failed = failing.has_failed();
    }
    if (!status) {
      EXPECT_EQ(status.error().code, Code::kOutOfMemory) << TextOf(status);
    }
    // What a clean run needs at its peak is just enough, often.
    invocation.SetLimits(limits);
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(TextOf(run(invocation, &outputs)()), "") << "after allocation " << number;
      ASSERT_EQ(ToInts(outputs[0].tensor()), test.wanted);
    }
    EXPECT_EQ(invocation.arena_bytes(), clean.arena_bytes()) << "after allocation " << number;
    EXPECT_EQ(invocation.held_bytes(), clean.held_bytes()) << "after allocation " << number;
    EXPECT_LE(invocation.peak_bytes(), limits.max_bytes);
  }
}

INSTANTIATE_TEST_SUITE_P(Programs, OutOfMemory, ::testing::ValuesIn(Cases()), [](const auto& info) {
  std::string name = info.param.name;
  std::erase_if(name, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; });
  return name;
});

}  // namespace
}  // namespace tvmvm
