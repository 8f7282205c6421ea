// Loops whose whole body is a few small kernels become one kernel with the loop inside.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/graph/storage.h"
#include "compiler/loops/loop_ir.h"
#include "compiler/schedules/group.h"
#include "compiler/schedules/schedule_cache.h"
#include "tvm-vm/target_info.h"

namespace tvmvm::lowering {

enum class LoopArgumentKind : uint8_t {
  kOutside,  // a value from outside of the loop: the root of its place, or a constant
  kResult,   // a result of the loop. Carried: the initial value when the loop begins, the last one after it;
             // collected: the elements of all steps
  kPacked,   // a constant in the kernels' layout
  kState,    // i64: {steps done, whether to go on, the loop's symbols...}
};

struct LoopArgument {
  LoopArgumentKind kind = LoopArgumentKind::kOutside;
  ir::ValueId value;    // kOutside
  uint32_t number = 0;  // kResult: of the node's results; kPacked: in `packed`
  friend bool operator==(const LoopArgument&, const LoopArgument&) = default;
};

// A constant in the layout of the kernels that run one of the loop's groups.
struct PackedOfGroup {
  tensor::PackConstant pack;
  tensor::GroupConstants constants;
};

// Each launch runs the steps [begin, end); what is carried is in memory, so that a loop can be run in pieces.
struct OutlinedLoop {
  std::vector<tensor::LoopKernel> kernels;  // one for each target; `flops` and `bytes` are of one step
  std::vector<LoopArgument> arguments;
  std::vector<PackedOfGroup> packed;
  // What a launch must give and fulfil: bytes of each argument (kPacked: 0, known once it is packed), and
  // what must not be 0: the steps are the loop's, and what is checked before the loop holds.
  ir::Dims bytes, facts;
  ir::SymbolId begin, end;     // among the kernels' scalars
  int64_t state_elements = 0;  // 0: no state
  bool decides = false;        // the body says whether to go on
};

// Where kState's elements are.
inline constexpr int64_t kStateStepsDone = 0, kStateGoOn = 1, kStateSymbols = 2;

// Nothing where the loop has to stay bytecode: its body calls host functions, handles objects or sizes that
// it computes itself, or a step is so much work that it should be divided among threads. `views` covers the
// loop's region.
std::optional<OutlinedLoop> OutlineLoop(const ir::Function& function, ir::NodeId loop, const Views& views,
                                        const ir::RangeLookup& ranges, const std::vector<TargetInfo>& targets,
                                        tensor::ScheduleCache* schedules);

}  // namespace tvmvm::lowering
