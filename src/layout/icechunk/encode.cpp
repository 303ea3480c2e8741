// Metadata files of Icechunk as bytes. The numbers of fields are those of its schema.

#include "layout/icechunk/envelope.hpp"
#include "layout/icechunk/flat.hpp"
#include "layout/icechunk/metadata.hpp"

namespace sluice::layout::icechunk {

namespace {

using flat::Field;
using flat::Writer;

constexpr std::size_t link_bytes = 4;
constexpr Field id_field = flat::struct_field(sizeof(ObjectId));
constexpr Field node_id_field = flat::struct_field(sizeof(NodeId));
constexpr std::size_t range_bytes = 8;
constexpr std::size_t shape_bytes = 16;
constexpr std::size_t file_bytes = 32;  ///< id, 4 unused, u64, u32, 4 unused
constexpr std::uint8_t array_node = 1;
constexpr std::uint8_t group_node = 2;

template <std::size_t n>
std::vector<std::size_t> table(Writer& out, std::size_t link, const Field (&fields)[n]) {
  return out.table(link, fields);
}

void put_indices(Writer& out, std::size_t link, const std::vector<std::uint32_t>& index) {
  const std::size_t at = out.vector(link, index.size(), sizeof(std::uint32_t), 4);
  for (std::size_t i = 0; i < index.size(); ++i) {
    out.set(at + i * sizeof(std::uint32_t), index[i]);
  }
}

void put_ref(Writer& out, std::size_t link, const ChunkRef& ref) {
  const bool is_there = !ref.inlined;
  const auto at =
      table(out, link,
            {flat::link_field, ref.inlined ? flat::link_field : flat::no_field,
             is_there ? flat::word_field : flat::no_field,
             is_there ? flat::word_field : flat::no_field, ref.chunk ? id_field : flat::no_field});
  if (is_there) {
    out.set(at[2], ref.offset);
    out.set(at[3], ref.length);
  }
  if (ref.chunk) {
    out.set(at[4], *ref.chunk);
  }
  put_indices(out, at[0], ref.index);
  if (ref.inlined) {
    out.set_bytes(out.vector(at[1], ref.inlined->size(), 1, 1), *ref.inlined);
  }
}

void put_array(Writer& out, std::size_t link, const Node& node) {
  const auto at =
      table(out, link,
            {flat::link_field, node.dimensions.empty() ? flat::no_field : flat::link_field,
             flat::link_field});
  const std::size_t shape = out.vector(at[0], node.shape.size(), shape_bytes, 8);
  for (std::size_t i = 0; i < node.shape.size(); ++i) {
    out.set(shape + i * shape_bytes, node.shape[i].first);
    out.set(shape + i * shape_bytes + 8, node.shape[i].second);
  }
  if (!node.dimensions.empty()) {
    const std::size_t names = out.vector(at[1], node.dimensions.size(), link_bytes, link_bytes);
    for (std::size_t i = 0; i < node.dimensions.size(); ++i) {
      const auto& name = node.dimensions[i];
      const auto field =
          table(out, names + i * link_bytes, {name ? flat::link_field : flat::no_field});
      if (name) {
        out.string(field[0], *name);
      }
    }
  }
  const std::size_t manifests = out.vector(at[2], node.manifests.size(), link_bytes, link_bytes);
  for (std::size_t i = 0; i < node.manifests.size(); ++i) {
    const ManifestRef& ref = node.manifests[i];
    const auto field = table(out, manifests + i * link_bytes, {id_field, flat::link_field});
    out.set(field[0], ref.id);
    const std::size_t extents = out.vector(field[1], ref.extents.size(), range_bytes, 4);
    for (std::size_t d = 0; d < ref.extents.size(); ++d) {
      out.set(extents + d * range_bytes, ref.extents[d].first);
      out.set(extents + d * range_bytes + 4, ref.extents[d].second);
    }
  }
}

void put_node(Writer& out, std::size_t link, const Node& node) {
  const auto at = table(
      out, link,
      {node_id_field, flat::link_field, flat::link_field, flat::byte_field, flat::link_field});
  out.set(at[0], node.id);
  out.set(at[3], node.is_array ? array_node : group_node);
  out.string(at[1], node.path);
  out.set_bytes(out.vector(at[2], node.document.size(), 1, 1),
                std::as_bytes(std::span(node.document)));
  if (node.is_array) {
    put_array(out, at[4], node);
  } else {
    out.table(at[4], {});
  }
}

void put_node_ids(Writer& out, std::size_t link, const std::vector<NodeId>& ids) {
  const std::size_t at = out.vector(link, ids.size(), sizeof(NodeId), 1);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    out.set(at + i * sizeof(NodeId), ids[i]);
  }
}

}  // namespace

ObjectId first_snapshot_id() { return object_id_of("1CECHNKREP0F1RSTCMT0").value(); }

std::vector<std::byte> encode(const Snapshot& snapshot) {
  Writer out;
  const auto at = table(out, Writer::root_link,
                        {id_field, snapshot.parent ? id_field : flat::no_field, flat::link_field,
                         flat::word_field, flat::link_field, flat::link_field, flat::link_field});
  out.set(at[0], snapshot.id);
  if (snapshot.parent) {
    out.set(at[1], *snapshot.parent);
  }
  out.set(at[3], snapshot.written_us);
  out.string(at[4], snapshot.message);
  out.vector(at[5], 0, link_bytes, link_bytes);  // no properties
  const std::size_t files = out.vector(at[6], snapshot.files.size(), file_bytes, 8);
  for (std::size_t i = 0; i < snapshot.files.size(); ++i) {
    out.set(files + i * file_bytes, snapshot.files[i].id);
    out.set(files + i * file_bytes + 16, snapshot.files[i].bytes);
    out.set(files + i * file_bytes + 24, snapshot.files[i].refs);
  }
  const std::size_t nodes = out.vector(at[2], snapshot.nodes.size(), link_bytes, link_bytes);
  for (std::size_t i = 0; i < snapshot.nodes.size(); ++i) {
    put_node(out, nodes + i * link_bytes, snapshot.nodes[i]);
  }
  return in_envelope(FileType::snapshot, out.take());
}

std::vector<std::byte> encode(const Manifest& manifest) {
  Writer out;
  const auto at = table(out, Writer::root_link, {id_field, flat::link_field});
  out.set(at[0], manifest.id);
  const std::size_t arrays = out.vector(at[1], manifest.arrays.size(), link_bytes, link_bytes);
  for (std::size_t i = 0; i < manifest.arrays.size(); ++i) {
    const ArrayRefs& array = manifest.arrays[i];
    const auto field = table(out, arrays + i * link_bytes, {node_id_field, flat::link_field});
    out.set(field[0], array.node);
    const std::size_t refs = out.vector(field[1], array.refs.size(), link_bytes, link_bytes);
    for (std::size_t r = 0; r < array.refs.size(); ++r) {
      put_ref(out, refs + r * link_bytes, array.refs[r]);
    }
  }
  return in_envelope(FileType::manifest, out.take());
}

std::vector<std::byte> encode(const TransactionLog& log) {
  Writer out;
  const Field link = flat::link_field;
  const auto at =
      table(out, Writer::root_link, {id_field, link, link, link, link, link, link, link});
  out.set(at[0], log.id);
  put_node_ids(out, at[1], log.new_groups);
  put_node_ids(out, at[2], log.new_arrays);
  put_node_ids(out, at[3], {});  // deleted groups
  put_node_ids(out, at[4], {});  // deleted arrays
  put_node_ids(out, at[5], log.updated_arrays);
  put_node_ids(out, at[6], log.updated_groups);
  const std::size_t chunks = out.vector(at[7], log.chunks.size(), link_bytes, link_bytes);
  for (std::size_t i = 0; i < log.chunks.size(); ++i) {
    const auto field = table(out, chunks + i * link_bytes, {node_id_field, link});
    out.set(field[0], log.chunks[i].node);
    const auto& indices = log.chunks[i].indices;
    const std::size_t all = out.vector(field[1], indices.size(), link_bytes, link_bytes);
    for (std::size_t n = 0; n < indices.size(); ++n) {
      put_indices(out, table(out, all + n * link_bytes, {link})[0], indices[n]);
    }
  }
  return in_envelope(FileType::transaction_log, out.take());
}

}  // namespace sluice::layout::icechunk
