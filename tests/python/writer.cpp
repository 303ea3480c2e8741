// writer FOLDER: writes the files for the Python readers, on 3 virtual ranks, once with each
// strategy: <strategy>.h5. Values follow formulas that readers_test.py uses too.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <deque>
#include <limits>

#include "api/file/file_impl.hpp"
#include "support/local_transport.hpp"
#include "support/values.hpp"

namespace {

using namespace sluice;
using namespace sluice::test;

constexpr int ranks = 3;
constexpr std::uint64_t all_steps = 3;

/// The value of element `index` in step `step`.
template <class T>
T formula(std::uint64_t index, std::uint64_t step) {
  if constexpr (std::is_same_v<T, bool>) {
    return (index + step) % 3 == 0;
  } else if constexpr (std::is_floating_point_v<T>) {
    return static_cast<T>(static_cast<double>(index) * 0.5 - static_cast<double>(step) * 1000);
  } else if constexpr (std::is_integral_v<T>) {
    // Wraps around, so that the top bits of every width are used.
    return static_cast<T>((index + 1) * 0x9E3779B97F4A7C15ULL + step * 0x10001);
  } else {
    using Part = typename T::value_type;
    return {static_cast<Part>(index), static_cast<Part>(-static_cast<double>(step) - 0.5)};
  }
}

/// One variable of type T whose blocks are dealt at random anew in every step.
class Series {
 public:
  virtual ~Series() = default;
  virtual void put(Step& step, std::uint64_t number, int rank) = 0;
};

template <class T>
class SeriesOf final : public Series {
 public:
  SeriesOf(File& out, const std::string& name, const Shape& shape)
      : shape_(shape), variable_(out.define<T>(name, shape, {.steps = true, .unit = "nm"})) {}
  void put(Step& step, std::uint64_t number, int rank) override {
    for (const model::Box& box : dealt_to(rank, ranks, shape_, number + shape_.size())) {
      held_.emplace_back(box.volume());
      Array<T>& values = held_.back();
      for_each_element(dims_of(shape_), box, [&](std::uint64_t index, std::uint64_t k) {
        values[k] = formula<T>(index, number);
      });
      step.put(variable_, values.data(), selection_of(box));
    }
  }

 private:
  Shape shape_;
  Variable variable_;
  std::deque<Array<T>> held_;
};

using All = std::vector<std::unique_ptr<Series>>;

void define_types(File& out, All& all) {
  const Shape shape = {4, 5};
  all.push_back(std::make_unique<SeriesOf<std::int8_t>>(out, "types/int8", shape));
  all.push_back(std::make_unique<SeriesOf<std::int16_t>>(out, "types/int16", shape));
  all.push_back(std::make_unique<SeriesOf<std::int32_t>>(out, "types/int32", shape));
  all.push_back(std::make_unique<SeriesOf<std::int64_t>>(out, "types/int64", shape));
  all.push_back(std::make_unique<SeriesOf<std::uint8_t>>(out, "types/uint8", shape));
  all.push_back(std::make_unique<SeriesOf<std::uint16_t>>(out, "types/uint16", shape));
  all.push_back(std::make_unique<SeriesOf<std::uint32_t>>(out, "types/uint32", shape));
  all.push_back(std::make_unique<SeriesOf<std::uint64_t>>(out, "types/uint64", shape));
  all.push_back(std::make_unique<SeriesOf<float>>(out, "types/float32", shape));
  all.push_back(std::make_unique<SeriesOf<double>>(out, "types/float64", shape));
  all.push_back(std::make_unique<SeriesOf<bool>>(out, "extra/boolean", shape));
  all.push_back(std::make_unique<SeriesOf<std::complex<float>>>(out, "extra/complex64", shape));
  all.push_back(std::make_unique<SeriesOf<std::complex<double>>>(out, "extra/complex128", shape));
}

void define_shapes(File& out, All& all) {
  const Shape extents = {7, 6, 5, 4, 3};
  for (std::size_t rank = 1; rank <= extents.size(); ++rank) {
    const Shape shape(extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(rank));
    const std::string name = "shapes/d" + std::to_string(rank);
    all.push_back(std::make_unique<SeriesOf<double>>(out, name, shape));
  }
  all.push_back(std::make_unique<SeriesOf<double>>(out, "shapes/none", Shape{0, 3}));
}

void set_attributes(File& out) {
  for (const char* owner : {"", "types", "types/int32"}) {
    out.set_attribute(owner, "text", std::string("Grüße"));
    out.set_attribute(owner, "texts", std::vector<std::string>{"a", "größer"});
    out.set_attribute(owner, "int32", std::int32_t{-7});
    out.set_attribute(owner, "int64", std::int64_t{1} << 60);
    out.set_attribute(owner, "float32", 0.1f);
    out.set_attribute(owner, "float64s", std::vector<double>{0.1, 1e300});
    out.set_attribute(owner, "int32s", std::vector<std::int32_t>{1, -2});
  }
  out.set_attribute("extra", "flag", true);  // netCDF has no booleans
}

/// Fixed variables: of every number of dimensions, of text, with holes.
void put_fixed(File& out, int rank, std::deque<Array<double>>& held, std::string& names) {
  const Shape shape = {6, 4};
  const Variable fixed = out.define<double>("fixed/f", shape);
  const Variable holes =
      out.define<double>("fixed/holes", shape, {.partial = true, .fill = -999.5});
  const Variable scalar = out.define<double>("fixed/scalar", {});
  const Variable text = out.define_raw("extra/names", string_type(6), {3}, {});
  out.define<float>("fixed/never", {3}, {.partial = true, .fill = 7});
  const model::Box box = slab(shape, rank, ranks);
  held.emplace_back(box.volume());
  for_each_element(dims_of(shape), box, [&](std::uint64_t index, std::uint64_t k) {
    held.back()[k] = formula<double>(index, 0);
  });
  out.put(fixed, held.back().data(), selection_of(box));
  if (rank == 1) {
    out.put(holes, held.back().data(), selection_of(box));
    held.emplace_back(1, 42.25);
    out.put(scalar, held.back().data());
    names = std::string(
        "a\0\0\0\0\0Gr\xc3\xbc\xc3\x9f"
        "abcdef",
        18);
    out.put_raw(text, names.data(), string_type(6), {});
  }
}

void write_file(const std::string& path, const std::string& strategy) {
  const auto storage = storage::make("posix");
  exec::run_local(ranks, 3, [&](exec::Transport& transport) {
    Options options;
    options.strategy = strategy;
    options.durability = Durability::none;
    File out(detail::open_on(transport, storage, path, Mode::write, options));
    All all;
    define_types(out, all);
    define_shapes(out, all);
    set_attributes(out);
    std::deque<Array<double>> held;
    std::string names;
    put_fixed(out, transport.rank(), held, names);
    const Variable sparse = out.define<float>(
        "fixed/sparse", {8},
        {.steps = true, .partial = true, .fill = std::numeric_limits<double>::quiet_NaN()});
    const float three[3] = {1, 2, 3};
    for (std::uint64_t s = 0; s < all_steps; ++s) {
      Step step = out.begin_step({.time = 0.25 * static_cast<double>(s)});
      for (const auto& series : all) {
        series->put(step, s, transport.rank());
      }
      if (s != 1 && transport.rank() == 0) {
        step.put(sparse, three, {.start = {s}, .count = {3}});
      }
      step.end();
    }
    out.close();
  });
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: writer FOLDER\n");
    return 2;
  }
  try {
    for (const char* strategy : {"serial", "shared"}) {
      write_file(std::string(argv[1]) + "/" + strategy + ".h5", strategy);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "writer: %s\n", error.what());
    return 1;
  }
  return 0;
}
