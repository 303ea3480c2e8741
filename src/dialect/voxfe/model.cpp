#include "dialect/voxfe/model.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <exception>
#include <limits>
#include <optional>
#include <tuple>

#include "exec/transport/agree.hpp"
#include "model/bytes.hpp"
#include "model/number_text.hpp"
#include "sluice/error.hpp"

namespace sluice::dialect::voxfe {

namespace {

/// A grid without requested extents has at most this many cells for each byte of the text, or this
/// many.
constexpr std::uint64_t most_cells_a_byte = 4096;
constexpr std::uint64_t least_cells = 256ULL << 20;

struct Voxel {
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  std::uint32_t z = 0;
  std::uint32_t material = 0;
};

/// All of them; then Error overlap for the first of two at one place.
void fill(Planes& planes, std::span<const Voxel> voxels, const std::string& path) {
  const auto cells = planes.materials();
  const Voxel* twice = nullptr;
  for (const Voxel& v : voxels) {
    std::uint8_t& cell =
        cells[((v.z - planes.first) * planes.grid[1] + v.y) * planes.grid[0] + v.x];
    twice = twice == nullptr && cell != 0 ? &v : twice;
    cell = static_cast<std::uint8_t>(v.material);
  }
  if (twice != nullptr) {
    throw Error(Code::overlap, path + ": two voxels at " + std::to_string(twice->x + 1) + " " +
                                   std::to_string(twice->y + 1) + " " +
                                   std::to_string(twice->z + 1));
  }
}

/// Integers of a line; false if there is anything else or another number of them.
bool parse_whole(std::string_view line, std::span<std::uint64_t> numbers) {
  for (std::uint64_t& number : numbers) {
    if (!take_number(line, number)) {
      return false;
    }
  }
  return model::trimmed(line).empty();
}

}  // namespace

/// Totals of a rank's own lines.
struct Model::Scan {
  std::array<std::int64_t, 3> largest{};
  std::int64_t rows = 0;
  // For the order of all: the cell's number is x + y NX + …, with the largest extents for N.
  std::int64_t first_element = 0;
  std::int64_t last_element = 0;
  std::array<std::uint32_t, 3> first_at{};
  std::array<std::uint32_t, 3> last_at{};
  bool in_order = true;
};

namespace {

/// Does voxel b come after voxel a, by z, y, x?
bool ascends(const std::array<std::uint32_t, 3>& a, const std::array<std::uint32_t, 3>& b) {
  return std::tie(a[2], a[1], a[0]) < std::tie(b[2], b[1], b[0]);
}

}  // namespace

Model::Model(exec::Transport& transport, storage::Storage& storage, const std::string& path,
             Grid grid)
    : transport_(transport), path_(path), grid_(grid) {
  Scan scan;
  exec::together(transport_, [&] {
    open(storage);
    scan = scan_own(grid);
  });
  settle(scan);
}

void Model::open(storage::Storage& storage) {
  file_ = storage.open(path_, storage::Access::read);
  std::string text(2 * longest_line, '\0');
  text.resize(file_->read(0, std::as_writable_bytes(std::span(text))));
  const std::size_t first = text.find('\n');
  const std::size_t second = first == std::string::npos ? first : text.find('\n', first + 1);
  const bool is_whole = second != std::string::npos;
  if (!is_whole ||
      !parse_whole(std::string_view(text).substr(first + 1, second - first - 1), {&voxels_, 1})) {
    throw Error(Code::format,
                path_ +
                    ":2: not a VOX-FE model: it begins with a blank line, or the size of a voxel, "
                    "and a line with the number of voxels");
  }
  voxel_size_ = model::trimmed(std::string_view(text).substr(0, first));
  const std::uint64_t size = file_->size();
  // "1 1 1 1 1" and the end of the line: ten bytes, the last end of line may miss.
  if (voxels_ > (size - (second + 1) + 1) / 10) {
    throw Error(Code::format, path_ + ":2: " + std::to_string(voxels_) + " voxels in a file of " +
                                  std::to_string(size) + " bytes");
  }
  range_ = part_of_rank(second + 1, size, transport_.rank(), transport_.size());
}

std::string fault_of(const std::array<std::uint64_t, 5>& numbers) {
  if (numbers[0] > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    return "the element's number is too large";
  }
  if (numbers[1] < 1 || numbers[1] > 255) {
    return "material " + std::to_string(numbers[1]) + " is not within 1 to 255";
  }
  const bool fits = std::all_of(numbers.begin() + 2, numbers.end(), [](std::uint64_t coordinate) {
    return coordinate >= 1 && coordinate <= largest_extent;
  });
  return fits ? "" : "a coordinate is not within 1 to " + std::to_string(largest_extent);
}

ModelRow Model::parse(std::string_view line, std::uint64_t place) {
  std::array<std::uint64_t, 5> row{};
  if (!parse_whole(line, row)) {
    refuse(*file_, place, "no `element material x y z`");
  }
  if (const std::string fault = fault_of(row); !fault.empty()) {
    refuse(*file_, place, fault);
  }
  ModelRow result{row[0], static_cast<std::uint8_t>(row[1]), {}};
  for (std::size_t i = 0; i < 3; ++i) {
    result.at[i] = static_cast<std::uint32_t>(row[2 + i]);
  }
  return result;
}

Model::Scan Model::scan_own(const Grid& limits) {
  Scan scan;
  Pieces pieces(*file_, range_);
  while (pieces.next()) {
    pieces.each_line([&](std::string_view line, std::uint64_t place) {
      const ModelRow row = parse(line, place);
      for (std::size_t i = 0; i < 3; ++i) {
        if (limits[i] != 0 && row.at[i] > limits[i]) {
          refuse(*file_, place,
                 "the voxel's " + std::string(1, static_cast<char>('x' + i)) + " " +
                     std::to_string(row.at[i]) + " is outside the grid of " +
                     std::to_string(limits[i]));
        }
        scan.largest[i] = std::max<std::int64_t>(scan.largest[i], row.at[i]);
      }
      const auto element = static_cast<std::int64_t>(row.element);
      if (scan.rows == 0) {
        scan.first_element = element;
        scan.first_at = row.at;
      } else {
        scan.in_order =
            scan.in_order && element == scan.last_element + 1 && ascends(scan.last_at, row.at);
      }
      scan.last_element = element;
      scan.last_at = row.at;
      ++scan.rows;
    });
  }
  return scan;
}

void Model::settle(const Scan& scan) {
  const bool is_given = grid_[0] != 0 && grid_[1] != 0 && grid_[2] != 0;
  std::array<std::int64_t, 3> largest = scan.largest;
  transport_.allreduce(largest, exec::Op::max);
  for (std::size_t i = 0; i < 3; ++i) {
    grid_[i] = std::max(grid_[i], static_cast<std::uint64_t>(largest[i]));
  }
  // Empty cells cost nothing in the text: one wrong coordinate could claim any memory and disk.
  const std::uint64_t plane = grid_[0] * grid_[1];  // below 2^41
  const std::uint64_t most_cells = std::max(least_cells, file_->size() * most_cells_a_byte);
  if (!is_given && plane != 0 && grid_[2] > most_cells / plane) {
    throw Error(Code::over_budget, path_ + ": a grid of " + std::to_string(grid_[0]) + " x " +
                                       std::to_string(grid_[1]) + " x " + std::to_string(grid_[2]) +
                                       " for " + std::to_string(voxels_) +
                                       " voxels: is a coordinate wrong?");
  }
  const exec::PrefixSum rows = transport_.prefix_sum(scan.rows);
  if (static_cast<std::uint64_t>(rows.all) != voxels_) {
    throw Error(Code::format, path_ + ":2: says that it has " + std::to_string(voxels_) +
                                  " voxels, and has " + std::to_string(rows.all));
  }
  rows_ = static_cast<std::uint64_t>(scan.rows);
  first_row_ = static_cast<std::uint64_t>(rows.below);
  const auto everybody = transport_.allgather(std::as_bytes(std::span(&scan, 1)));
  in_order_ = true;
  std::int64_t last_element = 0;
  std::array<std::uint32_t, 3> last_at{};
  for (const auto& bytes : everybody) {
    Scan other;
    std::memcpy(&other, bytes.data(), sizeof other);
    if (other.rows != 0) {
      in_order_ = in_order_ && other.in_order && other.first_element == last_element + 1 &&
                  ascends(last_at, other.first_at);
      last_element = other.last_element;
      last_at = other.last_at;
    }
  }
}

Planes Model::read_planes(const SpillPlace& place) {
  const auto ranks = static_cast<std::uint64_t>(transport_.size());
  const auto rank = static_cast<std::uint64_t>(transport_.rank());
  const auto first_of = [&](std::uint64_t r) { return grid_[2] * r / ranks; };
  Planes planes{grid_, voxels_,    first_of(rank), first_of(rank + 1) - first_of(rank),
                {},    voxel_size_};
  std::optional<Pieces> pieces;
  exec::together(transport_, [&] {
    planes.cells =
        storage::Spill(planes.count * grid_[1] * grid_[0], place.limit_bytes, place.folder);
    pieces.emplace(*file_, range_);
  });
  auto rounds = static_cast<std::int64_t>(range_.pieces());
  transport_.allreduce({&rounds, 1}, exec::Op::max);
  std::exception_ptr failure;
  std::uint64_t rows = 0;
  for (std::int64_t round = 0; round < rounds; ++round) {
    std::vector<std::vector<Voxel>> leaving(ranks);
    try {
      pieces->next();
      pieces->each_line([&](std::string_view line, std::uint64_t at) {
        const ModelRow row = parse(line, at);
        if (row.at[0] > grid_[0] || row.at[1] > grid_[1] || row.at[2] > grid_[2]) {
          refuse_changed(path_);
        }
        ++rows;
        const std::uint64_t z = row.at[2] - 1;
        std::uint64_t owner = std::min(ranks - 1, z * ranks / grid_[2]);
        while (z < first_of(owner)) --owner;
        while (z >= first_of(owner + 1)) ++owner;
        leaving[owner].push_back({row.at[0] - 1, row.at[1] - 1, row.at[2] - 1, row.material});
      });
    } catch (...) {
      failure = std::current_exception();
    }
    std::vector<exec::Parcel> parcels;
    for (std::uint64_t r = 0; r < ranks; ++r) {
      if (!leaving[r].empty()) {
        model::ByteWriter out;
        out.put(leaving[r]);
        leaving[r] = {};
        parcels.push_back({static_cast<int>(r), out.take()});
      }
    }
    for (const exec::Parcel& parcel : transport_.exchange(std::move(parcels))) {
      const auto voxels = model::ByteReader(parcel.bytes).get_vector<Voxel>();
      const auto met = exec::failure_of([&] { fill(planes, voxels, path_); });
      failure = failure ? failure : met;
    }
  }
  if (!failure) {
    failure = exec::failure_of([&] { require_rows(rows); });
  }
  exec::agree(transport_, failure);
  planes.cells.let_go();
  return planes;
}

void Model::read_columns(const ModelColumns& columns) {
  Pieces pieces(*file_, range_);
  std::size_t at = 0;
  while (pieces.next()) {
    pieces.each_line([&](std::string_view line, std::uint64_t place) {
      const ModelRow row = parse(line, place);
      if (at == rows_) {
        refuse_changed(path_);
      }
      columns.element[at] = static_cast<std::int64_t>(row.element);
      columns.material[at] = row.material;
      for (std::size_t i = 0; i < 3; ++i) {
        columns.at[i][at] = static_cast<std::int32_t>(row.at[i]);
      }
      ++at;
    });
  }
  require_rows(at);
}

void Model::require_rows(std::uint64_t rows) const {
  if (rows != rows_) {
    refuse_changed(path_);
  }
}

void append_row(std::string& text, const ModelRow& row) {
  char buffer[128];
  char* at = buffer;
  const auto put = [&](std::uint64_t value, char after) {
    at = std::to_chars(at, at + 20, value).ptr;  // as long as any such number
    *at++ = after;
  };
  put(row.element, ' ');
  put(row.material, ' ');
  put(row.at[0], ' ');
  put(row.at[1], ' ');
  put(row.at[2], '\n');
  text.append(buffer, at);
}

}  // namespace sluice::dialect::voxfe
