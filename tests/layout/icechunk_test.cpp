// Repositories of Icechunk: metadata whose parts are shared, and what could not be read once.
#include <gtest/gtest.h>

#include "layout/formats/stores.hpp"
#include "layout/icechunk/envelope.hpp"
#include "layout/icechunk/flat.hpp"
#include "layout/icechunk/history.hpp"
#include "layout/icechunk/metadata.hpp"
#include "layout/icechunk/repository.hpp"
#include "layout/icechunk/view.hpp"
#include "layout/local_files.hpp"
#include "support/faulty_storage.hpp"

namespace sluice::test {
namespace {

using namespace layout::icechunk;

constexpr std::size_t many = 50000;
constexpr std::size_t word_bytes = 4;

std::vector<std::size_t> table(flat::Writer& out, std::size_t link,
                               std::initializer_list<flat::Field> fields) {
  return out.table(link, std::vector<flat::Field>(fields));
}

/// A vector of links at `link`. All of them lead to the table that `put` writes at the first.
template <class Put>
void shared(flat::Writer& out, std::size_t link, std::size_t count, const Put& put) {
  const std::size_t first = out.vector(link, count, word_bytes, word_bytes);
  put(first);
  std::vector<std::byte> bytes = flat::Writer(out).take();
  std::uint32_t distance = 0;
  std::memcpy(&distance, bytes.data() + first, word_bytes);
  for (std::size_t i = 1; i < count; ++i) {
    out.set(first + i * word_bytes, static_cast<std::uint32_t>(distance - i * word_bytes));
  }
}

/// A snapshot of `count` nodes, all the same.
std::vector<std::byte> shared_nodes(std::size_t count, std::size_t rank, std::size_t names) {
  flat::Writer out;
  const flat::Field link = flat::link_field;
  const auto root = table(out, flat::Writer::root_link,
                          {flat::struct_field(12), flat::no_field, link, flat::word_field, link});
  out.string(root[4], "");
  shared(out, root[2], count, [&](std::size_t first) {
    const auto node =
        table(out, first, {flat::struct_field(8), link, link, flat::byte_field, link});
    out.set(node[3], std::uint8_t{1});
    out.string(node[1], "/");
    out.vector(node[2], 0, 1, 1);
    const auto array = table(out, node[4], {link, link});
    out.vector(array[0], rank, 16, 8);
    shared(out, array[1], names, [&](std::size_t at) { table(out, at, {flat::no_field}); });
  });
  return in_envelope(FileType::snapshot, out.take());
}

TEST(Icechunk, NodesThatShareOneTableAreRefused) {
  EXPECT_EQ(decode_snapshot(shared_nodes(1, 64, 64), "s").nodes.at(0).shape.size(), 64U);
  for (const auto& [rank, names] : {std::pair{64, 1}, std::pair{1, 64}, std::pair{1, 1}}) {
    const Error error = thrown_by([&] {
      decode_snapshot(
          shared_nodes(many, static_cast<std::size_t>(rank), static_cast<std::size_t>(names)), "s");
    });
    expect_error(error, Code::damaged, {"s: ", "overlap"});
  }
}

TEST(Icechunk, ChunksThatShareOneTableAreRefused) {
  for (const bool are_arrays : {false, true}) {
    flat::Writer out;
    const auto root =
        table(out, flat::Writer::root_link, {flat::struct_field(12), flat::link_field});
    shared(out, root[1], are_arrays ? many : 1, [&](std::size_t first) {
      const auto array = table(out, first, {flat::struct_field(8), flat::link_field});
      shared(out, array[1], are_arrays ? 1 : many, [&](std::size_t at) {
        const auto ref = table(out, at, {flat::link_field, flat::link_field});
        out.vector(ref[0], 0, word_bytes, word_bytes);
        out.vector(ref[1], 0, 1, 1);
      });
    });
    const std::vector<std::byte> file = in_envelope(FileType::manifest, out.take());
    expect_error(thrown_by([&] { decode_manifest(file, "m"); }), Code::damaged, {"m: ", "overlap"});
  }
}

// Files that share nothing are read, however little each node says.
TEST(Icechunk, SmallNodesAndChunksAreRead) {
  Snapshot snapshot;
  Manifest manifest;
  for (std::size_t i = 0; i < 5000; ++i) {
    Node node;
    node.path = "/";
    node.is_array = i % 2 == 0;
    if (node.is_array) {
      node.shape.resize(i % 64);
      node.dimensions.resize(i % 64);
      node.manifests.resize(i % 5);
    }
    snapshot.nodes.push_back(node);
    ArrayRefs refs;
    refs.refs.resize(i % 7);
    for (ChunkRef& ref : refs.refs) {
      ref.inlined.emplace();
    }
    manifest.arrays.push_back(refs);
  }
  EXPECT_EQ(decode_snapshot(encode(snapshot), "s").nodes.size(), snapshot.nodes.size());
  EXPECT_EQ(decode_manifest(encode(manifest), "m").arrays.size(), manifest.arrays.size());
}

// What could not be read is not remembered as nothing.
/// A repository without files: what each snapshot wrote, and the last one as it is read.
class Repositories {
 public:
  void put(const std::string& node, std::vector<std::uint32_t> index) {
    const std::string sizes = index.size() == 1 ? "[1]" : "[1,1]";
    history.set_document(node, R"({"node_type":"array","shape":)" + sizes +
                                   R"(,"chunk_grid":{"configuration":{"chunk_shape":)" + sizes +
                                   "}}}");
    ChunkRef ref;
    ref.index = std::move(index);
    ref.chunk = new_object_id();
    ref.length = 8;
    expected_[node][ref.index] = *ref.chunk;
    history.set_chunk(node, std::move(ref), read());
  }
  void drop(const std::string& node, std::uint32_t first) {
    history.drop_chunks(node, first, read());
    std::erase_if(expected_[node], [&](const auto& chunk) { return chunk.first.at(0) >= first; });
  }
  /// The bytes of its metadata.
  std::size_t seal() {
    std::size_t bytes = 0;
    for (const layout::Document& document : history.seal("step", 1)) {
      bytes += document.bytes.size();
      if (document.name.starts_with("manifests/")) {
        const Manifest manifest = decode_manifest(document.bytes, document.name);
        manifests_[manifest.id] = manifest;
      } else if (document.name.starts_with("snapshots/")) {
        snapshot = decode_snapshot(document.bytes, document.name);
      }
    }
    return bytes;
  }
  /// Every chunk is in one manifest of its node, and is the one written last.
  void expect_all() const {
    for (const Node& node : snapshot.nodes) {
      std::map<std::vector<std::uint32_t>, ObjectId> found;
      for (const ManifestRef& ref : node.manifests) {
        for (const auto& [index, chunk] : refs_in(node, ref)) {
          EXPECT_TRUE(is_inside(index, ref.extents)) << node.path;
          EXPECT_TRUE(found.emplace(index, *chunk.chunk).second) << node.path << ": twice";
        }
      }
      EXPECT_TRUE(found == expected_.at(node.path.substr(1))) << node.path;
    }
  }
  History::ReadRefs read() const {
    return [this](const Node& node, const ManifestRef& ref) { return refs_in(node, ref); };
  }

  History history;
  Snapshot snapshot;

 private:
  Refs refs_in(const Node& node, const ManifestRef& ref) const {
    Refs refs;
    for (const ArrayRefs& array : manifests_.at(ref.id).arrays) {
      for (const ChunkRef& chunk : array.refs) {
        if (array.node == node.id) {
          refs.emplace(chunk.index, chunk);
        }
      }
    }
    return refs;
  }

  std::map<ObjectId, Manifest> manifests_;
  std::map<std::string, std::map<std::vector<std::uint32_t>, ObjectId>> expected_;
};

void put_step(Repositories& repository, std::uint32_t step, std::uint32_t variables) {
  for (std::uint32_t v = 0; v < variables; ++v) {
    repository.put("v" + std::to_string(v), {step});
  }
  repository.put("log", {step / 4, 0});
}

TEST(Icechunk, MetadataOfAStepDoNotGrowWithTheSteps) {
  for (const auto& [variables, steps] : {std::pair{1U, 4800U}, std::pair{40U, 1000U}}) {
    Repositories repository;
    std::size_t early = 0;
    std::size_t late = 0;
    for (std::uint32_t step = 0; step < steps; ++step) {
      put_step(repository, step, variables);
      const std::size_t bytes = repository.seal();
      (step < steps / 4 ? early : late) += bytes;
    }
    EXPECT_LT(late / 3, early + early / 3) << variables;
    for (const Node& node : repository.snapshot.nodes) {
      EXPECT_LE(node.manifests.size(), steps / 60) << node.path;
    }
    repository.expect_all();
  }
}

TEST(Icechunk, ChunksInManifestsThatStayAreWrittenAgain) {
  Repositories repository;
  for (std::uint32_t step = 0; step < 2000; ++step) {
    put_step(repository, step, 2);
    repository.seal();
    if (step % 701 == 700) {
      // A new run: what it knows is what the snapshot says.
      repository.history = History(repository.snapshot);
      for (const char* node : {"v0", "v1"}) {
        repository.drop(node, step - 650);
      }
      repository.drop("log", (step - 650 + 3) / 4);
      repository.seal();
      repository.expect_all();
      for (std::uint32_t again = step - 650; again <= step; ++again) {
        put_step(repository, again, 2);
        repository.seal();
      }
      repository.expect_all();
    }
  }
}

TEST(Icechunk, AManifestAndAChunkThatCouldNotBeReadAreReadAgain) {
  LocalFiles files;
  files.run(1, [&](exec::Transport& transport) {
    File out = files.open(transport, "s.icechunk", Mode::write);
    const std::vector<double> values(4096, 5.0);
    out.put(out.define<double>("g/v", {4096}), values.data());
    out.close();
  });
  const auto faults = std::make_shared<storage::Faults>();
  storage::FaultyStorage faulty(files.storage(), faults);
  const auto store = layout::open_data(faulty, "s.icechunk", storage::Access::read);
  View view(*store);
  faults->add({.call = storage::Call::read, .path_part = "manifests/"});
  EXPECT_THROW(view.object_bytes("g/v/c/0"), Error);
  EXPECT_EQ(faults->fired(), 1U);
  EXPECT_EQ(view.object_bytes("g/v/c/0"), 4096 * sizeof(double));

  const storage::Segment chunk{1ULL << 40, 4096 * sizeof(double), 4096 * sizeof(double), "g/v/c/0"};
  faults->add({.call = storage::Call::exists, .path_part = "chunks/"});
  EXPECT_THROW(view.map({&chunk, 1}), Error);
  EXPECT_EQ(faults->fired(), 2U);
  view.map({&chunk, 1});
  double value = 0;
  EXPECT_EQ(view.read(chunk.address, std::as_writable_bytes(std::span(&value, 1))), sizeof(value));
  EXPECT_EQ(value, 5.0);
}

}  // namespace
}  // namespace sluice::test
