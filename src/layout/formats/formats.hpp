// The formats: the list of their rows, and functions that use a row. The layers above call these
// and name no format.
//
// Invariant: what a format cannot hold is refused with Error unsupported that names the format, the
// reason and a remedy; nothing that the caller passed is dropped silently.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "layout/format.hpp"

namespace sluice::layout {

/// Every format, in the order in which messages and documents list them. The first is the default
/// for names without a known ending.
std::vector<const Format*> formats();
/// Adds a format for the life of the process; `row` must live as long. Error invalid_argument if
/// its name is not a word or is taken, an ending or a manifest is taken, or a required function is
/// missing. Thread-safe.
void register_format(const Format& row);
/// The formats as the option `format` names them: "hdf5, ...", with `separator` between them.
std::string format_names(const std::string& separator);
/// The values of the option `format`: "auto, hdf5, ...", with `separator` between them.
std::string format_options(const std::string& separator);
/// The same for the option `hdf5_layout`.
std::string hdf5_layout_options(const std::string& separator);

/// The ending of the name of a file or folder: a dot and letters or digits, the first a letter. ""
/// for none.
std::string ending_of(const std::string& given);
/// The format that belongs to the ending of `path`; null if there is none.
const Format* format_of_ending(const std::string& path);

/// The format of a file that is to be written: by the options `format` and `hdf5_layout`, or by the
/// ending of `path` if the first is "auto". Error invalid_argument lists the formats; Error
/// unsupported if it has no such layout.
const Format& format_of(const std::string& path, const Options& options);
/// For a name that ends in a slash, as those of folders do: Error bad_name if the format writes a
/// file.
void require_folder_format(const std::string& path, const Format& format);
/// The row of that name; Error internal if there is none.
const Format& format_named(const std::string& name);
/// The format of an existing file, by its first bytes. Error format if it is unknown, or not the
/// one that `wanted` (the option `format`) names.
const Format& format_in(storage::File& file, const std::string& wanted);

/// Does `file` begin like one of a known format, in a version that can be read? If it cannot be
/// opened all the same, it is damaged.
bool begins_as_known(storage::File& file);
/// Both are 0 for a format whose count cannot be ahead of the data.
StepCount count_steps(storage::File& file);
/// Sets the count to `steps`, durably; for a file for which count_steps() returns some.
void set_step_count(storage::File& file, std::uint64_t steps);
/// Error unsupported if `options` ask for another layout than that of the file that is appended to.
void check_hdf5_layout(const Format& format, const Options& options, const std::string& path);
/// Error unsupported if `options` name a branch or tags, and the format has no history.
void check_history(const Format& format, const Options& options, const std::string& path);
/// The filters of a variable in the form of the format.
codec::Pipeline pipeline_in(const Format& format, const model::Definition& definition);
/// The same once the tile is known, with the values that plugins of HDF5 make of those that were
/// asked for. Local to the rank that plans. Error unsupported if a plugin does not take the
/// variable.
codec::Pipeline settled_in(const Format& format, const model::Definition& definition,
                           const model::Dims& tile);
/// Documents of a store that disagree with its manifest; a crash may leave some.
std::vector<Document> stale_documents(storage::File& file);
/// Durability as the format offers it. Error unsupported if more was requested explicitly.
Durability durability_of(const Format& format, Durability asked);

// -- what a format can hold; Error unsupported otherwise. The same result on every rank -----------
/// The definitions of a file, checked one after the other. The format must outlive it.
class Definitions {
 public:
  explicit Definitions(const Format& format);
  /// Error if the format does not hold it beside those that were added.
  void check(const model::Definition& definition) const;
  /// Does check() take it, and can its names be written?
  bool accept(const model::Definition& definition) const;
  void add(const model::Definition& definition);
  /// What was added is in the file now.
  void settle();

 private:
  const Format* format_;
  std::optional<std::string> first_;  ///< the name of the first one
  std::unique_ptr<model::DefinitionRules> rules_;
};
/// As of the only definition of a file.
void check_definition(const Format& format, const model::Definition& definition);
/// Can what a step of `shape` is cut into be read again?
void check_tiles(const Format& format, const model::Definition& definition,
                 const model::Dims& shape, const Tiling& tiling);
/// Does check_definition() take it, and can its names be written?
bool accepts(const Format& format, const model::Definition& definition);
/// Sets the tile of a variable if the format fixes it; after check_definition().
void settle_tile(const Format& format, model::Definition& definition);
void check_attribute(const Format& format, const model::Attribute& attribute);
/// Makes what attributes of any format say of steps say the same of some of them.
void choose_steps(std::vector<model::Attribute>& attributes, const model::ChosenSteps& chosen);
void check_time(const Format& format, double time);

enum class Start : std::uint8_t { fresh, append };

/// The planner of `file`, which must outlive it. append: Error format if steps cannot be added to
/// the file.
std::unique_ptr<Planner> make_planner(const Format& format, storage::File& file, Start start,
                                      const PlannerOptions& options);
/// Reads the structure of `file`, which must outlive the catalog. Error damaged if it has names
/// that Sluice is said to have written but never writes.
std::unique_ptr<Catalog> open_catalog(const Format& format, storage::File& file);

/// May a planner of this format be used while other threads of the process use files? Not if
/// libhdf5 is linked in the ordinary way and was not built for several threads.
bool plans_beside_threads(const Format& format);

}  // namespace sluice::layout
