// Elements of a set of parts, read by one rank on its own, or by all together.
//
// Invariants: every rank opens the parts that it needs and no others, each by a reader of its own,
// so metadata is read in parallel and every checksum is checked; at most most_open_parts()
// parts are open in the process, and the least recently used is closed for another; elements that
// are in no part have the fill value.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commit/read/destination.hpp"
#include "commit/read/locator.hpp"
#include "commit/read/mapping_list.hpp"
#include "exec/transport/transport.hpp"
#include "layout/part_set.hpp"
#include "sluice/options.hpp"
#include "storage/storage.hpp"

namespace sluice::commit {

/// The number of parts that all sets of this process together keep open: an eighth of the file
/// limit, at least 8, at most 256. (An open part takes up to four descriptors.)
std::size_t most_open_parts();

class PartsInput {
 public:
  /// Local. `storage` must outlive the object. The parts were checked (check_parts). `rank_cores`:
  /// as of the index, for parts that this rank reads alone.
  PartsInput(storage::Storage& storage, const std::string& index_path, layout::PartSet set,
             const Options& options, std::size_t rank_cores);
  ~PartsInput();
  PartsInput(const PartsInput&) = delete;
  PartsInput& operator=(const PartsInput&) = delete;

  /// Without its mappings.
  const layout::PartSet& set() const noexcept { return set_; }
  const MappingList& mappings() const noexcept { return mappings_; }

  /// Local. A request for a variable of the set; the box is inside its shape. Errors name the
  /// index, the variable and the step.
  void get(const InputVariable& variable, const GetRequest& request);
  /// Local. The rows of each of the first `steps` steps of a varying variable, whose companion is
  /// `lengths`.
  std::vector<std::uint64_t> rows(const InputVariable& lengths, std::uint64_t steps);
  /// Collective over `transport`, which is always the same. As get(); what is in one dataset of one
  /// part is read as from an ordinary file: one rank reads the metadata of the part, and bytes that
  /// several want are read once. `region`: contains the boxes of all ranks, and is not empty. Every
  /// rank throws the same error.
  void get_together(exec::Transport& transport, const InputVariable& variable,
                    const GetRequest& request, const model::Box& region);

 private:
  struct Open;
  /// One that is open, which becomes the most recently used; nullptr if it is not.
  static Open* find_open(std::list<std::unique_ptr<Open>>& among, std::uint32_t part);
  Open& open(std::uint32_t part);
  /// Collective.
  Open& open_together(exec::Transport& transport, std::uint32_t part);
  /// The mapping of the only dataset that holds any of the region, if it holds all of it, as it is.
  /// Pure: the same on every rank.
  std::optional<layout::Mapping> only_mapping(const InputVariable& variable, std::uint64_t step,
                                              const model::Box& region) const;
  /// Gets from a part that holds the elements as they are.
  static void read_dense(Open& part, const Wanted& wanted, const layout::Mapping& mapping,
                         const GetRequest& request);
  /// The variable and row of a part. Error format if it is not what the index says.
  Wanted find(Open& part, const layout::Mapping& mapping, const InputVariable& variable,
              const GetRequest& request) const;
  /// An error of a part, naming the index, the variable and the step.
  Error naming_index(const Error& e, const InputVariable& variable, std::uint64_t step) const;
  void read(const layout::Mapping& mapping, const model::Box& wanted, const InputVariable& variable,
            const GetRequest& request);
  /// `wanted`: the part's variable and row, and the region of the set.
  static void read_listed(Open& part, const Wanted& wanted, const layout::Mapping& mapping,
                          const Destination& to);

  storage::Storage& shared_storage_;
  std::unique_ptr<storage::Storage> storage_;  ///< the same for this rank only
  std::string index_path_;
  layout::PartSet set_;
  MappingList mappings_;
  Options options_;
  const std::size_t rank_cores_;
  std::unique_ptr<exec::Transport> alone_;               ///< of this rank only
  std::vector<std::vector<std::uint32_t>> by_variable_;  ///< numbers of mappings
  std::list<std::unique_ptr<Open>> open_;                ///< most recently used first
  /// Those that all ranks opened together, with a limit that is the same on every rank.
  std::list<std::unique_ptr<Open>> together_;
};

}  // namespace sluice::commit
