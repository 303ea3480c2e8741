// T8 for records, npy, DCD, NAMDBIN, and the codes' own texts: mutants with repaired checksums, so
// that the code behind the checks is reached.
#include "codec/checksum.hpp"
#include "commit/publish/journal.hpp"
#include "dialect/lines/template.hpp"
#include "dialect/mfdn/records.hpp"
#include "dialect/voxfe/displacement.hpp"
#include "dialect/voxfe/model.hpp"
#include "fuzz/read_all.hpp"
#include "layout/records/log.hpp"
#include "records/local_records.hpp"
#include "support/world.hpp"

namespace sluice::test {
namespace {

namespace records = layout::records;

std::uint64_t mutant_count() { return static_cast<std::uint64_t>(case_count(600, 100, 100000)); }

// -- records --------------------------------------------------------------------------------------

FuzzBytes groups_of_records() {
  LocalRecords files;
  files.run(3, [&](exec::Transport& transport) {
    Records out = files.open(transport, "out.rec", Mode::write);
    out.set_text("sluice_template", "files %d.x\n(i12) n:int32\n");
    for (int group = 0; group < 4; ++group) {
      write_particles(out, transport.rank(), group);
      out.commit();
    }
    out.close();
  });
  return files.storage()->contents("out.rec");
}

FuzzBytes variables_in_records() {
  LocalFiles files;
  files.run(2, [&](exec::Transport& transport) {
    Options options;
    options.format = "records";
    File out = files.open(transport, "out.rec", Mode::write, options);
    const auto v = out.define<double>("density", {6, 4}, {.steps = true, .unit = "1"});
    const auto w = out.define<float>("rows", {9, 2}, {.steps = true, .varying = true});
    out.set_attribute("", "title", std::vector<std::string>{"a", "title"});
    for (std::uint64_t s = 0; s < 3; ++s) {
      Giver<double> giver;
      Giver<float> rows;
      Step step = out.begin_step({.time = 1});
      step.resize(w, 2 * s);
      giver.put(step, v, s, {6, 4}, slab({6, 4}, transport.rank(), 2));
      if (s != 0) {
        rows.put(step, w, s, {2 * s, 2}, slab({2 * s, 2}, transport.rank(), 2));
      }
      step.end();
    }
    out.close();
  });
  return files.storage()->contents("out.rec");
}

/// Makes the checksums of the entries and of the root right, from the newest entry back.
void repair_log(FuzzBytes& bytes) {
  records::Root root;
  std::memcpy(&root, &bytes[records::root_offset], sizeof root);
  const FuzzBytes text = records::root_text(root);
  std::copy(text.begin(), text.end(),
            bytes.begin() + static_cast<std::ptrdiff_t>(records::root_offset));
  for (int i = 0; i < 16; ++i) {
    const bool is_inside = root.bytes >= 48 && root.bytes <= bytes.size() &&
                           root.offset <= bytes.size() - root.bytes && root.offset >= 4096;
    if (!is_inside) {
      return;
    }
    const auto body = std::span(bytes).subspan(root.offset, root.bytes - 8);
    const std::uint64_t sum = codec::checksum(std::span<const std::byte>(body));
    std::memcpy(&bytes[root.offset + root.bytes - 8], &sum, sizeof sum);
    std::memcpy(&root, &bytes[root.offset + 8], sizeof root);
  }
}

/// Most changes in an entry, where the structure is; some anywhere.
FuzzBytes changed_log(const FuzzBytes& sample, std::mt19937_64& random) {
  records::Root root;
  std::memcpy(&root, &sample[records::root_offset], sizeof root);
  for (std::uint64_t back = random() % root.entries; back > 0; --back) {
    std::memcpy(&root, &sample[root.offset + 8], sizeof root);
  }
  FuzzBytes bytes = sample;
  const auto kind = random() % 8;
  if (kind == 0) {
    return Mutator(random()).mutate(sample);  // and not repaired
  }
  if (kind == 1) {
    bytes = Mutator(random(), true).mutate(sample);
  } else {
    const auto at = sample.begin() + static_cast<std::ptrdiff_t>(root.offset);
    const FuzzBytes entry(at, at + static_cast<std::ptrdiff_t>(root.bytes - 8));
    const FuzzBytes changed = Mutator(random(), true).mutate(entry);
    std::copy(changed.begin(), changed.end(),
              bytes.begin() + static_cast<std::ptrdiff_t>(root.offset));
  }
  repair_log(bytes);
  return bytes;
}

/// All groups by one reader of parts, one value after the other.
void read_groups(const std::shared_ptr<storage::MemoryStorage>& storage) {
  const auto alone = exec::make_solo();
  exec::Transport& transport = *alone;
  Options options;
  options.budget_bytes = budget_bytes;
  Records in(std::make_unique<detail::RecordsImpl>(
      [&](const Options& wanted) {
        return detail::open_on(transport, storage, "out.rec", Mode::read, wanted);
      },
      Mode::read, 1, options));
  while (in.fetch()) {
    std::int32_t value = 0;
    while (!in.at_end(0)) {
      in.read(&value, 1, 0);
    }
  }
}

TEST(Fuzz, Records) {
  const std::vector<FuzzBytes> samples{groups_of_records(), variables_in_records()};
  for (const FuzzBytes& sample : samples) {
    FuzzBytes repaired = sample;
    repair_log(repaired);
    EXPECT_EQ(repaired, sample) << "the repair is no repair";
    EXPECT_NO_THROW(do_all(storage_with({{"out.rec", sample}}), "out.rec", true));
  }
  const auto change = [&](std::mt19937_64& random) {
    return FileSet{{"out.rec", changed_log(samples[random() % samples.size()], random)}};
  };
  run_mutants("records", mutant_count(), change, [](const auto& storage) {
    Refused refused;
    may_refuse(refused, [&] { read_groups(storage); });
    do_all(storage, "out.rec", true);
  });
}

/// T6 for records: the content of the header, the entries, the data and the checksums.
TEST(Damage, FlippedBitsOfRecords) {
  const FuzzBytes whole = groups_of_records();
  const auto look = [](const std::shared_ptr<storage::MemoryStorage>& storage) {
    std::vector<std::uint64_t> found;
    const auto alone = exec::make_solo();
    exec::Transport& transport = *alone;
    commit::Input input(transport, *storage, "out.rec", {});
    for (const model::Attribute& attribute : input.attributes()) {
      found.push_back(codec::checksum(attribute.name));
    }
    for (std::uint32_t v = 0; v < input.variables().size(); ++v) {
      for (std::uint64_t step = 0; step < input.steps(); ++step) {
        const model::Box all = model::whole(input.shape(v, step));
        const Type& type = input.variables()[v].definition.type;
        FuzzBytes bytes(all.volume() * type.bytes);
        input.get(commit::dense_request(v, step, all, bytes.data(), type));
        found.push_back(codec::checksum(std::span<const std::byte>(bytes)));
      }
    }
    return found;
  };
  const auto golden = look(storage_with({{"out.rec", whole}}));
  std::size_t tried = 0;
  std::size_t noticed = 0;
  const std::size_t stride = is_long() ? 1 : 37;
  for (std::size_t bit = 0; bit < 8 * whole.size() && !HasFailure(); bit += stride, ++tried) {
    FuzzBytes bytes = whole;
    bytes[bit / 8] ^= std::byte(1U << bit % 8);
    const auto storage = storage_with({{"out.rec", bytes}});
    try {
      if (look(storage) == golden) {
        continue;  // between the entries
      }
    } catch (const Error&) {
      ++noticed;
      continue;
    }
    ADD_FAILURE() << "bit " << bit << " went unnoticed";
  }
  std::printf("T6 flipped bits of records: %zu tried, %zu noticed, %zu without effect\n", tried,
              noticed, tried - noticed);
}

/// A run of a journal may lie across the end of the superblock, which is written last.
TEST(Hostile, AJournalAcrossTheSuperblock) {
  const FuzzBytes file = hdf5_files()[0];
  const auto at = file.begin() + 40;
  commit::Journal journal;
  journal.end = file.size();
  journal.runs.push_back({40, {at, at + 4000}, {at, at + 4000}});
  journal.runs[0].after[100] ^= std::byte{1};
  FuzzBytes expected = file;
  expected[140] ^= std::byte{1};
  const auto storage =
      storage_with({{"out.h5", file}, {commit::journal_path("out.h5"), journal.to_bytes()}});
  commit::recover(*storage, "out.h5", false);
  EXPECT_EQ(storage->contents("out.h5"), expected);
}

// -- arrays and trajectories ----------------------------------------------------------------------

FuzzBytes sample_of(const std::string& path, const std::function<void(File&)>& write) {
  LocalFiles files;
  files.run(1, [&](exec::Transport& transport) {
    File out = files.open(transport, path, Mode::write);
    write(out);
    out.close();
  });
  return files.storage()->contents(path);
}

void put_steps(File& out, const std::string& name, const Shape& shape, std::size_t elements) {
  const auto v = out.define<float>(name, shape, {.steps = true});
  const std::vector<float> values(elements, 1.5F);
  for (int s = 0; s < 3; ++s) {
    Step step = out.begin_step();
    step.put(v, values.data());
    step.end();
  }
}

/// Bytes from the front to `header` are changed three times out of four.
void run_plain(const char* name, const std::string& path, const std::vector<FuzzBytes>& samples,
               std::size_t header) {
  for (const FuzzBytes& sample : samples) {
    EXPECT_NO_THROW(do_all(storage_with({{path, sample}}), path, false));
  }
  const auto change = [&](std::mt19937_64& random) {
    const FuzzBytes& sample = samples[random() % samples.size()];
    if (random() % 4 == 0) {
      return FileSet{{path, Mutator(random()).mutate(sample)}};
    }
    const auto end = sample.begin() + static_cast<std::ptrdiff_t>(std::min(header, sample.size()));
    FuzzBytes bytes = Mutator(random(), random() % 2 == 0).mutate({sample.begin(), end});
    bytes.insert(bytes.end(), end, sample.end());
    return FileSet{{path, bytes}};
  };
  run_mutants(name, mutant_count(), change,
              [&](const auto& storage) { do_all(storage, path, true); });
}

TEST(Fuzz, NumpyFiles) {
  const FuzzBytes growing = sample_of("out.npy", [](File& out) {
    put_steps(out, "a", {4, 3}, 12);
  });
  FuzzBytes fortran = growing;
  const FuzzBytes word = bytes_of("False");
  const auto at = std::search(fortran.begin(), fortran.end(), word.begin(), word.end());
  std::ranges::copy(bytes_of("True "), at);
  run_plain("npy", "out.npy", {growing, fortran}, 160);
}

TEST(Fuzz, Trajectories) {
  const FuzzBytes plain = sample_of("out.dcd", [](File& out) {
    put_steps(out, "positions", {23, 3}, 69);
  });
  const FuzzBytes with_cell = sample_of("out.dcd", [](File& out) {
    const auto cell = out.define<double>("cell", {6}, {.steps = true});
    const auto positions = out.define<float>("positions", {5, 3}, {.steps = true});
    const std::vector<double> box(6, 50);
    const std::vector<float> values(15, 1);
    Step step = out.begin_step();
    step.put(cell, box.data());
    step.put(positions, values.data());
    step.end();
  });
  run_plain("dcd", "out.dcd", {plain, with_cell}, 300);
}

TEST(Fuzz, Coordinates) {
  const FuzzBytes coordinates = sample_of("out.coor", [](File& out) {
    const auto v = out.define<double>("coordinates", {7, 3});
    const std::vector<double> values(21, 1.5);
    out.put(v, values.data());
  });
  run_plain("namdbin", "out.coor", {coordinates}, 8);
}

// -- the codes' own texts -------------------------------------------------------------------------

void read_model(const std::shared_ptr<storage::MemoryStorage>& storage) {
  const auto alone = exec::make_solo();
  exec::Transport& transport = *alone;
  dialect::voxfe::Model model(transport, *storage, "a.model");
  const dialect::voxfe::Planes planes = model.read_planes({});
  std::vector<std::int64_t> element(model.rows());
  std::vector<std::uint8_t> material(model.rows());
  std::array<std::vector<std::int32_t>, 3> at;
  for (auto& column : at) {
    column.resize(model.rows());
  }
  model.read_columns({element, material, {at[0], at[1], at[2]}});
}

TEST(Fuzz, ModelsOfVoxFe) {
  std::string text = "0.08\n40\n";
  for (int i = 0; i < 40; ++i) {
    text += std::to_string(i + 1) + " " + std::to_string(1 + i % 3) + " " +
            std::to_string(1 + i % 5) + " " + std::to_string(1 + i / 5 % 2) + " " +
            std::to_string(1 + i / 10) + "\n";
  }
  const FuzzBytes sample = bytes_of(text);
  EXPECT_NO_THROW(read_model(storage_with({{"a.model", sample}})));
  run_mutants(
      "models of VOX-FE", mutant_count(),
      [&](std::mt19937_64& random) {
        return FileSet{{"a.model", Mutator(random()).mutate(sample)}};
      },
      read_model);
  const FileSet far{{"a.model", bytes_of("\n1\n1 1 1048576 1048576 1048576\n")}};
  EXPECT_TRUE(run_mutant("a voxel far out", 0, far, read_model));
}

TEST(Fuzz, DisplacementsOfVoxFe) {
  std::string text = "nNodes: 12\nNodes: 3 2 2\nMaterials: a.model\n";
  for (int i = 0; i < 12; ++i) {
    text += std::to_string(i) + " " + std::to_string(i % 3) + " " + std::to_string(i / 3 % 2) +
            " " + std::to_string(i / 6) + " 1.0e-3 -2.5e+00 0.0\n";
  }
  const FuzzBytes sample = bytes_of(text);
  const auto read = [](const std::shared_ptr<storage::MemoryStorage>& storage) {
    const auto alone = exec::make_solo();
    exec::Transport& transport = *alone;
    dialect::voxfe::Displacements all(transport, *storage, "a.disp");
    std::vector<std::int64_t> id(all.rows());
    std::vector<double> value(3 * all.rows());
    all.read_columns({id, value});
  };
  EXPECT_NO_THROW(read(storage_with({{"a.disp", sample}})));
  run_mutants(
      "displacements of VOX-FE", mutant_count(),
      [&](std::mt19937_64& random) {
        return FileSet{{"a.disp", Mutator(random()).mutate(sample)}};
      },
      read);
}

TEST(Fuzz, RecordsOfMfdn) {
  const auto memory = storage::make_memory();
  {
    dialect::mfdn::RecordWriter writer(*memory, "out.bin");
    const FuzzBytes bytes(64, std::byte{7});
    for (int i = 0; i < 3; ++i) {
      writer.begin(bytes.size());
      writer.append(bytes);
    }
    writer.finish();
  }
  const FuzzBytes sample = memory->contents("out.bin");
  run_mutants(
      "records of MFDn", mutant_count(),
      [&](std::mt19937_64& random) {
        return FileSet{{"out.bin", Mutator(random()).mutate(sample)}};
      },
      [](const auto& storage) {
        const auto file = storage->open("out.bin", storage::Access::read);
        for (const auto& record : dialect::mfdn::find_records(*file)) {
          FuzzBytes bytes(record.bytes());
          dialect::mfdn::read_record(*file, record, 0, bytes);
        }
      });
}

/// Values come to an end, whatever counts a file contains: every pass through the lines consumes
/// some.
TEST(Fuzz, TemplatesOfLines) {
  using dialect::lines::Line;
  const std::string text =
      "files %d.traj\n(i12,f16.6,3f12.6,i10) step:int32 t:float64 box:float64(3) n:int32\n"
      "*(i10,i4,3f10.5,i4) id:int32 type:int32 position:float32(3) m:int64\n"
      "**('a',2x,es12.4e3) more:float64\n";
  const FuzzBytes sample = bytes_of(text);
  const auto read = [](const std::shared_ptr<storage::MemoryStorage>& storage) {
    const FuzzBytes bytes = storage->contents("a.template");
    const auto all =
        dialect::lines::parse_template({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    std::uint64_t left = 100000;  // values that the file has
    dialect::lines::walk(all, [&](const Line& line) -> std::int64_t {
      if (line.types.size() > left) {
        throw Error(Code::out_of_bounds, "no further values");
      }
      left -= line.types.size();
      return line.types.empty() ? 0 : std::int64_t{1} << 62;
    });
  };
  run_mutants(
      "templates of lines", mutant_count(),
      [&](std::mt19937_64& random) {
        return FileSet{{"a.template", Mutator(random()).mutate(sample)}};
      },
      read);
  for (const char* endless : {"files %d.x\n(1x)\n", "files %d.x\n(i9) n:int64\n*(1x)\n",
                              "files %d.x\n(i9) n:int64\n*('a')\n**(i9) x:int32\n"}) {
    EXPECT_TRUE(
        run_mutant("a template without values", 0, {{"a.template", bytes_of(endless)}}, read))
        << endless;
  }
}

}  // namespace
}  // namespace sluice::test
