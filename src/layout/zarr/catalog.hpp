// What a Zarr store holds and where: the reading side of the layout, of stores that Sluice wrote
// and of others with consolidated metadata.
//
// Only the root document, indexes of shards and sizes of objects are read here. Addresses are given
// out once a catalog; an index is held only while its array is being looked at.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "layout/catalog.hpp"
#include "layout/titled.hpp"
#include "layout/zarr/manifest.hpp"

namespace sluice::layout::zarr {

class ZarrCatalog final : public layout::Catalog, public layout::Titled {
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
  std::vector<std::string> unchecked() override;
  std::vector<model::Attribute> attributes() override { return manifest_.attributes; }

 private:
  struct Object {
    storage::Segment segment;  ///< its length is the object's size; 0: there is none
    bool has_index = false;
    std::vector<IndexEntry> index;
  };
  /// Where an inner chunk is; nothing where the store does not hold it.
  struct Found {
    const Object* object = nullptr;
    Extent extent;
  };

  explicit ZarrCatalog(storage::File& file) : file_(file) {}
  void load();
  Object& object_at(std::uint32_t variable, const model::Dims& chunk_at);
  void read_index(std::uint32_t variable, const Array& array, Object& object);
  std::optional<Found> find(std::uint32_t variable, const model::Dims& element);
  EncodedTiles look_up(std::uint32_t variable, std::uint64_t step, const model::Box& region);

  storage::File& file_;
  Manifest manifest_;
  std::uint32_t known_variable_ = 0;
  std::map<std::string, Object> objects_;  ///< of that variable
  LastTile last_tile_;
};

}  // namespace sluice::layout::zarr
