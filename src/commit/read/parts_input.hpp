// Elements of a set of parts, read by one rank on its own.
//
// Invariants: every rank opens the parts that it needs and no others, each through an Input of its
// own, so metadata is read in parallel and every checksum is checked; at most most_open_parts()
// parts are open in the process, and the least recently used is closed for another; elements that
// are in no part have the fill value.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <vector>

#include "commit/read/destination.hpp"
#include "commit/read/locator.hpp"
#include "exec/transport/transport.hpp"
#include "layout/part_set.hpp"
#include "sluice/options.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

class Input;

/// The number of parts that all sets of this process together keep open: an eighth of the file
/// limit, at least 8, at most 256. (An open part takes up to four descriptors.)
std::size_t most_open_parts();

class PartsInput {
 public:
  /// Local. `storage` must outlive the object. The parts were checked (check_parts).
  PartsInput(storage::Storage& storage, const std::string& index_path, layout::PartSet set,
             const Options& options);
  ~PartsInput();
  PartsInput(const PartsInput&) = delete;
  PartsInput& operator=(const PartsInput&) = delete;

  const layout::PartSet& set() const noexcept { return set_; }

  /// Local. A request for a variable of the set; the box is inside its shape. Errors name the
  /// index, the variable and the step.
  void get(const InputVariable& variable, const GetRequest& request);

 private:
  struct Open;
  Input& open(std::uint32_t part);
  void read(const layout::Mapping& mapping, const model::Box& wanted, const InputVariable& variable,
            const GetRequest& request);
  /// `wanted`: the part's variable and row, and the region of the set.
  static void read_listed(Input& part, const Wanted& wanted, const layout::Mapping& mapping,
                          const Destination& to);

  std::unique_ptr<storage::Storage> storage_;
  std::string index_path_;
  layout::PartSet set_;
  Options options_;
  std::unique_ptr<exec::Transport> alone_;               ///< of this rank only
  std::vector<std::vector<std::uint32_t>> by_variable_;  ///< numbers of mappings
  std::list<std::unique_ptr<Open>> open_;                ///< most recently used first
};

}  // namespace sluice::commit
