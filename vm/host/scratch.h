// Memory that host functions need while they run, charged to the run's budget.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "vm/host/operands.h"

namespace tvmvm {

// Charges memory to the budget for as long as this lives: that of libraries and texts.
class Scratch {
 public:
  static Expected<Scratch> Charge(HostCall& call, int64_t bytes) {
    TVMVM_CHECK_OK(call.pool.budget().Reserve(bytes, "scratch"));
    return Scratch(&call.pool.budget(), bytes);
  }
  Scratch(Scratch&& other) noexcept : budget_(other.budget_), bytes_(std::exchange(other.bytes_, 0)) {}
  Scratch& operator=(Scratch&&) = delete;
  ~Scratch() { budget_->Release(bytes_); }

 private:
  Scratch(Budget* budget, int64_t bytes) : budget_(budget), bytes_(bytes) {}
  Budget* budget_;
  int64_t bytes_;
};

// Elements side by side, as in a vector of fixed room: nothing is moved, and what is not written is not
// touched. Large ones that a stopped run leaves go later (LateMemory).
template <class T>
class ScratchVector {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

 public:
  ScratchVector() = default;
  ScratchVector(ScratchVector&& other) noexcept { swap(other); }
  ScratchVector& operator=(ScratchVector&& other) noexcept {
    ScratchVector(std::move(other)).swap(*this);
    return *this;
  }
  ~ScratchVector() {
    if (buffer_ != nullptr) pool_->Release(buffer_);
  }
  void swap(ScratchVector& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(buffer_, other.buffer_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(room_, other.room_);
  }

  // Empty. Errors: kOutOfMemory.
  static Expected<ScratchVector> WithRoom(HostCall& call, int64_t count) {
    int64_t bytes;
    if (__builtin_mul_overflow(count, static_cast<int64_t>(sizeof(T)), &bytes))
      return MakeError(Code::kOutOfMemory, "scratch memory for " + std::to_string(count) + " elements");
    ScratchVector made;
    made.pool_ = &call.pool;
    TVMVM_TRY(made.buffer_, call.pool.AllocateBuffer(bytes, "scratch"));
    made.data_ = reinterpret_cast<T*>(made.buffer_->data);
    made.room_ = static_cast<size_t>(count);
    return made;
  }
  // The same with all elements alike.
  static Expected<ScratchVector> Filled(HostCall& call, int64_t count, T value) {
    TVMVM_TRY(ScratchVector made, WithRoom(call, count));
    TVMVM_CHECK_OK(ForEach(call, count, 1, [&](int64_t) { made.push_back(value); }));
    return made;
  }

  // Twice the room where there is none left. Errors: kOutOfMemory, kCancelled.
  Status GrowIfFull(HostCall& call) {
    if (size_ < room_) return {};
    TVMVM_TRY(ScratchVector larger, WithRoom(call, static_cast<int64_t>(room_ < 32 ? 64 : 2 * room_)));
    TVMVM_CHECK_OK(CopyTo(call, larger.data_));
    larger.size_ = size_;
    *this = std::move(larger);
    return {};
  }
  // There is room.
  void push_back(const T& element) { new (data_ + size_++) T(element); }
  void resize(size_t size) { size_ = size; }
  void clear() { size_ = 0; }
  Status CopyTo(const HostCall& call, void* to) const {
    return Copy(call, static_cast<char*>(to), reinterpret_cast<const char*>(data_),
                static_cast<int64_t>(size_ * sizeof(T)));
  }

  size_t size() const { return size_; }
  size_t room() const { return room_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  T& operator[](size_t index) { return data_[index]; }
  const T& operator[](size_t index) const { return data_[index]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

 private:
  ObjectPool* pool_ = nullptr;
  Buffer* buffer_ = nullptr;
  T* data_ = nullptr;
  size_t size_ = 0, room_ = 0;
};

}  // namespace tvmvm
