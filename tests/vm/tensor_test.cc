#include "tvm-vm/tensor.h"

#include <dlpack/dlpack.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace tvmvm {
namespace {

using ::testing::HasSubstr;

TEST(Tensor, AllocatesAlignedMemory) {
  for (const Shape& shape : {Shape{}, Shape{0}, Shape{3, 5}}) {
    auto tensor = Tensor::Allocate(DType::kF32, shape);
    ASSERT_TRUE(tensor);
    EXPECT_NE(tensor->data(), nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor->data()) % 64, 0u);
    EXPECT_EQ(tensor->byte_count(), *shape.ElementCount() * 4);
  }
  EXPECT_EQ(Tensor::Allocate(DType::kI4, Shape{3})->byte_count(), 2);
}

// Equal elements make equal bytes, so that tensors can be compared and stored as bytes.
TEST(Tensor, BitsBehindTheLastElementAreZero) {
  for (int round = 0; round < 2; ++round) {  // the second round gets memory that the first one has filled
    std::vector<Tensor> tensors;
    for (int i = 0; i < 64; ++i) {
      tensors.push_back(*Tensor::Allocate(DType::kI2, Shape{2, 5}));
      auto bytes = static_cast<uint8_t*>(tensors.back().data());
      EXPECT_EQ(bytes[2] & 0xf0, 0);
      std::fill_n(bytes, 3, 0xff);
    }
  }
}

TEST(Tensor, RefusesImpossibleShapes) {
  EXPECT_EQ(Tensor::Allocate(DType::kF32, Shape{-1}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(Tensor::Allocate(DType::kF32, Shape{INT64_MAX, 2}).error().code, Code::kInvalidArgument);
  EXPECT_EQ(Tensor::Allocate(DType::kU8, Shape{INT64_MAX / 32}).error().code, Code::kOutOfMemory);
  EXPECT_EQ(Tensor::Allocate(DType::kString, Shape{INT64_MAX / 32}).error().code, Code::kOutOfMemory);
  EXPECT_EQ(Tensor::Allocate(DType::kInvalid, Shape{1}).error().code, Code::kInvalidArgument);
}

TEST(Shape, CopiesHaveTheDimsThatThereAre) {
  Shape many;
  for (int axis = 0; axis < kMaxRank; ++axis) many.push_back(axis % 3 + 1);
  Shape copy(many), few{5, 7};
  EXPECT_EQ(copy, many);
  EXPECT_EQ(copy.rank(), kMaxRank);
  copy = few;
  EXPECT_EQ(copy.ToString(), "[5, 7]");
  copy = Shape();
  EXPECT_EQ(copy.rank(), 0);
  few = many;
  EXPECT_EQ(few, many);
  const Shape& same = few;
  few = same;
  EXPECT_EQ(few, many);
  EXPECT_EQ(few.ElementCount(), 120932352);  // 2 * 6^10
}

TEST(Tensor, CopiesShare) {
  Tensor tensor = *Tensor::Allocate(DType::kI32, Shape{1});
  Tensor copy = tensor;
  EXPECT_EQ(copy.data(), tensor.data());
  tensor = Tensor();
  *static_cast<int32_t*>(copy.data()) = 1;
  EXPECT_TRUE(tensor.empty_handle());
  EXPECT_FALSE(copy.empty_handle());
  EXPECT_EQ(Tensor::FromStrings(Shape{1}, {"a"}).strings()[0], "a");
}

TEST(DLPack, RoundTripSharesTheMemory) {
  for (DType dtype :
       {DType::kF32, DType::kF16, DType::kBF16, DType::kI64, DType::kU8, DType::kBool, DType::kC64}) {
    Tensor tensor = *Tensor::Allocate(dtype, Shape{2, 3});
    auto managed = tensor.ToDLPack();
    ASSERT_TRUE(managed);
    EXPECT_EQ((*managed)->dl_tensor.ndim, 2);
    EXPECT_EQ((*managed)->dl_tensor.shape[1], 3);
    auto back = Tensor::FromDLPack(*managed);
    ASSERT_TRUE(back) << back.error().message;
    EXPECT_EQ(back->data(), tensor.data());
    EXPECT_EQ(back->dtype(), dtype);
    EXPECT_EQ(back->shape(), tensor.shape());
    tensor = Tensor();
    static_cast<char*>(back->data())[0] = 1;  // still alive
  }
}

TEST(DLPack, TakesAndGivesTheMostDims) {
  Shape shape;
  for (int axis = 0; axis < kMaxRank; ++axis) shape.push_back(axis % 8 == 0 ? 2 : 1);
  Tensor tensor = *Tensor::Allocate(DType::kF32, shape);
  DLManagedTensor* managed = *tensor.ToDLPack();
  EXPECT_EQ(managed->dl_tensor.ndim, kMaxRank);
  auto back = Tensor::FromDLPack(managed);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->shape(), shape);
}

// A producer's tensor that notes its deletion.
struct Produced {
  Produced() {
    managed.dl_tensor = {data, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, nullptr, 0};
    managed.manager_ctx = this;
    managed.deleter = [](DLManagedTensor* self) {
      static_cast<Produced*>(self->manager_ctx)->deleted = true;
    };
  }
  float data[8] = {};
  int64_t shape[2] = {2, 3};
  int64_t strides[2] = {3, 1};
  bool deleted = false;
  DLManagedTensor managed{};
};

TEST(DLPack, DeletesWhenTheLastCopyGoes) {
  Produced produced;
  {
    Tensor tensor = *Tensor::FromDLPack(&produced.managed);
    Tensor copy = tensor;
    tensor = Tensor();
    EXPECT_FALSE(produced.deleted);
  }
  EXPECT_TRUE(produced.deleted);
}

TEST(DLPack, TakesDenseStridesAndOffsets) {
  Produced produced;
  produced.managed.dl_tensor.strides = produced.strides;
  produced.managed.dl_tensor.byte_offset = 8;
  EXPECT_EQ(Tensor::FromDLPack(&produced.managed)->data(), produced.data + 2);
  Produced ones;
  ones.shape[0] = 1;
  ones.strides[0] = 77;  // means nothing for a dim of 1
  ones.managed.dl_tensor.strides = ones.strides;
  EXPECT_TRUE(Tensor::FromDLPack(&ones.managed));
}

TEST(DLPack, RefusesAndStillDeletes) {
  auto error = [](auto change) {
    Produced produced;
    change(produced);
    auto tensor = Tensor::FromDLPack(&produced.managed);
    EXPECT_TRUE(produced.deleted);
    return tensor ? "" : tensor.error().message;
  };
  EXPECT_THAT(error([](Produced& p) { p.managed.dl_tensor.device.device_type = kDLCUDA; }),
              HasSubstr("only host memory"));
  EXPECT_THAT(error([](Produced& p) { p.managed.dl_tensor.dtype.lanes = 4; }),
              HasSubstr("4 lanes is not supported"));
  EXPECT_THAT(error([](Produced& p) {
                p.strides[0] = 1;
                p.strides[1] = 2;
                p.managed.dl_tensor.strides = p.strides;
              }),
              HasSubstr("only dense row-major"));
  EXPECT_THAT(error([](Produced& p) { p.shape[0] = -1; }), HasSubstr("negative"));
  EXPECT_THAT(error([](Produced& p) { p.managed.dl_tensor.ndim = 99; }), HasSubstr("rank 99"));
  EXPECT_THAT(error([](Produced& p) { p.managed.dl_tensor.ndim = 33; }),
              HasSubstr("rank 33, at most 32 is possible"));
  EXPECT_FALSE(Tensor::FromDLPack(nullptr));
  EXPECT_THAT(Tensor::FromStrings(Shape{1}, {"a"}).ToDLPack().error().message,
              HasSubstr("no element type for string"));
}

}  // namespace
}  // namespace tvmvm
