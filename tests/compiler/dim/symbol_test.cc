#include "compiler/dim/symbol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>
#include <type_traits>
#include <vector>

#include "compiler/dim/dim.h"

namespace tvmvm::ir {
namespace {

static_assert(!std::is_convertible_v<std::string, SymbolId> && !std::is_convertible_v<const char*, SymbolId>);
static_assert(!std::is_convertible_v<SymbolId, std::string> && !std::is_convertible_v<SymbolId, Dim>);

TEST(SymbolTest, OneNameIsOneSymbol) {
  const SymbolId n("n"), copy = n, again(std::string("n")), m("m");
  EXPECT_EQ(n, copy);
  EXPECT_EQ(n, again);
  EXPECT_EQ(n.Hash(), again.Hash());
  EXPECT_FALSE(n == m);
  EXPECT_EQ(Dim::Symbol(n), Dim::Symbol("n"));
  EXPECT_EQ(Dim::Symbol("n").symbol(), n);
  EXPECT_EQ(SymbolSet({n, copy, again, m}).size(), 2u);
}

TEST(SymbolTest, NoneIsTheNamelessOne) {
  EXPECT_TRUE(SymbolId().is_none());
  EXPECT_EQ(SymbolId(), SymbolId(""));
  EXPECT_EQ(SymbolId().name(), "");
  EXPECT_FALSE(SymbolId() == SymbolId("n"));
  EXPECT_EQ(SymbolId().ToString(), "?");
  EXPECT_EQ(SymbolId("my dim").ToString(), "'my dim'");
}

TEST(SymbolTest, OrderIsThatOfTheNames) {
  const std::set<SymbolId> symbols = {SymbolId("s10"), SymbolId("s2"), SymbolId(), SymbolId("batch"),
                                      SymbolId("s2")};
  std::vector<std::string> names;
  for (const SymbolId& symbol : symbols) names.push_back(symbol.name());
  EXPECT_THAT(names, testing::ElementsAre("", "batch", "s10", "s2"));
}

TEST(SymbolTest, DimsTellTheirSymbols) {
  const Dim n = Dim::Symbol("n"), m = Dim::Symbol("m"), dim = Max(m, n * m) + FloorDiv(n, 2);
  EXPECT_THAT(SymbolsOf(dim), testing::UnorderedElementsAre(n.symbol(), m.symbol()));
  EXPECT_TRUE(MentionsAny(dim, {SymbolId("m"), SymbolId("k")}));
  EXPECT_FALSE(MentionsAny(dim, {SymbolId("k")}));
  EXPECT_FALSE(MentionsAny(7, {SymbolId("k")}));
  SymbolSet all = {SymbolId("k")};
  CollectSymbols(dim, &all);
  EXPECT_EQ(all.size(), 3u);
}

TEST(SymbolTest, ThreadsShareSymbols) {
  const SymbolId shared("shared");
  std::vector<std::thread> threads;
  std::vector<int> equal(4);
  for (int& count : equal)
    threads.emplace_back([&shared, &count] {
      for (int i = 0; i < 1000; ++i) {
        const SymbolId copy = shared;
        count += copy == SymbolId("shared") ? 1 : 0;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(equal, testing::Each(1000));
}

}  // namespace
}  // namespace tvmvm::ir
