// TfIdfVectorizer: how often each n-gram of a list is in each row of tokens.
#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "compiler/onnx/ops/ml/onnx_ml.h"
#include "compiler/onnx/ops/onnx_families.h"

namespace tvmvm::ir {
namespace {

using tensor::ExprOp;
using tensor::ReduceKind;

// The n-grams of one length in the pool.
struct Ngrams {
  int64_t length = 1;
  int64_t begin = 0;             // of the first token in the pool
  int64_t first = 0;             // number of the first n-gram among those of all lengths
  std::vector<int64_t> numbers;  // those that count, from `first` on: of equal ones the last
};

struct Pool {
  std::vector<int64_t> tokens;  // equal numbers for equal tokens
  std::vector<std::string> texts;
  bool is_text = false;
};

Pool PoolOf(OnnxContext& c) {
  Pool pool;
  const OnnxAttribute* texts = c.Attr("pool_strings");
  pool.is_text = texts != nullptr && !texts->texts.empty();
  pool.tokens = c.Ints("pool_int64s");
  if (pool.is_text == !pool.tokens.empty()) {
    c.b.Fail(Code::kInvalidArgument, "one of the attributes 'pool_int64s' and 'pool_strings' is wanted");
    return pool;
  }
  if (!pool.is_text) return pool;
  pool.texts = texts->texts;
  std::map<std::string_view, int64_t> numbers;
  for (const std::string& text : pool.texts)
    pool.tokens.push_back(numbers.emplace(text, static_cast<int64_t>(numbers.size())).first->second);
  return pool;
}

// The numbers of the n-grams that no later one equals.
std::vector<int64_t> LastOfEquals(const std::vector<int64_t>& tokens, int64_t begin, int64_t length,
                                  int64_t count) {
  std::map<std::vector<int64_t>, int64_t> last;
  for (int64_t k = 0; k < count; ++k) {
    auto from = tokens.begin() + begin + k * length;
    last.insert_or_assign(std::vector<int64_t>(from, from + length), k);
  }
  std::vector<int64_t> numbers;
  for (const auto& [ngram, number] : last) numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

std::vector<Ngrams> NgramsOf(OnnxContext& c, const Pool& pool, int64_t shortest, int64_t longest) {
  std::vector<int64_t> begins = c.Ints("ngram_counts");
  auto size = static_cast<int64_t>(pool.tokens.size());
  std::vector<Ngrams> all;
  int64_t first = 0;
  for (size_t i = 0; i < begins.size(); ++i) {
    auto length = static_cast<int64_t>(i) + 1;
    int64_t end = i + 1 < begins.size() ? begins[i + 1] : size;
    if (begins[i] < 0 || end < begins[i] || end > size) {
      c.b.Fail(Code::kInvalidArgument,
               fmt::format("n-grams of length {} from {} to {} of {} tokens", length, begins[i], end, size));
      return {};
    }
    int64_t count = (end - begins[i]) / length;
    if (length >= shortest && length <= longest && count > 0)
      all.push_back({length, begins[i], first, LastOfEquals(pool.tokens, begins[i], length, count)});
    first += count;
  }
  return all;
}

// How often each n-gram is in each row, with `gap` places from one of its tokens to the next: i64[rows,
// n-grams].
ValueId CountWithGap(OpBuilder& b, ValueId x, ValueId pool, const Ngrams& ngrams, int64_t gap) {
  auto count = static_cast<int64_t>(ngrams.numbers.size());
  Dim starts = Max(b.dim(x, 1) - Dim((ngrams.length - 1) * gap), 0);
  ValueId hits;
  for (int64_t k = 0; k < ngrams.length; ++k) {
    std::vector<int64_t> places;
    for (int64_t number : ngrams.numbers) places.push_back(ngrams.begin + number * ngrams.length + k);
    ValueId token = b.Reshape(b.Gather(pool, b.Constant(IntegerList(places)), 0), {count, 1});
    // Where a row is too short there is no start, and any place will do for the slice to begin.
    ValueId window = b.SliceAxis(x, 1, Min(Dim(k * gap), b.dim(x, 1)), starts);
    ValueId hit = b.Binary(ExprOp::kEqual, b.Unsqueeze(window, {1}), token);
    hits = hits.valid() ? b.Binary(ExprOp::kAnd, hits, hit) : hit;
  }
  return b.Squeeze(b.Reduce(ReduceKind::kSum, b.Cast(hits, DType::kI64), {2}), {2});
}

// Without and with up to `skips` tokens left out; single tokens have none between them.
ValueId Count(OpBuilder& b, ValueId x, ValueId pool, const Ngrams& ngrams, int64_t skips) {
  ValueId sum;
  for (int64_t gap = 1; gap <= (ngrams.length == 1 ? 1 : skips + 1) && !b.failed(); ++gap) {
    ValueId count = CountWithGap(b, x, pool, ngrams, gap);
    sum = sum.valid() ? b.Add(sum, count) : count;
  }
  return sum;
}

// What each column gets: the counts of the n-grams whose index it is. `columns[i]` is that of counts[:, i].
ValueId ToColumns(OpBuilder& b, ValueId counts, const std::vector<int64_t>& columns, int64_t width) {
  auto none = static_cast<int64_t>(columns.size());
  std::vector<std::vector<int64_t>> rounds;  // the first n-gram of each column, the second, ...
  std::vector<size_t> used(static_cast<size_t>(width));
  for (size_t i = 0; i < columns.size(); ++i) {
    size_t round = used[static_cast<size_t>(columns[i])]++;
    if (round == rounds.size()) rounds.emplace_back(static_cast<size_t>(width), none);
    rounds[round][static_cast<size_t>(columns[i])] = static_cast<int64_t>(i);
  }
  counts = b.Pad(counts, b.ScalarInt(DType::kI64, 0), {0, 0}, {0, 1});
  ValueId sum;
  for (const std::vector<int64_t>& places : rounds) {
    ValueId part = b.Gather(counts, b.Constant(IntegerList(places)), 1);
    sum = sum.valid() ? b.Add(sum, part) : part;
  }
  return sum;
}

// Weights go with the columns of the result.
ValueId Weighted(OnnxContext& c, ValueId counts, int64_t width) {
  OpBuilder& b = c.b;
  std::string mode = c.Text("mode", "");
  std::vector<double> weights = c.Floats("weights");
  ValueId y = b.Cast(counts, DType::kF32);
  if (mode == "TF") return y;
  if (mode != "IDF" && mode != "TFIDF")
    return b.Fail(Code::kInvalidArgument, fmt::format("the attribute 'mode' is '{}'", mode));
  if (mode == "IDF") y = b.Cast(b.Binary(ExprOp::kLess, b.ScalarInt(DType::kI64, 0), counts), DType::kF32);
  if (weights.empty()) return y;
  if (static_cast<int64_t>(weights.size()) < width)
    return b.Fail(Code::kInvalidArgument, fmt::format("{} weights for {} columns", weights.size(), width));
  weights.resize(static_cast<size_t>(width));
  return b.Mul(y, NumberConstant(b, weights, DType::kF32));
}

struct Lengths {
  int64_t shortest, longest, skips;
};

std::optional<Lengths> LengthsOf(OnnxContext& c) {
  constexpr int64_t kMost = 1000;  // each skip is a pass over the rows
  Lengths lengths{c.Int("min_gram_length", 1), c.Int("max_gram_length", 1), c.Int("max_skip_count", 0)};
  if (lengths.shortest >= 1 && lengths.longest >= lengths.shortest && lengths.skips >= 0 &&
      lengths.skips <= kMost)
    return lengths;
  c.b.Fail(Code::kInvalidArgument, fmt::format("n-grams of length {} to {} with up to {} skips",
                                               lengths.shortest, lengths.longest, lengths.skips));
  return std::nullopt;
}

// The columns of n-grams that count; records an error where the indexes are too few or below 0.
std::vector<int64_t> ColumnsOf(OnnxContext& c, const std::vector<Ngrams>& all,
                               const std::vector<int64_t>& indexes) {
  std::vector<int64_t> columns;
  for (const Ngrams& ngrams : all) {
    for (int64_t number : ngrams.numbers) {
      int64_t at = ngrams.first + number;
      if (at >= static_cast<int64_t>(indexes.size())) {
        c.b.Fail(Code::kInvalidArgument, fmt::format("{} indexes for more n-grams", indexes.size()));
        return {};
      }
      columns.push_back(indexes[static_cast<size_t>(at)]);
    }
  }
  return columns;
}

// Tokens as rows of numbers, and the pool in the same numbers.
std::optional<std::pair<ValueId, ValueId>> Tokens(OnnxContext& c, const Pool& pool) {
  OpBuilder& b = c.b;
  ValueId x = c.in(0);
  if (b.rank(x) > 2 || pool.is_text != (b.dtype(x) == DType::kString)) {
    b.Fail(Code::kInvalidArgument, fmt::format("the input is {}, wanted {} of rank 1 or 2",
                                               b.type(x).ToString(), pool.is_text ? "strings" : "integers"));
    return std::nullopt;
  }
  int rank = b.rank(x);
  ValueId numbers;
  if (pool.is_text) {
    std::vector<ValueId> ids = StringIds(b, {x, b.Constant(StringList(pool.texts))});
    if (b.failed()) return std::nullopt;
    x = ids[0];
    numbers = ids[1];
  } else {
    x = b.Cast(x, DType::kI64);
    numbers = b.Constant(IntegerList(pool.tokens));
  }
  if (rank < 2) x = b.Reshape(x, {1, Product(b.dims(x))});
  return std::pair(x, numbers);
}

void TfIdfVectorizer(OnnxContext& c) {
  constexpr int64_t kMostColumns = int64_t{1} << 24;
  OpBuilder& b = c.b;
  auto lengths = LengthsOf(c);
  Pool pool = PoolOf(c);
  if (!lengths || b.failed()) return;
  std::vector<Ngrams> all = NgramsOf(c, pool, lengths->shortest, lengths->longest);
  std::vector<int64_t> indexes = c.Ints("ngram_indexes");
  auto [least, most] = std::minmax_element(indexes.begin(), indexes.end());
  if (indexes.empty() || *least < 0 || *most >= kMostColumns) {
    b.Fail(Code::kInvalidArgument, "the attribute 'ngram_indexes' has no indexes, or some out of range");
    return;
  }
  int64_t width = *most + 1;
  std::vector<int64_t> columns = ColumnsOf(c, all, indexes);
  auto tokens = Tokens(c, pool);
  if (!tokens || b.failed()) return;
  ValueId counts;
  std::vector<ValueId> parts;
  for (const Ngrams& ngrams : all)
    parts.push_back(Count(b, tokens->first, tokens->second, ngrams, lengths->skips));
  if (b.failed()) return;
  if (parts.empty())
    counts = b.Expand(b.ScalarInt(DType::kI64, 0), {b.dim(tokens->first, 0), width});
  else
    counts = ToColumns(b, b.Concat(parts, 1), columns, width);
  ValueId y = Weighted(c, counts, width);
  c.Out(0, b.failed() || b.rank(c.in(0)) == 2 ? y : b.Squeeze(y, {0}));
}

constexpr OnnxOp kRows[] = {
    {"", "TfIdfVectorizer", 9, kLatest, 1, 1,
     "max_gram_length max_skip_count min_gram_length mode ngram_counts ngram_indexes pool_int64s "
     "pool_strings "
     "weights",
     TfIdfVectorizer, kIntegers | kStrings},
};

}  // namespace

std::span<const OnnxOp> OnnxNgramRows() { return kRows; }

}  // namespace tvmvm::ir
