// Handlers of jumps, calls, returns and guards.
#include <string>

#include "vm/interpreter/handlers.h"

namespace tvmvm {
namespace {

// Loops are where a run may stay: only a jump backwards looks for cancel and limits.
inline const uint32_t* JumpTo(Machine& m, const uint32_t* pc, uint32_t target) {
  const uint32_t* next = m.frames.code + target;
  if (next <= pc && !m.run.Poll(pc)) return nullptr;
  return next;
}

// Replaces "{0}", "{1}", ... by the listed scalars.
std::string FillIn(std::string_view message, const int64_t* scalars, const uint32_t* list) {
  std::string text;
  for (size_t i = 0; i < message.size(); ++i) {
    size_t end = i + 1;
    size_t number = 0;
    while (message[i] == '{' && end < message.size() && message[end] >= '0' && message[end] <= '9' &&
           number < 1000)
      number = number * 10 + static_cast<size_t>(message[end++] - '0');
    if (end > i + 1 && end < message.size() && message[end] == '}' && number < list[0]) {
      text += std::to_string(scalars[list[1 + number]]);
      i = end;
    } else {
      text += message[i];
    }
  }
  return text;
}

}  // namespace

const uint32_t* HandleJump(Machine& m, const uint32_t* pc) { return JumpTo(m, pc, pc[1]); }

const uint32_t* HandleBranchIf(Machine& m, const uint32_t* pc) {
  return m.frames.scalars[pc[1]] != 0 ? JumpTo(m, pc, pc[2]) : pc + 3;
}

const uint32_t* HandleBranchIfNot(Machine& m, const uint32_t* pc) {
  return m.frames.scalars[pc[1]] == 0 ? JumpTo(m, pc, pc[2]) : pc + 3;
}

const uint32_t* HandleCall(Machine& m, const uint32_t* pc) {
  const FunctionSpec& callee = m.program.functions[pc[1]];
  if (!m.run.Poll(pc)) return nullptr;
  if (m.frames.depth() >= m.run.limits().max_call_depth)
    return m.run.Fail(
        pc, Code::kInvalidArgument,
        "the limit of " + std::to_string(m.run.limits().max_call_depth) + " nested calls is reached");
  if (!m.PushFrame(callee, pc)) return nullptr;
  const Frame& caller = m.frames.caller();
  const int64_t* from_scalars = m.frames.scalars - (m.frames.top().scalar_base - caller.scalar_base);
  Object* const* from_refs = m.frames.refs - (m.frames.top().ref_base - caller.ref_base);
  const uint32_t* scalar_list = pc + 2;
  for (uint32_t i = 0; i < scalar_list[0]; ++i) m.frames.scalars[i] = from_scalars[scalar_list[1 + i]];
  const uint32_t* ref_list = AfterList(scalar_list);
  for (uint32_t i = 0; i < ref_list[0]; ++i) {
    m.frames.refs[i] = from_refs[ref_list[1 + i]];
    ObjectPool::Retain(m.frames.refs[i]);
  }
  return m.frames.code;
}

const uint32_t* HandleReturn(Machine& m, const uint32_t* pc) {
  const uint32_t* scalar_list = pc + 1;
  const uint32_t* ref_list = AfterList(scalar_list);
  const Frame& frame = m.frames.top();
  const uint32_t* call = frame.call;
  if (call == nullptr) {
    m.TakeResults(ref_list);
    return nullptr;
  }
  const Frame& caller = m.frames.caller();
  int64_t* to_scalars = m.frames.scalars - (frame.scalar_base - caller.scalar_base);
  Object** to_refs = m.frames.refs - (frame.ref_base - caller.ref_base);
  const uint32_t* scalar_results = AfterList(AfterList(call + 2));
  const uint32_t* ref_results = AfterList(scalar_results);
  for (uint32_t i = 0; i < scalar_list[0]; ++i)
    to_scalars[scalar_results[1 + i]] = m.frames.scalars[scalar_list[1 + i]];
  for (uint32_t i = 0; i < ref_list[0]; ++i) {
    Object* result = m.frames.refs[ref_list[1 + i]];
    ObjectPool::Retain(result);
    Object*& to = to_refs[ref_results[1 + i]];
    m.memory.pool.Release(to);
    to = result;
  }
  m.frames.Pop();
  return call + (*call >> 8);
}

const uint32_t* HandleGuard(Machine& m, const uint32_t* pc) {
  const uint32_t* list = pc + 3;
  if (m.frames.scalars[pc[1]] != 0) [[likely]]
    return AfterList(list);
  return m.run.Fail(pc, Code::kInvalidArgument, FillIn(m.program.strings[pc[2]], m.frames.scalars, list));
}

const uint32_t* HandleTrace(Machine& m, const uint32_t* pc) {
  if (!m.run.Poll(pc)) return nullptr;
  const uint32_t* list = pc + 2;
  if (m.tracer) m.tracer(FillIn(m.program.strings[pc[1]], m.frames.scalars, list));
  return AfterList(list);
}

}  // namespace tvmvm
