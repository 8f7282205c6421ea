#include "compiler/lowering/kernel_table.h"

#include <algorithm>

#include "compiler/codegen/codegen.h"
#include "fmt/format.h"

namespace tvmvm::lowering {
namespace {

using tensor::Expr;
using tensor::ExprNode;
using tensor::ExprOp;
using tensor::LoopKernel;
using tensor::Stmt;
using tensor::StmtPtr;

// Renames a kernel's dims to their position in the scalar list, so that kernels which differ only in the
// names of dims have the same text.
class DimNumbering {
 public:
  explicit DimNumbering(const std::vector<ir::Dim>& scalars) {
    for (size_t i = 0; i < scalars.size(); ++i) numbers_.emplace(scalars[i], i);
  }

  ir::Dim Rename(const ir::Dim& dim) const {
    auto found = numbers_.find(dim);
    return found == numbers_.end() ? dim : ir::Dim::Symbol("$" + std::to_string(found->second));
  }

  Expr Rename(const Expr& expr) {
    if (!expr.valid()) return expr;
    if (auto found = memo_.find(expr.get()); found != memo_.end()) return found->second;
    auto node = std::make_shared<ExprNode>(*expr);
    if (expr.op() == ExprOp::kDim) node->dim = Rename(expr->dim);
    for (Expr& operand : node->operands) operand = Rename(operand);
    Expr renamed{std::shared_ptr<const ExprNode>(std::move(node))};
    memo_.emplace(expr.get(), renamed);
    return renamed;
  }

  StmtPtr Rename(const StmtPtr& stmt) {
    if (!stmt) return stmt;
    auto copy = std::make_shared<Stmt>(*stmt);
    for (StmtPtr& child : copy->body) child = Rename(child);
    for (Expr* expr : {&copy->begin, &copy->end, &copy->step, &copy->value, &copy->index, &copy->mask})
      *expr = Rename(*expr);
    return copy;
  }

 private:
  std::unordered_map<ir::Dim, size_t> numbers_;
  std::unordered_map<const ExprNode*, Expr> memo_;
};

std::string CanonicalText(const LoopKernel& kernel, const std::vector<ir::Dim>& scalars) {
  DimNumbering numbering(scalars);
  LoopKernel copy = kernel;
  copy.body = numbering.Rename(kernel.body);
  for (ir::Dim& size : copy.grid_size) size = numbering.Rename(size);
  for (tensor::BufferInfo& buffer : copy.buffers)
    buffer.scratch_offset = numbering.Rename(buffer.scratch_offset);
  copy.scratch_bytes = copy.flops = copy.bytes = 0;
  return tensor::ToString(copy);
}

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

}  // namespace

KernelUse KernelTable::Add(const std::vector<const tensor::KernelCall*>& variants,
                           const std::string& source) {
  KernelUse use;
  use.scalars = MergedScalars(variants);
  std::string text;
  for (const tensor::KernelCall* call : variants) text += CanonicalText(call->kernel, use.scalars);
  auto [found, added] = by_text_.emplace(std::move(text), static_cast<uint32_t>(entries_.size()));
  use.entry = found->second;
  if (!added) return use;
  Entry entry;
  entry.symbol = SymbolFor(variants[0]->kernel.name, entries_.size());
  entry.scalars = use.scalars;
  entry.source = source;
  for (const tensor::KernelCall* call : variants) entry.variants.push_back(call->kernel);
  entries_.push_back(std::move(entry));
  return use;
}

Status KernelTable::AddLibrary(size_t target, KernelForm form, Builder* builder) const {
  std::vector<codegen::KernelSource> sources;
  for (const Entry& entry : entries_)
    sources.push_back({entry.symbol, &entry.variants[target], entry.scalars});
  codegen::CodegenOptions options;
  options.target = options_->targets[target];
  options.form = form;
  options.threads = options_->threads;
  TVMVM_TRY(std::vector<std::byte> bytes, codegen::GenerateCpuLibrary(sources, options));
  KernelLibrarySpec spec;
  spec.device = DeviceKind::kCpu;
  spec.form = form;
  spec.target = form == KernelForm::kBitcode ? "generic" : CpuLevelName(options.target.cpu_level);
  auto owner = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  spec.bytes = *owner;
  builder->AddLibrary(std::move(spec), owner);
  return {};
}

Expected<std::vector<KernelId>> KernelTable::AddTo(Builder* builder) const {
  std::vector<KernelId> ids;
  for (const Entry& entry : entries_) {
    const LoopKernel& kernel = entry.variants[0];
    KernelSpec spec;
    spec.name = spec.symbol = entry.symbol;
    spec.scalar_count = static_cast<uint32_t>(entry.scalars.size());
    for (uint32_t i = 0; i < kernel.argument_count; ++i) spec.buffers.push_back(kernel.buffers[i].access);
    spec.error_messages = kernel.error_messages;
    spec.source_node = entry.source;
    ids.push_back(builder->AddKernel(std::move(spec)));
  }
  if (entries_.empty()) return ids;
  for (size_t target = 0; target < options_->targets.size(); ++target) {
    if (options_->progress) options_->progress("codegen", double(target) / double(options_->targets.size()));
    TVMVM_CHECK_OK(AddLibrary(target, KernelForm::kSharedObject, builder));
  }
  if (options_->bitcode) TVMVM_CHECK_OK(AddLibrary(0, KernelForm::kBitcode, builder));
  return ids;
}

}  // namespace tvmvm::lowering
