// Makes the kernels that gpu_products times, on a machine that has the compiler:
//
//   gpu_products_compile FOLDER f16
//   gpu_products_compile FOLDER thin
//   gpu_products_compile FOLDER [ROWSxCOLUMNSxDEPTHxITEMROWSxITEMCOLUMNSxLANES[xPARTIES] ...]
//
// For each shape the kernel that the compiler chooses, and for the large one each tile of the table below, or
// the tiles named. `f16`: products of f16 factors, each tile with and without matrices. `thin`: what the
// compiler chooses for few rows, and for a convolution of a small image, of f32 and of f16. The folder gets,
// for each kernel, a SPIR-V library, OpenCL C, GLSL to read, and one line of `kernels.txt`: name, m, k, n,
// work-groups, and the two files.
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "compiler/codegen/gpu_codegen.h"
#include "compiler/graph/core_op.h"
#include "compiler/schedules/gpu/schedule_gpu_product.h"
#include "compiler/schedules/group.h"

namespace tvmvm {
namespace {

using tensor::ProductTile;
using Ints = std::vector<int64_t>;

struct Shape {
  int64_t m, k, n;
};

constexpr ProductTile kCandidates[] = {
    {128, 128, 8, 8, 8, 8},  {128, 128, 8, 8, 8, 16}, {128, 128, 16, 8, 8, 8}, {128, 256, 8, 8, 16, 8},
    {256, 128, 8, 16, 8, 8}, {64, 128, 16, 8, 8, 8},  {64, 256, 8, 8, 8, 8},   {128, 64, 16, 8, 8, 8},
    {64, 64, 16, 4, 4, 8},   {64, 64, 16, 8, 8, 8},   {32, 32, 16, 4, 4, 8},   {32, 32, 8, 4, 4, 8, 4},
    {64, 64, 8, 8, 4, 8},
};
constexpr Shape kLarge = {4096, 4096, 4096};
constexpr Shape kSmall[] = {{384, 768, 3072}, {64, 768, 3072}, {17, 768, 3072}};

// x[m, k] times y[k, n].
struct Contraction {
  ir::Function function;
  ir::NodeId node;

  explicit Contraction(const Shape& shape, DType factors = DType::kF32) {
    auto value = [&](DType dtype, ir::Dims dims) {
      return function.AddValue(ir::Type::Tensor(dtype, std::move(dims)));
    };
    ir::Node product;
    product.op = &ir::GetCoreOp("contract");
    product.inputs = {value(factors, {shape.m, shape.k}), value(factors, {shape.k, shape.n})};
    product.outputs = {value(DType::kF32, {shape.m, shape.n})};
    product.attributes = {{"lhs_batch", Ints{}},
                          {"rhs_batch", Ints{}},
                          {"lhs_contract", Ints{1}},
                          {"rhs_contract", Ints{0}},
                          {"dtype", DType::kF32}};
    node = function.AddNode(std::move(product));
  }
};

class Writer {
 public:
  explicit Writer(std::filesystem::path folder)
      : folder_(std::move(folder)), list_(folder_ / "kernels.txt") {}

  Status Add(const std::string& tile, const Shape& shape, const Expected<tensor::GroupProgram>& program,
             bool is_half = false) {
    TVMVM_CHECK_OK(program);
    std::string name =
        fmt::format("m{}_k{}_n{}.{}{}", shape.m, shape.k, shape.n, is_half ? "f16." : "", tile);
    if (program->calls.size() != 1 || !program->workspaces.empty()) {
      std::printf("%s: left out, it is no single kernel\n", name.c_str());
      return {};
    }
    const tensor::LoopKernel& kernel = program->calls[0].kernel;
    codegen::KernelSource source{"product", &kernel, {}};
    TVMVM_TRY(std::string text, codegen::PrintGlsl(source));
    Write(name + ".comp", text);
    std::string files[2] = {name + ".spv", name + ".cl"};
    const bool has_matrices = tensor::HasMatrices(kernel);
    for (DeviceKind device : {DeviceKind::kVulkan, DeviceKind::kOpenCl}) {
      bool is_vulkan = device == DeviceKind::kVulkan;
      if (has_matrices && !is_vulkan) continue;
      codegen::CodegenOptions options{GpuTargetInfo(device),
                                      is_vulkan ? KernelForm::kSpirV : KernelForm::kOpenClC, 1};
      options.target.shared_memory_bytes = 48 << 10;
      options.target.max_group_size = 1024;
      options.target.has_matrices = has_matrices;
      TVMVM_TRY(std::vector<std::byte> bytes, codegen::GenerateGpuLibrary({&source, 1}, options));
      Write(files[is_vulkan ? 0 : 1],
            std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    }
    int64_t groups = 1;
    for (const ir::Dim& size : kernel.grid_size) groups *= size.constant().value_or(0);
    list_ << fmt::format("{} {} {} {} {} {} {} {}\n", name, shape.m, shape.k, shape.n, groups, files[0],
                         has_matrices ? "-" : files[1], is_half ? "f16" : "f32");
    return {};
  }

 private:
  void Write(const std::string& name, std::string_view bytes) {
    std::ofstream(folder_ / name, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }

  std::filesystem::path folder_;
  std::ofstream list_;
};

std::string NameOf(const ProductTile& t) {
  return fmt::format("{}x{}x{}x{}x{}x{}x{}", t.rows, t.columns, t.depth, t.item_rows, t.item_columns,
                     t.lanes_across, t.parties);
}

Status WriteAll(const std::filesystem::path& folder, std::span<const ProductTile> tiles) {
  std::filesystem::create_directories(folder);
  Writer writer(folder);
  auto add_tiles = [&](const Shape& shape) -> Status {
    Contraction product(shape);
    tensor::GroupView view(product.function, product.node);
    for (const ProductTile& tile : tiles)
      TVMVM_CHECK_OK(writer.Add(NameOf(tile), shape, tensor::ScheduleProductByTile(view, tile)));
    return {};
  };
  TVMVM_CHECK_OK(add_tiles(kLarge));
  for (const Shape& shape : kSmall) TVMVM_CHECK_OK(add_tiles(shape));
  std::vector<Shape> shapes = {kLarge};
  for (int64_t m : {1, 7, 17, 64, 128, 384})
    for (auto [k, n] : {std::pair<int64_t, int64_t>(768, 768), {768, 3072}, {3072, 768}})
      shapes.push_back({m, k, n});
  for (const Shape& shape : shapes) {
    Contraction product(shape);
    TVMVM_CHECK_OK(writer.Add(
        "chosen", shape,
        tensor::ScheduleGroup(product.function, product.node, GpuTargetInfo(DeviceKind::kVulkan))));
  }
  return {};
}

// Products of f16 factors: each tile with and without matrices.
Status WriteHalves(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  Writer writer(folder);
  constexpr Shape kShapes[] = {kLarge,           {384, 768, 3072}, {384, 3072, 768}, {384, 768, 768},
                               {64, 768, 3072},  {17, 768, 3072},  {128, 128, 128},  {4096, 4096, 64},
                               {1000, 776, 520}, {333, 251, 127},  {77, 40, 1001}};
  for (const Shape& shape : kShapes) {
    Contraction product(shape, DType::kF16);
    tensor::GroupView view(product.function, product.node);
    for (const ProductTile& tile : tensor::HalfProductTiles())
      for (bool has_matrices : {true, false}) {
        auto target =
            has_matrices ? GpuTargetWithMatrices(DeviceKind::kVulkan) : GpuTargetInfo(DeviceKind::kVulkan);
        std::string name =
            fmt::format("{}x{}.{}", tile.rows, tile.columns, has_matrices ? "matrices" : "base");
        TVMVM_CHECK_OK(writer.Add(name, shape, tensor::ScheduleProductByTile(view, tile, target), true));
      }
    TVMVM_CHECK_OK(writer.Add(
        "chosen", shape,
        tensor::ScheduleGroup(product.function, product.node, GpuTargetWithMatrices(DeviceKind::kVulkan)),
        true));
  }
  return {};
}

// Of f32 and of f16: a few rows, and the result of a 1x1 convolution of 14x14 points, which is no work for
// many tiles. What is no single kernel is left out: products of which groups share the depth.
Status WriteThin(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  Writer writer(folder);
  constexpr std::pair<int64_t, int64_t> kSizes[] = {
      {768, 768}, {768, 3072}, {3072, 768}, {768, 764}, {767, 765}};
  std::vector<Shape> shapes = {{196, 240, 1024}, {784, 128, 512}};
  for (int64_t m : {1, 4, 7, 17})
    for (auto [k, n] : kSizes) shapes.push_back({m, k, n});
  for (const Shape& shape : shapes) {
    for (bool is_half : {false, true}) {
      Contraction product(shape, is_half ? DType::kF16 : DType::kF32);
      TargetInfo target =
          is_half ? GpuTargetWithMatrices(DeviceKind::kVulkan) : GpuTargetInfo(DeviceKind::kVulkan);
      TVMVM_CHECK_OK(writer.Add(is_half ? "chosen" : "f32.chosen", shape,
                                tensor::ScheduleGroup(product.function, product.node, target), is_half));
    }
  }
  return {};
}

}  // namespace
}  // namespace tvmvm

int main(int argc, char** argv) {
  using namespace tvmvm;
  if (argc < 2) {
    std::fprintf(stderr, "usage: gpu_products_compile FOLDER [TILE ...]\n");
    return 2;
  }
  const std::string_view kind = argc == 3 ? argv[2] : "";
  if (kind == "f16" || kind == "thin") {
    Status status = kind == "thin" ? WriteThin(argv[1]) : WriteHalves(argv[1]);
    if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
    return status ? 0 : 1;
  }
  std::vector<tensor::ProductTile> tiles;
  for (int i = 2; i < argc; ++i) {
    tensor::ProductTile t;
    if (std::sscanf(argv[i], "%dx%dx%dx%dx%dx%dx%d", &t.rows, &t.columns, &t.depth, &t.item_rows,
                    &t.item_columns, &t.lanes_across, &t.parties) < 6) {
      std::fprintf(stderr, "%s is no tile\n", argv[i]);
      return 2;
    }
    tiles.push_back(t);
  }
  if (tiles.empty()) tiles.assign(std::begin(kCandidates), std::end(kCandidates));
  Status status = WriteAll(argv[1], tiles);
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
