#include "bytecode/dim_expression.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>

#include "tests/sanitizer.h"

namespace tvmvm {
namespace {

constexpr int64_t kMin = INT64_MIN, kMax = INT64_MAX;

std::optional<int64_t> Evaluate(std::string_view text,
                                std::initializer_list<std::pair<std::string_view, int64_t>> values) {
  SymbolTable symbols;
  const DimExpression expression = *DimExpression::Parse(text, &symbols);
  std::vector<int64_t> bound(symbols.size(), DimExpression::kUnbound);
  for (uint32_t i = 0; i < symbols.size(); ++i)
    for (const auto& [name, value] : values)
      if (symbols.name(i) == name) bound[i] = value;
  return expression.Evaluate(bound);
}

TEST(DimOp, EveryOperatorStandsInItsRow) {
  for (size_t i = 0; i <= static_cast<size_t>(DimOp::kNamed); ++i)
    EXPECT_EQ(RowOf(static_cast<DimOp>(i)).op, static_cast<DimOp>(i));
  for (const DimOpRow& row : kDimOps)
    EXPECT_EQ(FindDimFunction(row.function), row.function.empty() ? nullptr : &row) << row.function;
  EXPECT_EQ(FindDimFunction("add"), nullptr);
}

TEST(DimOp, Arithmetic) {
  EXPECT_EQ(Apply(DimOp::kAdd, kMax, 1), std::nullopt);
  EXPECT_EQ(Apply(DimOp::kSub, kMin, 1), std::nullopt);
  EXPECT_EQ(Apply(DimOp::kMul, kMin, -1), std::nullopt);
  EXPECT_EQ(Apply(DimOp::kMul, kMax, -1), -kMax);
  for (DimOp op : {DimOp::kFloorDiv, DimOp::kCeilDiv, DimOp::kFloorMod}) {
    EXPECT_EQ(Apply(op, 1, 0), std::nullopt);
    EXPECT_EQ(Apply(op, kMin, -1), std::nullopt);
  }
  for (auto [a, b, floor, ceil, mod] : std::initializer_list<std::array<int64_t, 5>>{
           {7, 2, 3, 4, 1}, {-7, 2, -4, -3, 1}, {7, -2, -4, -3, -1}, {-7, -2, 3, 4, -1}, {6, 3, 2, 2, 0}}) {
    EXPECT_EQ(Apply(DimOp::kFloorDiv, a, b), floor) << a << " " << b;
    EXPECT_EQ(Apply(DimOp::kCeilDiv, a, b), ceil) << a << " " << b;
    EXPECT_EQ(Apply(DimOp::kFloorMod, a, b), mod) << a << " " << b;
  }
  EXPECT_EQ(Apply(DimOp::kCeilDiv, kMin, 2), kMin / 2);
  EXPECT_EQ(Apply(DimOp::kSelect, 1, 2), std::nullopt);
}

TEST(DimExpression, ReadsWhatTheCompilerWrites) {
  EXPECT_EQ(Evaluate("n", {{"n", 7}}), 7);
  EXPECT_EQ(Evaluate("n*4+1", {{"n", 7}}), 29);
  EXPECT_EQ(Evaluate("1 + 2 * 3 - 4", {}), 3);
  EXPECT_EQ(Evaluate("2*(n\t- -3)", {{"n", 1}}), 8);
  EXPECT_EQ(Evaluate("ceildiv(n, 2)", {{"n", 7}}), 4);
  EXPECT_EQ(Evaluate("floordiv(0 - n, 2)", {{"n", 7}}), -4);
  EXPECT_EQ(Evaluate("floormod(-n,4) + n // 2 + n % 4 + n/2", {{"n", 7}}), 1 + 3 + 3 + 3);
  EXPECT_EQ(Evaluate("m - n//2", {{"n", 7}, {"m", 9}}), 6);
  EXPECT_EQ(Evaluate("min(n, 512) + max(n, 512)", {{"n", 7}}), 519);
  EXPECT_EQ(Evaluate("select(lt(n, m), n, m)", {{"n", 7}, {"m", 9}}), 7);
  EXPECT_EQ(Evaluate("select(and(eq(n,7), not(le(n, 6))), 3, ne(n, 7))", {{"n", 7}}), 3);
  EXPECT_EQ(Evaluate("past_len + 1", {{"past_len", 3}}), 4);
  EXPECT_EQ(Evaluate("max(n, -9223372036854775808)", {{"n", 3}}), 3);
  EXPECT_EQ(Evaluate("n+-9223372036854775808", {{"n", 0}}), kMin);
}

TEST(DimExpression, LogicGivesZeroOrOne) {
  EXPECT_EQ(Evaluate("and(2, 1)", {}), 1);
  EXPECT_EQ(Evaluate("or(4, 2)", {}), 1);
  EXPECT_EQ(Evaluate("or(0, 0) + not(7)", {}), 0);
}

TEST(DimExpression, IsUnknownWhereASymbolOrAValueIs) {
  EXPECT_EQ(Evaluate("n*4", {}), std::nullopt);
  EXPECT_EQ(Evaluate("?", {}), std::nullopt);
  EXPECT_EQ(Evaluate("floordiv(4, n)", {{"n", 0}}), std::nullopt);
  EXPECT_EQ(Evaluate("n*n", {{"n", kMax}}), std::nullopt);
  EXPECT_EQ(Evaluate("0*m", {}), std::nullopt);
  EXPECT_EQ(Evaluate("select(m, 1, 1)", {}), std::nullopt);
  EXPECT_EQ(Evaluate("select(eq(n, 0), 5, floordiv(4, n)+m)", {{"n", 0}}), 5)
      << "needs what it chooses alone";
}

TEST(DimExpression, SymbolsThatAreNoIdentifiersAreQuoted) {
  EXPECT_EQ(Evaluate("'batch size'*2", {{"batch size", 5}}), 10);
  EXPECT_EQ(Evaluate(R"('it\'s' + '\\' + 'größe')", {{"it's", 1}, {"\\", 2}, {"größe", 3}}), 6);
  EXPECT_EQ(Evaluate("'n' + n", {{"n", 7}}), 14);
  EXPECT_EQ(Evaluate("mod(n, 4) + mod", {{"n", 7}, {"mod", 1}}), 4);
  for (const char* name : {"n", "n.2", "min", "floormod", "batch size", "it's", "1n", "", "a\\b", "größe"}) {
    SymbolTable symbols;
    auto parsed = DimExpression::Parse(DimSymbolText(name), &symbols);
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(symbols.name(parsed->plain_symbol().value()), name);
  }
}

TEST(DimExpression, AnyOtherTextIsAnError) {
  auto error = [](const std::string& text) {
    SymbolTable symbols;
    auto parsed = DimExpression::Parse(text, &symbols);
    if (parsed) return std::string();
    EXPECT_EQ(parsed.error().code, Code::kInvalidArgument);
    return parsed.error().message;
  };
  EXPECT_EQ(error("batch size"), "dim 'batch size': at 6: found 's', wanted end of text");
  EXPECT_EQ(error("n*"), "dim 'n*': at 2: found the end, wanted a number, symbol or '('");
  EXPECT_EQ(error("min(n)"), "dim 'min(n)': at 5: found ')', wanted ',': min takes 2 operands");
  for (const char* text :
       {"", "f(n)", "min(n, 2", "(n", "1n", "99999999999999999999", "9223372036854775808", "größe", "n)",
        "'n", R"('n\')", "'", "n 'm'", "n n", "*", "n+", "- ", "not(1, 2)", ","})
    EXPECT_NE(error(text), "") << text;
  const std::string deep = std::string(100'000, '(') + "n" + std::string(100'000, ')');
  EXPECT_EQ(error(deep), "dim '" + std::string(100, '(') +
                             "...': at 201: found '(', wanted a less deeply nested expression");
  EXPECT_NE(error(std::string(100'000, '-') + "n"), "");
  std::string wide = "n";  // two operands more wait in each
  for (int i = 0; i < 150; ++i) wide = "select(n, n, " + wide + ")";
  EXPECT_NE(error(wide), "");
}

// Signatures of many symbols are read in milliseconds.
TEST(DimExpression, ManySymbols) {
  SymbolTable symbols;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 100'000; ++i) ASSERT_TRUE(DimExpression::Parse("n" + std::to_string(i), &symbols));
  EXPECT_EQ(symbols.size(), 100'000u);
  EXPECT_EQ(symbols.Intern("n99999"), 99'999u);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kHang);
}

}  // namespace
}  // namespace tvmvm
