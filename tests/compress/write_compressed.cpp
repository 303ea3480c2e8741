// Writes one compressed file a strategy, codec and format into the folder that is the program's
// first argument, or reads a file that another program wrote: `write_compressed FOLDER read FILE
// VARIABLE` prints the sum of its elements, read by 3 virtual ranks.
//
// Element i of variable <type> in step s is n = (i / 50 + s) mod 100; of complex ones n - n i.
#include <complex>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <filesystem>

#include "api/file/file_impl.hpp"
#include "codec/filter.hpp"
#include "support/local_transport.hpp"
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
  VariableOptions options{.steps = is_stepped, .compress = codec};
  if (is_stepped || codec != "none") {
    options.chunk = {9, 40};
  }
  const Variable v = out.define<T>(full, shape, options);
  const model::Box box = slab(shape, rank, ranks);
  held.emplace_back(box.volume() * sizeof(T));
  auto* values = reinterpret_cast<T*>(held.back().data());
  for_each_element(dims_of(shape), box, [&](std::uint64_t index, std::uint64_t k) {
    const std::uint64_t value = (index / 50 + s) % 100;
    if constexpr (std::is_same_v<T, std::complex<float>> ||
                  std::is_same_v<T, std::complex<double>>) {
      const auto part = static_cast<typename T::value_type>(value);
      values[k] = {part, -part};
    } else {
      values[k] = static_cast<T>(value);
    }
  });
  if (is_stepped) {
    step->put(v, values, selection_of(box));
  } else {
    out.put(v, values, selection_of(box));
  }
}

void put_all(File& out, std::deque<std::vector<std::byte>>& held, Step* step, int rank,
             std::uint64_t s, const std::string& codec, bool has_complex) {
  put_type<bool>(out, held, step, rank, "bool", s, codec);
  if (has_complex) {
    put_type<std::complex<float>>(out, held, step, rank, "complex64", s, codec);
    put_type<std::complex<double>>(out, held, step, rank, "complex128", s, codec);
  }
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
  const bool has_complex = !path.ends_with(".nc");
  out.set_attribute("", "title", std::string("compressed"));
  put_all(out, held, nullptr, transport.rank(), 0, codec, has_complex);
  for (std::uint64_t s = 0; s < steps; ++s) {
    Step step = out.begin_step({.time = 0.5 * static_cast<double>(s)});
    put_all(out, held, &step, transport.rank(), s, codec, has_complex);
    step.end();
  }
  out.close();
}

void write_all(const std::string& folder) {
  std::filesystem::create_directories(folder);
  std::vector<std::string> codecs{"deflate:6", "deflate:1+noshuffle", "zstd:3", "none"};
  std::vector<std::string> strategies{"serial",  "shared",           "collective",
                                      "forward", "file-per-process", "file-per-node"};
  const char* is_long = std::getenv("SLUICE_LONG");
  if (is_long != nullptr && std::string(is_long) == "1") {
    codecs.insert(codecs.end(), {"deflate:12", "zstd:1+noshuffle", "zstd:19"});
    strategies.emplace_back("auto");
  }
  for (const std::string& codec : codecs) {
    if (codec.starts_with("zstd") && !codec::find_method(codec::zstd_id)) {
      continue;
    }
    for (const std::string& strategy : strategies) {
      for (const char* ending : {".h5", ".nc", ".zarr"}) {
        const bool has_parts = strategy.starts_with("file-per");
        if (has_parts && std::string(ending) != ".h5") {
          continue;  // an index is plain HDF5
        }
        std::string name = codec + "-" + strategy + ending;
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
