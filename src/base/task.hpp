// Task<T>: the one coroutine type of the project. Lazy, awaited once, resumed on the thread of the
// executor it runs on. Frames come from a per-thread free list, so a request allocates none in steady
// state. There is no cancellation: what waits has a deadline, and a frame is never destroyed while
// suspended on something that will call back.
//
// What mostly need not wait (a write that the kernel takes at once) is a plain function that tries first and
// returns Task::ready(value), which costs no frame; only when it must wait does it call a coroutine.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/assert.hpp"

namespace onceward {

void* allocate_frame(std::size_t bytes);
void release_frame(void* frame, std::size_t bytes) noexcept;

namespace detail {

struct PromiseBase {
  std::coroutine_handle<> continuation = std::noop_coroutine();

  static void* operator new(std::size_t bytes) { return allocate_frame(bytes); }
  static void operator delete(void* frame, std::size_t bytes) { release_frame(frame, bytes); }

  std::suspend_always initial_suspend() noexcept { return {}; }
  struct FinalAwaiter {
    bool await_ready() noexcept { return false; }
    template <class P>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<P> done) noexcept {
      return done.promise().continuation;
    }
    void await_resume() noexcept {}
  };
  FinalAwaiter final_suspend() noexcept { return {}; }
  void unhandled_exception() { std::terminate(); }  // exceptions belong to start-up only
};

struct Nothing {};

}  // namespace detail

// Results that a task can have without a frame: they are kept in the task itself, so they must be small.
template <class T>
concept SmallResult =
    std::is_trivially_copyable_v<T> && std::is_default_constructible_v<T> && sizeof(T) <= 32;

template <class T = void>
class [[nodiscard]] Task {
 public:
  struct promise_type : detail::PromiseBase {
    std::optional<T> value;
    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    template <class U>
    void return_value(U&& result) {
      value.emplace(std::forward<U>(result));
    }
  };

  static Task ready(T value)
    requires SmallResult<T>
  {
    return Task(value);
  }
  // What a task that never had to wait came to; nothing: it must be awaited.
  std::optional<T> now() const
    requires SmallResult<T>
  {
    return handle_ ? std::nullopt : std::optional<T>(ready_);
  }

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)), ready_(other.ready_) {}
  Task(const Task&) = delete;
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return SmallResult<T> && !handle_; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) noexcept {
    handle_.promise().continuation = awaiting;
    return handle_;
  }
  T await_resume() {
    if constexpr (SmallResult<T>) {
      if (!handle_) return ready_;
    }
    return std::move(*handle_.promise().value);
  }

 private:
  using Ready = std::conditional_t<SmallResult<T>, T, detail::Nothing>;
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  explicit Task(Ready value) : ready_(value) {}

  std::coroutine_handle<promise_type> handle_;
  [[no_unique_address]] Ready ready_{};
};

template <>
class [[nodiscard]] Task<void> {
 public:
  struct promise_type : detail::PromiseBase {
    Task get_return_object() { return Task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    void return_void() {}
  };

  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task(const Task&) = delete;
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) noexcept {
    handle_.promise().continuation = awaiting;
    return handle_;
  }
  void await_resume() {}

 private:
  explicit Task(std::coroutine_handle<promise_type> handle) : handle_(handle) {}
  std::coroutine_handle<promise_type> handle_;
};

namespace detail {

struct Detached {
  struct promise_type {
    static void* operator new(std::size_t bytes) { return allocate_frame(bytes); }
    static void operator delete(void* frame, std::size_t bytes) { release_frame(frame, bytes); }
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    void unhandled_exception() { std::terminate(); }
  };
};

}  // namespace detail

// Starts a task that nobody awaits; it runs at once until its first suspension and owns itself.
inline detail::Detached spawn(Task<> task) { co_await std::move(task); }

}  // namespace onceward
