// A format as its folder describes it: one row of properties and functions. Code that depends on
// the format asks its row; no other code names a format.
//
// Invariant: rows are constants that live as long as the process.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "layout/catalog.hpp"
#include "layout/layout.hpp"
#include "model/chosen_steps.hpp"
#include "model/definition_rules.hpp"
#include "sluice/options.hpp"
#include "storage/storage.hpp"

namespace sluice::layout {

/// Whether a file is of a format, judged by its bytes. A file is of the first format that is
/// certain, otherwise of the first one that is possible.
enum class Match : std::uint8_t {
  none,
  possible,  ///< a signature not at the beginning, or sizes that fit
  certain,   ///< begins with the format's signature, in a version that can be read
};

/// A format with a count of steps in place may count steps that a crash left without values.
struct StepCount {
  std::uint64_t counted = 0;
  std::uint64_t there = 0;  ///< at most `counted`
};

/// A row of the table of formats: its deviations from the defaults.
/// Size: A row of a table: a field for each difference between formats.
struct Format {
  const char* name;    ///< as in the option `format`; with the layout if that makes a difference
  const char* option;  ///< value of the option `format`
  const char* hdf5_layout = "stacked";  ///< value of the option `hdf5_layout`
  const char* endings = "";             ///< of file names, separated by spaces; "" for none
  /// The strongest durability that it offers; also the meaning of `auto`.
  Durability best = Durability::step;
  bool many = false;   ///< more than one variable
  bool names = false;  ///< of variables; if not, its one variable is found by every name
  bool attributes = false;
  bool times = false;          ///< a time for every step
  bool time_variable = false;  ///< they are in a variable `time`, once one was given
  bool checksums = false;      ///< and where they are stored
  bool tiled = false;  ///< steps are divided into tiles by the library; otherwise each step is one
                       ///< tile
  bool varying = false;  ///< steps with fewer rows than the definition says
  /// A varying variable has its lengths in a companion `<name>_length`.
  bool length_variable = false;
  bool text = true;       ///< variables of text
  bool complex = false;   ///< complex numbers
  bool float16 = true;    ///< floats of 16 bits
  bool compress = false;  ///< tiles that went through filters
  /// Rounded variables refer to a variable that says how, as CF 1.12 asks for.
  bool quantization = false;
  /// The attribute `Conventions` of a file with such variables, unless the caller sets it.
  const char* conventions = "";
  bool rectilinear = false;  ///< tiles of unequal lengths
  bool index = false;  ///< an index can combine the files of file-per-process and -node into one
                       ///< dataset
  /// The last commit describes a file without steps: it is made even if nothing was put since.
  bool described_at_close = false;
  /// For a folder of objects: the object that describes the others. Null: it is a file.
  const char* manifest = nullptr;
  /// The same for versions of the format that can only be read; separated by spaces, in the order
  /// of search. Where a store has a history, `*` stands for the name of a version, which is read as
  /// `store@name`.
  const char* read_manifests = "";
  /// Commits go onto a branch, and may have tags: the options `branch` and `tags`. A commit
  /// replaces the manifest only where that is what it goes on from.
  bool has_history = false;
  /// The ending of files that can only be read, and describe data in files beside them.
  const char* references = "";
  /// Limit for tiles, because readers take whole tiles; fixed variables have tiles too; 0: the
  /// library decides.
  std::uint64_t most_tile_bytes = 0;
  /// Holds only the variables that its codes agreed on; its page lists them.
  bool has_grammar = false;
  const char* unchecked = "";  ///< the parts of a file without checksums, for which the format has
                               ///< no place
  const char* instead = "use format hdf5";  ///< the remedy if something is not supported

  bool is_store() const { return manifest != nullptr; }

  // -- functions; those without a default are required
  // -----------------------------------------
  /// The planners of an empty file, and of an existing one. The file must outlive them.
  std::unique_ptr<Planner> (*create)(storage::File& file, const PlannerOptions& options);
  /// Error unsupported or format if steps cannot be added. Null: of `same_files`.
  std::unique_ptr<Planner> (*append)(storage::File& file, const PlannerOptions& options) = nullptr;
  /// Reads the structure of a file. Null: of `same_files`.
  std::unique_ptr<Catalog> (*open)(storage::File& file) = nullptr;
  /// Null: of `same_files`.
  Match (*match)(storage::File& file) = nullptr;
  /// The format as which files of this one are detected and read. Null: itself.
  const Format* same_files = nullptr;
  /// Why a definition or an attribute cannot be stored, "" if it can; or an Error with its own
  /// text. The same on every rank. Null: whatever the properties allow.
  std::string (*refuse_definition)(const model::Definition& definition) = nullptr;
  std::string (*refuse_attribute)(const model::Attribute& attribute) = nullptr;
  /// What definitions cannot be in one file together. Null: there is no such thing.
  std::unique_ptr<model::DefinitionRules> (*rules)() = nullptr;
  /// The meaning of an attribute that is lost in the written file, although all its values are
  /// kept; "" if there is none. For conversions. Null: nothing.
  std::string (*change)(const model::Attribute& attribute) = nullptr;
  /// Makes the attributes of a file of the format, by which they are recognised in any file, say
  /// the same of some of its steps. Null: none say anything of the steps.
  void (*choose_steps)(std::vector<model::Attribute>& attributes,
                       const model::ChosenSteps& chosen) = nullptr;
  /// Does the planner write the attribute by itself? Conversions leave it out. Null: none.
  bool (*writes_attribute)(const model::Attribute& attribute) = nullptr;
  /// The tile in which the format stores a variable. Null: chosen by the library.
  model::Dims (*fixed_tile)(const model::Definition& definition) = nullptr;
  /// The filters that replace those of the option `compress`. Null: the same.
  codec::Pipeline (*filters)(const codec::Pipeline& pipeline) = nullptr;
  /// The filters of a variable in the file, once its tile is known; called by the rank that plans.
  /// Null: those of the option `compress`, which has no plugins of HDF5.
  codec::Pipeline (*settle_filters)(const model::Definition& definition,
                                    const model::Dims& tile) = nullptr;
  /// Null for a format whose count of steps is never ahead of the data.
  StepCount (*count_steps)(storage::File& file) = nullptr;
  /// Sets the count to `steps`, durably.
  void (*set_step_count)(storage::File& file, std::uint64_t steps) = nullptr;
  /// For a store: documents that disagree with the manifest.
  std::vector<Document> (*stale_documents)(storage::File& file) = nullptr;
  /// May a planner be used while other threads of the process use files? Null: yes.
  bool (*plans_beside_threads)() = nullptr;

  /// Copies what Sluice does not encode from one file of the format into another, and reports what
  /// could not be copied; `written`: the variables that exist. Null: there is no such thing, or no
  /// way to copy it.
  using Carry = std::vector<std::string> (*)(storage::File& from, storage::File& into,
                                             const std::vector<std::string>& written);
  Carry carry = nullptr;
  /// May it, from this file? Null: from any file that the same row reads.
  bool (*may_carry)(const Catalog& from) = nullptr;

  /// The row whose functions read files of this format.
  const Format& reader() const { return same_files != nullptr ? *same_files : *this; }
};

}  // namespace sluice::layout
