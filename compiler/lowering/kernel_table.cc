#include "compiler/lowering/kernel_table.h"

#include <algorithm>

#include "bytecode/device_kinds.h"
#include "bytecode/launch_contract.h"
#include "bytecode/spirv_library.h"
#include "compiler/codegen/gpu_codegen.h"
#include "fmt/format.h"

namespace tvmvm::lowering {
namespace {

using tensor::LoopKernel;

std::vector<ir::Dim> MergedScalars(const std::vector<const tensor::KernelCall*>& variants) {
  std::vector<ir::Dim> merged;
  for (const tensor::KernelCall* call : variants)
    for (const ir::Dim& dim : tensor::LaunchScalars(call->kernel))
      if (std::find(merged.begin(), merged.end(), dim) == merged.end()) merged.push_back(dim);
  return merged;
}

std::string SymbolFor(std::string_view name, size_t number) {
  std::string symbol;
  for (char c : name) symbol += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return fmt::format("{}_{}", symbol.empty() ? "kernel" : symbol, number);
}

// "{|n*2}" becomes "{k|n*2}" where the launch passes that dim as scalar k.
std::string WithScalars(std::string message, const std::vector<ir::Dim>& scalars) {
  for (size_t k = 0; k < scalars.size(); ++k) {
    const std::string text = scalars[k].ToString(), place = "{|" + text + "}";
    const std::string numbered = fmt::format("{{{}|{}}}", k, text);
    for (size_t at = message.find(place); at != std::string::npos;
         at = message.find(place, at + numbered.size()))
      message.replace(at, place.size(), numbered);
  }
  return message;
}

bool IsKnown(const LaunchCost& cost) {
  return cost.scratch_bytes.is_constant() && cost.flops.is_constant() && cost.bytes.is_constant();
}

// Of the same call, as scheduled for each target.
LaunchCost CostOf(const std::vector<const tensor::KernelCall*>& variants) {
  const LoopKernel& first = variants[0]->kernel;
  LaunchCost cost{first.scratch_bytes, first.flops, first.bytes};
  for (const tensor::KernelCall* call : variants)
    if (!(call->kernel.scratch_bytes == cost.scratch_bytes))
      cost.scratch_bytes = Max(cost.scratch_bytes, call->kernel.scratch_bytes);
  return cost;
}

}  // namespace

KernelUse KernelTable::Add(const std::vector<const tensor::KernelCall*>& variants, const std::string& source,
                           DeviceClass device, bool knows_cost) {
  KernelUse use{.may_run = true};
  use.scalars = MergedScalars(variants);
  std::string text = DeviceClassName(device);
  for (const tensor::KernelCall* call : variants) text += tensor::CanonicalText(call->kernel, use.scalars);
  auto [found, added] = by_text_.emplace(std::move(text), static_cast<uint32_t>(entries_.size()));
  use.entry = found->second;
  const LaunchCost cost = CostOf(variants);
  if (added) {
    Entry entry;
    if (knows_cost && IsKnown(cost)) entry.cost = cost;
    entry.symbol = SymbolFor(variants[0]->kernel.name, entries_.size());
    entry.scalars = use.scalars;
    entry.source = source;
    entry.device = device;
    for (const tensor::KernelCall* call : variants) entry.variants.push_back(call->kernel);
    rows_.push_back({use.entry, {}});
    entries_.push_back(std::move(entry));
  }
  if (!knows_cost || entries_[use.entry].cost != cost) use.cost = cost;
  return use;
}

int64_t KernelTable::CountGenerated() const {
  int64_t count = 0;
  for (const Entry& entry : entries_) count += static_cast<int64_t>(entry.variants.size());
  return count;
}

std::vector<codegen::KernelSource> KernelTable::Sources(DeviceClass device, size_t target) const {
  std::vector<codegen::KernelSource> sources;
  for (uint32_t number = 0; number < entries_.size(); ++number) {
    const Entry& entry = entries_[number];
    if (entry.device != device) continue;
    for (const size_t told : ToldOf(number)) {
      std::vector<ir::Dim> scalars = entry.scalars;
      scalars.resize(scalars.size() + told);
      sources.push_back({SymbolOf(entry, told), &entry.variants[target], std::move(scalars)});
    }
  }
  return sources;
}

std::set<size_t> KernelTable::ToldOf(uint32_t entry) const {
  if (entries_[entry].device == DeviceClass::kCpu) return {0};
  std::set<size_t> told;
  for (const KernelRow& row : rows_)
    if (row.entry == entry) told.insert(row.contract.value_or(RowContract{}).told);
  return told;
}

std::string KernelTable::SymbolOf(const Entry& entry, size_t told) {
  const bool is_own = told > 0 && entry.device != DeviceClass::kCpu;
  return is_own ? fmt::format("{}_told{}", entry.symbol, told) : entry.symbol;
}

Status KernelTable::AddCpuLibrary(size_t target, KernelForm form, Builder* builder) const {
  codegen::CodegenOptions options;
  options.target = options_->targets[target];
  options.form = form;
  options.threads = options_->threads;
  TVMVM_TRY(std::vector<std::byte> bytes,
            codegen::GenerateCpuLibrary(Sources(DeviceClass::kCpu, target), options));
  KernelLibrarySpec spec;
  spec.device = DeviceKind::kCpu;
  spec.form = form;
  spec.target = form == KernelForm::kBitcode ? "generic" : CpuLevelName(options.target.cpu_level);
  auto owner = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  spec.bytes = *owner;
  builder->AddLibrary(std::move(spec), owner);
  return {};
}

Status KernelTable::AddCpuLibraries(Builder* builder) const {
  for (size_t target = 0; target < options_->targets.size(); ++target) {
    if (options_->progress) options_->progress("codegen", double(target) / double(options_->targets.size()));
    TVMVM_CHECK_OK(AddCpuLibrary(target, KernelForm::kSharedObject, builder));
  }
  return options_->bitcode ? AddCpuLibrary(0, KernelForm::kBitcode, builder) : Status();
}

// All GPUs share the schedules of the first target; the printers differ. Kernels that a second one has
// matrices for stand beside them.
Status KernelTable::AddGpuLibraries(Builder* builder) const {
  for (KernelForm form : options_->gpu_forms) {
    codegen::CodegenOptions options;
    options.target = options_->gpu_targets[0];
    options.form = form;
    options.threads = options_->threads;
    std::vector<codegen::KernelSource> sources = Sources(DeviceClass::kGpu, 0);
    if (form == KernelForm::kSpirV && options_->gpu_targets.size() > 1) {
      options.target = options_->gpu_targets[1];
      for (codegen::KernelSource& source : Sources(DeviceClass::kGpu, 1)) {
        if (!tensor::HasMatrices(*source.kernel)) continue;
        source.symbol += kByMatrices;
        sources.push_back(std::move(source));
      }
    }
    TVMVM_TRY(std::vector<std::byte> bytes, codegen::GenerateGpuLibrary(sources, options));
    KernelLibrarySpec spec;
    spec.device = InfoOf(form)->device;
    spec.form = form;
    spec.target = "generic";
    auto owner = std::make_shared<std::vector<std::byte>>(std::move(bytes));
    spec.bytes = *owner;
    builder->AddLibrary(std::move(spec), owner);
  }
  return {};
}

KernelId KernelTable::Row(uint32_t entry, const RowContract& contract) {
  const auto fits = [&](const KernelRow& row) {
    return row.entry == entry && row.contract.value_or(contract) == contract;
  };
  auto found = std::ranges::find_if(rows_, fits);
  if (found == rows_.end()) found = rows_.insert(found, {entry, contract});
  found->contract = contract;
  return {static_cast<uint32_t>(found - rows_.begin())};
}

KernelSpec KernelTable::SpecOf(const KernelRow& row) const {
  const Entry& entry = entries_[row.entry];
  const LoopKernel& kernel = entry.variants[0];
  KernelSpec spec;
  const RowContract contract = row.contract.value_or(RowContract{});
  spec.name = entry.symbol;
  spec.symbol = SymbolOf(entry, contract.told);
  spec.device = entry.device;
  spec.scalar_count = static_cast<uint32_t>(entry.scalars.size() + contract.told);
  for (uint32_t i = 0; i < kernel.argument_count; ++i) {
    spec.buffers.push_back(kernel.buffers[i].access);
    spec.alignments.push_back(static_cast<uint8_t>(ElementAlignment(kernel.buffers[i].dtype)));
  }
  if (entry.cost) {
    spec.scratch_bytes = entry.cost->scratch_bytes.value();
    spec.flops = entry.cost->flops.value();
    spec.bytes = entry.cost->bytes.value();
  }
  for (const std::string& message : kernel.error_messages)
    spec.error_messages.push_back(WithScalars(message, entry.scalars));
  spec.source_node = entry.source;
  spec.contract = contract.text;
  // One that is too large to be looked at in each launch is none.
  if (!spec.contract.empty() && !LaunchContract::Parse(spec)) spec.contract.clear();
  return spec;
}

Status KernelTable::AddTo(Builder* builder) const {
  bool has[kDeviceClassCount] = {};
  std::vector<bool> is_named(entries_.size());
  for (size_t id = 0; id < rows_.size(); ++id) {
    KernelSpec spec = SpecOf(rows_[id]);
    if (is_named[rows_[id].entry]) spec.name += fmt::format(".{}", id);
    is_named[rows_[id].entry] = true;
    has[static_cast<size_t>(spec.device)] = true;
    builder->AddKernel(std::move(spec));
  }
  if (has[static_cast<size_t>(DeviceClass::kCpu)]) TVMVM_CHECK_OK(AddCpuLibraries(builder));
  if (has[static_cast<size_t>(DeviceClass::kGpu)]) TVMVM_CHECK_OK(AddGpuLibraries(builder));
  return {};
}

}  // namespace tvmvm::lowering
