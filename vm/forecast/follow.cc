// What one instruction does to what is known.
#include <algorithm>
#include <bit>
#include <cmath>

#include "bytecode/host_functions.h"
#include "bytecode/output_operand.h"
#include "vm/forecast/walk.h"

namespace tvmvm::forecast {
namespace {

uint32_t Register(const DecodedInstruction& instruction, size_t operand) {
  return static_cast<uint32_t>(instruction.operand(operand).value);
}

std::optional<DimOp> DimOpOf(Opcode opcode) {
  for (const DimOpRow& row : kDimOps)
    if (row.op != DimOp::kConstant && row.op != DimOp::kSymbol && row.op != DimOp::kNamed &&
        row.opcode == opcode)
      return row.op;
  return std::nullopt;
}

bool IsRemembered(Opcode opcode) {
  switch (opcode) {
    case Opcode::kLess:
    case Opcode::kLessEqual:
    case Opcode::kEqual:
    case Opcode::kNotEqual:
    case Opcode::kAnd:
    case Opcode::kNot:
      return true;
    default:
      return false;
  }
}

// Of f64 registers that are known.
std::optional<int64_t> ComputeF64(Opcode opcode, int64_t a_bits, int64_t b_bits) {
  const auto a = std::bit_cast<double>(a_bits), b = std::bit_cast<double>(b_bits);
  switch (opcode) {
    case Opcode::kAddF64:
      return std::bit_cast<int64_t>(a + b);
    case Opcode::kSubF64:
      return std::bit_cast<int64_t>(a - b);
    case Opcode::kMulF64:
      return std::bit_cast<int64_t>(a * b);
    case Opcode::kDivF64:
      return std::bit_cast<int64_t>(a / b);
    case Opcode::kLessF64:
      return a < b;
    case Opcode::kIntToF64:
      return std::bit_cast<int64_t>(static_cast<double>(a_bits));
    case Opcode::kF64ToInt: {
      const double floor = std::floor(a);
      return floor >= -0x1p63 && floor < 0x1p63 ? std::optional(static_cast<int64_t>(floor)) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

std::string ListText(const State& state, std::span<const uint32_t> list) {
  std::string text = "[";
  for (uint32_t reg : list) text += (text.size() > 1 ? ", " : "") + std::to_string(state.scalars[reg].low);
  return text + "]";
}

}  // namespace

Expected<bool> FunctionWalk::FollowScalar(const Instruction& instruction, State* state) {
  const Opcode opcode = instruction.info->opcode;
  const uint32_t dst = Register(instruction, 0);
  if (opcode == Opcode::kConstant64) {
    state->SetScalar(dst, Interval::Of(instruction.operand(1).value));
    return true;
  }
  const Interval a = state->scalars[Register(instruction, 1)];
  if (opcode == Opcode::kMove) {
    state->SetScalar(dst, a);
    return true;
  }
  const bool has_two = instruction.operand_count > 2;
  const Interval b = has_two ? state->scalars[Register(instruction, 2)] : Interval::Of(0);
  Interval result = kAnything;
  if (opcode == Opcode::kSelect) {
    const Interval c = state->scalars[Register(instruction, 3)];
    result = a.truth() == 1 ? b : a.truth() == 0 ? c : b.Join(c);
  } else if (opcode == Opcode::kAnd) {
    result = AndBits(a, b);
  } else if (opcode == Opcode::kOr) {
    result = OrBits(a, b);
  } else if (const std::optional<DimOp> op = DimOpOf(opcode)) {
    if (const std::optional<Interval> computed = Compute(*op, a, b))
      result = *computed;
    else if (state->share >= 1)
      return Fail(instruction, "of " + std::to_string(a.low) + " and " + std::to_string(b.low) +
                                   " there is no 64-bit result");
  } else if (a.is_exact() && b.is_exact()) {
    if (const std::optional<int64_t> value = ComputeF64(opcode, a.low, b.low)) result = Interval::Of(*value);
  }
  const uint32_t first = Register(instruction, 1), second = has_two ? Register(instruction, 2) : first;
  state->SetScalar(dst, result);
  if (IsRemembered(opcode) && dst != first && dst != second)
    state->comparisons.push_back({dst, opcode, first, second});
  return true;
}

Dims FunctionWalk::DimsFrom(const State& state, std::span<const uint32_t> list) const {
  auto dims = std::make_shared<std::vector<Interval>>();
  for (uint32_t reg : list) dims->push_back(state.scalars[reg].Meet(kAnySize).value_or(kAnySize));
  return dims;
}

Expected<bool> FunctionWalk::FollowReference(const Instruction& instruction, State* state) {
  const uint32_t dst = instruction.operand_count > 0 ? Register(instruction, 0) : 0;
  auto arena_bytes = [&](uint32_t reg) {
    const Interval bytes = state->scalars[reg].Meet(kAnySize).value_or(kAnySize);
    return ByteRange{bytes.low, bytes.high};
  };
  switch (instruction.info->opcode) {
    case Opcode::kMoveRef:
      state->refs[dst] = state->refs[Register(instruction, 1)];
      return true;
    case Opcode::kRelease:
      state->refs[dst] = {};
      return true;
    case Opcode::kLoadConstant: {
      auto dims = std::make_shared<std::vector<Interval>>();
      for (int64_t dim : journey_.program.constants[Register(instruction, 1)].dims)
        dims->push_back(Interval::Of(dim));
      state->refs[dst] = {kNoObject, std::move(dims)};
      return true;
    }
    case Opcode::kPlan: {
      TVMVM_TRY(const Planned* planned,
                PlanFor(instruction, *state, Register(instruction, 0), instruction.operand(1).list));
      state->SetScalar(Register(instruction, 2), {planned->bytes.low, planned->bytes.high});
      for (uint32_t reg : instruction.operand(3).list) state->SetScalar(reg, {0, planned->bytes.high});
      return true;
    }
    case Opcode::kArena:
      TVMVM_CHECK_OK(MakeArena(instruction, state, dst, kHostDevice, arena_bytes(Register(instruction, 1))));
      return true;
    case Opcode::kArenaOn:
      TVMVM_CHECK_OK(MakeArena(instruction, state, dst, Register(instruction, 1),
                               arena_bytes(Register(instruction, 2))));
      return true;
    case Opcode::kSlots:
    case Opcode::kSlotsAmong:
      return FollowSlots(instruction, state);
    case Opcode::kOutput: {
      const OutputOperand operand = OutputOperand::Of(Register(instruction, 1), function_.outputs.size());
      const ParameterSpec& output = function_.outputs[operand.output];
      if (operand.donor && caller_ == nullptr) return TakeDonated(instruction, state, dst, output.type.dtype);
      TVMVM_CHECK_OK(MakeTensor(instruction, state, dst, output.type.dtype, instruction.operand(2).list,
                                kHostDevice, caller_ == nullptr ? output.name : ""));
      return true;
    }
    case Opcode::kAllocate:
      TVMVM_CHECK_OK(MakeTensor(instruction, state, dst, static_cast<DType>(Register(instruction, 1)),
                                instruction.operand(2).list, kHostDevice, ""));
      return true;
    case Opcode::kAllocateOn:
      TVMVM_CHECK_OK(MakeTensor(instruction, state, dst, static_cast<DType>(Register(instruction, 2)),
                                instruction.operand(3).list, Register(instruction, 1), ""));
      return true;
    case Opcode::kView:
      state->refs[dst] = {state->refs[Register(instruction, 1)].object,
                          DimsFrom(*state, instruction.operand(4).list)};
      return true;
    case Opcode::kSlotView:
      state->refs[dst] = {ObjectOfSlot(instruction, *state, Register(instruction, 1)),
                          DimsFrom(*state, instruction.operand(4).list)};
      return true;
    case Opcode::kDim: {
      const Dims& dims = state->refs[Register(instruction, 1)].dims;
      const uint32_t axis = Register(instruction, 2);
      state->SetScalar(dst, dims != nullptr && axis < dims->size() ? (*dims)[axis] : kAnySize);
      return true;
    }
    case Opcode::kRank: {
      const Dims& dims = state->refs[Register(instruction, 1)].dims;
      state->SetScalar(dst, dims != nullptr ? Interval::Of(static_cast<int64_t>(dims->size())) : kAnySize);
      return true;
    }
    case Opcode::kLoad:
    case Opcode::kSlotLoad:
      state->SetScalar(dst, ElementsOf(static_cast<DType>(Register(instruction, 3))));
      return true;
    default:
      return true;  // changes neither scalars nor references
  }
}

Status FunctionWalk::MakeTensor(const Instruction& instruction, State* state, uint32_t reg, DType dtype,
                                std::span<const uint32_t> list, uint32_t device, const std::string& output) {
  Dims dims = DimsFrom(*state, list);
  const Interval elements = CountOf(*dims);
  const bool is_impossible =
      elements.low > INT64_MAX / 16 ||
      std::any_of(list.begin(), list.end(), [&](uint32_t dim) { return state->scalars[dim].high < 0; });
  if (is_impossible && state->share >= 1)
    return Fail(instruction, "a tensor of shape " + ListText(*state, list) + " cannot be");
  auto bytes_of = [dtype](int64_t count) {
    if (count > INT64_MAX / 16) return ByteRange::kUnbounded;
    return dtype == DType::kString ? MultiplySizes(count, sizeof(std::string)) : DTypeBytes(dtype, count);
  };
  const ByteRange bytes{is_impossible ? 0 : bytes_of(elements.low), bytes_of(elements.high)};
  const ObjectId made = Make(instruction, state, {bytes, device, true}, 0);
  NotePeak(state, made);
  state->refs[reg] = {made, std::move(dims)};
  if (!journey_.is_recording) return {};
  const Place place = PlaceOf(instruction, *state);
  if (!bytes.is_bounded()) journey_.recorder.AddReason(place, "makes a tensor whose size only data tell");
  journey_.recorder.AddTensor(place, made, bytes, device, output);
  return {};
}

// The caller's memory, which counts as that of its input does: not here.
bool FunctionWalk::TakeDonated(const Instruction& instruction, State* state, uint32_t reg, DType dtype) {
  Dims dims = DimsFrom(*state, instruction.operand(2).list);
  const Interval elements = CountOf(*dims);
  auto bytes_of = [dtype](int64_t count) {
    return count > INT64_MAX / 16 ? ByteRange::kUnbounded : DTypeBytes(dtype, count);
  };
  state->refs[reg] = {Make(instruction, state, {{0, 0}, kHostDevice, true}, 0), std::move(dims)};
  if (journey_.is_recording) journey_.recorder.AddDonated({bytes_of(elements.low), bytes_of(elements.high)});
  return true;
}

void FunctionWalk::FollowLaunch(const Instruction& instruction, const State& state) {
  if (!journey_.is_recording || instruction.operand(1).value != kHostDevice) return;
  const std::span<const uint32_t> shape = instruction.operand(2).list;
  constexpr auto kScratch = static_cast<size_t>(LaunchShapeIndex::kScratchBytes);
  const int64_t own = journey_.program.kernels[Register(instruction, 0)].scratch_bytes;
  const Interval bytes = shape.size() > kScratch ? state.scalars[shape[kScratch]] : Interval::Of(own);
  journey_.recorder.AddScratch({std::max<int64_t>(bytes.low, 0), std::max<int64_t>(bytes.high, 0)});
}

// What the host library makes: of sizes that data tell, but for those here.
void FunctionWalk::FollowHost(const Instruction& instruction, State* state) {
  const std::span<const uint32_t> scalars = instruction.operand(1).list, refs = instruction.operand(2).list,
                                  results = instruction.operand(4).list;
  auto dims_of = [&](size_t k) { return k < refs.size() ? state->refs[refs[k]].dims : nullptr; };
  Object made{{0, ByteRange::kUnbounded}, kHostDevice, true};
  ByteRange beside;  // what the function has for itself while it makes that
  Dims dims;
  switch (static_cast<HostFunctionId>(instruction.operand(0).value)) {
    case HostFunctionId::kBufferGrow: {
      const Interval wanted = state->scalars[scalars[0]];
      made.bytes = {std::max<int64_t>(256, wanted.low),
                    std::max<int64_t>(256, MultiplySizes(2, std::max<int64_t>(wanted.high, 0)))};
      break;
    }
    case HostFunctionId::kNonMaxSuppression: {
      const Dims boxes = dims_of(0), scores = dims_of(1);
      if (boxes == nullptr || scores == nullptr || scores->size() != 3) break;
      const int64_t most = std::min((*scores)[2].high, std::max<int64_t>(state->scalars[scalars[1]].high, 0));
      const int64_t rows = MultiplySizes(MultiplySizes((*scores)[0].high, (*scores)[1].high), most);
      made.bytes = {0, MultiplySizes(rows, 3 * 8)};
      // Corners and a key of each box, a second row of keys where many are sorted, corners of those kept.
      const int64_t boxes_in_row = (*scores)[2].high;
      beside.high = AddSizes(MultiplySizes(boxes_in_row, boxes_in_row > (1 << 17) ? 36 : 28),
                             MultiplySizes(most / 16 + 1, 16 * 5 * 4));
      dims = std::make_shared<const std::vector<Interval>>(std::vector<Interval>{{0, rows}, Interval::Of(3)});
      break;
    }
    case HostFunctionId::kOptionalMake:
    case HostFunctionId::kOptionalGet:
    case HostFunctionId::kTensorRanked:
    case HostFunctionId::kTensorFlat:
    case HostFunctionId::kTensorShapedLike:
    case HostFunctionId::kTensorWithRank: {  // the same memory
      const Ref ref = state->refs[refs[0]];
      for (uint32_t reg : instruction.operand(3).list) state->SetScalar(reg, kAnything);
      for (uint32_t reg : results) state->refs[reg] = {ref.object, nullptr};
      return;
    }
    default:
      break;
  }
  for (uint32_t reg : instruction.operand(3).list) state->SetScalar(reg, kAnything);
  if (results.empty()) return;
  const Place place = PlaceOf(instruction, *state);
  const std::string name(HostSignatures()[static_cast<size_t>(instruction.operand(0).value)].name);
  std::vector<ObjectId> objects;
  if (journey_.is_recording) journey_.recorder.AddWorkspace(place, beside);
  for (uint32_t number = 0; number < results.size(); ++number) {
    objects.push_back(Make(instruction, state, made, number));
    NotePeak(state, objects.back(), beside);
    if (!journey_.is_recording) continue;
    journey_.recorder.AddTensor(place, objects.back(), made.bytes, kHostDevice, "");
    if (!made.bytes.is_bounded())
      journey_.recorder.AddReason(place, name + " makes what only data tell the size of");
  }
  for (size_t number = 0; number < results.size(); ++number)
    state->refs[results[number]] = {objects[number], dims};
}

}  // namespace tvmvm::forecast
