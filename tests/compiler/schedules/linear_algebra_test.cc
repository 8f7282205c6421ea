// Determinants and inverses by their definitions.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/compiler/schedules/group_harness.h"

namespace tvmvm::tensor {
namespace {

// The sum over all permutations.
double DeterminantOf(const HostTensor& x, int64_t matrix, int64_t n) {
  std::vector<int64_t> order(static_cast<size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  double sum = 0;
  do {
    double product = 1;
    for (int64_t i = 0; i < n; ++i) {
      product *= x.at((matrix * n + i) * n + order[i]).number;
      for (int64_t j = 0; j < i; ++j)
        if (order[j] > order[i]) product = -product;
    }
    sum += product;
  } while (std::next_permutation(order.begin(), order.end()));
  return sum;
}

TEST(LinearAlgebra, Determinants) {
  GroupBuilder b;
  b.Add("determinant", {b.Input(DType::kF64, {2, N(), N()})});
  ScheduledGroup scheduled(b.function(), b.FinishAlone());
  for (int64_t n : {0, 1, 2, 3, 5}) {
    std::mt19937 random(3);
    HostTensor x = HostTensor::Random(DType::kF64, {2, n, n}, random);
    for (auto& outputs : scheduled.Run({x}, {{"n", n}}))
      for (int64_t matrix : {0, 1}) {
        double wanted = DeterminantOf(x, matrix, n);
        EXPECT_NEAR(outputs[0].at(matrix).number, wanted, 1e-9 * std::max(1.0, std::fabs(wanted))) << n;
      }
  }
}

TEST(LinearAlgebra, InversesTimesTheMatrixAreOne) {
  GroupBuilder b;
  b.Add("inverse", {b.Input(DType::kF64, {2, N(), N()})});
  ScheduledGroup scheduled(b.function(), b.FinishAlone());
  for (int64_t n : {0, 1, 4, 17}) {
    std::mt19937 random(3);
    HostTensor x = HostTensor::Random(DType::kF64, {2, n, n}, random);
    for (auto& outputs : scheduled.Run({x}, {{"n", n}}))
      for (int64_t row = 0; row < 2 * n; ++row)
        for (int64_t column = 0; column < n; ++column) {
          double sum = 0;
          for (int64_t k = 0; k < n; ++k)
            sum += x.at(row * n + k).number * outputs[0].at((row / n * n + k) * n + column).number;
          ASSERT_NEAR(sum, row % n == column ? 1 : 0, 1e-7) << n;
        }
  }
}

}  // namespace
}  // namespace tvmvm::tensor
