// The body of one function of a program made at random.
#pragma once

#include <string_view>
#include <vector>

#include "bytecode/builder.h"
#include "bytecode/host_functions.h"
#include "tests/fuzz/choices.h"

namespace tvmvm::fuzz {

// What bodies may name: what the program's tables will hold.
struct Tables {
  std::vector<KernelSpec> kernels;
  std::vector<ConstantSpec> constants;
  std::vector<uint32_t> plan_values;  // of each plan, how many
  std::vector<FunctionSpec> functions;
  std::vector<bool> uses_devices;  // of each function, whether it may name queues other than the CPU's
  uint32_t devices = 1;
};

// Which registers and slots every path to a place has assigned.
struct Assigned {
  std::vector<bool> scalars, refs, slots;
  void Intersect(const Assigned& other);
  bool Covers(const Assigned& other) const;
};

class BodyMaker {
 public:
  BodyMaker(const Tables& tables, uint32_t function, FunctionBuilder& body, Choices& choices);
  void Make();

 private:
  // What a reference register holds, as far as the text of the program tells.
  enum class Holds { kAnything, kTensor, kStrings, kBuffer, kSequence, kTuple };
  struct Reference {
    Holds holds = Holds::kAnything;
    DType dtype = DType::kF32;
    uint32_t device = kHostDevice;
    int64_t bytes = 0;  // at least, where the text tells
    bool read_only = false;
  };
  struct Loop {
    Label begin;
    ScalarReg turns;
    Assigned assigned;
  };
  struct Forward {
    Label label;
    Assigned assigned;
  };
  struct Statement {
    size_t weight;
    void (BodyMaker::*make)();
  };
  static const Statement kStatements[];

  // Registers to read, and to write.
  ScalarReg Small();   // mostly from 0 to 8
  ScalarReg Number();  // any
  RefReg Held(Holds wanted);
  RefReg AnyRef();
  RefReg Room(uint32_t device, bool is_written);  // memory of some bytes
  ScalarReg NewNumber(bool is_small);
  RefReg NewReference(const Reference& reference);
  SlotReg Slot();  // only where HasSlot()
  bool HasSlot() const;
  uint32_t Queue();
  // Buffers of a device, and slots there, of which there are `most` at most; none where it has no buffer.
  std::vector<BufferOperand> Among(uint32_t device, size_t most);
  DType ElementType();  // that a scalar register can hold
  DType AnyType();
  std::vector<uint32_t> Dims(int64_t* elements);  // at least, where the text tells
  // Memory on a device, where some is known; else any.
  BufferOperand Memory(uint32_t device, bool is_written);

  void Arithmetic();
  void SmallNumber();
  void FloatNumber();
  void AskDims();
  void LoadNumber();
  void StoreNumber();
  void MakeTensor();
  void MakeArena();
  void MakeView();
  void TakeConstant();
  void MoveReference();
  void PlanAndArena();
  void MakeSlots();
  void ChangeSlots();
  void UseSlot();
  void StandIn();
  void CopyOrFill();
  void LaunchKernel();
  void WaitOrTrace();
  void CheckGuard();
  void CallFunction();
  void CallHost();
  void MakeOutput();
  void BranchForwards();
  void BindForward();
  void JumpForwards();
  void BeginLoop();
  void EndLoop();

  RefReg ValueOf(const TypeSpec& type, int depth);
  RefReg HostResult(HostFunctionId function, std::vector<uint32_t> scalars, std::vector<uint32_t> refs,
                    Holds holds, DType dtype);
  void ReturnAll(bool is_tidy);

  const Tables& tables_;
  const uint32_t function_;
  const FunctionSpec& spec_;
  FunctionBuilder& body_;
  Choices& choices_;
  Assigned assigned_;
  std::vector<bool> small_, fixed_;  // by scalar register: holds a small number; is a loop's own
  std::vector<Reference> references_;
  std::vector<uint32_t> slot_devices_;
  std::vector<Loop> loops_;
  std::vector<Forward> forwards_;
};

}  // namespace tvmvm::fuzz
