#include "compiler/codegen/c/c_prelude.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <vector>

namespace tvmvm::codegen {
namespace {

struct Function {
  std::string name;
  std::vector<std::string> needs;
  std::string text;       // OpenCL C, and GLSL where that has no text of its own
  std::string glsl = "";  // empty: the same
};

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// NaN and infinity are told by bits: compilers of graphics languages may take for granted that there are
// none.
void AddFloatFunctions(std::vector<Function>* table) {
  struct Type {
    const char *name, *bits, *magnitude, *infinity;
  };
  static constexpr Type kTypes[] = {{"f32", "u32", "0x7fffffffu", "0x7f800000u"},
                                    {"f64", "u64", "0x7ffffffffffffffful", "0x7ff0000000000000ul"}};
  for (const Type& t : kTypes) {
    auto add = [&](std::string name, std::vector<std::string> needs, std::string text,
                   std::string glsl = "") {
      auto fill = [&](std::string s) {
        s = Replaced(std::move(s), "$T", t.name);
        s = Replaced(std::move(s), "$B", t.bits);
        s = Replaced(std::move(s), "$MAGNITUDE", t.magnitude);
        return Replaced(std::move(s), "$INFINITY", t.infinity);
      };
      for (std::string& need : needs) need = fill(need);
      table->push_back({fill(name), std::move(needs), fill(text), fill(glsl)});
    };
    add("is_nan_$T", {}, "bool is_nan_$T($T x) { return (as_$B(x) & $MAGNITUDE) > $INFINITY; }\n");
    add("is_inf_$T", {}, "bool is_inf_$T($T x) { return (as_$B(x) & $MAGNITUDE) == $INFINITY; }\n");
    add("min_$T", {"is_nan_$T"}, "$T min_$T($T a, $T b) { return a < b || is_nan_$T(a) ? a : b; }\n");
    add("max_$T", {"is_nan_$T"}, "$T max_$T($T a, $T b) { return b < a || is_nan_$T(a) ? a : b; }\n");
    add("saturate_$T", {"is_nan_$T"},
        "i32 saturate_$T($T x, $T low, $T high) {\n"
        "  return is_nan_$T(x) ? 0 : to_i32(x < low ? low : (x > high ? high : x));\n}\n");
  }
  // Devices may be off by some units in the last place; one step of correction gives the nearest number.
  table->push_back(
      {"divide_f32",
       {},
       "f32 divide_f32(f32 a, f32 b) { return a / b; }\n",
       "f32 divide_f32(f32 a, f32 b) {\n"
       "  precise f32 q = a / b;\n"
       "  precise f32 rest = fma(-q, b, a);\n"
       "  precise f32 nearer = q + rest / b;\n"
       "  u32 exponent = (as_u32(nearer) >> 23) & 0xffu;\n"
       "  return exponent - 1u < 0xfeu && (as_u32(b) & 0x7fffffffu) < 0x7f800000u ? nearer : q;\n}\n"});
  table->push_back(
      {"sqrt_f32",
       {},
       "f32 sqrt_f32(f32 x) { return sqrt(x); }\n",
       "f32 sqrt_f32(f32 x) {\n"
       "  precise f32 root = sqrt(x);\n"
       "  precise f32 rest = fma(-root, root, x);\n"
       "  precise f32 nearer = root + rest / (root + root);\n"
       "  u32 bits = as_u32(x);\n"
       "  return bits - 0x00800000u < 0x7f000000u ? nearer : (bits << 1 == 0u ? x : root);\n}\n"});
}

void AddShortFloats(std::vector<Function>* table) {
  // GLSL has an instruction, which may take small numbers for 0.
  table->push_back({"decode_f16",
                    {},
                    "f32 decode_f16(u32 bits) {\n"
                    "  u32 sign = (bits & 0x8000u) << 16, rest = bits & 0x7fffu;\n"
                    "  if (rest >= 0x7c00u) return as_f32(sign | 0x7f800000u | ((rest & 0x3ffu) << 13));\n"
                    "  if (rest >= 0x400u) return as_f32(sign | ((rest << 13) + 0x38000000u));\n"
                    "  return as_f32(sign | as_u32(to_f32(rest) * 5.9604644775390625e-8f));\n}\n",
                    "f32 decode_f16(u32 bits) {\n"
                    "  u32 sign = (bits & 0x8000u) << 16, rest = bits & 0x7fffu;\n"
                    "  f32 small = as_f32(sign | as_u32(to_f32(rest) * 5.9604644775390625e-8f));\n"
                    "  return rest < 0x400u ? small : unpackHalf2x16(bits).x;\n}\n"});
  table->push_back({"encode_f16",
                    {},
                    "u32 encode_f16(f32 x) {\n"
                    "  u32 bits = as_u32(x), sign = (bits >> 16) & 0x8000u, rest = bits & 0x7fffffffu;\n"
                    "  if (rest > 0x7f800000u) return sign | 0x7e00u | ((rest >> 13) & 0x3ffu);\n"
                    "  if (rest >= 0x477ff000u) return sign | 0x7c00u;\n"
                    "  if (rest < 0x38800000u) return sign | (as_u32(as_f32(rest) + 0.5f) - 0x3f000000u);\n"
                    "  return sign | ((rest + 0xfffu + ((rest >> 13) & 1u) - 0x38000000u) >> 13);\n}\n"});
  table->push_back({"round_f16",
                    {"decode_f16", "encode_f16"},
                    "f32 round_f16(f32 x) { return decode_f16(encode_f16(x)); }\n"});
  table->push_back(
      {"round_bf16",
       {"is_nan_f32"},
       "f32 round_bf16(f32 x) {\n"
       "  u32 bits = as_u32(x);\n"
       "  u32 rounded = is_nan_f32(x) ? bits | 0x400000u : bits + 0x7fffu + ((bits >> 16) & 1u);\n"
       "  return as_f32(rounded & 0xffff0000u);\n}\n"});
}

// Truncate, saturate, NaN is 0.
void AddConversions(std::vector<Function>* table) {
  struct Type {
    const char *to, *low, *limit, *lowest, *highest;
  };
  static constexpr Type kTypes[] = {
      {"i32", "-2147483648.0", "2147483648.0", "(-2147483647 - 1)", "2147483647"},
      {"u32", "0.0", "4294967296.0", "0u", "0xffffffffu"},
      {"i64", "-9223372036854775808.0", "9223372036854775808.0", "(-9223372036854775807l - 1l)",
       "9223372036854775807l"},
      {"u64", "0.0", "18446744073709551616.0", "0ul", "0xfffffffffffffffful"}};
  for (auto [from, suffix] : {std::pair("f32", "f"), {"f64", "lf"}}) {
    for (const Type& t : kTypes) {
      std::string name = fmt::format("{}_to_{}", from, t.to);
      std::string text = fmt::format(
          "{0} {1}({2} x) {{\n"
          "  if (is_nan_{2}(x)) return to_{0}(0);\n"
          "  return x < {3}{5} ? {6} : (x >= {4}{5} ? {7} : to_{0}(x));\n}}\n",
          t.to, name, from, t.low, t.limit, suffix, t.lowest, t.highest);
      std::string opencl = Replaced(text, "lf ", " ");  // no suffix for double
      table->push_back({name, {fmt::format("is_nan_{}", from)}, opencl, text});
    }
  }
}

// A divisor of 0 counts as 1: both sides of a selection are computed. 64-bit numbers are short most of the
// time, and long division is slow.
void AddDivisions(std::vector<Function>* table) {
  for (auto [t, u, short_way] :
       {std::tuple("i32", "u32", ""),
        {"i64", "u64",
         "  if (to_u64(a | b) >> 32 == 0ul && b != 0l) return to_i64(to_u32(a) / to_u32(b));\n"}}) {
    auto add = [&, t = t, u = u, way = short_way](std::string name, std::vector<std::string> needs,
                                                  std::string text) {
      auto fill = [&](std::string s) {
        return Replaced(Replaced(Replaced(std::move(s), "$WAY", way), "$T", t), "$U", u);
      };
      for (std::string& need : needs) need = fill(need);
      table->push_back({fill(name), std::move(needs), fill(text)});
    };
    add("div_$T", {},
        "$T div_$T($T a, $T b) {\n$WAY"
        "  if (b == to_$T(-1)) return to_$T(to_$U(0) - to_$U(a));\n"
        "  return b == to_$T(0) ? a : a / b;\n}\n");
    add("rem_$T", {"div_$T"}, "$T rem_$T($T a, $T b) { return a - div_$T(a, b) * b; }\n");
    add("floor_div_$T", {"div_$T"},
        "$T floor_div_$T($T a, $T b) {\n"
        "  $T q = div_$T(a, b), rest = a - q * b;\n"
        "  return rest != to_$T(0) && (rest ^ b) < to_$T(0) ? q - to_$T(1) : q;\n}\n");
    add("floor_mod_$T", {"div_$T"},
        "$T floor_mod_$T($T a, $T b) {\n"
        "  $T rest = a - div_$T(a, b) * b;\n"
        "  return rest != to_$T(0) && (rest ^ b) < to_$T(0) ? rest + b : rest;\n}\n");
  }
  table->push_back({"div_u32", {}, "u32 div_u32(u32 a, u32 b) { return b == 0u ? a : a / b; }\n"});
  table->push_back({"rem_u32", {"div_u32"}, "u32 rem_u32(u32 a, u32 b) { return a - div_u32(a, b) * b; }\n"});
  table->push_back({"div_u64",
                    {},
                    "u64 div_u64(u64 a, u64 b) {\n"
                    "  if ((a | b) >> 32 == 0ul && b != 0ul) return to_u64(to_u32(a) / to_u32(b));\n"
                    "  return b == 0ul ? a : a / b;\n}\n"});
  table->push_back({"rem_u64", {"div_u64"}, "u64 rem_u64(u64 a, u64 b) { return a - div_u64(a, b) * b; }\n"});
}

void AddBits(std::vector<Function>* table) {
  for (auto [t, bits] : {std::pair("i8", 8), {"i16", 16}, {"i4", 4}, {"i2", 2}}) {
    std::string name = fmt::format("wrap_{}", t);
    table->push_back(
        {name,
         {},
         fmt::format("i32 {0}(i32 x) {{ return to_i32(to_u32(x) << {1}) >> {1}; }}\n", name, 32 - bits)});
  }
  // Mesa 22.3 takes i64(x) < constant for true whatever x is: the upper half is made by hand.
  table->push_back({"widen_i32",
                    {},
                    "i64 widen_i32(i32 x) { return to_i64(x); }\n",
                    "i64 widen_i32(i32 x) { return packInt2x32(ivec2(x, x >> 31)); }\n"});
  table->push_back({"popcount_u32",
                    {},
                    "u32 popcount_u32(u32 x) { return popcount(x); }\n",
                    "u32 popcount_u32(u32 x) { return to_u32(bitCount(x)); }\n"});
  table->push_back(
      {"popcount_u64",
       {"popcount_u32"},
       "u64 popcount_u64(u64 x) { return to_u64(popcount_u32(to_u32(x)) + popcount_u32(to_u32(x >> "
       "32))); }\n"});
  table->push_back({"dot_bytes",
                    {},
                    "i32 dot_bytes(u32 a, u32 b, i32 sum) {\n"
                    "  for (u32 shift = 0u; shift < 32u; shift += 8u)\n"
                    "    sum += to_i32((a >> shift) & 255u) * (to_i32((b >> shift) << 24) >> 24);\n"
                    "  return sum;\n}\n"});
  table->push_back(
      {"fail",
       {},
       "void fail(__global uchar* status, int code) {\n"
       "  atomic_cmpxchg((volatile __global int*)status, 0, code);\n}\n",
       "layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Status { i32 code; };\n"
       "void fail(u64 status, i32 code) { atomicCompSwap(Status(status).code, 0, code); }\n"});
}

// Four elements at once, where their address allows it: views may begin anywhere.
void AddVectors(std::vector<Function>* table) {
  table->push_back(
      {"load_aligned_f32x4",
       {},
       "f32x4 load_aligned_f32x4(const __global f32* from) { return *(const __global f32x4*)from; }\n",
       "layout(buffer_reference, scalar, buffer_reference_align = 16) readonly restrict buffer "
       "InVector { f32x4 v; };\n"
       "f32x4 load_aligned_f32x4(u64 from) { return InVector(from).v; }\n"});
  table->push_back(
      {"load_f32x4",
       {"load_aligned_f32x4"},
       "f32x4 load_f32x4(const __global f32* from) {\n"
       "  return ((ulong)from & 15ul) == 0ul ? *(const __global f32x4*)from : vload4(0, from);\n}\n",
       "layout(buffer_reference, scalar, buffer_reference_align = 4) readonly restrict buffer "
       "InVectorParts { f32 v[4]; };\n"
       "f32x4 load_f32x4(u64 from) {\n"
       "  f32x4 value;\n"
       "  if ((to_u32(from) & 15u) == 0u) {\n"
       "    value = InVector(from).v;\n"
       "  } else {\n"
       "    InVectorParts p = InVectorParts(from);\n"
       "    value = make_f32x4(p.v[0], p.v[1], p.v[2], p.v[3]);\n"
       "  }\n"
       "  return value;\n}\n"});
  table->push_back({"store_f32x4",
                    {},
                    "void store_f32x4(__global f32* to, f32x4 value) { vstore4(value, 0, to); }\n",
                    "layout(buffer_reference, scalar, buffer_reference_align = 16) restrict buffer "
                    "OutVector { f32x4 v; };\n"
                    "layout(buffer_reference, scalar, buffer_reference_align = 4) restrict buffer "
                    "OutVectorParts { f32 v[4]; };\n"
                    "void store_f32x4(u64 to, f32x4 value) {\n"
                    "  if ((to_u32(to) & 15u) == 0u) {\n"
                    "    OutVector(to).v = value;\n"
                    "  } else {\n"
                    "    OutVectorParts p = OutVectorParts(to);\n"
                    "    p.v[0] = value.x;\n    p.v[1] = value.y;\n"
                    "    p.v[2] = value.z;\n    p.v[3] = value.w;\n"
                    "  }\n}\n"});
}

// f16 numbers: four as f32, or four or eight as they are. Aligned: at a multiple of what is read.
void AddHalves(std::vector<Function>* table) {
  auto block = [](const char* access, const char* name, int align, const char* type) {
    return fmt::format(
        "layout(buffer_reference, scalar, buffer_reference_align = {}) {}restrict buffer {} {{ {}; }};\n",
        align, access, name, type);
  };
  auto add = [&](const char* name, std::vector<std::string> needs, std::string opencl, std::string glsl) {
    table->push_back({name, std::move(needs), std::move(opencl), std::move(glsl)});
  };
  add("load_aligned_halves4", {}, "",
      block("readonly ", "InFourHalves", 8, "uvec2 v") +
          "uvec2 load_aligned_halves4(u64 from) { return InFourHalves(from).v; }\n");
  add("load_aligned_halves8", {}, "",
      block("readonly ", "InEightHalves", 16, "uvec4 v") +
          "uvec4 load_aligned_halves8(u64 from) { return InEightHalves(from).v; }\n");
  add("load_aligned_f16x4", {"load_aligned_halves4"},
      "f32x4 load_aligned_f16x4(const __global u16* from) {\n"
      "  return vloada_half4(0, (const __global half*)from);\n}\n",
      "f32x4 load_aligned_f16x4(u64 from) {\n"
      "  uvec2 bits = load_aligned_halves4(from);\n"
      "  return f32x4(unpackHalf2x16(bits.x), unpackHalf2x16(bits.y));\n}\n");
  add("load_f16x4", {"decode_f16", "load_aligned_f16x4"},
      "f32x4 load_f16x4(const __global u16* from) { return vload_half4(0, (const __global half*)from); }\n",
      block("readonly ", "InEachHalf", 2, "u16 v[4]") +
          "f32x4 load_f16x4(u64 from) {\n"
          "  f32x4 value;\n"
          "  if ((to_u32(from) & 7u) == 0u) {\n"
          "    value = load_aligned_f16x4(from);\n"
          "  } else {\n"
          "    InEachHalf p = InEachHalf(from);\n"
          "    value = f32x4(decode_f16(to_u32(p.v[0])), decode_f16(to_u32(p.v[1])),\n"
          "                  decode_f16(to_u32(p.v[2])), decode_f16(to_u32(p.v[3])));\n"
          "  }\n"
          "  return value;\n}\n");
  add("store_f16x4", {"encode_f16"},
      "void store_f16x4(__global u16* to, f32x4 value) { vstore_half4_rte(value, 0, (__global half*)to); }\n",
      block("", "OutFourHalves", 8, "uvec2 v") + block("", "OutEachHalf", 2, "u16 v[4]") +
          "void store_f16x4(u64 to, f32x4 value) {\n"
          "  u32 a = encode_f16(value.x), b = encode_f16(value.y);\n"
          "  u32 c = encode_f16(value.z), d = encode_f16(value.w);\n"
          "  if ((to_u32(to) & 7u) == 0u) {\n"
          "    OutFourHalves(to).v = uvec2(a | b << 16, c | d << 16);\n"
          "  } else {\n"
          "    OutEachHalf p = OutEachHalf(to);\n"
          "    p.v[0] = to_u16(a);\n    p.v[1] = to_u16(b);\n"
          "    p.v[2] = to_u16(c);\n    p.v[3] = to_u16(d);\n"
          "  }\n}\n");
}

// SPV_KHR_cooperative_matrix, whose types and instructions GLSL's compilers of the time do not know. The type
// of the elements is given by its width; GlslToSpirv puts the type in its place (spirv_matrices.h). Loads and
// stores say for the Vulkan memory model that others see what they touch.
std::string MatrixHeader() {
  std::string text =
      "#pragma use_vulkan_memory_model\n"
      "#extension GL_KHR_memory_scope_semantics : require\n"
      "#extension GL_EXT_spirv_intrinsics : require\n"
      "const uint matrix_f16 = 16u, matrix_f32 = 32u, matrix_side = 16u, matrix_scope = 3u, matrix_of_left = "
      "0u,\n"
      "           matrix_of_right = 1u, matrix_of_sum = 2u;\n";
  for (auto [name, width] : {std::pair("left", "matrix_f16"), {"right", "matrix_f16"}, {"sum", "matrix_f32"}})
    text += fmt::format(
        "#define matrix_{0} spirv_type(extensions = [\"SPV_KHR_cooperative_matrix\"], capabilities = [6022], "
        "id = 4456, {1}, matrix_scope, matrix_side, matrix_side, matrix_of_{0})\n",
        name, width);
  for (const char* name : {"left", "right"})
    text += fmt::format(
        "spirv_instruction(id = 4457) matrix_{0} matrix_load_{0}(spirv_by_reference uvec4 from, uint order, "
        "uint stride, spirv_literal uint access, uint scope);\n",
        name);
  return text +
         "spirv_instruction(id = 4458) void matrix_store(spirv_by_reference float to, matrix_sum value, uint "
         "order, "
         "uint stride, spirv_literal uint access, uint scope);\n"
         "spirv_instruction(id = 4459) matrix_sum matrix_multiply(matrix_left a, matrix_right b, matrix_sum "
         "c);\n"
         "spirv_instruction(id = 80) matrix_sum matrix_fill(float x);\n";
}

const std::vector<Function>& Table() {
  static const std::vector<Function> table = [] {
    std::vector<Function> t;
    AddFloatFunctions(&t);
    AddShortFloats(&t);
    AddConversions(&t);
    AddDivisions(&t);
    AddBits(&t);
    AddVectors(&t);
    AddHalves(&t);
    return t;
  }();
  return table;
}

}  // namespace

std::string DialectHeader(Dialect dialect, const TextNeeds& needs) {
  static constexpr std::pair<const char*, const char*> kTypes[] = {
      {"i8", "char"},  {"u8", "uchar"}, {"i16", "short"}, {"u16", "ushort"}, {"i32", "int"},
      {"u32", "uint"}, {"i64", "long"}, {"u64", "ulong"}, {"f32", "float"},  {"f64", "double"}};
  std::string text;
  if (dialect == Dialect::kOpenClC) {
    text = "#pragma OPENCL FP_CONTRACT OFF\n";
    if (needs.f64) text += "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n";
    for (auto [name, type] : kTypes) {
      if (std::string_view(name) == "f64" && !needs.f64) continue;
      text += fmt::format("typedef {1} {0};\n#define to_{0}(x) (({0})(x))\n", name, type);
      if (name[1] == '3' || name[1] == '6') text += fmt::format("#define as_{0}(x) as_{1}(x)\n", name, type);
    }
    for (int lanes : {2, 4, 8, 16}) {
      std::string elements = "e0";  // by name: OpenCL C has no variadic macros
      for (int lane = 1; lane < lanes; ++lane) elements += fmt::format(", e{}", lane);
      text += fmt::format(
          "typedef float{0} f32x{0};\n#define make_f32x{0}({1}) ((f32x{0})({1}))\n"
          "#define splat_f32x{0}(e) ((f32x{0})(e))\n",
          lanes, elements);
    }
    text += "typedef ulong2 c128;\n#define make_c128(x, y) ((c128)(x, y))\n";
    return text +
           "#ifdef TVMVM_SERIAL\n"
           "#define GROUP(x, y, z) __attribute__((reqd_work_group_size(1, 1, 1)))\n"
           "#define FOR_ITEMS(axis, count) for (int item##axis = 0; item##axis < count; ++item##axis)\n"
           "#define ITEM(axis) item##axis\n"
           "#else\n"
           "#define GROUP(x, y, z) __attribute__((reqd_work_group_size(x, y, z)))\n"
           "#define FOR_ITEMS(axis, count)\n"
           "#define ITEM(axis) get_local_id(axis)\n"
           "#endif\n";
  }
  text =
      "#version 450\n"
      "#extension GL_EXT_buffer_reference : require\n"
      "#extension GL_EXT_scalar_block_layout : require\n"
      "#extension GL_EXT_shader_explicit_arithmetic_types : require\n";
  if (needs.subgroups)
    text +=
        "#extension GL_KHR_shader_subgroup_basic : require\n"
        "#extension GL_KHR_shader_subgroup_arithmetic : require\n";
  text +=
      "#define i8 int8_t\n#define u8 uint8_t\n#define i16 int16_t\n#define u16 uint16_t\n#define i32 int\n"
      "#define u32 uint\n#define i64 int64_t\n#define u64 uint64_t\n#define f32 float\n#define f64 double\n";
  for (auto [name, type] : kTypes) text += fmt::format("#define to_{0}(x) {0}(x)\n", name);
  text +=
      "#define as_f32(x) uintBitsToFloat(x)\n#define as_u32(x) floatBitsToUint(x)\n"
      "#define as_f64(x) uint64BitsToDouble(x)\n#define as_u64(x) doubleBitsToUint64(x)\n"
      "#define fabs abs\n#define rint roundEven\n"
      "#define f32x2 vec2\n#define f32x4 vec4\n#define make_f32x2 vec2\n#define make_f32x4 vec4\n"
      "#define splat_f32x2 vec2\n#define splat_f32x4 vec4\n"
      "#define c128 u64vec2\n#define make_c128 u64vec2\n";
  return needs.matrices ? text + MatrixHeader() : text;
}

void Prelude::Need(std::string_view function) {
  if (!needed_.insert(std::string(function)).second) return;
  auto found =
      std::find_if(Table().begin(), Table().end(), [&](const Function& f) { return f.name == function; });
  assert(found != Table().end());
  if (found == Table().end()) return;
  for (const std::string& need : found->needs) Need(need);
}

std::string Prelude::Text() const {
  std::string text;
  for (const Function& f : Table()) {
    if (!needed_.count(f.name)) continue;
    text += dialect_ == Dialect::kGlsl && !f.glsl.empty() ? f.glsl : f.text;
  }
  return text;
}

}  // namespace tvmvm::codegen
