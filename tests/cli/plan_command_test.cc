// `tvm-vm plan`: what it says of a program, and that a run holds what it said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/console.h"
#include "tests/cli/scratch.h"
#include "tests/require.h"

namespace tvmvm::cli {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kProgram = R"---(
entry @main
plan p0 [1..2 align 64, 2..3 align 64, 3..4 align 64]
func @main("x": i64[n, m]) -> ("y": i64[n, m]) frame 5, 3, 3 {
  i0 = dim r0, 0
  i3 = dim r0, 1
  i1 = const 8
  i2 = mul i0, i1
  i2 = mul i2, i3
  r1, s0 = slots p0, 0, [i2, i1, i2]
  node "/first <Add>"
  copy [s0, r0], i2
  fill [s1], i1, 0
  node "/third (Sub)"
  copy [s2, r0], i2
  r2 = output 0, [i0, i3]
  copy [r2, s2], i2
  return [], [r2]
}
)---";

class PlanCommand : public ::testing::Test {
 protected:
  PlanCommand() {
    WriteBytes(scratch_ / "text", kProgram);
    EXPECT_EQ(Run("tvm-vm asm text -o model.vmexe").exit_code, kExitOk);
  }
  ToolResult Run(const std::string& command) {
    return RunShell("cd '" + scratch_.path() + "' && " + command);
  }
  json Json(const std::string& command) {
    const ToolResult result = Run(command);
    EXPECT_EQ(result.exit_code, kExitOk) << result.err;
    return json::parse(result.out, nullptr, false);
  }
  ScratchFolder scratch_;
};

TEST_F(PlanCommand, SaysWhatARunHolds) {
  const json plan = Json("tvm-vm plan model.vmexe --dim n=10 --dim m=10 --json");
  EXPECT_EQ(plan["peak_bytes"], 840 + 800);
  EXPECT_EQ(plan["least_peak_bytes"], plan["peak_bytes"]);
  EXPECT_EQ(plan["exact"], true);
  EXPECT_EQ(plan["output_bytes"], 800);
  EXPECT_GT(plan["lower_bound_bytes"], 1500);
  EXPECT_LE(plan["lower_bound_bytes"], plan["peak_bytes"]);
  EXPECT_EQ(plan["stages"].size(), 1u);
  EXPECT_EQ(plan["stages"][0]["function"], "main");
  EXPECT_EQ(plan["devices"][0]["device"], "cpu");
  ASSERT_EQ(plan["largest_values"].size(), 4u);
  EXPECT_EQ(plan["largest_values"][0]["node"], "/first <Add>");
  EXPECT_THAT(plan["unbounded"], IsEmpty());
  const json run = Json("tvm-vm run model.vmexe --dim n=10 --dim m=10 --json");
  EXPECT_EQ(run["peak_bytes"], plan["peak_bytes"]);
  EXPECT_EQ(run["planned_bytes"]["low"], plan["peak_bytes"]);
  EXPECT_EQ(run["planned_bytes"]["high"], plan["peak_bytes"]);
  EXPECT_GT(run["held_bytes"], 0);
  const json bench = Json("tvm-vm bench model.vmexe --dim n=10 --dim m=10 --repeat 2 --json");
  EXPECT_EQ(bench["planned_bytes"]["high"], plan["peak_bytes"]);
  EXPECT_EQ(bench["held_bytes"], run["held_bytes"]);
}

TEST_F(PlanCommand, TakesRanges) {
  const json plan = Json("tvm-vm plan model.vmexe --dim n=1..10 --dim m=10 --json");
  EXPECT_EQ(plan["peak_bytes"], 840 + 800);
  EXPECT_LT(plan["least_peak_bytes"], plan["peak_bytes"]);
  EXPECT_EQ(plan["exact"], false);
}

TEST_F(PlanCommand, ShowsATimeline) {
  const ToolResult result = Run("tvm-vm plan model.vmexe --dim n=10 --dim m=10");
  EXPECT_EQ(result.exit_code, kExitOk) << result.err;
  EXPECT_THAT(result.out, StartsWith("peak         1.6 KB (1640 bytes)\n"));
  EXPECT_THAT(result.out, HasSubstr("/third (Sub)"));
  EXPECT_THAT(result.out, HasSubstr("alive over time\n"));
  EXPECT_THAT(result.out, HasSubstr("█"));
  EXPECT_THAT(result.err, IsEmpty());
}

TEST_F(PlanCommand, DrawsAPicture) {
  const ToolResult result = Run("tvm-vm plan model.vmexe --dim n=10 --dim m=10 --svg memory.svg --json");
  EXPECT_EQ(result.exit_code, kExitOk) << result.err;
  const std::string svg = ReadBytes(scratch_ / "memory.svg");
  EXPECT_THAT(svg, StartsWith("<svg xmlns="));
  EXPECT_THAT(
      svg,
      HasSubstr(
          "<title>/first &lt;Add&gt;: 800 B (800 bytes) in arena 0 at offset 0, positions 1 to 2</title>"));
  EXPECT_THAT(svg, HasSubstr("</svg>\n"));
  EXPECT_EQ(Run("tvm-vm plan model.vmexe --dim n=1 --dim m=1 --svg none/memory.svg").exit_code, kExitFailed);
}

TEST_F(PlanCommand, WritesAPage) {
  const ToolResult result = Run("tvm-vm plan model.vmexe --dim n=10 --dim m=10 --html memory.html --json");
  EXPECT_EQ(result.exit_code, kExitOk) << result.err;
  const std::string page = ReadBytes(scratch_ / "memory.html");
  EXPECT_THAT(page, StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(page, HasSubstr("<svg xmlns="));
  EXPECT_THAT(page, HasSubstr("/first &lt;Add&gt;</td></tr>"));
  EXPECT_THAT(page, Not(HasSubstr("http://www.w3.org/1999"))) << "nothing from elsewhere";
  EXPECT_THAT(page, HasSubstr("</html>\n"));
}

TEST_F(PlanCommand, SaysWhatIsWrong) {
  const ToolResult missing = Run("tvm-vm plan model.vmexe --dim n=1");
  EXPECT_EQ(missing.exit_code, kExitFailed);
  EXPECT_THAT(missing.err, HasSubstr("no size is given for 'm'"));
  EXPECT_THAT(missing.err, HasSubstr("--dim NAME=4"));
  EXPECT_THAT(missing.out, IsEmpty());
  EXPECT_THAT(Run("tvm-vm plan model.vmexe --dim n=1 --dim m=1 --dim k=1").err,
              HasSubstr("the program has no dimension 'k'; its dimensions are 'n', 'm'"));
  EXPECT_EQ(Run("tvm-vm plan model.vmexe --dim n=-1 --dim m=1").exit_code, kExitUsage);
  EXPECT_EQ(Run("tvm-vm plan model.vmexe --dim n=8..1 --dim m=1").exit_code, kExitUsage);
  const ToolResult huge = Run("tvm-vm plan model.vmexe --dim n=4611686018427387904 --dim m=1");
  EXPECT_EQ(huge.exit_code, kExitFailed);
  EXPECT_THAT(huge.err, HasSubstr("@main:12 mul: of 4611686018427387904 and 8 there is no 64-bit result"));
  EXPECT_EQ(Run("tvm-vm plan none.vmexe").exit_code, kExitFailed);
}

// A model as the compiler makes it.
TEST_F(PlanCommand, OfACompiledModelIsExact) {
  if (!TVMVM_HAS_COMPILER) TVMVM_SKIP_WITHOUT("compiler", "this build has no compiler");
  WriteBytes(scratch_ / "net.ir",
             "symbol n: [0, inf]\nsymbol m: [0, inf]\nfunc @main {\n"
             "  input \"x\" = %0: tensor<f32,[n,m]>\n  input \"y\" = %1: tensor<f32,[m,n]>\n"
             "  %2: tensor<f32,[n,n]> = contract(%0, %1) {lhs_batch = [], lhs_contract = [1], "
             "rhs_batch = [], rhs_contract = [0]}\n"
             "  %3: tensor<f32,[n,m]> = contract(%2, %0) {lhs_batch = [], lhs_contract = [1], "
             "rhs_batch = [], rhs_contract = [0]}\n"
             "  output \"z\" = %3\n}\n");
  const ToolResult made = Run("tvm-vm compile net.ir -o net.vmexe");
  ASSERT_EQ(made.exit_code, kExitOk) << made.err;
  for (const std::string dims : {"--dim n=1 --dim m=1", "--dim n=100 --dim m=33", "--dim n=257 --dim m=8"}) {
    const json plan = Json("tvm-vm plan net.vmexe --json " + dims);
    const json run = Json("tvm-vm run net.vmexe --json " + dims);
    EXPECT_EQ(plan["exact"], true) << dims;
    EXPECT_EQ(plan["peak_bytes"], run["peak_bytes"]) << dims;
    EXPECT_LE(plan["peak_bytes"].get<double>(), 1.02 * plan["lower_bound_bytes"].get<double>() + 64) << dims;
  }
}

}  // namespace
}  // namespace tvmvm::cli
