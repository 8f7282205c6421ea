// Operators that build their own loops, against plain C++.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/compiler/schedules/group_harness.h"

namespace tvmvm::tensor {
namespace {

using ir::Dim;
using ir::Dims;
using ir::ValueId;

std::vector<double> Numbers(const HostTensor& tensor) {
  std::vector<double> numbers;
  for (int64_t i = 0; i < tensor.count(); ++i) {
    numbers.push_back(IsFloat(tensor.dtype) ? tensor.at(i).number
                                            : static_cast<double>(tensor.at(i).integer));
  }
  return numbers;
}

void ExpectNear(const HostTensor& given, const std::vector<double>& wanted, double tolerance = 1e-5) {
  std::vector<double> numbers = Numbers(given);
  ASSERT_EQ(numbers.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(numbers[i], wanted[i], tolerance) << i;
}

TEST(Scan, SumsAlongAnAxisKnownAtRunTime) {
  for (bool is_exclusive : {false, true}) {
    for (bool is_reverse : {false, true}) {
      GroupBuilder b;
      ValueId x = b.Input(DType::kF32, {N(), M(), 3});
      b.Add("scan", {x},
            {{"axis", K()},
             {"kind", std::string("sum")},
             {"exclusive", int64_t{is_exclusive}},
             {"reverse", int64_t{is_reverse}}});
      ScheduledGroup scheduled(b.function(), b.FinishAlone());
      for (int64_t axis : {0, 1, 2}) {
        for (int64_t m : {0, 1, 21}) {
          std::mt19937 random(3);
          HostTensor input = HostTensor::Random(DType::kF32, {4, m, 3}, random);
          std::vector<double> data = Numbers(input), wanted(data.size());
          int64_t sizes[] = {4, m, 3}, inner = axis == 0 ? m * 3 : axis == 1 ? 3 : 1;
          for (int64_t i = 0; i < input.count(); ++i) {
            int64_t place = i / inner % sizes[axis];
            for (int64_t j = 0; j < sizes[axis]; ++j) {
              bool counts = is_reverse ? j > place : j < place;
              if (counts || (j == place && !is_exclusive)) wanted[i] += data[i + (j - place) * inner];
            }
          }
          for (auto& outputs : scheduled.Run({input}, {{"n", 4}, {"m", m}, {"k", axis}}))
            ExpectNear(outputs[0], wanted);
        }
      }
    }
  }
}

TEST(TopK, SortsStably) {
  for (bool wants_largest : {true, false}) {
    GroupBuilder b;
    ValueId x = b.Input(DType::kI32, {2, N(), 3});
    b.Add("topk", {x}, {{"axis", int64_t{1}}, {"k", K()}, {"largest", int64_t{wants_largest}}});
    ScheduledGroup scheduled(b.function(), b.FinishAlone());
    for (int64_t n : {0, 1, 2, 7, 64, 100}) {
      for (int64_t k : {int64_t{0}, std::min<int64_t>(n, 1), n / 2, n}) {
        std::mt19937 random(3);
        HostTensor input = HostTensor::Random(DType::kI32, {2, n, 3}, random);
        std::vector<double> values(2 * k * 3), indices(2 * k * 3);
        for (int64_t row = 0; row < 6; ++row) {
          auto key = [&](int64_t i) { return input.at((row / 3 * n + i) * 3 + row % 3).integer; };
          std::vector<int64_t> order(n);
          std::iota(order.begin(), order.end(), 0);
          std::stable_sort(order.begin(), order.end(), [&](int64_t p, int64_t q) {
            return wants_largest ? key(p) > key(q) : key(p) < key(q);
          });
          for (int64_t i = 0; i < k; ++i) {
            values[(row / 3 * k + i) * 3 + row % 3] = static_cast<double>(key(order[i]));
            indices[(row / 3 * k + i) * 3 + row % 3] = static_cast<double>(order[i]);
          }
        }
        for (auto& outputs : scheduled.Run({input}, {{"n", n}, {"k", k}})) {
          ExpectNear(outputs[0], values);
          ExpectNear(outputs[1], indices);
        }
      }
    }
  }
}

// Also where the count is not that of the set flags: then nothing is written outside of the result.
TEST(Compact, GivesThePositionsOfSetFlags) {
  GroupBuilder b;
  b.Add("compact", {b.Input(DType::kBool, {N()})}, {{"count", K()}});
  ScheduledGroup scheduled(b.function(), b.FinishAlone());
  for (int64_t n : {0, 1, 5, 100}) {
    std::mt19937 random(3);
    HostTensor flags = HostTensor::Random(DType::kBool, {n}, random);
    std::vector<double> all;
    for (int64_t i = 0; i < n; ++i)
      if (flags.at(i).integer != 0) all.push_back(static_cast<double>(i));
    for (size_t count : {all.size(), all.size() / 2, all.size() + 3}) {
      std::vector<double> wanted = all;
      wanted.resize(count, 0);
      for (auto& outputs : scheduled.Run({flags}, {{"n", n}, {"k", static_cast<int64_t>(count)}}))
        ExpectNear(outputs[0], wanted);
    }
  }
}

TEST(Scatter, ElementsInOrderWithNegativeIndices) {
  for (const char* reduction : {"none", "add", "mul", "min", "max"}) {
    GroupBuilder b;
    ValueId x = b.Input(DType::kF32, {N(), M()}), i = b.Input(DType::kI64, {3, M()}),
            u = b.Input(DType::kF32, {3, M()});
    b.Add("scatter_elements", {x, i, u}, {{"axis", int64_t{0}}, {"reduction", std::string(reduction)}});
    ScheduledGroup scheduled(b.function(), b.FinishAlone());
    std::mt19937 random(3);
    int64_t n = 10, m = 19;
    HostTensor data = HostTensor::Random(DType::kF32, {n, m}, random),
               index = HostTensor::Random(DType::kI64, {3, m}, random);
    HostTensor updates = HostTensor::Random(DType::kF32, {3, m}, random);
    std::vector<double> wanted = Numbers(data);
    for (int64_t k = 0; k < 3 * m; ++k) {
      int64_t row = index.at(k).integer;
      double& place = wanted[((row + n) % n) * m + k % m];
      double value = updates.at(k).number;
      std::string kind = reduction;
      place = kind == "none"  ? value
              : kind == "add" ? place + value
              : kind == "mul" ? place * value
              : kind == "min" ? std::min(place, value)
                              : std::max(place, value);
    }
    for (auto& outputs : scheduled.Run({data, index, updates}, {{"n", n}, {"m", m}}))
      ExpectNear(outputs[0], wanted);
  }
}

TEST(Scatter, SlicesByTuples) {
  GroupBuilder b;
  ValueId x = b.Input(DType::kF32, {N(), 4, M()}), i = b.Input(DType::kI64, {3, 2}),
          u = b.Input(DType::kF32, {3, M()});
  b.Add("scatter_nd", {x, i, u}, {{"reduction", std::string("add")}});
  ScheduledGroup scheduled(b.function(), b.FinishAlone());
  std::mt19937 random(3);
  HostTensor data = HostTensor::Random(DType::kF32, {5, 4, 19}, random),
             updates = HostTensor::Random(DType::kF32, {3, 19}, random);
  HostTensor index = HostTensor::Zeros(DType::kI64, {3, 2});
  const int64_t tuples[] = {4, 1, 0, -1, 4, 1};
  for (int64_t k = 0; k < 6; ++k) index.set(k, {tuples[k], 0});
  std::vector<double> wanted = Numbers(data);
  for (int64_t k = 0; k < 3; ++k) {
    for (int64_t j = 0; j < 19; ++j)
      wanted[(tuples[k * 2] * 4 + (tuples[k * 2 + 1] + 4) % 4) * 19 + j] += updates.at(k * 19 + j).number;
  }
  for (auto& outputs : scheduled.Run({data, index, updates}, {{"n", 5}, {"m", 19}}))
    ExpectNear(outputs[0], wanted);
}

}  // namespace
}  // namespace tvmvm::tensor
