// A storage that injects failures, with the code and the text of a real one.
//
// Invariants: a call that is made to fail does not reach the inner storage, except the part of a
// write that a rule lets through; a File whose sync failed once never reports a successful one.
// Interrupted and short calls are not faults at this level: posix_calls.hpp. Storages with whole
// files (object stores) are refused: Error internal. Thread-safe.
#pragma once

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "storage/calls.hpp"
#include "support/observing_storage.hpp"

namespace sluice::storage {

/// "The Nth call of this kind on such a path fails."
struct Rule {
  std::optional<Call> call = {};   ///< empty: any call
  std::string path_part = {};      ///< in the path as given (rename: either path); empty: any
  std::uint64_t nth = 1;           ///< from 1, counted from when the rule was added
  bool persistent = false;         ///< every later match fails as well
  int error_number = EIO;          ///< errno
  std::uint64_t landed_bytes = 0;  ///< write: the number of leading bytes written nevertheless
};

/// The rules and their counts; several FaultyStorages (one a rank) may share one.
class Faults {
 public:
  void add(Rule rule);
  /// Removes all rules; counts are kept.
  void clear();
  /// Calls so far, failed ones included: after a clean run, the number of places to fail.
  std::uint64_t calls(Call call) const;
  std::uint64_t calls() const;
  /// The number of injected failures.
  std::uint64_t fired() const;

  /// Counts the call; returns the rule that makes it fail, if any (the first in the order of
  /// add()).
  std::optional<Rule> match(Call call, const std::string& path, const std::string& other = {});

 private:
  struct Armed {
    Rule rule;
    std::uint64_t matches = 0;
  };

  mutable std::mutex mutex_;
  std::vector<Armed> rules_;
  std::array<std::uint64_t, call_count> calls_ = {};
  std::uint64_t fired_ = 0;
};

class FaultyStorage : public ObservingStorage {
 public:
  FaultyStorage(std::shared_ptr<Storage> inner, std::shared_ptr<Faults> faults);

  std::unique_ptr<File> open(const std::string& path, Access access) override;
  bool exists(const std::string& path) override;
  bool may_have_names(const std::string& path) override;  ///< Call::exists
  std::vector<std::string> list(const std::string& path) override;
  void rename(const std::string& from, const std::string& to) override;
  void remove(const std::string& path) override;
  void remove_folder(const std::string& path) override;
  void make_folder(const std::string& path) override;
  void sync_directory(const std::string& path) override;
  WholeFiles* whole_files(const std::string& path) override { return no_whole_files(path); }
  /// Rules count calls: their order is that of the ranks.
  bool in_background() const override { return false; }
  const char* name() const override { return "faulty"; }

 private:
  const std::shared_ptr<Faults> faults_;
};

}  // namespace sluice::storage
