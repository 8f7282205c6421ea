// Handlers of device work: kernels, copies, fills, waits, host calls.
#include <algorithm>
#include <string>
#include <utility>

#include "vm/host/host_library.h"
#include "vm/interpreter/device_handlers.h"
#include "vm/interpreter/handlers.h"
#include "vm/objects/copy_bytes.h"

namespace tvmvm {
namespace {

// Whether the buffers begin where the kernel can read them; false after Fail.
[[gnu::noinline]] bool CheckAlignments(Machine& m, const uint32_t* pc, const KernelSpec& kernel,
                                       const uint32_t* list) {
  for (uint32_t i = 0; i < list[0]; ++i)
    if ((reinterpret_cast<uintptr_t>(m.addresses[i]) & (kernel.alignments[i] - uintptr_t{1})) != 0)
        [[unlikely]]
      return m.FailUnaligned(pc, kernel, i, {list[1 + 2 * i], list[2 + 2 * i]});
  return true;
}

// Addresses of a launch's buffers, each of which has the bytes wanted; false after Fail.
bool ResolveBuffers(Machine& m, const uint32_t* pc, const KernelSpec& kernel, const uint32_t* list,
                    const int64_t* wanted) {
  for (uint32_t i = 0; i < list[0]; ++i) {
    const BufferOperand operand{list[1 + 2 * i], list[2 + 2 * i]};
    Bytes bytes;
    bool read_only = false;
    if (!m.BytesOf(pc, operand, 0, &bytes, &read_only)) return false;
    if (read_only && IsWritten(kernel.buffers[i])) [[unlikely]] {
      m.run.Fail(pc, Code::kInvalidProgram, WritesReadOnlyText(kernel, i));
      return false;
    }
    if (bytes.size < wanted[i]) [[unlikely]] {
      m.run.Fail(pc, Code::kInvalidProgram, TooFewBytesText(kernel, i, bytes.size, wanted[i]));
      return false;
    }
    m.addresses[i] = bytes.data;
  }
  return kernel.alignments.empty() || CheckAlignments(m, pc, kernel, list);
}

}  // namespace

bool CheckNumbers(Machine& m, const uint32_t* pc, const KernelSpec& kernel, const LaunchRequest& request,
                  const uint32_t* scalars) {
  LaunchCheck& check = m.checks[pc[1]];
  std::swap(check.last, check.other);
  int64_t* values = check.last.values;
  const LaunchContract& contract = *check.contract;
  uint64_t changed = values[LaunchContract::kGrid] == INT64_MIN ? LaunchContract::kAll : 0;
  const auto set = [&](size_t number, int64_t value) {
    if (values[number] == value) return;
    changed |= contract.DependsOn(number);
    values[number] = value;
  };
  for (size_t axis = 0; axis < 3; ++axis) set(LaunchContract::kGrid + axis, request.grid[axis]);
  set(LaunchContract::kScratch, request.scratch_bytes);
  for (uint32_t i = 0; i < scalars[0]; ++i)
    set(LaunchContract::kFirstScalar + i, m.frames.scalars[scalars[1 + i]]);
  if (changed == 0) return true;
  const std::optional<uint32_t> failed = contract.Evaluate(values, changed);
  if (failed) [[unlikely]] {
    m.run.Fail(pc, Code::kInvalidProgram,
               NumbersText(kernel, {values, LaunchContract::kFirstScalar + scalars[0]}, *failed));
    check.last.Forget();
    return false;
  }
  for (size_t i = 0; i < kernel.buffers.size(); ++i) check.last.bytes[i] = values[contract.bytes(i)];
  return true;
}

void ObserveLaunch(Machine& m, const uint32_t* pc, const LaunchRequest& request, int64_t begin_ns) {
  LaunchRecord record;
  record.kernel = KernelId{pc[1]};
  record.function = FunctionId{static_cast<uint32_t>(m.frames.top().function - m.program.functions.data())};
  record.word = static_cast<uint32_t>(pc - m.frames.code);
  record.device = pc[2];
  record.begin_ns = begin_ns;
  record.end_ns = SteadyNanoseconds();
  record.flops = request.flops;
  record.bytes = request.bytes;
  record.grid = request.grid[0] * request.grid[1] * request.grid[2];
  m.observer(record);
}

const uint32_t* FailWork(Machine& m, const uint32_t* pc, const Error& error) {
  return error.code == Code::kCancelled ? m.run.FailStopped(pc) : m.run.Fail(pc, error);
}

const uint32_t* HandleLaunch(Machine& m, const uint32_t* pc) {
  if (!m.run.PollBeforeWork(pc)) return nullptr;
  if (pc[2] != kHostDevice) return LaunchOnDevice(m, pc);
  const KernelBinding& binding = m.binding.kernels[pc[1]];  // those of the host come first
  const KernelSpec& kernel = m.program.kernels[pc[1]];
  const uint32_t* shape = pc + 3;
  const uint32_t* scalar_list = AfterList(shape);
  const uint32_t* buffer_list = AfterList(scalar_list);
  LaunchRequest request;
  request.kernels = binding.kernels;
  request.kernel = binding.index;
  SetShape(m, kernel, shape, &request);
  const LaunchCheck& check = m.checks[pc[1]];
  if (check.contract != nullptr) {
    if (!Fulfils(m, pc, kernel, check, request, scalar_list)) return nullptr;
    request.scalars = {check.last.values + LaunchContract::kFirstScalar, scalar_list[0]};
  } else {
    request.scalars = m.frames.Gather(scalar_list, m.numbers.data());
  }
  if (!ResolveBuffers(m, pc, kernel, buffer_list, check.last.bytes)) return nullptr;
  request.addresses = {m.addresses.data(), buffer_list[0]};

  const int64_t begin_ns = m.observer ? SteadyNanoseconds() : 0;
  const Expected<int32_t> code = m.cpu->Launch(request, &m.run);
  if (!code) [[unlikely]]
    return FailWork(m, pc, code.error());
  if (*code != 0) [[unlikely]]
    return m.run.Fail(pc, Code::kInvalidArgument, KernelFailureText(kernel, *code, request.scalars));
  if (m.observer) ObserveLaunch(m, pc, request, begin_ns);
  return buffer_list + 1 + 2 * buffer_list[0];
}

const uint32_t* HandleCopy(Machine& m, const uint32_t* pc) {
  const uint32_t* list = pc + 1;
  const uint32_t* after = list + 1 + 2 * list[0];
  const int64_t count = m.frames.scalars[*after];
  Bytes to, from;
  bool to_read_only = false, from_read_only = false;
  if (!m.run.PollBeforeWork(pc)) return nullptr;
  if (!m.devices.empty()) {
    if ((m.DeviceOf(BufferOperand{list[1]}) | m.DeviceOf(BufferOperand{list[3]})) != kHostDevice)
      return CopyOnDevice(m, pc);
    if (!m.WaitForHostMemory(pc)) return nullptr;
  }
  if (!m.BytesOf(pc, {list[1], list[2]}, count, &to, &to_read_only)) return nullptr;
  if (!m.BytesOf(pc, {list[3], list[4]}, count, &from, &from_read_only)) return nullptr;
  if (to_read_only) return m.run.Fail(pc, Code::kInvalidProgram, kWritesReadOnly);
  if (to.data != from.data && !CopyBytes(m.run, to.data, from.data, count)) return m.run.FailStopped(pc);
  return after + 1;
}

const uint32_t* HandleFill(Machine& m, const uint32_t* pc) {
  const uint32_t* list = pc + 1;
  const uint32_t* after = list + 1 + 2 * list[0];
  const int64_t count = m.frames.scalars[after[0]];
  Bytes to;
  bool read_only = false;
  if (!m.run.PollBeforeWork(pc)) return nullptr;
  if (m.DeviceOf(BufferOperand{list[1]}) != kHostDevice) return FillOnDevice(m, pc);
  if (!m.BytesOf(pc, {list[1], list[2]}, count, &to, &read_only)) return nullptr;
  if (read_only) return m.run.Fail(pc, Code::kInvalidProgram, kWritesReadOnly);
  if (!FillBytes(m.run, to.data, static_cast<int>(after[1] & 0xff), count)) return m.run.FailStopped(pc);
  return after + 2;
}

// The CPU has done its work when an instruction ends.
const uint32_t* HandleWait(Machine& m, const uint32_t* pc) {
  if (!m.run.PollBeforeWork(pc)) return nullptr;
  if (pc[1] != kHostDevice && !m.devices.empty() && m.devices[pc[1]] != nullptr && !m.WaitFor(pc, pc[1]))
    return nullptr;
  return pc + 2;
}

const uint32_t* HandleHostCall(Machine& m, const uint32_t* pc) {
  if (!m.run.PollBeforeWork(pc)) return nullptr;
  const uint32_t* scalar_list = pc + 2;
  const uint32_t* ref_list = AfterList(scalar_list);
  const uint32_t* scalar_results = AfterList(ref_list);
  const uint32_t* ref_results = AfterList(scalar_results);

  const std::span<const int64_t> scalars = m.frames.Gather(scalar_list, m.numbers.data());
  int64_t* new_scalars = m.numbers.data() + scalar_list[0];
  for (uint32_t i = 0; i < ref_list[0]; ++i) {
    if (m.DeviceOf(ref_list[1 + i]) != kHostDevice) return FailOnDevice(m, pc, ref_list[1 + i]);
    m.objects[i] = m.frames.refs[ref_list[1 + i]];
  }
  Object** new_refs = m.objects.data() + ref_list[0];
  std::fill_n(new_scalars, scalar_results[0], 0);
  std::fill_n(new_refs, ref_results[0], nullptr);

  HostCall call{scalars,
                {m.objects.data(), ref_list[0]},
                {new_scalars, scalar_results[0]},
                {new_refs, ref_results[0]},
                m.memory.pool,
                m.run,
                m.run.deadline_ns()};
  if (Status status = RunHostFunction(pc[1], call); !status) {
    for (uint32_t i = 0; i < ref_results[0]; ++i) m.memory.pool.Release(new_refs[i]);
    return FailWork(m, pc, status.error());
  }
  if (call.moved != HostCall::kNone) m.frames.refs[ref_list[1 + call.moved]] = nullptr;
  for (uint32_t i = 0; i < scalar_results[0]; ++i) m.frames.scalars[scalar_results[1 + i]] = new_scalars[i];
  for (uint32_t i = 0; i < ref_results[0]; ++i) m.frames.SetRef(ref_results[1 + i], new_refs[i]);
  return AfterList(ref_results);
}

}  // namespace tvmvm
