// The states of a file after its commits: in the file, and on their way into it.
#pragma once

#include <deque>
#include <utility>

namespace sluice::layout {

/// For a planner: planned(), committed() and abandon(). `State`: what a commit changes.
template <class State>
class CommitHistory {
 public:
  /// An existing file is in this state.
  void begin(State state) { committed_ = std::move(state); }

  /// In the file.
  const State& committed() const noexcept { return committed_; }
  /// After the last commit, whether it is in the file or on its way.
  const State& last() const noexcept { return planned_.empty() ? committed_ : planned_.back(); }

  void plan(State state) { planned_.push_back(std::move(state)); }
  /// The oldest planned state is in the file; there must be one.
  void commit() {
    committed_ = std::move(planned_.front());
    planned_.pop_front();
  }
  /// Discards what is planned; the state that remains.
  const State& abandon() {
    planned_.clear();
    return committed_;
  }

 private:
  State committed_{};
  std::deque<State> planned_;  ///< the oldest first
};

}  // namespace sluice::layout
