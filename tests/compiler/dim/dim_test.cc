#include "compiler/dim/dim.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "bytecode/dim_expression.h"

namespace tvmvm::ir {
namespace {

Dim n() { return Dim::Symbol("n"); }
Dim m() { return Dim::Symbol("m"); }

TEST(DimTest, SumsAndProductsAreCanonical) {
  EXPECT_EQ(n() * 4 + n(), n() * 5);
  EXPECT_EQ((n() + 1) * (n() - 1), n() * n() - 1);
  EXPECT_EQ(n() - n(), Dim(0));
  EXPECT_EQ((n() + m()).ToString(), (m() + n()).ToString());
  EXPECT_EQ((n() * 4 + 1).ToString(), "n*4+1");
  EXPECT_EQ((Dim(1) - n() * 2).ToString(), "-n*2+1");
}

TEST(DimTest, DivisionsFold) {
  EXPECT_EQ(FloorDiv(n() * 4, 4), n());
  EXPECT_EQ(FloorDiv(n() * 4 + 7, 4), n() + 1);
  EXPECT_EQ(FloorDiv(n() * m() * 6, m() * 3), n() * 2);
  EXPECT_EQ(FloorDiv((n() + 1) * m(), n() + 1), m());
  EXPECT_EQ(FloorDiv(FloorDiv(n(), 2), 3), FloorDiv(n(), 6));
  EXPECT_EQ(CeilDiv(n(), 2), FloorDiv(n() - 1, 2) + 1);
  EXPECT_EQ(CeilDiv(n(), 2).ToString(), "ceildiv(n, 2)");
  EXPECT_EQ(FloorMod(n() * 8 + 3, 4), Dim(3));
  EXPECT_EQ(FloorMod(FloorMod(n(), 8), 4), FloorMod(n(), 4));
  EXPECT_FALSE(FloorDiv(Dim(7), 0).is_constant());
  EXPECT_EQ(FloorDiv(Dim(INT64_MIN), -1), Dim(INT64_MIN));
}

TEST(DimTest, ChoicesFold) {
  EXPECT_EQ(Min(n(), INT64_MAX), n());
  EXPECT_EQ(Min(n() + 1, n()), n());
  EXPECT_EQ(Max(Dim(INT64_MAX), -1), Dim(INT64_MAX));
  EXPECT_EQ(Min(Min(n(), 7), 5), Min(5, n()));
  EXPECT_EQ(Select(Equal(Dim(-1), -1), n(), m()), n());
  EXPECT_EQ(Select(Equal(n(), 1), 1, n()), n());
  EXPECT_EQ(Select(Equal(n(), m()), n(), m()), m());
  EXPECT_EQ(Select(Less(n(), m()), n(), m()), Min(n(), m()));
  EXPECT_EQ(Equal(n() * 2, 1), Dim(0));
  EXPECT_EQ(Not(Less(n(), m())), LessEqual(m(), n()));
  EXPECT_EQ(And(Equal(n(), 3), NotEqual(n(), 3)), Dim(0));
  // Symbols may be negative here; whoever knows better asks Simplify.
  EXPECT_FALSE(Less(n(), 0).is_constant());
  EXPECT_EQ(Simplify(Less(n(), 0), [](const SymbolId&) { return DimRange{}; }), Dim(0));
  EXPECT_EQ(Simplify(Max(n(), 0), [](const SymbolId&) { return DimRange{}; }), n());
}

// n, then ever larger expressions of it.
Dim Large(int terms) {
  Dim sum = n();
  for (int i = 2; i < terms + 2; ++i) sum = sum + Max(FloorDiv(n(), i), m());
  return sum;
}

TEST(DimTest, PartsTakenAwayLeaveNoLessThanNothing) {
  const Dim one_or_none = FloorDiv(n(), Max(n(), Dim(2))), other = FloorDiv(m() * 4, Max(m() * 4, Dim(9)));
  EXPECT_EQ(RangeOf(one_or_none).high, 1);
  EXPECT_EQ(RangeOf(n() - n() * one_or_none).low, 0);
  EXPECT_EQ(RangeOf(n() * m() - n() * m() * one_or_none * other).low, 0);
  EXPECT_EQ(RangeOf(n() - n() * one_or_none + 3).low, 3);
  EXPECT_LT(RangeOf(n() - n() * one_or_none - n() * other).low, 0) << "taken twice";
  EXPECT_LT(RangeOf(n() - m() * one_or_none).low, 0);
  EXPECT_LT(RangeOf(n() - n() * one_or_none * 2).low, 0);
}

TEST(DimTest, NamedExpressionsCountAsOneNode) {
  EXPECT_EQ(Dim::Named(n() + 1, {}), n() + 1);  // small ones are what they are
  const Dim large = Large(40), named = Dim::Named(large, {2, 9});
  ASSERT_EQ(named.op(), DimOp::kNamed);
  EXPECT_EQ(named.size(), 1u);
  EXPECT_EQ(named.depth(), 1);
  EXPECT_EQ(named, Dim::Named(Large(40), {})) << "the same expression has the same name";
  EXPECT_FALSE(named == Dim::Named(Large(41), {}));
  EXPECT_EQ(named - named, Dim(0));
  EXPECT_EQ(RangeOf(named * 3 + 1).high, 28);
  EXPECT_THAT(SymbolsOf(named * 2), testing::UnorderedElementsAre(SymbolId("n"), SymbolId("m")));
  auto value = [](const SymbolId& symbol) { return std::optional<int64_t>(symbol.name() == "n" ? 60 : 7); };
  EXPECT_EQ(Evaluate(named * 2, value), *Evaluate(large, value) * 2);
  EXPECT_EQ(Evaluate(named, [](const SymbolId&) { return std::optional<int64_t>(); }), std::nullopt);
  auto number = [](const SymbolId& symbol) { return std::optional<Dim>(symbol.name() == "n" ? 60 : 7); };
  EXPECT_EQ(Substitute(named * 2, number), Dim(*Evaluate(large, value) * 2));
  auto other = [](const SymbolId& symbol) {
    return symbol == SymbolId("m") ? std::optional<Dim>(Dim::Symbol("k")) : std::nullopt;
  };
  EXPECT_EQ(Substitute(named, other), Dim::Named(Substitute(large, other), {2, 9}));
  EXPECT_EQ(Substitute(named, [](const SymbolId&) { return std::optional<Dim>(); }), named);
  EXPECT_EQ(Dim::Named(Large(40), {}).ToString(), named.ToString());
  EXPECT_TRUE(ParseDim(named.ToString())->is_symbol());
}

TEST(DimTest, NamedExpressionsOfOneAnotherStaySmall) {
  Dim size = n();
  constexpr int kSteps = 200;
  for (int step = 0; step < kSteps; ++step)  // three times the one before in each
    size = Dim::Named(Max(Min(FloorDiv(size * size + step, 7), 500), Min(size + Large(30), 100)), {0, 500});
  EXPECT_EQ(size.depth(), kSteps);
  std::vector<Dim> named;
  CollectNamed(size + 1, &named);
  ASSERT_EQ(named.size(), static_cast<size_t>(kSteps));
  EXPECT_EQ(named.back(), size);
  for (size_t i = 0; i < named.size(); ++i) EXPECT_EQ(named[i].depth(), static_cast<int>(i) + 1);
  int64_t wanted = 5;
  auto value = [](const SymbolId& symbol) { return std::optional<int64_t>(symbol.name() == "n" ? 5 : 3); };
  for (int step = 0; step < kSteps; ++step)
    wanted = std::max(std::min<int64_t>((wanted * wanted + step) / 7, 500),
                      std::min<int64_t>(wanted + *Evaluate(Large(30), value), 100));
  EXPECT_EQ(Evaluate(size, value), wanted);
}

// Products of many sums are written out in part; what stays is a factor, once.
TEST(DimTest, ProductsOfManySumsStaySmall) {
  Dims dims;
  for (int i = 0; i < 32; ++i)
    dims.push_back(Dim::Symbol("a" + std::to_string(i)) + Dim::Symbol("b" + std::to_string(i)) + 1);
  EXPECT_LT(Product(dims).size(), 10000u);
  auto value = [](const SymbolId&) { return std::optional<int64_t>(1); };
  EXPECT_EQ(Evaluate(Product({dims.begin(), dims.begin() + 20}), value), 3486784401);
}

TEST(DimTest, DivisorsAreThoseOfAnyValues) {
  EXPECT_EQ(DivisorOf(48), 48);
  EXPECT_EQ(DivisorOf(-6), 6);
  EXPECT_EQ(DivisorOf(0), 0);
  EXPECT_EQ(DivisorOf(n()), 1);
  EXPECT_EQ(DivisorOf(n() * 12), 12);
  EXPECT_EQ(DivisorOf(n() * m() * 12 + n() * 18 - 24), 6);
  EXPECT_EQ(DivisorOf(n() * 12 + 1), 1);
  EXPECT_EQ(DivisorOf(CeilDiv(n(), 8) * 8), 8);
  EXPECT_EQ(DivisorOf(Max(CeilDiv(n(), 8) * 8, 12)), 4);
  EXPECT_EQ(DivisorOf(Min(n() * 10, m() * 15)), 5);
  EXPECT_EQ(DivisorOf(FloorDiv(n() * 12, m())), 1);
  EXPECT_EQ(DivisorOf(n() * INT64_MAX), 1);
}

TEST(DimTest, ParseErrorsSayWhere) {
  for (std::string_view text :
       {"", "n+", "min(n)", "min(n,2", "n 2", "9223372036854775808", "'n", "(n", "2n", "*"}) {
    Expected<Dim> dim = ParseDim(text);
    ASSERT_FALSE(dim) << text;
    EXPECT_EQ(dim.error().code, Code::kInvalidArgument);
  }
  EXPECT_EQ(ParseDim("min(n, 2").error().message, "dim 'min(n, 2': at 8: found the end, wanted ')'");
  EXPECT_FALSE(ParseDim(std::string(100000, '(')));
}

TEST(DimTest, OddSymbolNamesAreQuoted) {
  for (const char* name : {"min", "batch size", "it's", "1n", "", "a\\b"}) {
    Dim symbol = Dim::Symbol(name);
    EXPECT_EQ(ParseDim((symbol * 2).ToString()).value(), symbol * 2);
  }
}

// A dim as whoever reads its text computes it.
class DimText {
 public:
  explicit DimText(const Dim& dim)
      : expression_(DimExpression::Parse(dim.ToString(), &symbols_).value()), bound_(symbols_.size()) {}

  std::optional<int64_t> Value(const std::function<std::optional<int64_t>(const SymbolId&)>& lookup) {
    for (uint32_t i = 0; i < symbols_.size(); ++i)
      bound_[i] = lookup(SymbolId(symbols_.name(i))).value_or(DimExpression::kUnbound);
    return expression_.Evaluate(bound_);
  }

 private:
  SymbolTable symbols_;
  DimExpression expression_;
  std::vector<int64_t> bound_;
};

TEST(DimTest, ExtremeNumbersAreReadBack) {
  auto value = [](const SymbolId&) { return std::optional<int64_t>(1); };
  const Dim least = INT64_MIN, most = INT64_MAX;
  for (const Dim& dim :
       {least, most, n() + least, n() + most, n() * least, n() * least + least, Min(n(), least),
        Max(n() * m() * least, Dim(0) - n()), Select(Less(n(), m()), least, n() - most)}) {
    EXPECT_EQ(ParseDim(dim.ToString()).value(), dim) << dim.ToString();
    EXPECT_EQ(DimText(dim).Value(value), Evaluate(dim, value)) << dim.ToString();
  }
}

// Random expressions, computed twice: as built (simplified) and naively from the same operands' values.
struct Sample {
  Dim dim;
  std::vector<std::optional<int64_t>> values;  // one for each assignment
};

constexpr int kAssignments = 12;
const char* const kSymbols[] = {"a", "b", "c"};

int64_t SymbolValue(int assignment, const SymbolId& symbol) {
  static constexpr int64_t kTable[3][kAssignments] = {{0, 1, 2, 3, 5, 8, 13, 64, 1, 7, 100, 6},
                                                      {1, 1, 4, 2, 5, 9, 1, 63, 0, 7, 31, 12},
                                                      {3, 0, 2, 7, 1, 8, 4, 65, 2, 0, 17, 4}};
  return kTable[symbol.name()[0] - 'a'][assignment];
}

std::optional<int64_t> NaiveValue(DimOp op, const std::vector<std::optional<int64_t>>& v) {
  for (const auto& value : v)
    if (!value || std::abs(*value) > (int64_t{1} << 20)) return std::nullopt;
  int64_t a = *v[0], b = v.size() > 1 ? *v[1] : 0;
  auto floor_div = [](int64_t x, int64_t y) {
    int64_t q = static_cast<int64_t>(std::floor(static_cast<double>(x) / static_cast<double>(y)));
    return q;
  };
  bool divides = op == DimOp::kFloorDiv || op == DimOp::kCeilDiv || op == DimOp::kFloorMod;
  if (divides && b == 0) return std::nullopt;
  switch (op) {
    case DimOp::kAdd:
      return a + b;
    case DimOp::kMul:
      return a * b;
    case DimOp::kFloorDiv:
      return floor_div(a, b);
    case DimOp::kCeilDiv:
      return -floor_div(-a, b);
    case DimOp::kFloorMod:
      return a - floor_div(a, b) * b;
    case DimOp::kMin:
      return std::min(a, b);
    case DimOp::kMax:
      return std::max(a, b);
    case DimOp::kEqual:
      return a == b;
    case DimOp::kNotEqual:
      return a != b;
    case DimOp::kLess:
      return a < b;
    case DimOp::kLessEqual:
      return a <= b;
    case DimOp::kAnd:
      return a != 0 && b != 0;
    case DimOp::kOr:
      return a != 0 || b != 0;
    case DimOp::kNot:
      return a == 0;
    case DimOp::kSelect:
      return a != 0 ? b : *v[2];
    default:
      return std::nullopt;
  }
}

class DimPropertyTest : public ::testing::Test {
 protected:
  Sample Leaf() {
    Sample sample;
    if (random_() % 2) {
      sample.dim = Dim::Symbol(kSymbols[random_() % 3]);
    } else {
      static constexpr int64_t kConstants[] = {-8, -3, -1, 0, 1, 2, 3, 4, 6, 8};
      sample.dim = kConstants[random_() % 10];
    }
    for (int k = 0; k < kAssignments; ++k)
      sample.values.push_back(sample.dim.is_symbol() ? SymbolValue(k, sample.dim.symbol())
                                                     : sample.dim.value());
    return sample;
  }

  Sample Random(int depth) {
    if (depth == 0 || random_() % 5 == 0) return Leaf();
    // Sums and products more often than the rest.
    static constexpr DimOp kOps[] = {DimOp::kAdd,      DimOp::kAdd,      DimOp::kAdd,      DimOp::kMul,
                                     DimOp::kMul,      DimOp::kFloorDiv, DimOp::kFloorDiv, DimOp::kCeilDiv,
                                     DimOp::kFloorMod, DimOp::kFloorMod, DimOp::kMin,      DimOp::kMax,
                                     DimOp::kEqual,    DimOp::kNotEqual, DimOp::kLess,     DimOp::kLessEqual,
                                     DimOp::kAnd,      DimOp::kOr,       DimOp::kNot,      DimOp::kSelect};
    DimOp op = kOps[random_() % std::size(kOps)];
    std::vector<Sample> operands;
    std::vector<Dim> dims;
    for (int i = 0; i < RowOf(op).arity; ++i) {
      operands.push_back(Random(depth - 1));
      dims.push_back(operands.back().dim);
    }
    Sample sample;
    sample.dim = Apply(op, dims);
    for (int k = 0; k < kAssignments; ++k) {
      std::vector<std::optional<int64_t>> values;
      for (const Sample& operand : operands) values.push_back(operand.values[k]);
      sample.values.push_back(NaiveValue(op, values));
    }
    return sample;
  }

  std::mt19937 random_{7};
};

TEST_F(DimPropertyTest, SimplifiedValueIsTheNaiveValue) {
  auto anything = [](const SymbolId&) { return DimRange{0, 100}; };
  int compared = 0;
  for (int i = 0; i < 60000; ++i) {
    Sample sample = Random(1 + i % 5);
    Dim parsed = ParseDim(sample.dim.ToString()).value();
    ASSERT_EQ(parsed, sample.dim) << sample.dim.ToString() << " read back as " << parsed.ToString();
    DimText text(sample.dim);
    DimRange range = RangeOf(sample.dim, anything);
    Dim simplified = Simplify(sample.dim, anything);
    for (int k = 0; k < kAssignments; ++k) {
      auto lookup = [k](const SymbolId& symbol) -> std::optional<int64_t> { return SymbolValue(k, symbol); };
      auto partly = [k](const SymbolId& symbol) -> std::optional<int64_t> {
        return symbol.name() == "b" ? std::nullopt : std::optional(SymbolValue(k, symbol));
      };
      ASSERT_EQ(text.Value(lookup), Evaluate(sample.dim, lookup)) << sample.dim.ToString();
      ASSERT_EQ(text.Value(partly), Evaluate(sample.dim, partly)) << sample.dim.ToString();
      if (!sample.values[k]) continue;
      auto substitute = [k](const SymbolId& symbol) -> std::optional<Dim> {
        return Dim(SymbolValue(k, symbol));
      };
      std::optional<int64_t> value = Evaluate(sample.dim, lookup);
      ASSERT_EQ(value, sample.values[k]) << sample.dim.ToString() << " assignment " << k;
      ASSERT_EQ(Evaluate(simplified, lookup), sample.values[k])
          << sample.dim.ToString() << " simplified to " << simplified.ToString();
      ASSERT_EQ(Substitute(sample.dim, substitute).constant(), sample.values[k]) << sample.dim.ToString();
      ASSERT_LE(range.low, *value) << sample.dim.ToString();
      ASSERT_GE(range.high, *value) << sample.dim.ToString();
      ++compared;
    }
  }
  EXPECT_GT(compared, 100000);
}

}  // namespace
}  // namespace tvmvm::ir
