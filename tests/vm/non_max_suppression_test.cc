// NonMaxSuppression, with results stated by the ONNX documentation's examples, and against a plain version.
#include <gmock/gmock.h>

#include <random>

#include "tests/vm/host_program.h"

namespace tvmvm {
namespace {

using namespace testing;  // NOLINT
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::string_view kSignature =
    R"(("boxes": f32[*], "scores": f32[*], "overlap": f32[*], "least": f32[*]) -> ("y": i64[*]))";

struct Options {
  int form = 0;
  int64_t most = 3;
  float overlap = 0.5f;
  float score = 0;
};

std::string Body(const Options& options) {
  return "i0 = const " + std::to_string(options.form) + "\n i1 = const " + std::to_string(options.most) +
         "\n [], [r4] = host non_max_suppression, [i0, i1], [r0, r1, r2, r3]\n return [], [r4]";
}

std::vector<Tensor> Inputs(const Tensor& boxes, const Tensor& scores, const Options& options) {
  return {boxes, scores, Shaped(Floats({options.overlap}), Shape{}), Floats({options.score})};
}

std::string SelectError(const Tensor& boxes, const Tensor& scores, const Options& options,
                        const Limits& limits = {}) {
  return RunHostError(kSignature, Body(options), Inputs(boxes, scores, options), limits);
}

std::vector<int64_t> Select(const Tensor& boxes, const Tensor& scores, const Options& options) {
  auto outputs = RunHost(kSignature, Body(options), Inputs(boxes, scores, options));
  if (outputs.empty()) return {-1};
  EXPECT_EQ(outputs[0].shape(), (Shape{outputs[0].element_count() / 3, 3}));
  return ToInts(outputs[0]);
}

const std::vector<float> kBoxes = {0, 0,    1, 1,    0, 0.1f,  1, 1.1f,  0, -0.1f, 1, 0.9f,
                                   0, 10.f, 1, 11.f, 0, 10.1f, 1, 11.1f, 0, 100.f, 1, 101.f};
const std::vector<float> kScores = {0.9f, 0.75f, 0.6f, 0.95f, 0.5f, 0.3f};
Tensor Boxes() { return Shaped(Floats(kBoxes), Shape{1, 6, 4}); }
Tensor Scores() { return Shaped(Floats(kScores), Shape{1, 1, 6}); }

TEST(NonMaxSuppression, AsDocumented) {
  EXPECT_THAT(Select(Boxes(), Scores(), {}), ElementsAre(0, 0, 3, 0, 0, 0, 0, 0, 5));
  EXPECT_THAT(Select(Boxes(), Scores(), {.score = 0.4f}), ElementsAre(0, 0, 3, 0, 0, 0));
  EXPECT_THAT(Select(Boxes(), Scores(), {.most = 2}), ElementsAre(0, 0, 3, 0, 0, 0));
  EXPECT_THAT(Select(Boxes(), Scores(), {.most = 0}), IsEmpty());
  EXPECT_THAT(Select(Boxes(), Scores(), {.most = INT64_MAX, .score = 0.9f}),
              ElementsAre(0, 0, 3));  // strictly above
}

TEST(NonMaxSuppression, CornersMayBeFlippedAndBoxesGivenByTheirCenter) {
  const Tensor flipped = Shaped(Floats({1, 1,    0, 0,    0, 0.1f,  1, 1.1f,  0, 0.9f,   1, -0.1f,
                                        0, 10.f, 1, 11.f, 1, 10.1f, 0, 11.1f, 1, 101.0f, 0, 100.f}),
                                Shape{1, 6, 4});
  EXPECT_THAT(Select(flipped, Scores(), {}), ElementsAre(0, 0, 3, 0, 0, 0, 0, 0, 5));
  const Tensor centers = Shaped(Floats({0.5f, 0.5f,  1, 1, 0.5f, 0.6f,  1, 1, 0.5f, 0.4f,   1, 1,
                                        0.5f, 10.5f, 1, 1, 0.5f, 10.6f, 1, 1, 0.5f, 100.5f, 1, 1}),
                                Shape{1, 6, 4});
  EXPECT_THAT(Select(centers, Scores(), {.form = 1}), ElementsAre(0, 0, 3, 0, 0, 0, 0, 0, 5));
}

TEST(NonMaxSuppression, IdenticalBoxesAndEqualScores) {
  std::vector<float> boxes;
  for (int i = 0; i < 10; ++i) boxes.insert(boxes.end(), {0, 0, 1, 1});
  const Tensor scores = Shaped(Floats(std::vector<float>(10, 0.9f)), Shape{1, 1, 10});
  EXPECT_THAT(Select(Shaped(Floats(boxes), Shape{1, 10, 4}), scores, {}), ElementsAre(0, 0, 0));
}

TEST(NonMaxSuppression, BatchesAndClasses) {
  std::vector<float> boxes = kBoxes, scores = kScores;
  boxes.insert(boxes.end(), kBoxes.begin(), kBoxes.end());
  scores.insert(scores.end(), kScores.begin(), kScores.end());
  EXPECT_THAT(Select(Boxes(), Shaped(Floats(scores), Shape{1, 2, 6}), {.most = 2}),
              ElementsAre(0, 0, 3, 0, 0, 0, 0, 1, 3, 0, 1, 0));
  EXPECT_THAT(
      Select(Shaped(Floats(boxes), Shape{2, 6, 4}), Shaped(Floats(scores), Shape{2, 1, 6}), {.most = 2}),
      ElementsAre(0, 0, 3, 0, 0, 0, 1, 0, 3, 1, 0, 0));
}

// Overlaps exactly at the threshold stay.
TEST(NonMaxSuppression, TheThresholdItselfIsNoOverlap) {
  const Tensor boxes = Shaped(Floats({0, 0, 2, 2, 0, 0, 1, 2}), Shape{1, 2, 4});
  const Tensor scores = Shaped(Floats({0.9f, 0.8f}), Shape{1, 1, 2});
  EXPECT_THAT(Select(boxes, scores, {.overlap = 0.5f}), ElementsAre(0, 0, 0, 0, 0, 1));
  EXPECT_THAT(Select(boxes, scores, {.overlap = 0.49f}), ElementsAre(0, 0, 0));
}

// Score by score and box by box, as the specification reads.
std::vector<int64_t> Plain(const std::vector<float>& boxes, const std::vector<float>& scores, int64_t classes,
                           const Options& options) {
  const auto count = static_cast<int64_t>(boxes.size()) / 4;
  auto overlap = [&](int64_t a, int64_t b) {
    const float *p = &boxes[static_cast<size_t>(a) * 4], *q = &boxes[static_cast<size_t>(b) * 4];
    auto side = [&](int k) {
      const float p1 = std::min(p[k], p[k + 2]), p2 = std::max(p[k], p[k + 2]);
      const float q1 = std::min(q[k], q[k + 2]), q2 = std::max(q[k], q[k + 2]);
      return std::array{std::max(0.0f, std::min(p2, q2) - std::max(p1, q1)), p2 - p1, q2 - q1};
    };
    const auto y = side(0), x = side(1);
    const float shared = x[0] * y[0];
    return shared <= 0 ? 0.0f : shared / (x[1] * y[1] + x[2] * y[2] - shared);
  };
  std::vector<int64_t> selected;
  for (int64_t c = 0; c < classes; ++c) {
    const float* score = &scores[static_cast<size_t>(c * count)];
    std::vector<int64_t> order, kept;
    for (int64_t i = 0; i < count; ++i)
      if (score[i] > options.score) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return score[a] > score[b]; });
    for (int64_t i : order) {
      if (static_cast<int64_t>(kept.size()) == options.most) break;
      if (std::any_of(kept.begin(), kept.end(), [&](int64_t k) { return overlap(i, k) > options.overlap; }))
        continue;
      kept.push_back(i);
      selected.insert(selected.end(), {0, c, i});
    }
  }
  return selected;
}

TEST(NonMaxSuppression, LikeThePlainVersion) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> place(0, 20), side(-4, 4), score(-1, 1);
  for (int round = 0; round < 20; ++round) {
    const int64_t count = 1 + static_cast<int64_t>(random() % 1000), classes = 3;
    std::vector<float> boxes, scores;
    for (int64_t i = 0; i < count; ++i) {
      const float y = place(random), x = place(random);
      boxes.insert(boxes.end(), {y, x, y + side(random), x + side(random)});
    }
    for (int64_t i = 0; i < count * classes; ++i) scores.push_back(std::round(score(random) * 50) / 50);
    const Options options{.most = static_cast<int64_t>(random() % 500),
                          .overlap = 0.1f * static_cast<float>(round % 10),
                          .score = round % 2 == 0 ? -0.5f : -INFINITY};
    ASSERT_EQ(Select(Shaped(Floats(boxes), Shape{1, count, 4}),
                     Shaped(Floats(scores), Shape{1, classes, count}), options),
              Plain(boxes, scores, classes, options))
        << round;
  }
}

// Enough boxes for bands: far apart along one axis or the other, in clusters, some as long as everything, at
// places where numbers are coarse.
TEST(NonMaxSuppression, ManyBoxesLikeThePlainVersion) {
  std::mt19937 random(11);
  std::uniform_real_distribution<float> place(0, 1), side(0.5f, 3), score(-1, 1);
  for (int round = 0; round < 16; ++round) {
    const int64_t count = 500 + static_cast<int64_t>(random() % 2500);
    const float height = round % 2 == 0 ? 2000.0f : 5.0f, width = round % 3 == 0 ? 5.0f : 3000.0f;
    const float offset = round % 4 == 3 ? 1e6f : round % 4 == 2 ? -4000.0f : 0.0f;
    std::vector<float> boxes, scores;
    for (int64_t i = 0; i < count; ++i) {
      const float y = offset + height * place(random), x = offset + width * place(random);
      const bool is_long = random() % 50 == 0;
      boxes.insert(boxes.end(), {y, x, y + (is_long ? height : 1) * side(random),
                                 x + (is_long ? width : 1) * side(random)});
      scores.push_back(std::round(score(random) * 50) / 50);
    }
    if (round > 8) boxes[4 * (random() % 500) + random() % 4] = round % 2 == 0 ? INFINITY : 3e38f;
    const Options options{.most = count, .overlap = 0.1f * static_cast<float>(round % 5), .score = -0.5f};
    ASSERT_EQ(Select(Shaped(Floats(boxes), Shape{1, count, 4}), Shaped(Floats(scores), Shape{1, 1, count}),
                     options),
              Plain(boxes, scores, 1, options))
        << round;
  }
}

// Without thresholds nothing may overlap, and every score will do.
TEST(NonMaxSuppression, ThresholdsMayBeAbsent) {
  auto outputs = RunHost(R"(("boxes": f32[*], "scores": f32[*]) -> ("y": i64[*]))",
                         "i0 = const 0\n i1 = const 9\n r2 = release\n"
                         " [], [r3] = host non_max_suppression, [i0, i1], [r0, r1, r2, r2]\n return [], [r3]",
                         {Boxes(), Shaped(Floats({-1, -2, -3, -4, -5, -6}), Shape{1, 1, 6})});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(ToInts(outputs[0]), ElementsAre(0, 0, 0, 0, 0, 3, 0, 0, 5));
}

TEST(NonMaxSuppression, ChecksItsOperands) {
  EXPECT_THAT(SelectError(Boxes(), Shaped(Floats({1, 2}), Shape{1, 1, 2}), {}),
              HasSubstr("must have shapes [b, n, 4] and [b, c, n], they have [1, 6, 4] and [1, 1, 2]"));
  EXPECT_THAT(SelectError(Boxes(), Scores(), {.overlap = 1.5f}), HasSubstr("the most overlap is 1.5"));
  EXPECT_THAT(SelectError(Boxes(), Scores(), {.overlap = NAN}), HasSubstr("not within 0 to 1"));
  EXPECT_THAT(RunHostError(kSignature, Body({}), {Boxes(), Scores(), Floats({1, 2}), Floats({0})}),
              HasSubstr("'most overlap' must be one number, it has shape [2]"));
}

// A run that is cancelled or late ends within the function.
TEST(NonMaxSuppression, EndsAtTheDeadline) {
  constexpr int64_t kCount = 200'000;
  std::vector<float> boxes, scores;
  for (int64_t i = 0; i < kCount; ++i) {
    boxes.insert(boxes.end(), {static_cast<float>(2 * i), 0, static_cast<float>(2 * i + 1), 1});
    scores.push_back(static_cast<float>(i));
  }
  Limits limits;
  limits.timeout = std::chrono::milliseconds(20);
  EXPECT_THAT(SelectError(Shaped(Floats(boxes), Shape{1, kCount, 4}),
                          Shaped(Floats(scores), Shape{1, 1, kCount}), {.most = INT64_MAX}, limits),
              ::testing::StartsWith("deadline_exceeded"));
}

}  // namespace
}  // namespace tvmvm
