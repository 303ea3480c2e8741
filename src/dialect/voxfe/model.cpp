#include "dialect/voxfe/model.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <exception>
#include <functional>
#include <string_view>

#include "exec/agree.hpp"
#include "model/bytes.hpp"
#include "sluice/error.hpp"

namespace sluice::dialect::voxfe {

namespace {

constexpr std::uint64_t piece_bytes = 4 << 20;
/// A longer line is none of a model's.
constexpr std::uint64_t longest_line = 4096;
constexpr std::uint64_t largest_extent = 1 << 20;

struct Voxel {
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  std::uint32_t z = 0;
  std::uint32_t material = 0;
};

struct Head {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;  ///< of the head
  std::uint64_t size = 0;   ///< of the file
  std::string voxel_size;
};

[[noreturn]] void refuse(const std::string& path, std::uint64_t at, const std::string& why) {
  throw Error(Code::format, path + ": byte " + std::to_string(at) + ": " + why);
}

std::string_view without_blanks(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t\r");
  return first == std::string_view::npos
             ? std::string_view()
             : text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

/// Whole numbers of a line; false where there is anything else or another number of them.
bool parse(std::string_view line, std::span<std::uint64_t> numbers) {
  const char* at = line.data();
  const char* const end = at + line.size();
  for (std::uint64_t& number : numbers) {
    while (at != end && (*at == ' ' || *at == '\t')) {
      ++at;
    }
    const auto result = std::from_chars(at, end, number);
    if (result.ec != std::errc{}) {
      return false;
    }
    at = result.ptr;
  }
  return without_blanks({at, static_cast<std::size_t>(end - at)}).empty();
}

Head read_head(storage::File& file) {
  std::string text(2 * longest_line, '\0');
  text.resize(file.read(0, std::as_writable_bytes(std::span(text))));
  const std::size_t first = text.find('\n');
  const std::size_t second = first == std::string::npos ? first : text.find('\n', first + 1);
  Head head;
  const bool is_whole = second != std::string::npos;
  if (!is_whole ||
      !parse(std::string_view(text).substr(first + 1, second - first - 1), {&head.count, 1})) {
    refuse(file.path(), 0,
           "no VOX-FE model: it begins with a blank line, or the size of a voxel, and a line with "
           "the number of voxels");
  }
  head.voxel_size = without_blanks(std::string_view(text).substr(0, first));
  head.bytes = second + 1;
  head.size = file.size();
  // "1 1 1 1 1" and the end of the line: ten bytes, the last end of line may miss.
  if (head.count > (head.size - head.bytes + 1) / 10) {
    refuse(file.path(), first + 1,
           std::to_string(head.count) + " voxels in a file of " + std::to_string(head.size) +
               " bytes");
  }
  return head;
}

/// Calls visit(line, place) for each line that begins in [begin, end).
void for_each_line(storage::File& file, std::uint64_t begin, std::uint64_t end, std::uint64_t head,
                   const std::function<void(std::string_view, std::uint64_t)>& visit) {
  // From one byte before, so that a line which begins at `begin` is told from one that goes on.
  std::uint64_t at = begin > head ? begin - 1 : begin;
  bool skips = begin > head;
  std::string text;
  while (at < end) {
    const std::uint64_t wanted = std::min(piece_bytes, end - at) + longest_line;
    text.resize(wanted);
    text.resize(file.read(at, std::as_writable_bytes(std::span(text))));
    const bool is_last = text.size() < wanted;
    std::size_t from = 0;
    if (skips) {
      const std::size_t stop = text.find('\n');
      if (stop == std::string::npos) {
        return;
      }
      from = stop + 1;
      skips = false;
    }
    const std::size_t before = from;
    while (from < text.size() && at + from < end) {
      std::size_t stop = text.find('\n', from);
      if (stop == std::string::npos) {
        if (!is_last) {
          break;
        }
        stop = text.size();
      }
      visit(std::string_view(text).substr(from, stop - from), at + from);
      from = stop + 1;
    }
    if (from == before && from < text.size() && at + from < end) {
      refuse(file.path(), at + from, "a line of more than " + std::to_string(longest_line));
    }
    if (is_last || from == 0) {
      return;
    }
    at += from;
  }
}

std::vector<Voxel> read_own(exec::Transport& transport, storage::File& file, const Head& head) {
  const auto rank = static_cast<std::uint64_t>(transport.rank());
  const auto ranks = static_cast<std::uint64_t>(transport.size());
  const std::uint64_t body = head.size - head.bytes;
  std::vector<Voxel> voxels;
  voxels.reserve(head.count / ranks + 1);
  for_each_line(file, head.bytes + body * rank / ranks, head.bytes + body * (rank + 1) / ranks,
                head.bytes, [&](std::string_view line, std::uint64_t place) {
                  std::array<std::uint64_t, 5> row{};
                  if (without_blanks(line).empty()) {
                    return;
                  }
                  if (!parse(line, row)) {
                    refuse(file.path(), place, "no `element material x y z`");
                  }
                  if (row[1] < 1 || row[1] > 255) {
                    refuse(file.path(), place,
                           "material " + std::to_string(row[1]) + " is not within 1 to 255");
                  }
                  for (int i = 2; i < 5; ++i) {
                    if (row[static_cast<std::size_t>(i)] < 1 ||
                        row[static_cast<std::size_t>(i)] > largest_extent) {
                      refuse(file.path(), place, "a coordinate is not within 1 to 1048576");
                    }
                  }
                  voxels.push_back({static_cast<std::uint32_t>(row[2] - 1),
                                    static_cast<std::uint32_t>(row[3] - 1),
                                    static_cast<std::uint32_t>(row[4] - 1),
                                    static_cast<std::uint32_t>(row[1])});
                });
  return voxels;
}

/// The size of the grid and the number of voxels, of all ranks.
void settle(exec::Transport& transport, const std::string& path, const std::vector<Voxel>& voxels,
            const Head& head, Grid& grid) {
  std::int64_t largest[3] = {0, 0, 0};
  for (const Voxel& v : voxels) {
    largest[0] = std::max<std::int64_t>(largest[0], v.x + std::int64_t{1});
    largest[1] = std::max<std::int64_t>(largest[1], v.y + std::int64_t{1});
    largest[2] = std::max<std::int64_t>(largest[2], v.z + std::int64_t{1});
  }
  transport.allreduce(largest, exec::Op::max);
  auto count = static_cast<std::int64_t>(voxels.size());
  transport.allreduce({&count, 1}, exec::Op::sum);
  if (static_cast<std::uint64_t>(count) != head.count) {
    throw Error(Code::format, path + ": says that it has " + std::to_string(head.count) +
                                  " voxels, and has " + std::to_string(count));
  }
  for (std::size_t i = 0; i < 3; ++i) {
    const auto needed = static_cast<std::uint64_t>(largest[i]);
    if (grid[i] != 0 && needed > grid[i]) {
      throw Error(Code::out_of_bounds,
                  path + ": has a voxel at " + std::string(1, static_cast<char>('x' + i)) + " " +
                      std::to_string(needed) + ", outside the grid of " + std::to_string(grid[i]));
    }
    grid[i] = std::max(grid[i], needed);
  }
}

}  // namespace

Planes read_model(exec::Transport& transport, storage::Storage& storage, const std::string& path,
                  Grid grid) {
  std::unique_ptr<storage::File> file;
  std::vector<Voxel> voxels;
  Head head;
  std::exception_ptr failure;
  try {
    file = storage.open(path, storage::Access::read);
    head = read_head(*file);
    voxels = read_own(transport, *file, head);
  } catch (...) {
    failure = std::current_exception();
  }
  exec::agree(transport, failure);
  settle(transport, path, voxels, head, grid);

  const auto ranks = static_cast<std::uint64_t>(transport.size());
  const auto first_of = [&](std::uint64_t rank) { return grid[2] * rank / ranks; };
  std::vector<std::vector<Voxel>> leaving(ranks);
  for (const Voxel& v : voxels) {
    std::uint64_t rank = std::min(ranks - 1, v.z * ranks / grid[2]);
    while (v.z < first_of(rank)) --rank;
    while (v.z >= first_of(rank + 1)) ++rank;
    leaving[rank].push_back(v);
  }
  voxels = {};
  std::vector<exec::Parcel> parcels;
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    if (!leaving[rank].empty()) {
      model::ByteWriter out;
      out.put(leaving[rank]);
      leaving[rank] = {};
      parcels.push_back({static_cast<int>(rank), out.take()});
    }
  }
  Planes planes{grid, head.count, first_of(static_cast<std::uint64_t>(transport.rank())),
                0,    {},         head.voxel_size};
  planes.count = first_of(static_cast<std::uint64_t>(transport.rank()) + 1) - planes.first;
  const auto arrived = transport.exchange(std::move(parcels));
  try {
    planes.materials.resize(planes.count * grid[1] * grid[0]);
    for (const exec::Parcel& parcel : arrived) {
      for (const Voxel& v : model::ByteReader(parcel.bytes).get_vector<Voxel>()) {
        std::uint8_t& cell =
            planes.materials[((v.z - planes.first) * grid[1] + v.y) * grid[0] + v.x];
        if (cell != 0) {
          throw Error(Code::overlap, path + ": two voxels at " + std::to_string(v.x + 1) + " " +
                                         std::to_string(v.y + 1) + " " + std::to_string(v.z + 1));
        }
        cell = static_cast<std::uint8_t>(v.material);
      }
    }
  } catch (...) {
    failure = std::current_exception();
  }
  exec::agree(transport, failure);
  return planes;
}

}  // namespace sluice::dialect::voxfe
