#include "compiler/schedules/cpu/tile_results.h"

#include <functional>

#include "compiler/schedules/packing.h"

namespace tvmvm::tensor {
namespace {

// Up to this many panels a row of a tile is stored without a loop.
constexpr int kUnrolledPanels = 2;

class ResultStorer {
 public:
  ResultStorer(const MatrixProduct& product, const TileAt& at, uint32_t tile, bool all_exist, Nest& nest)
      : product_(product), at_(at), tile_(tile), all_exist_(all_exist), nest_(nest) {}

  Status Run() {
    if (product_.runs) return Runs();
    Expr r = Variable(nest_.Open("r", IntConstant(0), at_.height));
    Expr row = nest_.Let("row", at_.first_row + r);
    Expr source = nest_.Let("source", r * IntConstant(at_.panels * kPanelColumns));
    if (at_.panels > kUnrolledPanels) {
      Expr panel = Variable(nest_.Open("panel", IntConstant(0), IntConstant(at_.panels)));
      Expr distance = nest_.Let("distance", panel * IntConstant(kPanelColumns));
      TVMVM_CHECK_OK(Panel(row, nest_.Let("column", at_.first_column + distance), source + distance));
      nest_.Close();
    } else {
      for (int panel = 0; panel < at_.panels; ++panel) {
        Expr distance = IntConstant(panel * kPanelColumns);
        TVMVM_CHECK_OK(Panel(row, at_.first_column + distance, source + distance));
      }
    }
    nest_.Close();
    return {};
  }

 private:
  Status Runs() {
    for (int panel = 0; panel < at_.panels; ++panel) {
      const Expr distance = IntConstant(panel * kPanelColumns);
      auto run = [&](const Expr& begin, const Expr& end, const Expr& first) {
        return OneRun({begin, end}, first, distance);
      };
      TVMVM_CHECK_OK(product_.runs(nest_, at_.first_column + distance, run));
    }
    return {};
  }

  // Stores some of a panel's columns, [begin, end) of its 16, or all.
  Status OneRun(const Range& run, const Expr& first, const Expr& distance) {
    const Expr all = nest_.Let("all", LessEqual(IntConstant(kPanelColumns), run.end - run.begin));
    auto is_inside = [&](const Expr& j) { return And(LessEqual(run.begin, j), Less(j, run.end)); };
    for (bool has_all : {true, false}) {
      nest_.OpenIf(has_all ? all : Unary(ExprOp::kNot, all));
      Expr r = Variable(nest_.Open("r", IntConstant(0), at_.height));
      Expr source = nest_.Let("source", r * IntConstant(at_.panels * kPanelColumns) + distance);
      TVMVM_CHECK_OK(
          Vector(at_.first_row + r, first, source, has_all ? std::function<Expr(const Expr&)>() : is_inside));
      nest_.Close();
      nest_.Close();
    }
    return {};
  }

  // Stores one row of a panel: those of its columns that exist.
  Status Panel(const Expr& row, const Expr& column, const Expr& source) {
    Expr columns = DimValue(product_.columns), end = column + IntConstant(kPanelColumns);
    bool has_tail = !all_exist_ && !FloorMod(product_.columns, kPanelColumns).IsConstant(0);
    bool all_exist = all_exist_ || FloorMod(product_.columns, at_.panels * kPanelColumns).IsConstant(0);
    if (!all_exist) nest_.OpenIf(LessEqual(end, columns));
    TVMVM_CHECK_OK(Vector(row, column, source, {}));
    if (!all_exist) nest_.Close();
    if (!has_tail) return {};
    nest_.OpenIf(And(Less(column, columns), Less(columns, end)));
    TVMVM_CHECK_OK(Vector(row, column, source, [&](const Expr& j) { return Less(column + j, columns); }));
    nest_.Close();
    return {};
  }

  Status Vector(const Expr& row, const Expr& column, const Expr& source,
                const std::function<Expr(const Expr& j)>& mask) {
    Expr j = Variable(nest_.Open("j", IntConstant(0), IntConstant(kPanelColumns), LoopKind::kVectorized));
    if (mask) nest_.OpenIf(mask(j));
    TVMVM_CHECK_OK(product_.store(nest_, row, column + j, Load(tile_, product_.accumulator, source + j)));
    if (mask) nest_.Close();
    nest_.Close();
    return {};
  }

  const MatrixProduct& product_;
  const TileAt& at_;
  uint32_t tile_;
  bool all_exist_;
  Nest& nest_;
};

}  // namespace

Status StoreResults(const MatrixProduct& product, const TileAt& at, uint32_t tile, bool all_exist,
                    Nest& nest) {
  return ResultStorer(product, at, tile, all_exist, nest).Run();
}

Expr IsStoredDirectly(const MatrixProduct& product, const TileAt& at, bool all_exist, int64_t least_rows) {
  constexpr int64_t kMostDepth = 128;  // beyond which it saves too little for what it takes to compile
  const bool may_be = product.has_simple_store && !product.runs && product.right.form != RightForm::kCoded &&
                      product.steps().constant().value_or(INT64_MAX) <= kMostDepth;
  if (!may_be) return BoolConstant(false);
  const int64_t width = at.panels * kPanelColumns;
  Expr is_whole = BoolConstant(true);
  if (!all_exist && !FloorMod(product.columns, width).IsConstant(0))
    is_whole = LessEqual(at.first_column + IntConstant(width), DimValue(product.columns));
  return least_rows > 1 ? And(is_whole, LessEqual(IntConstant(least_rows), at.height)) : is_whole;
}

Status When(const Expr& condition, Nest& nest, const std::function<Status()>& body) {
  if (condition.op() == ExprOp::kConstant) return condition->integer != 0 ? body() : Status();
  nest.OpenIf(condition);
  TVMVM_CHECK_OK(body());
  nest.Close();
  return {};
}

Status StoreSums(const MatrixProduct& product, const TileAt& at, const TileSums& sums, uint32_t tile,
                 Nest& nest) {
  const int64_t width = at.panels * kPanelColumns;
  const auto for_vectors =
      [&](const std::function<Status(int64_t first, const Expr& lane)>& store) -> Status {
    for (int64_t first = 0; first < sums.rows * width; first += sums.lanes) {
      TVMVM_CHECK_OK(store(first, Variable(nest.Open("lane", IntConstant(0), IntConstant(sums.lanes),
                                                     LoopKind::kVectorized))));
      nest.Close();
    }
    return {};
  };
  const auto sum = [&](int64_t first, const Expr& lane) {
    return Load(sums.registers, product.accumulator, IntConstant(first) + lane);
  };
  TVMVM_CHECK_OK(When(sums.is_direct, nest, [&] {
    return for_vectors([&](int64_t first, const Expr& lane) {
      const Expr row = at.first_row + IntConstant(first / width);
      return product.store(nest, row, at.first_column + IntConstant(first % width) + lane, sum(first, lane));
    });
  }));
  return When(Unary(ExprOp::kNot, sums.is_direct), nest, [&] {
    return for_vectors([&](int64_t first, const Expr& lane) {
      nest.Add(Store(tile, IntConstant(first) + lane, sum(first, lane)));
      return Status();
    });
  });
}

Status StorePart(const MatrixProduct& product, const SumsOfParts& parts, const TileAt& at, uint32_t tile,
                 Nest& nest) {
  // Calls `body` with the places of 16 neighbours in the tile and in the sums.
  auto for_sums = [&](const Expr& condition, auto&& body) {
    nest.OpenIf(condition);
    Expr r = Variable(nest.Open("r", IntConstant(0), at.height));
    Expr in_tile = nest.Let("in_tile", r * IntConstant(at.panels * kPanelColumns));
    Expr in_sums = nest.Let("in_sums", (at.first_row - parts.first_row + r) * IntConstant(parts.width) +
                                           at.first_column - parts.first_column);
    for (int panel = 0; panel < at.panels; ++panel) {
      Expr j = IntConstant(panel * kPanelColumns) +
               Variable(nest.Open("j", IntConstant(0), IntConstant(kPanelColumns), LoopKind::kVectorized));
      body(in_tile + j, in_sums + j);
      nest.Close();
    }
    nest.Close();
    nest.Close();
  };
  auto load = [&](uint32_t buffer, const Expr& place) { return Load(buffer, product.accumulator, place); };
  for_sums(Less(IntConstant(0), parts.part.begin), [&](const Expr& in_tile, const Expr& in_sums) {
    nest.Add(Store(tile, in_tile, load(tile, in_tile) + load(parts.sums, in_sums)));
  });
  const Expr depth = DimValue(product.steps());
  for_sums(Less(parts.part.end, depth), [&](const Expr& in_tile, const Expr& in_sums) {
    nest.Add(Store(parts.sums, in_sums, load(tile, in_tile)));
  });
  nest.OpenIf(LessEqual(depth, parts.part.end));
  TVMVM_CHECK_OK(StoreResults(product, at, tile, false, nest));
  nest.Close();
  return {};
}

}  // namespace tvmvm::tensor
