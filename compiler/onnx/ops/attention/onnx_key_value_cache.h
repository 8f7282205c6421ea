// Caches of keys and values that a step of a sequence extends: [batch, heads, room, size].
#pragma once

#include "compiler/onnx/ops/onnx_op.h"

namespace tvmvm::ir {

struct CacheStep {
  ValueId key, value;            // the new entries
  ValueId past_key, past_value;  // the cache so far, if any
  ValueId past;                  // [batch] i64: how many entries of the sequence there were before
  ValueId fresh;                 // [batch] i64: how many of the new entries count
  Dim total;                     // the longest sequence with its new entries
};

struct KeyValueCache {
  ValueId key, value;                  // what is attended
  ValueId positions;                   // [batch, entries] i64: where in the sequence each of them stands, -1:
                                       // nowhere. Not valid: in order
  ValueId present_key, present_value;  // the cache after the step
};

// No cache: the new entries are all there are.
KeyValueCache WithoutPast(OpBuilder& b, const CacheStep& step);

// A cache that holds whole sequences; one that is too short grows to `total`.
KeyValueCache GrowingCache(OnnxContext& c, const CacheStep& step);

// The same with entries of 8 bits (i8), or of 4 bits in u8. Scales are one number or one a head and element.
KeyValueCache QuantizedCache(OnnxContext& c, const CacheStep& step, ValueId key_scale, ValueId value_scale,
                             int64_t bits);

// A cache of fixed room that holds the last entries of each sequence in order, at least `window` of them: it
// gives up room - window + 1 of them whenever it is full.
KeyValueCache WindowCache(OpBuilder& b, const CacheStep& step, int64_t window);

}  // namespace tvmvm::ir
