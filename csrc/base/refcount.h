// Intrusive reference counting. What happens at zero is the object's own choice: T::on_zero().
#pragma once
#include <atomic>
#include <cstdint>
#include <utility>

namespace wgt {

struct RefCounted {
  std::atomic<uint32_t> refs{0};
};

template <class T>
class Ref {
 public:
  Ref() = default;
  explicit Ref(T* p) : p_(p) { acquire(); }
  Ref(const Ref& o) : p_(o.p_) { acquire(); }
  Ref(Ref&& o) noexcept : p_(std::exchange(o.p_, nullptr)) {}
  Ref& operator=(Ref o) noexcept {
    std::swap(p_, o.p_);
    return *this;
  }
  ~Ref() { reset(); }
  void reset() {
    if (T* p = std::exchange(p_, nullptr))
      if (p->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) p->on_zero();
  }
  T* get() const { return p_; }
  T* operator->() const { return p_; }
  T& operator*() const { return *p_; }
  explicit operator bool() const { return p_ != nullptr; }
  bool operator==(const Ref& o) const { return p_ == o.p_; }

 private:
  void acquire() {
    if (p_) p_->refs.fetch_add(1, std::memory_order_relaxed);
  }
  T* p_ = nullptr;
};

/// A lock-free stack of objects that died on any thread; one owner takes them all at a safe moment.
/// T needs a member `T* next_dead`.
template <class T>
class Graveyard {
 public:
  void push(T* p) {
    p->next_dead = head_.load(std::memory_order_relaxed);
    while (!head_.compare_exchange_weak(p->next_dead, p, std::memory_order_release,
                                        std::memory_order_relaxed)) {
    }
  }
  T* take_all() {
    if (!head_.load(std::memory_order_relaxed)) return nullptr;
    return head_.exchange(nullptr, std::memory_order_acquire);
  }

 private:
  std::atomic<T*> head_{nullptr};
};

}  // namespace wgt
