// Outlining: the body of a loop, described as kernel calls on parts of buffers, becomes one kernel with the
// loop inside.
//
// The kernel runs steps [begin, end) and keeps what is carried from step to step in memory, so that a caller
// may run a loop in pieces and look at limits in between. Nothing here knows the graph IR.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/loops/loop_ir.h"

namespace tvmvm::tensor {

// Buffers of the body. Arguments are memory of the caller: what comes from outside of the loop, what is
// carried from step to step, what steps collect. Others live for one step.
struct BodyBuffer {
  std::string name;
  DType dtype = DType::kInvalid;
  bool is_argument = true;
  Access access = Access::kRead;  // arguments
  ir::Dim elements;               // others: in terms of symbols that are known outside of the loop
};

// A buffer from element `offset` on; the offset may use symbols of the body.
struct BufferPart {
  uint32_t buffer = 0;  // of LoopBody::buffers
  ir::Dim offset = 0;
};

enum class BodyStepKind : uint8_t {
  kCall,     // `kernel` on `parts`, one for each argument; where `condition` is not 0
  kCopy,     // `elements` elements from parts[0] to parts[1], of one type
  kDefine,   // symbols[k] is element k of parts[0], an integer or a bool, for the steps that follow
  kStore,    // values[k] becomes element k of parts[0]
  kRequire,  // leaves the kernel with `message` where `condition` is 0
  kIf,  // `then` where `condition` is not 0, else `otherwise`; symbols[k] is defined as then_values[k] or
        // else_values[k], in terms of what the branch defines
};

struct BodyStep {
  BodyStepKind kind = BodyStepKind::kCall;
  std::shared_ptr<const LoopKernel> kernel;
  std::vector<BufferPart> parts;
  ir::Dim condition = 1;
  ir::Dim elements = 0;
  std::vector<ir::SymbolId> symbols;
  ir::Dims values;
  std::string message;
  std::vector<BodyStep> then, otherwise;
  ir::Dims then_values, else_values;
};

struct LoopBody {
  std::string name;
  std::vector<BodyBuffer> buffers;  // arguments first
  std::vector<BodyStep> steps;
  ir::SymbolId index;                 // the number of the step
  ir::SymbolId begin, end;            // known outside: which steps to run
  std::vector<ir::SymbolId> symbols;  // carried from step to step
  ir::Dims next;                      // their values in the next step
  ir::Dim go_on = 1;                  // in terms of the body: 0 after the last step
  int vector_bits = 256;

  // A body that carries symbols or decides whether to go on keeps them in an i64 buffer, which is then the
  // last argument of the kernel: {steps done, whether to go on, symbols...}.
  bool has_state() const { return !symbols.empty() || !go_on.IsConstant(1); }
  int64_t state_elements() const { return 2 + static_cast<int64_t>(symbols.size()); }
};

// The kernel: its arguments are the body's, then the state; its grid is a single point. `flops` and `bytes`
// are of one step. Errors: kInternal for a malformed description.
Expected<LoopKernel> OutlineLoop(const LoopBody& body);

// True when a launch may be given one buffer for both arguments, all of whose elements `read` and `written`
// pass over in the same order: each element is read before it is written, and never afterwards.
bool CanUpdateInPlace(const LoopKernel& kernel, uint32_t read, uint32_t written);
// The same of a kernel that does one row after another, or rows apart from one another, whose rows are the same
// elements of both: a row is looked through before its first element is written.
bool CanUpdateRowsInPlace(const LoopKernel& kernel, uint32_t read, uint32_t written);

}  // namespace tvmvm::tensor
