// Steps through the description of a loop's body, call by call, each kernel on its own: what an outlined
// kernel is compared with.
#pragma once

#include <optional>

#include "compiler/loops/evaluate_loops.h"
#include "compiler/loops/outline.h"
#include "tests/compiler/schedules/group_harness.h"

namespace tvmvm::tensor {

class BodyInterpreter {
 public:
  // `arguments`: the body's, changed in place; `state` as the kernel's.
  BodyInterpreter(const LoopBody& body, std::vector<HostTensor>* arguments, std::vector<int64_t>* state,
                  Symbols symbols)
      : body_(body), arguments_(*arguments), state_(*state), symbols_(std::move(symbols)) {}

  // False: a requirement does not hold.
  bool Run(int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      if (!body_.go_on.IsConstant(1) && state_[1] == 0) break;
      Symbols outside = symbols_;
      symbols_[body_.index.name()] = i;
      for (size_t k = 0; k < body_.symbols.size(); ++k) symbols_[body_.symbols[k].name()] = state_[2 + k];
      values_.clear();
      for (size_t b = 0; b < body_.buffers.size(); ++b)
        values_.push_back(
            HostTensor::Zeros(body_.buffers[b].dtype, {ValueOf(body_.buffers[b].elements, symbols_)}));
      if (!Steps(body_.steps)) return false;
      if (body_.has_state()) {
        std::vector<int64_t> next = {i + 1, ValueOf(body_.go_on, symbols_)};
        for (const ir::Dim& dim : body_.next) next.push_back(ValueOf(dim, symbols_));
        state_ = next;
      }
      symbols_ = outside;
    }
    return true;
  }

 private:
  HostTensor& Buffer(const BufferPart& part) {
    return body_.buffers[part.buffer].is_argument ? arguments_[part.buffer] : values_[part.buffer];
  }
  int64_t Offset(const BufferPart& part) { return ValueOf(part.offset, symbols_); }

  bool Steps(const std::vector<BodyStep>& steps) {
    for (const BodyStep& step : steps)
      if (!Step(step)) return false;
    return true;
  }

  bool Step(const BodyStep& step) {
    switch (step.kind) {
      case BodyStepKind::kCall:
        if (ValueOf(step.condition, symbols_) != 0) Call(step);
        return true;
      case BodyStepKind::kCopy:
        for (int64_t i = 0; i < ValueOf(step.elements, symbols_); ++i)
          Buffer(step.parts[1])
              .set(Offset(step.parts[1]) + i, Buffer(step.parts[0]).at(Offset(step.parts[0]) + i));
        return true;
      case BodyStepKind::kDefine:
        for (size_t k = 0; k < step.symbols.size(); ++k)
          symbols_[step.symbols[k].name()] =
              Buffer(step.parts[0]).at(Offset(step.parts[0]) + static_cast<int64_t>(k)).integer;
        return true;
      case BodyStepKind::kStore:
        for (size_t k = 0; k < step.values.size(); ++k)
          Buffer(step.parts[0])
              .set(Offset(step.parts[0]) + static_cast<int64_t>(k), {ValueOf(step.values[k], symbols_), 0});
        return true;
      case BodyStepKind::kRequire:
        return ValueOf(step.condition, symbols_) != 0;
      case BodyStepKind::kIf: {
        bool is_then = ValueOf(step.condition, symbols_) != 0;
        if (!Steps(is_then ? step.then : step.otherwise)) return false;
        const ir::Dims& values = is_then ? step.then_values : step.else_values;
        for (size_t k = 0; k < step.symbols.size(); ++k)
          symbols_[step.symbols[k].name()] = ValueOf(values[k], symbols_);
        return true;
      }
    }
    return false;
  }

  // Each argument in memory of its own: kernels may take for granted that these do not overlap.
  void Call(const BodyStep& step) {
    std::vector<std::vector<std::byte>> memory;
    std::vector<std::span<std::byte>> spans;
    for (const BufferPart& part : step.parts) {
      const HostTensor& buffer = Buffer(part);
      auto from = static_cast<size_t>(DTypeBytes(buffer.dtype, Offset(part)));
      memory.emplace_back(buffer.bytes.begin() + static_cast<std::ptrdiff_t>(from), buffer.bytes.end());
    }
    for (std::vector<std::byte>& bytes : memory) spans.push_back(bytes);
    auto lookup = [&](const ir::SymbolId& symbol) -> std::optional<int64_t> {
      return symbols_.at(symbol.name());
    };
    Expected<int32_t> code = EvaluateLoops(*step.kernel, spans, lookup, {.eager_select = true});
    ASSERT_TRUE(code.has_value()) << code.error().message;
    for (size_t a = 0; a < step.parts.size(); ++a) {
      if (step.kernel->buffers[a].access == Access::kRead) continue;
      HostTensor& buffer = Buffer(step.parts[a]);
      auto from = static_cast<size_t>(DTypeBytes(buffer.dtype, Offset(step.parts[a])));
      std::copy(memory[a].begin(), memory[a].end(), buffer.bytes.begin() + static_cast<std::ptrdiff_t>(from));
    }
  }

  const LoopBody& body_;
  std::vector<HostTensor>& arguments_;
  std::vector<int64_t>& state_;
  Symbols symbols_;
  std::vector<HostTensor> values_;
};

}  // namespace tvmvm::tensor
