// The interface of a file format, so that every strategy can write it.
//
// A layout has two sides. The planner is one object on one rank: it alone holds the metadata and
// determines addresses. Every other rank works with Placements only (pure arithmetic).
//
// Invariants: plan_commit() allocates space at or beyond the frontier only; the planner itself
// writes nothing to the file: seal() returns the metadata bytes, and the commit layer writes them.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "layout/encoding.hpp"
#include "layout/placement.hpp"
#include "layout/refusals.hpp"
#include "model/definition.hpp"
#include "storage/storage.hpp"

namespace sluice::layout {

/// Represents the checksum words where the index of a variable is expected.
inline constexpr std::uint32_t checksum_variable = 0xffffffff;

/// A variable that a commit writes.
struct Touched {
  std::uint32_t variable = 0;
  Tiling tiling;  ///< used when the variable is created; ignored afterwards
  /// For this commit: fewer rows than the definition if it is varying; empty: as defined.
  model::Dims shape = {};
  /// Rows that each rank joined, in the order of the ranks; empty: they were not joined.
  std::vector<std::uint64_t> parts = {};
};

struct CommitRequest {
  bool is_step = false;
  bool is_last = false;  ///< of the output
  double time = std::nan("");
  std::vector<Touched> touched;
  std::uint64_t checksum_words = 0;  ///< 64-bit words of checksum records of all ranks together
  std::int64_t modified_ns = 0;      ///< the mtime that the file will get
};

/// RowsProof of a step, for CommitRow; 0 if it lacks the rows of some varying variable.
std::uint64_t proof_of_rows(std::span<const model::Definition> definitions,
                            std::span<const Touched> touched);

/// The addresses of a commit. The last placement may be that of the checksum words.
struct CommitPlan {
  std::uint64_t step = 0;
  std::vector<Placement> placements;
  std::optional<Placement> checksums;
  Extent space;  ///< of the raw data: preallocated before anything is written
  std::vector<storage::Segment> objects;  ///< for a store: the objects to which the addresses of
                                          ///< this commit belong

  /// Computes `space` from the placements. The holes of partial variables must not cost space.
  void set_space(std::span<const model::Definition> definitions);
  /// From the first byte of raw data to the last, with what is not preallocated.
  Extent hull() const;

  std::vector<std::byte> to_bytes() const;
  static CommitPlan from_bytes(std::span<const std::byte> bytes);
};

/// Bytes that make a commit visible, in the order in which they must be written.
struct MetadataRun {
  std::uint64_t offset = 0;
  std::vector<std::byte> bytes;
};
/// A small file of a store that is replaced as a whole.
struct Document {
  std::string name;  ///< below the store's folder
  std::vector<std::byte> bytes;
  bool is_once = false;  ///< where something has the name already, it stays
};
struct MetadataUpdate {
  std::vector<MetadataRun> fresh;     ///< beyond the frontier: no reader sees it yet
  std::vector<MetadataRun> in_place;  ///< changes what readers see, except the root
  std::vector<MetadataRun> root;      ///< written last: the superblock
  std::uint64_t end = 0;              ///< the file must be at least this long
  /// A few bytes within one sector of the disk, which is written whole or not at all: they change
  /// from one state of the file to the next without a journal.
  bool is_atomic = false;

  // For a store: `objects` are the data and what is new; the manifest makes them visible. `root`,
  // where there is one, is what the manifest must be just before it is replaced.
  std::vector<storage::Segment> objects;
  std::vector<Document> begins;  ///< of a new store: each is durable before the next, and `before`
  std::vector<Document> before;  ///< valid for readers of either state
  Document manifest;             ///< without a name: this is not a store
  std::vector<Document> after;   ///< follow from the manifest
};

/// On a file system with stripes: smaller raw data is not worth a gap before it.
inline constexpr std::uint64_t worth_aligning_bytes = 64 << 10;

/// The properties of the file system and the caller's options, for a planner.
struct PlannerOptions {
  /// Raw data of at least `threshold_bytes` starts at multiples of `alignment_bytes`, if the format
  /// leaves the choice.
  std::uint64_t alignment_bytes = 4096;
  std::uint64_t threshold_bytes = 4096;
  std::uint64_t writers = 1;  ///< ranks that write
  /// Every object of a store is written whole, by one rank: it is at a multiple of the next power
  /// of two of its length, so that tiles of a plan hold whole objects.
  bool whole_objects = false;
  std::string branch = "main";  ///< of a format with a history
  std::string tags = {};        ///< the same: the name of a tag for each step, or empty
};

class Planner {
 public:
  virtual ~Planner() = default;

  /// Name of the format's row in formats().
  virtual const char* format() const = 0;
  /// The variables of the file, those of an appended one first, in the order of the file.
  virtual const std::vector<model::Definition>& known() const = 0;
  /// Tiles of a known variable without the step dimension: a step is contiguous unless a format
  /// says otherwise.
  virtual Tiling tiling(std::uint32_t variable) const { return known().at(variable).shape; }

  /// What define() would refuse on every rank.
  virtual Refusals refusals() const { return {}; }

  virtual std::uint64_t steps() const = 0;
  /// The end of the last commit: bytes from here on are unused.
  virtual std::uint64_t committed_end() const = 0;
  /// Adds to the list of variables; created in the file when first touched.
  virtual void define(const model::Definition& definition) = 0;
  /// Called only if the format's row says that it has attributes.
  virtual void set_attribute(const model::Attribute& attribute);
  /// Encoded variables get no placement.
  virtual CommitPlan plan_commit(const CommitRequest& request) = 0;
  /// Drops the steps from number `steps` on; no step may have been planned since the last commit.
  /// The next seal() includes the change. The space of dropped steps is not reused before that is
  /// in the file.
  virtual void drop_steps(std::uint64_t steps, std::int64_t modified_ns) = 0;
  /// The addresses of tiles of encoded variables, between plan_commit() and seal(); each once a
  /// commit.
  virtual std::vector<std::uint64_t> place_encoded(std::span<const EncodedTile> tiles);
  /// Creates the variables that no commit touched (before the last seal of a file).
  virtual void make_all() {}
  /// The metadata of everything since the last commit.
  virtual MetadataUpdate seal() = 0;
  /// The update of the last seal() is being written: the next commit is planned on top of it, and
  /// its space is not reused.
  virtual void planned() = 0;
  /// The oldest planned() update, which there must be, is in the file.
  virtual void committed() = 0;
  /// Discards everything that is not committed().
  virtual void abandon() = 0;
};

}  // namespace sluice::layout
