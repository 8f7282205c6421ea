// Tiles that are transposed in registers: networks of shuffles of two vectors each.
#include <bit>

#include "compiler/codegen/llvm/kernel_printer.h"

namespace tvmvm::codegen {
namespace {

using Value = llvm::Value;
using Values = std::vector<Value*>;

constexpr int kChunkBits = 128;  // what shuffles move freely at every level

}  // namespace

// Few rows become vectors of `columns` elements, others vectors of `rows`.
void KernelPrinter::EmitTranspose(const tensor::Stmt& s) {
  const int bits = DTypeBits(kernel_.buffers[s.from].dtype), chunk = kChunkBits / bits;
  llvm::Type* element = builder_.getIntNTy(static_cast<unsigned>(bits));
  auto vector_at = [&](uint32_t buffer, int at) {
    return builder_.CreateGEP(element, buffers_[buffer], builder_.getInt64(static_cast<uint64_t>(at)));
  };
  const llvm::Align alignment(static_cast<uint64_t>(std::max(1, bits / 8)));
  emitted_.clear();
  Values rows;
  for (int r = 0; r < s.rows; ++r)
    rows.push_back(builder_.CreateAlignedLoad(WithLanes(element, s.columns), vector_at(s.from, r * s.columns),
                                              alignment));
  constexpr int kFewRows = 4;
  const bool is_joined = s.rows <= kFewRows && s.columns > s.rows;
  const bool has_blocks = !is_joined && chunk > 1 && s.rows % chunk == 0 && s.columns % chunk == 0;
  const Values turned = has_blocks ? TransposeBlocks(rows, s.columns, chunk) : Interleave(rows, s.columns);
  int at = 0;
  for (Value* vector : turned) {
    builder_.CreateAlignedStore(vector, vector_at(s.buffer, at), alignment);
    at += LanesOf(vector);
  }
}

// Blocks of chunk x chunk elements within chunks of vectors, then the chunks.
Values KernelPrinter::TransposeBlocks(Values rows, int columns, int chunk) {
  const int groups = static_cast<int>(rows.size()) / chunk, chunks = columns / chunk;
  std::vector<int> low, high;
  for (int first = 0; first < columns; first += chunk) {
    for (int i = 0; i < chunk / 2; ++i) {
      for (int from : {first + i, columns + first + i}) {
        low.push_back(from);
        high.push_back(from + chunk / 2);
      }
    }
  }
  for (int step = 1; step < chunk; step *= 2) {
    Values next(rows.size());
    for (int group = 0; group < groups; ++group) {
      for (int k = 0; k < chunk / 2; ++k) {
        Value *a = rows[group * chunk + k], *b = rows[group * chunk + k + chunk / 2];
        next[group * chunk + 2 * k] = builder_.CreateShuffleVector(a, b, low);
        next[group * chunk + 2 * k + 1] = builder_.CreateShuffleVector(a, b, high);
      }
    }
    rows = std::move(next);
  }
  Values turned(static_cast<size_t>(columns));
  for (int k = 0; k < chunk; ++k) {
    Values parts;
    for (int group = 0; group < groups; ++group) parts.push_back(rows[group * chunk + k]);
    const Values whole = TransposeChunks(parts, chunks, chunk);
    for (int i = 0; i < chunks; ++i) turned[i * chunk + k] = whole[i];
  }
  return turned;
}

// Vector i of the result: chunk i of every part.
Values KernelPrinter::TransposeChunks(const Values& parts, int chunks, int chunk) {
  auto pick = [&](Value* a, Value* b, std::initializer_list<int> wanted) {
    std::vector<int> lanes;
    for (int from : wanted)
      for (int i = 0; i < chunk; ++i) lanes.push_back(from * chunk + i);
    return builder_.CreateShuffleVector(a, b, lanes);
  };
  const size_t count = parts.size();
  if (count == 1 && chunks == 1) return parts;
  if (count == 2 && chunks == 2) return {pick(parts[0], parts[1], {0, 2}), pick(parts[0], parts[1], {1, 3})};
  if (count == 4 && chunks == 4) {
    Values halves;  // of the first two parts, of the others
    for (int i : {0, 2}) {
      halves.push_back(pick(parts[i], parts[i + 1], {0, 1, 4, 5}));
      halves.push_back(pick(parts[i], parts[i + 1], {2, 3, 6, 7}));
    }
    Values turned;
    for (int i : {0, 1}) {
      turned.push_back(pick(halves[i], halves[i + 2], {0, 2, 4, 6}));
      turned.push_back(pick(halves[i], halves[i + 2], {1, 3, 5, 7}));
    }
    return turned;
  }
  Values turned;
  for (int i = 0; i < chunks; ++i) {
    Value* whole = nullptr;
    for (Value* part : parts) {
      Value* one = pick(part, part, {i});
      whole = whole == nullptr ? one : Joined(whole, one);
    }
    turned.push_back(whole);
  }
  return turned;
}

// The lanes of one vector behind those of another one.
Value* KernelPrinter::Joined(Value* a, Value* b) {
  const int first = LanesOf(a), all = first + LanesOf(b);
  std::vector<int> widen, join;
  for (int i = 0; i < all; ++i) {
    widen.push_back(i < LanesOf(b) ? i : -1);
    join.push_back(i);
  }
  if (LanesOf(a) == LanesOf(b)) return builder_.CreateShuffleVector(a, b, join);
  Value* wide = builder_.CreateShuffleVector(b, widen);
  std::vector<int> keep = join;
  for (int i = first; i < all; ++i) keep[i] = -1;
  Value* base = builder_.CreateShuffleVector(a, keep);
  for (int i = first; i < all; ++i) join[i] = all + i - first;
  return builder_.CreateShuffleVector(base, wide, join);
}

// The first element of each row, the second of each, and so on.
Values KernelPrinter::Interleave(Values rows, int columns) {
  const int count = static_cast<int>(rows.size());
  if (std::has_single_bit(static_cast<unsigned>(count)) && columns % 2 == 0) {
    std::vector<int> low, high;
    for (int i = 0; i < columns / 2; ++i) {
      for (int from : {i, columns + i}) {
        low.push_back(from);
        high.push_back(from + columns / 2);
      }
    }
    for (int step = 1; step < count; step *= 2) {
      Values next;
      for (int k = 0; k < count / 2; ++k) {
        next.push_back(builder_.CreateShuffleVector(rows[k], rows[k + count / 2], low));
        next.push_back(builder_.CreateShuffleVector(rows[k], rows[k + count / 2], high));
      }
      rows = std::move(next);
    }
    return rows;
  }
  Values turned;
  for (int first = 0; first < count * columns; first += columns) {
    Value* vector = llvm::PoisonValue::get(rows[0]->getType());
    for (int r = 0; r < count; ++r) {
      std::vector<int> lanes;
      for (int i = 0; i < columns; ++i) {
        const bool is_here = (first + i) % count == r;
        lanes.push_back(is_here ? columns + (first + i) / count : (first + i) % count < r ? i : -1);
      }
      vector = builder_.CreateShuffleVector(vector, rows[r], lanes);
    }
    turned.push_back(vector);
  }
  return turned;
}

}  // namespace tvmvm::codegen
