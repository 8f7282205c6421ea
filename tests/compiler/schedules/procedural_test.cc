// Operators that build their own loops, against plain C++.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>

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

// Rows that are cut into blocks, and steps across blocks of columns.
TEST(Scan, LongRowsGoOnAcrossBlocks) {
  for (const char* kind : {"sum", "product"}) {
    for (bool is_exclusive : {false, true}) {
      for (bool is_reverse : {false, true}) {
        GroupBuilder b;
        b.Add("scan", {b.Input(DType::kI64, {N(), M(), K()})},
              {{"axis", ir::Dim(1)},
               {"kind", std::string(kind)},
               {"exclusive", int64_t{is_exclusive}},
               {"reverse", int64_t{is_reverse}}});
        ScheduledGroup scheduled(b.function(), b.FinishAlone());
        for (auto [n, m, k] : {std::tuple{2, 40'000, 1}, std::tuple{1, 32'768, 1}, std::tuple{1, 33'001, 1},
                               std::tuple{2, 7, 1500}}) {
          std::mt19937 random(3);
          HostTensor input = HostTensor::Random(DType::kI64, {n, m, k}, random);
          std::vector<int64_t> exact(static_cast<size_t>(input.count()));
          for (int64_t row = 0; row < n; ++row) {
            for (int64_t column = 0; column < k; ++column) {
              int64_t sum = kind == std::string("sum") ? 0 : 1;
              for (int64_t step = 0; step < m; ++step) {
                int64_t at = (row * m + (is_reverse ? m - 1 - step : step)) * k + column;
                int64_t x = input.at(at).integer | 1;  // no product is 0
                input.set(at, {x, 0});
                auto next = static_cast<int64_t>(kind == std::string("sum")
                                                     ? static_cast<uint64_t>(sum) + static_cast<uint64_t>(x)
                                                     : static_cast<uint64_t>(sum) * static_cast<uint64_t>(x));
                exact[static_cast<size_t>(at)] = is_exclusive ? sum : next;
                sum = next;
              }
            }
          }
          for (auto& outputs : scheduled.Run({input}, {{"n", n}, {"m", m}, {"k", k}}))
            for (int64_t i = 0; i < input.count(); ++i)
              ASSERT_EQ(outputs[0].at(i).integer, exact[static_cast<size_t>(i)]) << kind << " " << i;
        }
      }
    }
  }
}

TEST(Compact, CountsInBlocks) {
  GroupBuilder b;
  b.Add("compact", {b.Input(DType::kBool, {N()})}, {{"count", K()}});
  ScheduledGroup scheduled(b.function(), b.FinishAlone());
  for (int64_t n : {4096, 4097, 70'001}) {
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

// Many updates of few places, in order: large enough to have a grid.
TEST(Scatter, LargeOnesKeepTheOrderOfUpdates) {
  for (const char* reduction : {"none", "add", "mul", "max"}) {
    for (int64_t axis : {0, 1, 2, -1}) {  // -1: by tuples
      GroupBuilder b;
      const bool takes_tuples = axis < 0;
      const ir::Dims dims{K(), N(), M()};
      ValueId x = b.Input(DType::kF32, {5, N(), M()}),
              i = b.Input(DType::kI64, takes_tuples ? ir::Dims{K(), 1} : dims),
              u = b.Input(DType::kF32, dims);
      b.Add(takes_tuples ? "scatter_nd" : "scatter_elements", {x, i, u},
            {{"axis", axis}, {"reduction", std::string(reduction)}});
      ScheduledGroup scheduled(b.function(), b.FinishAlone());
      for (auto [n, m] : {std::pair{40, 70}, std::pair{5, 1500}}) {
        std::mt19937 random(3);
        const int64_t k = axis == 0 || takes_tuples ? 9 : 4, sizes[] = {5, n, m};
        HostTensor data = HostTensor::Random(DType::kF32, {5, n, m}, random),
                   updates = HostTensor::Random(DType::kF32, {k, n, m}, random),
                   index = HostTensor::Zeros(DType::kI64, takes_tuples ? std::vector<int64_t>{k, 1}
                                                                       : std::vector<int64_t>{k, n, m});
        for (int64_t at = 0; at < index.count(); ++at)
          index.set(at, {static_cast<int64_t>(random() % 5) - 2, 0});
        std::vector<double> wanted = Numbers(data);
        for (int64_t at = 0; at < updates.count(); ++at) {
          int64_t place[] = {at / (n * m), at / m % n, at % m};
          const int64_t along = takes_tuples ? 0 : axis;
          int64_t chosen = index.at(takes_tuples ? place[0] : at).integer;
          place[along] = chosen < 0 ? chosen + sizes[along] : chosen;
          double& to = wanted[static_cast<size_t>((place[0] * n + place[1]) * m + place[2])];
          const double value = updates.at(at).number;
          const std::string kind = reduction;
          to = kind == "none"  ? value
               : kind == "add" ? static_cast<float>(to + value)
               : kind == "mul" ? static_cast<float>(to * value)
                               : std::max(to, value);
        }
        for (auto& outputs : scheduled.Run({data, index, updates}, {{"n", n}, {"m", m}, {"k", k}}))
          ExpectNear(outputs[0], wanted, 0);
      }
    }
  }
}

}  // namespace
}  // namespace tvmvm::tensor
