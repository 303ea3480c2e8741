// The formats that there are: one list with what each can hold, and the way to their planners and
// catalogs. The rooms above ask here and name no format.
//
// Invariant: what a format cannot hold is refused with Error unsupported that names the format, the
// reason and a remedy; nothing that the caller gave is dropped in silence.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "layout/catalog.hpp"
#include "layout/layout.hpp"
#include "sluice/options.hpp"
#include "storage/storage.hpp"

namespace sluice::layout {

/// A row of the table of formats: what it has beyond the defaults.
struct Format {
  const char* name;    ///< as in the option `format`; with the form where that makes a difference
  const char* option;  ///< what the option `format` says
  const char* form = "stacked";  ///< what the option `form` says
  const char* endings = "";      ///< of file names that mean it, separated by spaces; "" for none
  /// The strongest that it offers; also what `automatic` stands for.
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
  bool complex = false;   ///< complex numbers
  bool compress = false;  ///< tiles that went through filters
  bool index = false;  ///< an index can make one dataset of the files of file-per-process and -node
  bool store = false;  ///< a folder of objects, not a file
  /// Readers take whole tiles, so they are not larger, and fixed variables have them too; 0: as the
  /// library likes.
  std::uint64_t most_tile_bytes = 0;
  /// Holds what its codes agreed on, not any variables: its page says which.
  bool has_grammar = false;
  const char* unchecked = "";  ///< what of a file is under no checksum, for want of a place
  const char* instead = "";    ///< the remedy, where something is not supported
};

/// Where the name of a file has an ending: a dot and letters or digits, the first a letter.
std::string ending_of(const std::string& path);
/// The format that the ending of `path` means; null for those that no format has.
const Format* format_of_ending(const std::string& path);
/// Every format, in the order in which messages and documents list them.
std::span<const Format> formats();

/// The format of a file that is to be written: by the options `format` and `form`, by the ending of
/// `path` where the first is "auto". Error invalid_argument lists the formats; Error unsupported
/// where it has no such form.
const Format& format_of(const std::string& path, const Options& options);
/// The row of that name; Error internal where there is none.
const Format& format_named(const std::string& name);
/// The format of a file that is there, by its first bytes. Error format where it is none of ours,
/// or not the one that `wanted` (the option `format`) asks for.
const Format& format_in(storage::File& file, const std::string& wanted);

/// Does `file` begin as one of a known format, in a version that should be readable? If it cannot
/// be opened all the same, it is damaged.
bool begins_as_known(storage::File& file);
/// A format whose count of steps stands in place may count some that a crash left without values.
struct StepCount {
  std::uint64_t counted = 0;
  std::uint64_t there = 0;
};
/// 0 of either for a format where that cannot be.
StepCount count_steps(storage::File& file);
/// Counts `steps` from now on, durably.
void set_step_count(storage::File& file, std::uint64_t steps);
/// Error unsupported where `options` ask for another form than the file has that is appended to.
void check_form(const Format& format, const Options& options, const std::string& path);
/// The filters of a variable as the format has them.
codec::Pipeline pipeline_in(const Format& format, const model::Definition& definition);
/// Files of a store that do not say what its root does; a crash may leave some.
std::vector<Document> stale_documents(storage::File& file);
/// Durability as the format has it. Error unsupported where more was asked for explicitly.
Durability durability_of(const Format& format, Durability asked);

// -- what a format can hold; Error unsupported otherwise. The same answer on every rank -----------
/// `others` are the definitions of the file so far.
void check_definition(const Format& format, const model::Definition& definition,
                      const std::vector<model::Definition>& others);
/// Sets the tile of a variable where the format fixes it; after check_definition().
void settle_tile(const Format& format, model::Definition& definition);
void check_attribute(const Format& format, const model::Attribute& attribute);
void check_time(const Format& format, double time);

enum class Start : std::uint8_t { fresh, append };

/// The planner of `file`, which must outlive it. append: Error format where the file is not one to
/// which steps can be added.
std::unique_ptr<Planner> make_planner(const Format& format, storage::File& file, Start start,
                                      const PlannerOptions& options);
/// Reads the structure of `file`, which must outlive the catalog. Error damaged where names that
/// Sluice is said to have written are none that it writes.
std::unique_ptr<Catalog> open_catalog(const Format& format, storage::File& file);

/// May a planner of this format be used while other threads of the process use files? Not where
/// libhdf5 is linked in the ordinary way and was not built for several threads.
bool plans_beside_threads(const Format& format);

}  // namespace sluice::layout
