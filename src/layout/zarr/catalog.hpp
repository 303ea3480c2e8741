// What a Zarr store holds and where: the reading side of the layout, of stores that Sluice wrote
// and of others, and of reference files, whose chunks are ranges of other files.
//
// Only the root document, indexes of shards and sizes of objects are read here. Addresses are given
// out once a catalog; an index is held only while its array is being looked at.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "layout/catalog.hpp"
#include "layout/zarr/manifest.hpp"
#include "layout/zarr/referenced_chunks.hpp"

namespace sluice::layout::zarr {

class ZarrCatalog : public layout::Catalog {
 public:
  /// Reads the root document of the store `file`, which must outlive the catalog.
  static std::unique_ptr<ZarrCatalog> open(storage::File& file);

  const char* format() const override { return "zarr"; }
  std::string title() const override { return "Zarr " + std::to_string(manifest_.version); }
  Placement locate(std::uint32_t variable, std::uint64_t step, const model::Box& region) override;
  EncodedTiles locate_encoded(std::uint32_t variable, std::uint64_t step,
                              const model::Box& region) override;
  void read(std::uint32_t variable, std::uint64_t step, const model::Box& box,
            std::span<std::byte> out) override;
  std::vector<std::uint64_t> rows_by_step(std::uint32_t variable) override;
  std::vector<std::uint64_t> checksum_words(const CommitRow& commit) override;
  std::vector<UnreadableDataset> other_objects() override;
  std::vector<std::string> unchecked() override;
  std::vector<model::Attribute> attributes() override { return manifest_.attributes; }

 protected:
  /// For formats whose files show themselves as a Zarr store.
  explicit ZarrCatalog(storage::File& file) : file_(file) {}
  void load();
  LastTile last_tile_;

 private:
  struct Object {
    storage::Segment segment;  ///< its length is the object's size; 0: there is none
    bool has_index = false;
    std::vector<IndexEntry> index;
  };
  /// The numbers of the object that holds an element.
  model::Dims object_of(std::uint32_t variable, const model::Dims& element) const;
  /// Looks up the objects that hold `elements`, before find().
  void know_objects(std::uint32_t variable, std::span<const model::Dims> elements);
  /// `count`: of its inner chunks.
  void read_index(std::uint32_t variable, const Array& array, std::uint64_t count, Object& object);
  /// An inner chunk; nothing where the store does not hold it.
  std::optional<FoundChunk> find(std::uint32_t variable, const model::Dims& element);
  EncodedTiles look_up(std::uint32_t variable, std::uint64_t step, const model::Box& region);

  storage::File& file_;
  Manifest manifest_;
  std::vector<Tiling> objects_of_;  ///< by variable: what its objects hold, steps first
  std::vector<Tiling> tilings_;     ///< by variable: what is read at a time, of a step
  std::uint32_t known_variable_ = 0;
  std::map<std::string, Object> objects_;  ///< of that variable
  std::optional<ReferencedChunks> referenced_;
};

}  // namespace sluice::layout::zarr
