// Owned: a reference to an object that is given back unless it is given on.
#pragma once

#include <utility>

#include "vm/objects/object.h"

namespace tvmvm {

// Owns one reference, so that an early return or an exception gives it back.
template <class T>
class Owned {
 public:
  Owned(ObjectPool& pool, T* object) : pool_(&pool), object_(object) {}
  Owned(Owned&& other) noexcept : pool_(other.pool_), object_(std::exchange(other.object_, nullptr)) {}
  Owned& operator=(Owned&&) = delete;
  ~Owned() { pool_->Release(object_); }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  T* get() const { return object_; }
  T* Give() { return std::exchange(object_, nullptr); }

 private:
  ObjectPool* pool_;
  T* object_;
};

}  // namespace tvmvm
