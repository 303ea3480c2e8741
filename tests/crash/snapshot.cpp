// As 1.10 has it, with whatever libhdf5 this is built.
#define H5_USE_110_API
#include "crash/snapshot.hpp"

#include <filesystem>
#include <hdf5.h>
#include <set>
#include <stdexcept>
#include <vector>

#include "codec/checksum.hpp"
#include "commit/read/input.hpp"
#include "exec/transport/solo_transport.hpp"
#include "model/bytes.hpp"
#include "sluice/error.hpp"

namespace sluice::test {

namespace {

/// An HDF5 identifier, closed by the function that fits it.
class Id {
 public:
  Id(hid_t id, herr_t (*close)(hid_t), const std::string& what) : id_(id), close_(close) {
    if (id < 0) {
      throw std::runtime_error("libhdf5 opened the file and failed at " + what);
    }
  }
  Id(const Id&) = delete;
  Id& operator=(const Id&) = delete;
  ~Id() { close_(id_); }
  hid_t get() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

void require(bool fine, const std::string& what) {
  if (!fine) {
    throw std::runtime_error("libhdf5 opened the file and failed at " + what);
  }
}

bool is_variable(hid_t type) {
  const htri_t answer = H5Tis_variable_str(type);
  require(answer >= 0, "a type");
  return answer > 0;
}

std::string shape_text(hid_t space) {
  std::vector<hsize_t> dims(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)) + 1);
  H5Sget_simple_extent_dims(space, dims.data(), nullptr);
  dims.pop_back();
  std::string text;
  for (const hsize_t n : dims) {
    text += " " + std::to_string(n);
  }
  return text;
}

std::uint64_t digest_of_texts(hid_t type, hid_t space, void* data) {
  auto** texts = static_cast<char**>(data);
  std::string all;
  for (hssize_t i = 0; i < H5Sget_simple_extent_npoints(space); ++i) {
    all += texts[i] != nullptr ? std::string(texts[i]) + '\0' : std::string("\1");
  }
  H5Dvlen_reclaim(type, space, H5P_DEFAULT, data);
  return codec::checksum(std::as_bytes(std::span(all)));
}

/// What the lists hold, not where they are in memory.
std::uint64_t digest_of_lists(hid_t type, hid_t space, void* data) {
  const Id element(H5Tget_super(type), H5Tclose, "a list's type");
  const std::size_t size = H5Tget_size(element.get());
  const auto* lists = static_cast<hvl_t*>(data);
  std::vector<std::byte> all;
  for (hssize_t i = 0; i < H5Sget_simple_extent_npoints(space); ++i) {
    const auto* first = static_cast<const std::byte*>(lists[i].p);
    all.push_back(static_cast<std::byte>(lists[i].len));
    all.insert(all.end(), first, first + lists[i].len * size);
  }
  H5Dvlen_reclaim(type, space, H5P_DEFAULT, data);
  return codec::checksum(std::span<const std::byte>(all));
}

template <class Read>
std::uint64_t digest(hid_t type, hid_t space, const std::string& what, Read&& read) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)) *
                               H5Tget_size(type));
  require(read(bytes.data()) >= 0, what);
  return is_variable(type)                ? digest_of_texts(type, space, bytes.data())
         : H5Tget_class(type) == H5T_VLEN ? digest_of_lists(type, space, bytes.data())
                                          : codec::checksum(std::span<const std::byte>(bytes));
}

std::string type_text(hid_t type) {
  return " t" + std::to_string(H5Tget_class(type)) + "." + std::to_string(H5Tget_size(type));
}

struct Visit {
  Snapshot* into = nullptr;
  std::string owner;
  std::string problem;
};

herr_t visit_attribute(hid_t owner, const char* name, const H5A_info_t*, void* data) {
  auto& visit = *static_cast<Visit*>(data);
  const std::string what = visit.owner + "@" + name;
  try {
    const Id attribute(H5Aopen(owner, name, H5P_DEFAULT), H5Aclose, what);
    const Id type(H5Aget_type(attribute.get()), H5Tclose, what);
    const Id space(H5Aget_space(attribute.get()), H5Sclose, what);
    visit.into->items[what + type_text(type.get()) + shape_text(space.get())] =
        digest(type.get(), space.get(), what,
               [&](void* out) { return H5Aread(attribute.get(), type.get(), out); });
    return 0;
  } catch (const std::exception& e) {
    visit.problem = e.what();
    return -1;
  }
}

herr_t visit_object(hid_t root, const char* name, const H5O_info_t* info, void* data) {
  auto& visit = *static_cast<Visit*>(data);
  try {
    const Id object(H5Oopen(root, name, H5P_DEFAULT), H5Oclose, name);
    visit.owner = name;
    if (H5Aiterate2(object.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, visit_attribute, data) < 0) {
      require(!visit.problem.empty(), visit.owner + " attributes");
      return -1;
    }
    if (info->type != H5O_TYPE_DATASET) {
      visit.into->items[std::string(name) + "/"] = 0;
      return 0;
    }
    const Id type(H5Dget_type(object.get()), H5Tclose, name);
    const Id space(H5Dget_space(object.get()), H5Sclose, name);
    visit.into->items[std::string(name) + type_text(type.get()) + shape_text(space.get())] =
        digest(type.get(), space.get(), name, [&](void* out) {
          return H5Dread(object.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, out);
        });
    return 0;
  } catch (const std::exception& e) {
    visit.problem = e.what();
    return -1;
  }
}

void take_variable(exec::Transport&, commit::Input& input, std::uint32_t v, Snapshot& snapshot) {
  const model::Definition& d = input.variables()[v].definition;
  for (std::uint64_t step = 0; step < (d.stepped ? input.steps() : 1); ++step) {
    const model::Dims shape = d.varying ? input.shape(v, step) : d.shape;
    const model::Box all = model::whole(shape);
    std::vector<std::byte> bytes(all.volume() * d.type.bytes + 1);  // so that none has an address
    input.get(commit::dense_request(v, step, all, bytes.data(), d.type));
    snapshot.items[d.name + " " + type_name(d.type) + shape.text() + " " + std::to_string(step)] =
        codec::checksum(std::span<const std::byte>(bytes));
  }
}

void take_attribute(const model::Attribute& attribute, Snapshot& snapshot) {
  model::ByteWriter out;
  std::visit(
      [&](const auto& value) {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, std::vector<std::string>>) {
          for (const std::string& text : value) {
            out.put(text);
          }
        } else {
          out.put(value);
        }
      },
      attribute.value);
  snapshot.items[attribute.owner + "@" + attribute.name + " " +
                 std::to_string(attribute.value.index())] = codec::checksum(out.take());
}

}  // namespace

std::string difference(const Snapshot& expected, const Snapshot& found) {
  std::string text;
  for (const auto& [name, digest] : expected.items) {
    const auto other = found.items.find(name);
    if (other == found.items.end() || other->second != digest) {
      text += (other == found.items.end() ? " without " : " other bytes in ") + name + ";";
    }
  }
  for (const auto& [name, digest] : found.items) {
    text += expected.items.contains(name) ? "" : " also " + name + ";";
  }
  return text.substr(0, 400);
}

namespace {

Snapshot snapshot_of(hid_t file) {
  Snapshot snapshot;
  Visit visit{&snapshot, "", ""};
  if (H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, visit_object, &visit) < 0) {
    require(!visit.problem.empty(), "listing");
    throw std::runtime_error(visit.problem);
  }
  return snapshot;
}

herr_t visit_sources(hid_t root, const char* name, const H5O_info_t* info, void* data) {
  if (info->type != H5O_TYPE_DATASET) {
    return 0;
  }
  const Id dataset(H5Dopen2(root, name, H5P_DEFAULT), H5Dclose, name);
  const Id list(H5Dget_create_plist(dataset.get()), H5Pclose, name);
  std::size_t count = 0;
  if (H5Pget_layout(list.get()) != H5D_VIRTUAL || H5Pget_virtual_count(list.get(), &count) < 0) {
    return 0;
  }
  for (std::size_t i = 0; i < count; ++i) {
    char source[256] = {};
    H5Pget_virtual_filename(list.get(), i, source, sizeof source);
    static_cast<std::set<std::string>*>(data)->insert(source);
  }
  return 0;
}

}  // namespace

std::optional<Snapshot> plain_set_snapshot(const std::string& path) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (file < 0) {
    return std::nullopt;
  }
  const Id closed(file, H5Fclose, "opening");
  std::set<std::string> sources;
  require(H5Ovisit(file, H5_INDEX_NAME, H5_ITER_INC, visit_sources, &sources) >= 0, "the sources");
  for (const std::string& source : sources) {
    const std::string part = std::filesystem::path(path).parent_path() / source;
    const hid_t opened = H5Fopen(part.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    if (opened < 0) {
      return std::nullopt;
    }
    H5Fclose(opened);
  }
  return snapshot_of(file);
}

std::optional<Snapshot> plain_snapshot(std::span<const std::byte> bytes) {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  const Id access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "the access list");
  constexpr std::size_t growth_bytes = 64 << 10;
  require(H5Pset_fapl_core(access.get(), growth_bytes, false) >= 0, "the memory driver");
  // libhdf5 takes the image as not constant, but does not change it.
  auto* image = const_cast<std::byte*>(bytes.data());
  if (bytes.empty() || H5Pset_file_image(access.get(), image, bytes.size()) < 0) {
    return std::nullopt;
  }
  const hid_t file = H5Fopen("image.h5", H5F_ACC_RDONLY, access.get());
  if (file < 0) {
    return std::nullopt;
  }
  const Id closed(file, H5Fclose, "opening");
  return snapshot_of(file);
}

Snapshot sluice_snapshot(const std::shared_ptr<storage::Storage>& storage,
                         const std::string& path) {
  Snapshot snapshot;
  const auto alone = exec::make_solo();
  commit::Input input(*alone, *storage, path, {});
  for (std::uint32_t v = 0; v < input.variables().size(); ++v) {
    take_variable(*alone, input, v, snapshot);
  }
  for (const model::Attribute& attribute : input.attributes()) {
    take_attribute(attribute, snapshot);
  }
  for (std::uint64_t step = 0; step < input.steps(); ++step) {
    const double time = input.time(step);
    snapshot.items["time " + std::to_string(step)] =
        codec::checksum(std::as_bytes(std::span(&time, 1)));
  }
  return snapshot;
}

}  // namespace sluice::test
