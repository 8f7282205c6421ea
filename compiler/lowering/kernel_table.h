// The kernels of a program under construction: identical kernels are kept once, each with one loop nest a
// target.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "bytecode/builder.h"
#include "compiler/codegen/codegen.h"
#include "compiler/lowering/lower_module.h"
#include "compiler/schedules/group.h"

namespace tvmvm::lowering {

// What a launch costs, as of KernelSpec.
struct LaunchCost {
  ir::Dim scratch_bytes = 0, flops = 0, bytes = 0;
  friend bool operator==(const LaunchCost&, const LaunchCost&) = default;
};

// A kernel together with what a launch of it passes as scalars.
struct KernelUse {
  bool may_run = false;  // else nothing launches it, and it is not in the table
  uint32_t entry = 0;    // index in the table
  std::vector<ir::Dim> scalars;
  std::optional<LaunchCost> cost;  // nothing: the kernel's
};

// What launches of a kernel fulfil (KernelSpec::contract).
struct RowContract {
  std::string text;
  size_t told = 0;  // how many scalars they pass behind those of the use
  friend bool operator==(const RowContract&, const RowContract&) = default;
};

class KernelTable {
 public:
  explicit KernelTable(const LoweringOptions* options) : options_(options) {}

  // `variants` holds the same call as scheduled for each target of the device. `source` names the nodes that
  // the kernel computes. `knows_cost` false: a launch does more than the schedule says.
  KernelUse Add(const std::vector<const tensor::KernelCall*>& variants, const std::string& source,
                DeviceClass device, bool knows_cost = true);
  // The kernel of an entry with that contract. Launches that fulfil others name others, which share the code.
  KernelId Row(uint32_t entry, const RowContract& contract = {});
  // Generates code for all kernels and adds them and their libraries to the program, with the ids that Row
  // gave.
  Status AddTo(Builder* builder) const;
  size_t size() const { return entries_.size(); }
  // Pairs of a kernel and a target.
  int64_t CountGenerated() const;

 private:
  struct Entry {
    std::string symbol;
    DeviceClass device = DeviceClass::kCpu;
    std::vector<tensor::LoopKernel> variants;  // by target of the device
    std::vector<ir::Dim> scalars;              // of the first use: code generation needs names only
    std::string source;
    std::optional<LaunchCost> cost;  // that of the first use, where it is known
  };
  // Those of a device, as scheduled for one of its targets.
  std::vector<codegen::KernelSource> Sources(DeviceClass device, size_t target) const;
  // How many scalars launches of an entry pass that its code does not read, ascending. On GPUs an argument
  // has its place by the number of those before it, and code is made for each.
  std::set<size_t> ToldOf(uint32_t entry) const;
  static std::string SymbolOf(const Entry& entry, size_t told);
  Status AddCpuLibraries(Builder* builder) const;
  Status AddCpuLibrary(size_t target, KernelForm form, Builder* builder) const;
  Status AddGpuLibraries(Builder* builder) const;

  const LoweringOptions* options_;
  // A kernel of the program.
  struct KernelRow {
    uint32_t entry = 0;
    std::optional<RowContract> contract;  // nothing: no launch yet
  };
  KernelSpec SpecOf(const KernelRow& row) const;

  std::vector<Entry> entries_;
  std::vector<KernelRow> rows_;  // by KernelId
  std::unordered_map<std::string, uint32_t> by_text_;
};

}  // namespace tvmvm::lowering
