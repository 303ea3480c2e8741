// Places the data of one commit: libhdf5 adds every chunk to its index, the driver records
// addresses.
#include <algorithm>
#include <array>

#include "layout/hdf5/datasets.hpp"
#include "layout/hdf5/planner.hpp"
#include "layout/hdf5/types.hpp"

namespace sluice::layout::hdf5 {

using model::Dims;

void Hdf5Planner::make_touched(const CommitRequest& request) {
  for (const Touched& touched : request.touched) {
    if (made_[touched.variable].is_big_endian) {  // fixed, and perhaps without values so far
      throw Error(Code::unsupported,
                  definitions_[touched.variable].name +
                      ": is big-endian, which Sluice does not write: " + append_remedy);
    }
  }
  // Those of offsets last: where they go depends on what else there is (make_in_a_row).
  for (const bool is_last : {false, true}) {
    for (const Touched& touched : request.touched) {
      const bool is_offsets = definitions_[touched.variable].name.ends_with("/Offsets");
      if (!made_[touched.variable].exists && is_offsets == is_last) {
        make(touched.variable, touched.tiling.tile());
      }
    }
  }
}

CommitPlan Hdf5Planner::plan_commit(const CommitRequest& request) {
  const QuietErrors quiet;
  CommitPlan plan;
  plan.step = planned_step_ = steps_;
  const bool is_grouped = hdf5::is_grouped(profile_);
  if (request.is_step && !has_time_ && names_dimensions() && keeps_time(request.time)) {
    make_time();  // first, because it is the scale of the steps' dimension
  }
  make_touched(request);
  CommitRow row;
  row.time = request.time;
  if (is_grouped && request.is_step) {
    apply_attributes();  // the objects of this step inherit them
    row.number = number_step();
    make_step_group(steps_, request.time);
  }
  std::vector<bool> has_extent(definitions_.size());
  for (const Touched& touched : request.touched) {
    const model::Definition& definition = definitions_[touched.variable];
    has_extent[touched.variable] = true;
    if (is_encoded(definition)) {
      prepare_encoded(touched);
    } else {
      plan.placements.push_back(!definition.stepped ? place_fixed(touched.variable)
                                : is_grouped        ? place_group(touched, steps_)
                                                    : place_step(touched, steps_));
    }
  }
  row.modified_ns = request.modified_ns;
  if (request.is_step) {
    row.step = steps_;
    row.rows_proof = proof_of_rows(definitions_, request.touched);
    append_time(steps_, request.time);
    ++steps_;
    for (std::uint32_t v = 0; v < definitions_.size(); ++v) {
      if (definitions_[v].stepped && made_[v].exists && !is_grouped && !has_extent[v]) {
        extend(v, steps_);
      }
    }
    append_vtk_step(request);
    write_openpmd_step(request);
  } else {
    describe_vtk_static(request);
  }
  if (request.checksum_words != 0) {
    plan.checksums = place_checksums(request.checksum_words, row);
  }
  append_row(row);
  plan.set_space(definitions_);
  return plan;
}

void Hdf5Planner::extend(std::uint32_t variable, std::uint64_t steps) {
  const model::Definition& definition = definitions_[variable];
  if (made_[variable].slot != 0) {
    set_extent(dataset(variable),
               definition.shape_of(
                   model::checked_product(steps, made_[variable].slot, "rows of all steps")),
               definition.name);
    return;
  }
  const Dims shape = dims_in_file(profile_, definition, definition.shape);
  set_extent(dataset(variable), shape.with_front(steps), definition.name);
}

Placement Hdf5Planner::place_fixed(std::uint32_t variable) {
  const model::Definition& definition = definitions_[variable];
  const bool is_empty = definition.bytes_per_step() == 0;
  std::vector<std::uint64_t> addresses;
  if (!is_empty) {
    // Another program, or the library itself (`time`), may have created it in chunks.
    const Handle list = own(H5Dget_create_plist(dataset(variable)), definition.name);
    const bool is_contiguous = H5Pget_layout(list.get()) == H5D_CONTIGUOUS;
    const std::uint64_t address =
        is_contiguous ? place_contiguous(dataset(variable), definition) : 0;
    if (address < state_.frontier) {
      refuse_rewriting(definition.name);
    }
    addresses.push_back(address);
  }
  return {variable, definition.type.bytes, definition.shape, definition.shape, addresses};
}

void Hdf5Planner::throw_refused(const std::string& what) {
  const std::optional<Error> failure = take_storage_failure();
  const std::string why = state_.failure.empty() ? last_error() : state_.failure;
  state_.failure.clear();
  throw Error(failure ? failure->code() : Code::internal, what + ": " + why);
}

std::uint64_t Hdf5Planner::place_contiguous(hid_t dataset, const model::Definition& definition) {
  const haddr_t address = H5Dget_offset(dataset);
  if (address != HADDR_UNDEF) {
    return address;
  }
  check_no_error(definition.name);
  // A coordinate variable that was created for its dimension: a write makes libhdf5 allocate.
  const std::uint64_t bytes = definition.bytes_per_step();
  const Handle type = type_in_file(profile_, definition.type);
  const void* placeholder = state_.placeholder.reserve(bytes);
  if (H5Dwrite(dataset, type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, placeholder) < 0) {
    throw_refused(definition.name + ": allocating");
  }
  return state_.take_noted(bytes, definition.name).offset;
}

std::uint64_t Hdf5Planner::note_chunk(hid_t dataset, const hsize_t* at, std::uint64_t chunk_bytes,
                                      const std::string& name, std::uint32_t mask) {
  const void* placeholder = state_.placeholder.reserve(chunk_bytes);
  if (H5Dwrite_chunk(dataset, H5P_DEFAULT, mask, at, chunk_bytes, placeholder) < 0) {
    throw_refused(name + ": placing a chunk");
  }
  return state_.take_noted(chunk_bytes, name).offset;
}

std::array<hsize_t, model::max_rank> Hdf5Planner::chunk_at(std::uint32_t variable,
                                                           std::uint64_t step,
                                                           const Dims& start) const {
  std::array<hsize_t, model::max_rank> at{};
  const bool is_stacked = definitions_[variable].stepped && made_[variable].slot == 0;
  std::copy(start.begin(), start.end(), at.begin() + (is_stacked ? 1 : 0));
  at[0] = is_stacked ? step : at[0] + step * made_[variable].slot;
  return at;
}

Placement Hdf5Planner::place_step(const Touched& touched, std::uint64_t step) {
  const std::uint32_t variable = touched.variable;
  const model::Definition& definition = definitions_[variable];
  const Dims& tile = made_[variable].tile;
  extend(variable, step + 1);
  const Dims grid = grid_of(definition.shape, tile);
  const std::uint64_t count = definition.shape.volume() == 0 ? 0 : grid.volume();
  // A step with fewer rows gets only the chunks of those rows.
  const std::uint64_t rows = touched.shape.empty() ? absent : touched.shape[0];
  std::vector<std::uint64_t> addresses;
  addresses.reserve(count);
  Dims cell = Dims::filled(grid.rank(), 0);
  for (std::uint64_t i = 0; i < count; ++i) {
    Dims start = cell;
    for (int d = 0; d < grid.rank(); ++d) {
      start[d] *= tile[d];
    }
    const std::array<hsize_t, model::max_rank> at = chunk_at(variable, step, start);
    const bool is_there = grid.rank() == 0 || cell[0] * tile[0] < rows;
    addresses.push_back(is_there
                            ? note_chunk(dataset(variable), at.data(),
                                         tile.volume() * definition.type.bytes, definition.name)
                            : absent);
    for (int d = grid.rank() - 1; d >= 0 && ++cell[d] == grid[d]; --d) {
      cell[d] = 0;
    }
  }
  return {variable, definition.type.bytes, definition.shape, tile, addresses};
}

Placement Hdf5Planner::place_checksums(std::uint64_t words, CommitRow& row) {
  // If nothing is aligned, the file should be small.
  const std::uint64_t page_words = (options_.alignment_bytes == 1 ? 2048 : 4096) / 8;
  constexpr std::uint64_t most_words = (1 << 20) / 8;
  if (checksum_chunk_words_ == 0) {
    const std::uint64_t pages = (words + page_words - 1) / page_words;
    checksum_chunk_words_ = std::min(pages * page_words, most_words);
    make_checksums(checksum_chunk_words_);
  }
  const std::uint64_t chunks = (words + checksum_chunk_words_ - 1) / checksum_chunk_words_;
  const hid_t dataset = own_dataset(own_.checksums, checksums_name);
  set_extent(dataset, {(checksum_chunks_ + chunks) * checksum_chunk_words_}, checksums_name);
  std::vector<std::uint64_t> addresses;
  for (std::uint64_t i = 0; i < chunks; ++i) {
    const hsize_t at = (checksum_chunks_ + i) * checksum_chunk_words_;
    addresses.push_back(note_chunk(dataset, &at, checksum_chunk_words_ * 8, checksums_name));
  }
  row.first_word = checksum_chunks_ * checksum_chunk_words_;
  row.word_count = words;
  checksum_chunks_ += chunks;
  return {checksum_variable,
          8,
          {chunks * checksum_chunk_words_},
          Dims{checksum_chunk_words_},
          addresses};
}

}  // namespace sluice::layout::hdf5
