// A format as its folder describes it: one row of properties and functions. Whoever needs to know
// something of a format asks its row; no other code names one.
//
// Invariant: rows are constants that live as long as the process.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "layout/catalog.hpp"
#include "layout/layout.hpp"
#include "sluice/options.hpp"
#include "storage/storage.hpp"

namespace sluice::layout {

/// Whether a file is of a format, by its bytes. A file is of the first format that is certain, else
/// of the first for which it is possible.
enum class Match : std::uint8_t {
  none,
  possible,  ///< a signature elsewhere than at the beginning, or sizes that fit
  certain,   ///< begins with the format's signature, in a version that can be read
};

/// A format whose count of steps stands in place may count some that a crash left without values.
struct StepCount {
  std::uint64_t counted = 0;
  std::uint64_t there = 0;  ///< not more than counted
};

/// A row of the table of formats: what it has beyond the defaults.
/// Size: A row of a table: a field for each thing in which formats differ.
struct Format {
  const char* name;    ///< as in the option `format`; with the layout where that makes a difference
  const char* option;  ///< what the option `format` says
  const char* hdf5_layout = "stacked";  ///< what the option `hdf5_layout` says
  const char* endings = "";  ///< of file names that mean it, separated by spaces; "" for none
  /// The strongest that it offers; also what `auto` stands for.
  Durability best = Durability::step;
  bool many = false;   ///< more than one variable
  bool names = false;  ///< of variables; if not, its one variable answers to every name
  bool attributes = false;
  bool times = false;      ///< a time for every step
  bool checksums = false;  ///< a place for them
  bool tiled = false;  ///< steps are cut into tiles of the library's choice; else each step is one
  bool varying = false;  ///< steps with fewer rows than the definition says
  /// A varying variable has its lengths in a companion `<name>_length`.
  bool length_variable = false;
  bool text = true;       ///< variables of text
  bool complex = false;   ///< complex numbers
  bool float16 = true;    ///< floats of 16 bits
  bool compress = false;  ///< tiles that went through filters
  bool index = false;  ///< an index can make one dataset of the files of file-per-process and -node
  /// Of a folder of objects: the one that says what the others are. Null: it is a file.
  const char* manifest = nullptr;
  /// The same of versions of the format that are only read; separated by spaces, in the order in
  /// which they are looked for.
  const char* read_manifests = "";
  /// Readers take whole tiles, so they are not larger, and fixed variables have them too; 0: as the
  /// library likes.
  std::uint64_t most_tile_bytes = 0;
  /// Holds what its codes agreed on, not any variables: its page says which.
  bool has_grammar = false;
  const char* unchecked = "";  ///< what of a file is under no checksum, for want of a place
  const char* instead = "use format hdf5";  ///< the remedy, where something is not supported

  bool is_store() const { return manifest != nullptr; }

  // -- functions; those that have no default must be there
  // -----------------------------------------
  /// The planner of an empty file, and of one that is there. Both must be outlived by the file.
  std::unique_ptr<Planner> (*create)(storage::File& file, const PlannerOptions& options);
  /// Error unsupported or format where steps cannot be added. Null: of `same_files`.
  std::unique_ptr<Planner> (*append)(storage::File& file, const PlannerOptions& options) = nullptr;
  /// The same: reads the structure of a file.
  std::unique_ptr<Catalog> (*open)(storage::File& file) = nullptr;
  /// The same.
  Match (*match)(storage::File& file) = nullptr;
  /// The format as which files of this one are found and read. Null: itself.
  const Format* same_files = nullptr;
  /// Why a definition or an attribute cannot be held, "" where it can; or an Error of their own
  /// words. The same on every rank. Null: whatever the properties allow.
  std::string (*refuse_definition)(const model::Definition& definition,
                                   const std::vector<model::Definition>& others) = nullptr;
  std::string (*refuse_attribute)(const model::Attribute& attribute) = nullptr;
  /// What an attribute of a file that is converted says, and the file that is written does not keep
  /// though all its values are there, in words; "" where there is nothing to say. Null: nothing.
  std::string (*change)(const model::Attribute& attribute) = nullptr;
  /// The tile in which the format keeps a variable. Null: the library's choice.
  model::Dims (*fixed_tile)(const model::Definition& definition) = nullptr;
  /// The filters that stand for those of the option `compress`. Null: the same.
  codec::Pipeline (*filters)(const codec::Pipeline& pipeline) = nullptr;
  /// Null for a format whose count of steps is never ahead of the data.
  StepCount (*count_steps)(storage::File& file) = nullptr;
  /// Counts `steps` from now on, durably.
  void (*set_step_count)(storage::File& file, std::uint64_t steps) = nullptr;
  /// Of a store: documents that do not say what the manifest does.
  std::vector<Document> (*stale_documents)(storage::File& file) = nullptr;
  /// May a planner be used while other threads of the process use files? Null: yes.
  bool (*plans_beside_threads)() = nullptr;

  /// Takes over from one file of the format into another what Sluice does not encode, and says what
  /// it could not; `written`: the variables that are there. Null: there is nothing of the kind, or
  /// no way.
  using Carry = std::vector<std::string> (*)(storage::File& from, storage::File& into,
                                             const std::vector<std::string>& written);
  Carry carry = nullptr;
  /// May it, from this file? Null: from any file that the same row reads.
  bool (*may_carry)(const Catalog& from) = nullptr;

  /// The row whose functions read files of this one.
  const Format& reader() const { return same_files != nullptr ? *same_files : *this; }
};

}  // namespace sluice::layout
