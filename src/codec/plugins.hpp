// Filters that are plugins of HDF5: their registered numbers and names, what is known of each
// beforehand, and the options that name them.
//
// Who finds and loads plugins is said by set_plugin_finder(): this component calls no libhdf5.
//
// Invariant: a plugin of which nothing is known counts as lossy, and takes one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "codec/filter.hpp"

namespace sluice::codec {

/// The most values of one filter that are read and written.
inline constexpr std::size_t most_filter_values = 64;

/// A row of HDF5's list of registered filters.
struct KnownPlugin {
  std::uint32_t id;
  const char* name;
  const char* file;     ///< part of the name of the file that has it
  bool is_lossless;     ///< with all values; see keeps_bits()
  bool needs_no_hdf5;   ///< its filter function calls nothing of libhdf5, except to note errors
  bool is_reentrant;    ///< several threads may call its filter function
  bool shuffles;        ///< is better with HDF5's shuffle in front, as the option says by name
  int values_of_chunk;  ///< set_local puts so many in front; -1: others than were asked for
  bool ends_process = false;  ///< if what it decodes is damaged: only behind a checksum
};
/// Null where nothing is known of it.
const KnownPlugin* find_known_plugin(std::uint32_t id);

/// Is it a number that only a plugin can have: none of HDF5's own, and no codec of this library?
bool is_plugin(std::uint32_t id);
/// What it is called: "lz4", "zfp", "filter 32099".
std::string plugin_name(std::uint32_t id);
bool has_plugin(const Pipeline& pipeline);
/// Why a plugin of the pipeline must not decode what was not checked: "" if none is like that.
std::string refuse_unchecked(const Pipeline& pipeline);
/// May other values come back than were given?
bool is_lossy(const Pipeline& pipeline);
/// The same in words: " (lossy)", " (may be lossy)" if nothing is known of a plugin, "".
std::string loss_of(const Pipeline& pipeline);

/// The method of a number; null where it cannot be used, and then `why_not` is a message.
using PluginFinder = std::shared_ptr<const Method> (*)(std::uint32_t id, std::string& why_not);
void set_plugin_finder(PluginFinder finder);
std::shared_ptr<const Method> find_plugin(std::uint32_t id, std::string& why_not);
/// Error unsupported says why a plugin cannot be used: its number, where it was looked for, and
/// what to do.
void require_plugins(const Pipeline& pipeline);

// -- options --------------------------------------------------------------------------------------

/// "lz4", "zfp:accuracy=0.01", "blosc2:zstd,5", "filter:32001,0,0,0,0,5,1,1", all with +shuffle or
/// +noshuffle: the filters, with the values as H5Pset_filter takes them. Nothing where it is no
/// such option; Error invalid_argument where a value is wrong.
std::optional<Pipeline> parse_plugin(const std::string& text, std::uint32_t element_bytes);
/// Filters with the values that they have in a file, for who appends to it.
std::string stored_text(const Pipeline& pipeline);
/// Is it such a text? Then set_local has been called already.
bool is_stored_text(const std::string& text);
/// An option of a file that was read, for who writes another one: `text` again; "" where the values
/// of the plugin do not say what was asked for, or values would be lost twice.
std::string text_for_copy(const std::string& text);
/// "lz4, bitshuffle:lz4, ...", for messages.
std::string plugin_options();

// -- sizes ----------------------------------------------------------------------------------------

/// How many bytes a plugin would make of `stored`, if its header, or its values, tell.
std::optional<std::uint64_t> claimed_bytes(const Filter& filter, std::span<const std::byte> stored);
/// Can decoding `stored` give so many bytes? Compares what is claimed, and follows the blocks of
/// plugins that trust their lengths.
bool is_plausible(const Filter& filter, std::span<const std::byte> stored,
                  std::uint64_t dense_bytes);

}  // namespace sluice::codec
