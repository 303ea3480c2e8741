#include "layout/hdf5/log_reader.hpp"

#include <span>

#include "layout/hdf5/attributes.hpp"
#include "layout/hdf5/contents.hpp"
#include "layout/hdf5/dataset_facts.hpp"
#include "layout/hdf5/datasets.hpp"
#include "layout/hdf5/part_identity.hpp"
#include "layout/openpmd/rules.hpp"

namespace sluice::layout::hdf5 {

using model::Dims;

std::string Log::group_of(std::uint64_t step) const {
  return profile == Profile::openpmd && step < step_numbers.size()
             ? openpmd::group_of(step_numbers[step])
             : step_group(step);
}

namespace {

void require_known_version(hid_t group, const std::string& path) {
  const auto major = read_attribute(group, version_attribute);
  const auto number = major ? only_number(*major) : std::nullopt;
  if (!number) {
    throw Error(Code::format, path + ": /sluice has no format version");
  }
  if (*number > format_major) {
    throw Error(Code::version, path + ": written by Sluice format " + std::to_string(*number) +
                                   ".x, this library reads up to " + std::to_string(format_major) +
                                   ".x: use a newer Sluice");
  }
}

Profile read_profile(hid_t group, const std::string& path) {
  const auto name = read_text_attribute(group, layout_attribute);
  const auto profile = name ? find_profile(*name) : Profile::stacked;
  if (!profile) {
    throw Error(Code::version,
                path + ": /sluice names an unknown layout: " + *name + ": use a newer Sluice");
  }
  return *profile;
}

void read_commits(hid_t file, storage::File& holder, LogContent& content) {
  const Handle dataset = own(H5Dopen2(file, commits_name, H5P_DEFAULT), commits_name);
  const Handle space = own(H5Dget_space(dataset.get()), commits_name);
  const Extents extents = extents_of(space.get());
  if (extents.dims.rank() != 2 || extents.dims[1] != CommitRow::words) {
    throw Error(Code::damaged, holder.path() + ": /sluice/commits has a wrong shape");
  }
  const Handle list = own(H5Dget_create_plist(dataset.get()), commits_name);
  // A table that claims more rows than the file can hold is damaged.
  if (extents.dims[0] > most_own_words(list.get(), holder.size()) / CommitRow::words) {
    throw Error(Code::damaged, holder.path() + ": /sluice/commits claims too many rows");
  }
  Log& log = content.log;
  log.is_growable = H5Pget_layout(list.get()) == H5D_CHUNKED;
  std::vector<std::uint64_t> words(extents.dims.volume());
  if (!words.empty()) {
    check(H5Dread(dataset.get(), H5T_NATIVE_UINT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, words.data()),
          commits_name);
  }
  for (std::size_t at = 0; at < words.size(); at += CommitRow::words) {
    const auto row = CommitRow::unpack(std::span(words).subspan(at).first<CommitRow::words>());
    content.commits.push_back(row);
    if (row.step != CommitRow::no_step) {
      // Steps are consecutive; a number from a damaged row would be used as a size.
      if (row.step > log.steps) {
        throw Error(Code::damaged, holder.path() + ": /sluice/commits skips a step");
      }
      log.steps = row.step + 1;
      log.step_numbers.resize(log.steps);
      log.step_numbers.back() = row.number;
    }
  }
}

void read_checksum_form(hid_t file, const std::string& path, Log& log) {
  if (!has_link(file, checksums_name)) {
    return;
  }
  const Handle sums = own(H5Dopen2(file, checksums_name, H5P_DEFAULT), checksums_name);
  const Handle list = own(H5Dget_create_plist(sums.get()), checksums_name);
  const Handle sums_space = own(H5Dget_space(sums.get()), checksums_name);
  const Dims words = extents_of(sums_space.get()).dims;
  hsize_t chunk = 0;
  if (words.rank() != 1) {
    throw Error(Code::damaged, path + ": /sluice/checksums has a wrong shape");
  }
  const bool is_chunked = H5Pget_layout(list.get()) == H5D_CHUNKED;
  if (is_chunked && (H5Pget_chunk(list.get(), 1, &chunk) != 1 || chunk == 0)) {
    throw Error(Code::damaged, path + ": /sluice/checksums has a wrong layout");
  }
  // The copy of another program may be contiguous, or in chunks that its end does not fill.
  const bool is_plain = is_chunked && words[0] % chunk == 0 &&
                        checked(H5Pget_nfilters(list.get()), checksums_name) == 0;
  log.is_growable = log.is_growable && is_plain;
  log.checksum_chunk_words = is_plain ? chunk : words[0];
  log.checksum_chunks = is_plain ? words[0] / chunk : 1;
}

}  // namespace

LogContent read_log(hid_t file, storage::File& holder) {
  const QuietErrors quiet;
  const std::string& path = holder.path();
  LogContent content;
  if (!has_log(file, path)) {
    return content;
  }
  const Handle group = own(H5Gopen2(file, group_name, H5P_DEFAULT), group_name);
  require_known_version(group.get(), path);
  content.log.is_there = true;
  content.log.is_part = is_yes(H5Aexists(group.get(), part_id_name), path);
  content.recorded = read_contents(group.get(), path);
  content.log.profile = read_profile(group.get(), path);
  read_commits(file, holder, content);
  read_checksum_form(file, path, content.log);
  return content;
}

std::vector<std::uint64_t> read_checksum_words(hid_t file, storage::File& holder, const Log& log,
                                               const CommitRow& commit) {
  const QuietErrors quiet;
  const std::uint64_t held = log.checksum_chunks * log.checksum_chunk_words;
  const auto require = [&](bool is_inside) {
    if (!is_inside) {
      throw Error(Code::damaged, holder.path() + ": /sluice/commits points outside its checksums");
    }
  };
  require(commit.word_count <= held && commit.first_word <= held - commit.word_count);
  if (commit.word_count == 0) {
    return {};
  }
  const Handle dataset = own(H5Dopen2(file, checksums_name, H5P_DEFAULT), checksums_name);
  const Handle list = own(H5Dget_create_plist(dataset.get()), checksums_name);
  require(commit.word_count <= most_own_words(list.get(), holder.size()));
  std::vector<std::uint64_t> words(commit.word_count);
  read_rows(dataset.get(), checksums_name, H5T_NATIVE_UINT64, commit.first_word,
            {commit.word_count}, words.data());
  return words;
}

}  // namespace sluice::layout::hdf5
