#include "commit/parts/part_news.hpp"

#include "model/bytes.hpp"

namespace sluice::commit {

using layout::Mapping;

std::vector<std::byte> PartNews::to_bytes() const {
  model::ByteWriter out;
  out.put(wrote);
  out.put(part.path);
  out.put(part.id);
  out.put(part.commits);
  out.put(part.stamp_ns);
  out.put(part.bytes);
  out.put(row);
  out.put(same);
  out.put(mappings.size());
  for (const Mapping& mapping : mappings) {
    out.put(mapping.variable);
    out.put(mapping.dataset);
    out.put(mapping.listed);
    out.put(mapping.offset);
    out.put(mapping.box);
  }
  out.put(datasets.size());
  for (const std::string& dataset : datasets) {
    out.put(dataset);
  }
  out.put(scalars.size());
  for (const Scalar& scalar : scalars) {
    out.put(scalar.variable);
    out.put(scalar.bytes);
  }
  return out.take();
}

PartNews PartNews::from_bytes(std::span<const std::byte> bytes) {
  model::ByteReader in(bytes);
  PartNews news;
  news.wrote = in.get<bool>();
  news.part.path = in.get_string();
  news.part.id = in.get<std::uint64_t>();
  news.part.commits = in.get<std::uint64_t>();
  news.part.stamp_ns = in.get<std::int64_t>();
  news.part.bytes = in.get<std::uint64_t>();
  news.row = in.get<std::uint64_t>();
  news.same = in.get_vector<std::uint32_t>();
  news.mappings.resize(in.get<std::size_t>());
  for (Mapping& mapping : news.mappings) {
    mapping.variable = in.get<std::uint32_t>();
    mapping.dataset = in.get<std::uint32_t>();
    mapping.listed = in.get<bool>();
    mapping.offset = in.get<std::uint64_t>();
    mapping.box = in.get<model::Box>();
  }
  news.datasets.resize(in.get<std::size_t>());
  for (std::string& dataset : news.datasets) {
    dataset = in.get_string();
  }
  news.scalars.resize(in.get<std::size_t>());
  for (Scalar& scalar : news.scalars) {
    scalar.variable = in.get<std::uint32_t>();
    scalar.bytes = in.get_vector<std::byte>();
  }
  return news;
}

}  // namespace sluice::commit
