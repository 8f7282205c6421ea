// How a body comes about: statements by their weights, branches and loops, and what it returns.
#include "tests/fuzz/body_maker.h"

#include "tests/fuzz/body_registers.h"

namespace tvmvm::fuzz {
namespace {

using enum OperandKind;

void IntersectBits(std::vector<bool>* bits, const std::vector<bool>& other) {
  for (size_t i = 0; i < bits->size(); ++i) (*bits)[i] = (*bits)[i] && i < other.size() && other[i];
}

bool CoversBits(const std::vector<bool>& bits, const std::vector<bool>& other) {
  for (size_t i = 0; i < other.size(); ++i)
    if (other[i] && !(i < bits.size() && bits[i])) return false;
  return true;
}

}  // namespace

void Assigned::Intersect(const Assigned& other) {
  IntersectBits(&scalars, other.scalars);
  IntersectBits(&refs, other.refs);
  IntersectBits(&slots, other.slots);
}

bool Assigned::Covers(const Assigned& other) const {
  return CoversBits(scalars, other.scalars) && CoversBits(refs, other.refs) && CoversBits(slots, other.slots);
}

const BodyMaker::Statement BodyMaker::kStatements[] = {
    {6, &BodyMaker::Arithmetic},   {4, &BodyMaker::SmallNumber},   {1, &BodyMaker::FloatNumber},
    {2, &BodyMaker::AskDims},      {4, &BodyMaker::LoadNumber},    {4, &BodyMaker::StoreNumber},
    {5, &BodyMaker::MakeTensor},   {2, &BodyMaker::MakeArena},     {4, &BodyMaker::MakeView},
    {2, &BodyMaker::TakeConstant}, {2, &BodyMaker::MoveReference}, {1, &BodyMaker::PlanAndArena},
    {3, &BodyMaker::MakeSlots},    {2, &BodyMaker::ChangeSlots},   {5, &BodyMaker::UseSlot},
    {1, &BodyMaker::StandIn},      {5, &BodyMaker::CopyOrFill},    {5, &BodyMaker::LaunchKernel},
    {1, &BodyMaker::WaitOrTrace},  {1, &BodyMaker::CheckGuard},    {3, &BodyMaker::CallFunction},
    {8, &BodyMaker::CallHost},     {2, &BodyMaker::MakeOutput},    {3, &BodyMaker::BranchForwards},
    {3, &BodyMaker::BindForward},  {1, &BodyMaker::JumpForwards},  {2, &BodyMaker::BeginLoop},
    {2, &BodyMaker::EndLoop},
};

BodyMaker::BodyMaker(const Tables& tables, uint32_t function, FunctionBuilder& body, Choices& choices)
    : tables_(tables),
      function_(function),
      spec_(tables.functions[function]),
      body_(body),
      choices_(choices) {
  assigned_.scalars.assign(spec_.scalar_inputs, true);
  assigned_.refs.assign(spec_.inputs.size(), true);
  for (const ParameterSpec& input : spec_.inputs) {
    Reference reference;
    reference.dtype = input.type.dtype;
    reference.read_only = true;
    if (input.type.kind == ValueKind::kTensor)
      reference.holds = input.type.dtype == DType::kString ? Holds::kStrings : Holds::kTensor;
    if (input.type.kind == ValueKind::kSequence) reference.holds = Holds::kSequence;
    if (input.type.kind == ValueKind::kTuple) reference.holds = Holds::kTuple;
    references_.push_back(reference);
  }
}

void BodyMaker::Make() {
  size_t total = 0;
  for (const Statement& statement : kStatements) total += statement.weight;
  for (size_t left = 2 + choices_.Below(function_ == 0 ? 40 : 12); left > 0; --left) {
    if (choices_.OneIn(8)) body_.SetSourceNode("/node." + std::to_string(choices_.Below(4)));
    size_t number = choices_.Below(total);
    const Statement* statement = kStatements;
    while (number >= statement->weight) number -= (statement++)->weight;
    (this->*statement->make)();
    if (choices_.OneIn(60)) {  // what follows is reached by branches alone, if at all
      ReturnAll(!choices_.OneIn(4));
      if (!forwards_.empty()) BindForward();
    }
  }
  while (!loops_.empty()) EndLoop();
  while (!forwards_.empty()) BindForward();
  ReturnAll(true);
}

// ---- control ----

void BodyMaker::BranchForwards() {
  Forward forward{body_.NewLabel(), {}};
  const ScalarReg condition = choices_.OneIn(2) ? Small() : Number();
  forward.assigned = assigned_;
  choices_.OneIn(2) ? body_.BranchIf(condition, forward.label) : body_.BranchIfNot(condition, forward.label);
  forwards_.push_back(std::move(forward));
}

void BodyMaker::BindForward() {
  if (forwards_.empty()) return;
  const size_t number = choices_.Below(forwards_.size());
  body_.Bind(forwards_[number].label);
  assigned_.Intersect(forwards_[number].assigned);
  forwards_.erase(forwards_.begin() + static_cast<std::ptrdiff_t>(number));
}

// To where another branch leads already; what follows is reached by that of a third one.
void BodyMaker::JumpForwards() {
  if (forwards_.size() < 2) return;
  body_.Jump(forwards_.back().label);
  forwards_.back().assigned.Intersect(assigned_);
  body_.Bind(forwards_.front().label);
  assigned_ = forwards_.front().assigned;
  forwards_.erase(forwards_.begin());
}

void BodyMaker::BeginLoop() {
  Loop loop;
  loop.turns = body_.NewScalar();
  Mark(&fixed_, loop.turns.index);
  body_.Emit(Opcode::kConstant64, {Dst(loop.turns), {kImmediate, 1 + choices_.Below(4)}});
  Mark(&assigned_.scalars, loop.turns.index);
  loop.begin = body_.NewLabel();
  body_.Bind(loop.begin);
  loop.assigned = assigned_;
  loops_.push_back(std::move(loop));
}

void BodyMaker::EndLoop() {
  if (loops_.empty()) return;
  const Loop loop = std::move(loops_.back());
  loops_.pop_back();
  if (!assigned_.Covers(loop.assigned)) return;  // a path leads here past its beginning
  if (!choices_.OneIn(40))
    body_.Emit(Opcode::kSub, {Dst(loop.turns), Src(loop.turns), Src(body_.Immediate(1))});
  body_.BranchIf(loop.turns, loop.begin);
}

// `is_tidy`: what the signature says, mostly.
void BodyMaker::ReturnAll(bool is_tidy) {
  std::vector<ScalarReg> scalars(spec_.scalar_outputs);
  for (ScalarReg& scalar : scalars) scalar = Small();
  std::vector<RefReg> refs;
  for (uint32_t k = 0; k < spec_.outputs.size(); ++k) {
    const TypeSpec& type = spec_.outputs[k].type;
    if (!is_tidy || choices_.OneIn(25)) {
      refs.push_back(AnyRef());
    } else if (type.kind != ValueKind::kTensor || choices_.OneIn(4)) {
      refs.push_back(ValueOf(type, 0));
    } else {
      std::vector<ScalarReg> dims(type.has_rank ? type.dims.size() : 1);
      for (ScalarReg& dim : dims) dim = Small();
      refs.push_back(body_.Output(k, dims));
      Mark(&assigned_.refs, refs.back().index);
      if (references_.size() <= refs.back().index) references_.resize(refs.back().index + 1);
      references_[refs.back().index] = {Holds::kTensor, type.dtype};
    }
  }
  body_.Return(scalars, refs);
}

}  // namespace tvmvm::fuzz
