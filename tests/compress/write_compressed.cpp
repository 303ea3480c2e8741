// Writes one compressed file a strategy, codec and format into the folder that is the program's
// first argument, or reads a file that another program wrote: `write_compressed FOLDER read FILE
// VARIABLE` prints the sum of its elements, read by 3 virtual ranks.
//
// Element i of variable <type> in step s is (i / 50 + s) mod 100.
#include <cstdio>
#include <filesystem>

#include "api/file_impl.hpp"
#include "codec/filter.hpp"
#include "exec/local_transport.hpp"
#include "support/values.hpp"

namespace sluice::test {
namespace {

constexpr int ranks = 4;
constexpr std::uint64_t steps = 3;
const Shape shape = {61, 40};

template <class T>
void put_type(File& out, std::deque<std::vector<std::byte>>& held, Step* step, int rank,
              const std::string& name, std::uint64_t s, const std::string& codec) {
  const bool is_stepped = step != nullptr;
  const std::string full = name + (is_stepped ? "_steps" : "");
  const Variable v =
      out.define<T>(full, shape, {.steps = is_stepped, .chunk = {9, 40}, .compress = codec});
  const model::Box box = slab(shape, rank, ranks);
  held.emplace_back(box.volume() * sizeof(T));
  auto* values = reinterpret_cast<T*>(held.back().data());
  for_each_element(dims_of(shape), box, [&](std::uint64_t index, std::uint64_t k) {
    values[k] = static_cast<T>((index / 50 + s) % 100);
  });
  if (is_stepped) {
    step->put(v, values, selection_of(box));
  } else {
    out.put(v, values, selection_of(box));
  }
}

void put_all(File& out, std::deque<std::vector<std::byte>>& held, Step* step, int rank,
             std::uint64_t s, const std::string& codec) {
  put_type<std::int8_t>(out, held, step, rank, "int8", s, codec);
  put_type<std::uint8_t>(out, held, step, rank, "uint8", s, codec);
  put_type<std::int16_t>(out, held, step, rank, "int16", s, codec);
  put_type<std::uint16_t>(out, held, step, rank, "uint16", s, codec);
  put_type<std::int32_t>(out, held, step, rank, "int32", s, codec);
  put_type<std::uint32_t>(out, held, step, rank, "uint32", s, codec);
  put_type<std::int64_t>(out, held, step, rank, "int64", s, codec);
  put_type<std::uint64_t>(out, held, step, rank, "uint64", s, codec);
  put_type<float>(out, held, step, rank, "float32", s, codec);
  put_type<double>(out, held, step, rank, "float64", s, codec);
}

void write(exec::Transport& transport, const std::string& path, const std::string& strategy,
           const std::string& codec) {
  Options options;
  options.strategy = strategy;
  options.ranks_per_node = 2;
  options.durability = Durability::none;
  File out(detail::open_on(transport, storage::make_posix(), path, Mode::write, options));
  std::deque<std::vector<std::byte>> held;
  put_all(out, held, nullptr, transport.rank(), 0, codec);
  for (std::uint64_t s = 0; s < steps; ++s) {
    Step step = out.begin_step({.time = 0.5 * static_cast<double>(s)});
    put_all(out, held, &step, transport.rank(), s, codec);
    step.end();
  }
  out.close();
}

void write_all(const std::string& folder) {
  std::filesystem::create_directories(folder);
  for (const char* codec : {"deflate:6", "deflate:1+noshuffle", "zstd:3"}) {
    const std::string method(codec, 4);
    if (method == "zstd" && !codec::find_method(codec::zstd_id)) {
      continue;
    }
    for (const char* strategy :
         {"serial", "shared", "collective", "file-per-process", "file-per-node"}) {
      for (const char* ending : {".h5", ".nc"}) {
        const bool has_parts = std::string(strategy).rfind("file-per", 0) == 0;
        if (has_parts && std::string(ending) == ".nc") {
          continue;  // an index is plain HDF5
        }
        std::string name = std::string(codec) + "-" + strategy + ending;
        std::replace(name.begin(), name.end(), ':', '_');
        exec::run_local(ranks, 1, [&](exec::Transport& transport) {
          write(transport, folder + "/" + name, strategy, codec);
        });
      }
    }
  }
}

void read(const std::string& path, const std::string& name) {
  exec::run_local(3, 1, [&](exec::Transport& transport) {
    File in(detail::open_on(transport, storage::make_posix(), path, Mode::read, {}));
    const Variable v = in.find(name);
    const Shape extent = in.info(v).shape;
    Array<double> got(dims_of(extent).volume());
    in.get<double>(v, got.data(), {}, 0);
    double sum = 0;
    for (std::uint64_t i = 0; i < got.size(); ++i) {
      sum += got[i] * static_cast<double>(i % 7 + 1);
    }
    if (transport.rank() == 2) {
      std::printf("%.17g\n", sum);
    }
  });
}

}  // namespace
}  // namespace sluice::test

int main(int argc, char** argv) {
  try {
    if (argc == 5) {
      sluice::test::read(argv[3], argv[4]);
    } else if (argc == 2) {
      sluice::test::write_all(argv[1]);
    } else {
      std::fprintf(stderr, "usage: write_compressed FOLDER [read FILE VARIABLE]\n");
      return 2;
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "write_compressed: %s\n", e.what());
    return 1;
  }
  return 0;
}
