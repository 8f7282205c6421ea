// The texts that GPU kernels become, and that glslang accepts them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "bytecode/spirv_library.h"
#include "compiler/codegen/c/glsl_to_spirv.h"
#include "compiler/codegen/gpu_codegen.h"
#include "tests/require.h"

namespace tvmvm::codegen {
namespace {

using namespace tensor;  // NOLINT
using testing::HasSubstr;

// out[g] = the sum of 4 neighbours of `in`, in groups of 4 work-items, by way of shared memory.
LoopKernel Example(DType in_type) {
  LoopKernel kernel;
  kernel.name = "example";
  uint32_t in = kernel.AddArgument("in", in_type, Access::kRead);
  uint32_t out = kernel.AddArgument("out", DType::kF32, Access::kWrite);
  uint32_t tile = kernel.AddLocal("tile", DType::kF32, Memory::kShared, 4);
  for (VariableId& axis : kernel.grid) axis = kernel.NewVariable("g");
  for (VariableId& axis : kernel.thread) axis = kernel.NewVariable("t");
  kernel.grid_size[0] = ir::Dim::Symbol("n");
  kernel.group_size[0] = 4;
  Expr group = Variable(kernel.grid[0]), item = Variable(kernel.thread[0]);
  VariableId sum = kernel.NewVariable("sum");
  Expr value = Cast(DType::kF32, Load(in, in_type, group * IntConstant(4) + item));
  Expr four = Load(tile, DType::kF32, Ramp(IntConstant(0), IntConstant(1), 4));
  kernel.body = Block({Allocate(tile), Store(tile, item, value * value + FloatConstant(0.5)), Barrier(),
                       Let(sum, Unary(ExprOp::kReduceAdd, four)),
                       If(Equal(item, IntConstant(0)), Store(out, group, Variable(sum, DType::kF32)))});
  return kernel;
}

TEST(GpuPrinter, OpenClText) {
  LoopKernel kernel = Example(DType::kF16);
  Expected<std::string> text = PrintOpenClKernel({"example", &kernel, {}});
  ASSERT_TRUE(text) << text.error().message;
  // For CPUs a loop over the items on each side of the barrier; else a work-item for each.
  EXPECT_EQ(*text, R"(#ifdef TVMVM_SERIAL
__kernel __attribute__((reqd_work_group_size(1, 1, 1)))
void example(__global uchar* status, ulong status_offset, __global uchar* b0, ulong o0, __global uchar* b1, ulong o1, i64 points) {
  __global const u16* restrict in_0 = (__global const u16*)(b0 + o0);
  __global f32* restrict out_1 = (__global f32*)(b1 + o1);
  i64 point = to_i64(get_group_id(0)) + to_i64(get_group_id(1)) * to_i64(get_num_groups(0));
  if (point >= points) return;
  i64 t_2 = 0l;
  i64 t_3 = 0l;
  f32x4 tile_4[1];
  for (i64 t_5 = 0l; t_5 < 4l; t_5 += 1) {
    f32 t_6 = decode_f16(to_u32(in_0[((point * 4l) + t_5)]));
    ((f32*)tile_4)[to_i32(t_5)] = ((t_6 * t_6) + 0.5f);
  }
  f32 t_7 = (tile_4[0].s0 + tile_4[0].s2);
  f32 t_8 = (tile_4[0].s1 + tile_4[0].s3);
  f32 t_9 = (t_7 + t_8);
  f32 sum_10 = t_9;
  for (i64 t_11 = 0l; t_11 < 1l; t_11 += 1) {
    if ((t_11 == 0l)) {
      out_1[point] = sum_10;
    }
  }
}
#else
__kernel __attribute__((reqd_work_group_size(4, 1, 1)))
void example(__global uchar* status, ulong status_offset, __global uchar* b0, ulong o0, __global uchar* b1, ulong o1, i64 points) {
  __global const u16* restrict in_0 = (__global const u16*)(b0 + o0);
  __global f32* restrict out_1 = (__global f32*)(b1 + o1);
  __local f32x4 tile_3[1];
  i64 point = to_i64(get_group_id(0)) + to_i64(get_group_id(1)) * to_i64(get_num_groups(0));
  if (point >= points) return;
  i64 thread_2 = to_i64(get_local_id(0));
  f32 t_4 = decode_f16(to_u32(in_0[((point * 4l) + thread_2)]));
  ((__local f32*)tile_3)[to_i32(thread_2)] = ((t_4 * t_4) + 0.5f);
  barrier(CLK_LOCAL_MEM_FENCE);
  f32 t_5 = (tile_3[0].s0 + tile_3[0].s2);
  f32 t_6 = (tile_3[0].s1 + tile_3[0].s3);
  f32 t_7 = (t_5 + t_6);
  f32 sum_8 = t_7;
  if ((thread_2 == 0l)) {
    out_1[point] = sum_8;
  }
}
#endif
)");
}

// Work-items that never meet have one text for both kinds of devices.
TEST(GpuPrinter, ItemsByThemselvesAreALoopWhereTheDeviceHasNone) {
  LoopKernel kernel;
  kernel.name = "twice";
  uint32_t out = kernel.AddArgument("out", DType::kF32, Access::kReadWrite);
  for (VariableId& axis : kernel.grid) axis = kernel.NewVariable("g");
  for (VariableId& axis : kernel.thread) axis = kernel.NewVariable("t");
  kernel.group_size[0] = 4;
  kernel.group_size[1] = 2;
  Expr at = Variable(kernel.thread[1]) * IntConstant(4) + Variable(kernel.thread[0]);
  kernel.body = Store(out, at, Load(out, DType::kF32, at) * FloatConstant(2));
  Expected<std::string> text = PrintOpenClKernel({"twice", &kernel, {}});
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text, R"(__kernel GROUP(4, 2, 1)
void twice(__global uchar* status, ulong status_offset, __global uchar* b0, ulong o0, i64 points) {
  __global f32* restrict out_0 = (__global f32*)(b0 + o0);
  i64 point = to_i64(get_group_id(0)) + to_i64(get_group_id(1)) * to_i64(get_num_groups(0));
  if (point >= points) return;
  FOR_ITEMS(1, 2) FOR_ITEMS(0, 4) {
  i64 thread_1 = to_i64(ITEM(0));
  i64 thread_2 = to_i64(ITEM(1));
  i64 t_3 = ((thread_2 * 4l) + thread_1);
  out_0[t_3] = (out_0[t_3] * 2.0f);
  }
}
)");
  EXPECT_THAT(*PrintOpenClC(std::vector<KernelSource>{{"twice", &kernel, {}}}),
              HasSubstr("#define ITEM(axis) get_local_id(axis)\n"));
}

TEST(GpuPrinter, GlslText) {
  LoopKernel kernel = Example(DType::kF32);
  Expected<std::string> text = PrintGlslKernel({"example", &kernel, {}});
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(
      *text,
      R"(layout(buffer_reference, scalar, buffer_reference_align = 4) readonly restrict buffer In_f32 { f32 v; };
layout(buffer_reference, scalar, buffer_reference_align = 4) restrict buffer Out_f32 { f32 v; };
layout(push_constant, scalar) uniform Arguments { u64 status; u64 b0; u64 b1; i64 points; } arguments;
layout(local_size_x = 4, local_size_y = 1, local_size_z = 1) in;
shared f32x4 tile_3[1];
void main() {
  u64 in_0 = arguments.b0;
  u64 out_1 = arguments.b1;
  i64 point = to_i64(gl_WorkGroupID.x) + to_i64(gl_WorkGroupID.y) * to_i64(gl_NumWorkGroups.x);
  if (point >= arguments.points) return;
  i64 thread_2 = to_i64(gl_LocalInvocationID.x);
  precise f32 t_4 = In_f32(in_0 + to_u64(((point * 4l) + thread_2)) * 4ul).v;
  precise f32 t_5 = (t_4 * t_4);
  i32 t_6 = to_i32(thread_2);
  tile_3[t_6 >> 2][t_6 & 3] = (t_5 + 0.5f);
  barrier();
  precise f32 t_7 = (tile_3[0].x + tile_3[0].z);
  precise f32 t_8 = (tile_3[0].y + tile_3[0].w);
  precise f32 t_9 = (t_7 + t_8);
  precise f32 sum_10 = t_9;
  if ((thread_2 == 0l)) {
    Out_f32(out_1 + to_u64(point) * 4ul).v = sum_10;
  }
}
)");
}

// out[g] = the largest of 64 neighbours of `in`, in one step of the group.
LoopKernel Largest(DType dtype, ExprOp combine = ExprOp::kMax) {
  LoopKernel kernel;
  kernel.name = "largest";
  uint32_t in = kernel.AddArgument("in", dtype, Access::kRead),
           out = kernel.AddArgument("out", dtype, Access::kWrite);
  for (VariableId& axis : kernel.grid) axis = kernel.NewVariable("g");
  for (VariableId& axis : kernel.thread) axis = kernel.NewVariable("t");
  kernel.grid_size[0] = ir::Dim::Symbol("n");
  kernel.group_size[0] = 64;
  Expr group = Variable(kernel.grid[0]), item = Variable(kernel.thread[0]);
  VariableId all = kernel.NewVariable("all");
  kernel.body = Block({GroupReduce(all, combine, Load(in, dtype, group * IntConstant(64) + item)),
                       If(Equal(item, IntConstant(0)), Store(out, group, Variable(all, dtype)))});
  return kernel;
}

TEST(GpuPrinter, GroupsReduceBySubgroups) {
  LoopKernel kernel = Largest(DType::kF32);
  Expected<std::string> text = PrintGlslKernel({"largest", &kernel, {}}, true);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_THAT(*text, HasSubstr(R"(
shared f32 parts_3[64];
void main() {
  u64 in_0 = arguments.b0;
  u64 out_1 = arguments.b1;
  i64 point = to_i64(gl_WorkGroupID.x) + to_i64(gl_WorkGroupID.y) * to_i64(gl_NumWorkGroups.x);
  if (point >= arguments.points) return;
  i64 thread_2 = to_i64(gl_LocalInvocationID.x);
  precise f32 own_4 = In_f32(in_0 + to_u64(((point * 64l) + thread_2)) * 4ul).v;
  precise f32 part_5 = subgroupMax(own_4);
  if (subgroupOr(is_nan_f32(own_4))) part_5 = as_f32(0x7fc00000u);
  if (subgroupElect()) parts_3[gl_SubgroupID] = part_5;
  barrier();
  precise f32 total_6 = parts_3[0];
  for (u32 i = 1u; i < gl_NumSubgroups; ++i) {
    total_6 = max_f32(total_6, parts_3[i]);
  }
  if ((thread_2 == 0l)) {
    Out_f32(out_1 + to_u64(point) * 4ul).v = total_6;
  }
}
)"));
  text = PrintGlslKernel({"largest", &kernel, {}});
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(text->find("subgroup"), std::string::npos) << "the base form runs everywhere";
  EXPECT_THAT(*text, HasSubstr("shared f32 partials_3[64];"));
  EXPECT_THAT(*PrintOpenClKernel({"largest", &kernel, {}}), HasSubstr("__local f32 partials_"));
}

TEST(GpuPrinter, ModulesBySubgroupsStandBesideTheBaseForm) {
  if (!CanMakeSpirv()) TVMVM_SKIP_WITHOUT("glslang", "this build has no glslang");
  CodegenOptions options{GpuTargetInfo(DeviceKind::kVulkan), KernelForm::kSpirV, 1};
  for (DType dtype : {DType::kF32, DType::kF16, DType::kI32, DType::kU32, DType::kI64, DType::kU8}) {
    for (ExprOp combine :
         {ExprOp::kAdd, ExprOp::kMul, ExprOp::kMin, ExprOp::kMax, ExprOp::kAnd, ExprOp::kOr}) {
      if (IsFloat(dtype) && (combine == ExprOp::kAnd || combine == ExprOp::kOr)) continue;
      LoopKernel kernel = Largest(dtype, combine);
      KernelSource source{"largest", &kernel, {}};
      Expected<std::vector<std::byte>> bytes = GenerateGpuLibrary({&source, 1}, options);
      ASSERT_TRUE(bytes) << bytes.error().message;
      Expected<SpirvLibrary> library = SpirvLibrary::Open(*bytes);
      ASSERT_TRUE(library) << library.error().message;
      bool is_chosen = dtype == DType::kF16 && (combine == ExprOp::kMin || combine == ExprOp::kMax);
      bool has_form = DTypeBits(dtype) == 32 || is_chosen;
      EXPECT_FALSE(library->Find("largest").empty());
      EXPECT_EQ(library->Find("largest@subgroups").empty(), !has_form) << DTypeName(dtype);
      EXPECT_EQ(library->size(), has_form ? 2u : 1u);
    }
  }
}

// A kernel whose arguments do not fit into push constants finds them in memory.
TEST(GpuPrinter, ManyArgumentsLieInMemory) {
  LoopKernel kernel;
  kernel.name = "many";
  for (int i = 0; i < 16; ++i) kernel.AddArgument("b", DType::kF32, Access::kReadWrite);
  for (VariableId& axis : kernel.grid) axis = kernel.NewVariable("g");
  kernel.body = Store(15, Variable(kernel.grid[0]), FloatConstant(1));
  Expected<std::string> text = PrintGlslKernel({"many", &kernel, {}});
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_THAT(*text, HasSubstr("uniform Arguments { Block arguments; };"));
  kernel.buffers.erase(kernel.buffers.begin(), kernel.buffers.begin() + 2);
  kernel.argument_count = 14;
  kernel.body = Store(13, Variable(kernel.grid[0]), FloatConstant(1));
  text = PrintGlslKernel({"many", &kernel, {}});
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_THAT(*text, HasSubstr("i64 points; } arguments;"));
}

TEST(GpuPrinter, EveryTypeAndOperationIsSpirv) {
  if (!CanMakeSpirv()) TVMVM_SKIP_WITHOUT("glslang", "this build has no glslang");
  constexpr DType kTypes[] = {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kI8,  DType::kI16,
                              DType::kI32, DType::kI64, DType::kU8,  DType::kU16,  DType::kU32, DType::kU64,
                              DType::kI4,  DType::kU4,  DType::kI2,  DType::kU2};
  for (DType t : kTypes) {
    LoopKernel kernel;
    kernel.name = "operations";
    uint32_t in = kernel.AddArgument("in", t, Access::kRead),
             out = kernel.AddArgument("out", t, Access::kWrite);
    for (VariableId& axis : kernel.grid) axis = kernel.NewVariable("g");
    Expr i = Variable(kernel.grid[0]), a = Load(in, t, i), b = Load(in, t, i + IntConstant(1));
    std::vector<StmtPtr> body;
    auto store = [&](const Expr& value) { body.push_back(Store(out, i, Cast(t, value))); };
    for (ExprOp op :
         {ExprOp::kAdd, ExprOp::kSub, ExprOp::kMul, ExprOp::kDiv, ExprOp::kFloorDiv, ExprOp::kFloorMod,
          ExprOp::kRemainder, ExprOp::kMin, ExprOp::kMax, ExprOp::kPow, ExprOp::kEqual, ExprOp::kLess})
      store(Binary(op, a, b));
    for (ExprOp op : {ExprOp::kNegate, ExprOp::kAbs, ExprOp::kFloor, ExprOp::kCeil, ExprOp::kRound,
                      ExprOp::kTruncate, ExprOp::kIsNan, ExprOp::kIsInf})
      store(Unary(op, a));
    store(Fma(a, b, a));
    if (IsFloat(t))
      for (int op = static_cast<int>(ExprOp::kExp); op <= static_cast<int>(ExprOp::kSigmoid); ++op)
        store(Unary(static_cast<ExprOp>(op), a));
    if (!IsFloat(t))
      for (ExprOp op : {ExprOp::kAnd, ExprOp::kOr, ExprOp::kXor, ExprOp::kShiftLeft, ExprOp::kShiftRight})
        store(Binary(op, a, b));
    if (!IsFloat(t)) store(Unary(ExprOp::kPopCount, Unary(ExprOp::kNot, a)));
    for (DType other : {DType::kF32, DType::kF64, DType::kF16, DType::kBF16, DType::kBool, DType::kI8,
                        DType::kU16, DType::kI64, DType::kF8E4M3FN, DType::kF4E2M1, DType::kI4})
      store(Cast(other, a));
    kernel.body = Block(std::move(body));
    Expected<std::string> text = PrintGlsl({"operations", &kernel, {}});
    ASSERT_TRUE(text) << text.error().message;
    Expected<std::vector<uint32_t>> words = GlslToSpirv(*text, "operations");
    ASSERT_TRUE(words) << DTypeName(t) << words.error().message << *text;
    EXPECT_EQ((*words)[0], 0x07230203u);
  }
}

TEST(GpuPrinter, SaysBeforehandWhatATargetLacks) {
  LoopKernel kernel = Example(DType::kF16);
  TargetInfo target = GpuTargetInfo(DeviceKind::kVulkan);
  EXPECT_TRUE(CheckGpuKernel(kernel, target));
  target.has_f16_storage = false;
  EXPECT_THAT(CheckGpuKernel(kernel, target).error().message,
              HasSubstr("needs loads and stores of 16 bits, which vulkan targets do not have"));
  target = GpuTargetInfo(DeviceKind::kVulkan);
  target.has_f64 = false;
  EXPECT_TRUE(CheckGpuKernel(kernel, target));
  EXPECT_THAT(CheckGpuKernel(Example(DType::kF64), target).error().message, HasSubstr("needs f64"));
  target.max_group_size = 2;
  EXPECT_THAT(CheckGpuKernel(kernel, target).error().message, HasSubstr("work-groups of that size"));
}

}  // namespace
}  // namespace tvmvm::codegen
