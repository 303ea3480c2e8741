// The content of a DCD trajectory, whichever program wrote it.
#pragma once

#include <memory>

#include "layout/catalog.hpp"
#include "layout/dcd/header.hpp"

namespace sluice::layout::dcd {

class DcdCatalog final : public Catalog {
 public:
  /// Reads the header of `file`, which must outlive the catalog.
  static std::unique_ptr<DcdCatalog> open(storage::File& file);

  const char* format() const override { return "dcd"; }
  std::string title() const override { return "DCD"; }
  Placement locate(std::uint32_t variable, std::uint64_t step, const model::Box& region) override;
  void read(std::uint32_t variable, std::uint64_t step, const model::Box& box,
            std::span<std::byte> out) override;
  std::vector<model::Attribute> attributes() override;

 private:
  DcdCatalog(storage::File& file, Header header);
  void add(const char* name, const Type& type, const model::Dims& shape);
  UnreadableDataset missing_frames() const;
  std::vector<float> read_axis(std::uint64_t step, int d);

  storage::File& file_;
  Header header_;
};

}  // namespace sluice::layout::dcd
