// The formats that there are: the list of their rows, and what follows from a row. The rooms above
// ask here and name no format.
//
// Invariant: what a format cannot hold is refused with Error unsupported that names the format, the
// reason and a remedy; nothing that the caller gave is dropped in silence.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "layout/format.hpp"

namespace sluice::layout {

/// Every format, in the order in which messages and documents list them. The first is what a file
/// is whose name says nothing.
std::vector<const Format*> formats();
/// Adds a format for the life of the process; `row` must live as long. Error invalid_argument where
/// its name is no word or taken, an ending or a manifest is taken, or a function is missing that it
/// needs. Thread-safe.
void register_format(const Format& row);
/// What the option `format` may say: "auto, hdf5, ...", with `separator` between them.
std::string format_options(const std::string& separator);
/// The same of the option `hdf5_layout`.
std::string hdf5_layout_options(const std::string& separator);

/// Where the name of a file has an ending: a dot and letters or digits, the first a letter.
std::string ending_of(const std::string& path);
/// The format that the ending of `path` means; null for those that no format has.
const Format* format_of_ending(const std::string& path);

/// The format of a file that is to be written: by the options `format` and `hdf5_layout`,
/// by the ending of `path` where the first is "auto". Error invalid_argument lists the formats;
/// Error unsupported where it has no such layout.
const Format& format_of(const std::string& path, const Options& options);
/// The row of that name; Error internal where there is none.
const Format& format_named(const std::string& name);
/// The format of a file that is there, by its first bytes. Error format where it is none of ours,
/// or not the one that `wanted` (the option `format`) asks for.
const Format& format_in(storage::File& file, const std::string& wanted);

/// Does `file` begin as one of a known format, in a version that should be readable? If it cannot
/// be opened all the same, it is damaged.
bool begins_as_known(storage::File& file);
/// 0 of either for a format whose count cannot be ahead of the data.
StepCount count_steps(storage::File& file);
/// Counts `steps` from now on, durably; for a file of which count_steps() says some.
void set_step_count(storage::File& file, std::uint64_t steps);
/// Error unsupported where `options` ask for another layout than the file has that is appended to.
void check_hdf5_layout(const Format& format, const Options& options, const std::string& path);
/// The filters of a variable as the format has them.
codec::Pipeline pipeline_in(const Format& format, const model::Definition& definition);
/// Documents of a store that do not say what its manifest does; a crash may leave some.
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
