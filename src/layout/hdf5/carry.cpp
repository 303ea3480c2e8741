#include "layout/hdf5/carry.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "layout/hdf5/catalog.hpp"
#include "layout/hdf5/driver.hpp"
#include "layout/hdf5/links.hpp"
#include "layout/hdf5/log.hpp"
#include "layout/hdf5/references.hpp"
#include "layout/netcdf4/scales.hpp"

namespace sluice::layout::hdf5 {

namespace {

/// What is read into memory as a whole: an attribute, a dataset of references.
constexpr std::uint64_t most_whole_bytes = 256 << 20;
/// What is read at a time of a dataset that is copied by its elements.
constexpr std::uint64_t rows_bytes = 1 << 20;

herr_t take_name(hid_t, const char* name, const H5A_info_t*, void* into) {
  static_cast<std::vector<std::string>*>(into)->emplace_back(name);
  return 0;
}

/// Elements of any type in memory, with what libhdf5 allocated for them.
class Elements {
 public:
  Elements(hid_t type, hid_t space, const std::string& what) : type_(type), space_(space) {
    const hssize_t count = checked(H5Sget_simple_extent_npoints(space), what);
    count_ = static_cast<std::size_t>(count);
    const std::uint64_t bytes =
        model::checked_product(count_, H5Tget_size(type), "size of elements");
    if (bytes > most_whole_bytes) {
      throw Error(Code::unsupported, what + ": has " + std::to_string(bytes) +
                                         " bytes, more than " + std::to_string(most_whole_bytes));
    }
    bytes_.resize(bytes);
  }
  ~Elements() {
    if (is_read) {
      H5Dvlen_reclaim(type_, space_, H5P_DEFAULT, bytes_.data());
    }
  }
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;

  std::byte* data() { return bytes_.data(); }
  std::size_t count() const { return count_; }
  bool is_read = false;

 private:
  hid_t type_;
  hid_t space_;
  std::size_t count_ = 0;
  std::vector<std::byte> bytes_;
};

class Carrier {
 public:
  Carrier(storage::File& from, storage::File& into, const std::vector<std::string>& written)
      : written_(written.begin(), written.end()) {
    old_state_.file = &from;
    new_state_.file = &into;
    new_state_.writable = true;
    new_state_.is_direct = true;
    const Handle reading = access_list(old_state_);
    from_ = own(H5Fopen(from.path().c_str(), H5F_ACC_RDONLY, reading.get()), from.path());
    const Handle writing = access_list(new_state_);
    into_ = own(H5Fopen(into.path().c_str(), H5F_ACC_RDWR, writing.get()), into.path());
  }

  std::vector<std::string> run() {
    list();
    // Objects, then their further names, then what only points.
    for (const NamedLink& link : links_) {
      if (is_first(link)) {
        attempt(link.path, [&] { take_object(link); });
      }
    }
    for (const NamedLink& link : links_) {
      if (!is_first(link) && !is_pointer(link) && !is_below_other_name(link.path)) {
        attempt(link.path, [&] { take_other_name(link); });
      }
    }
    for (const NamedLink& link : links_) {
      if (is_pointer(link) && !is_below_other_name(link.path) &&
          !has_link(into_.get(), link.path)) {
        attempt(link.path, [&] { copy_link(from_.get(), into_.get(), link.path); });
      }
    }
    copy_attributes("");
    for (const auto& [identity, path] : names_) {
      if (!path.empty()) {
        copy_attributes(path);
      }
    }
    for (const std::string& path : copied_) {
      attempt(path, [&] { translate_elements(path); });
    }
    attach_scales();
    check(H5Fflush(into_.get(), H5F_SCOPE_GLOBAL), new_state_.file->path());
    into_.reset();
    if (!new_state_.failure.empty()) {
      throw Error(Code::io, new_state_.failure);
    }
    return std::move(left_);
  }

 private:
  template <class Work>
  void attempt(const std::string& what, Work&& work) {
    try {
      work();
    } catch (const Error& e) {
      if (!concerns_object(e)) {
        throw;
      }
      left_.push_back(what + " (" + e.what() + ")");
    }
  }

  void list() {
    const bool is_ours = has_log(from_.get(), old_state_.file->path());
    const bool has_other = !is_ours && has_link(from_.get(), group_name);
    if (has_other) {
      left_.push_back(std::string(group_name) + " (the group is called as Sluice's own)");
    }
    links_ = links_below(from_.get(), "", [&](const std::string& path) {
      return path == group_name || (is_ours && is_step_group(path));
    });
    names_[facts_of(from_.get(), "/").identity] = "";
    std::set<std::string> fixed{facts_of(from_.get(), "/").identity};
    for (const NamedLink& link : links_) {
      if (link.identity.empty() || fixed.count(link.identity) != 0) {
        continue;
      }
      const auto [known, is_new] = names_.try_emplace(link.identity, link.path);
      if (written_.count(link.path) != 0) {
        known->second = link.path;
        fixed.insert(link.identity);
      } else if (!is_new && soft_.count(known->second) != 0 && !link.is_soft) {
        known->second = link.path;
      }
      if (link.is_soft) {
        soft_.insert(link.path);
      }
    }
    for (const NamedLink& link : links_) {
      if (link.target == Target::group && (link.is_soft || names_.at(link.identity) != link.path)) {
        other_groups_.insert(link.path);
      }
    }
  }

  bool is_first(const NamedLink& link) const {
    return !is_pointer(link) && !link.identity.empty() && names_.at(link.identity) == link.path;
  }
  static bool is_pointer(const NamedLink& link) {
    return link.is_soft || link.target == Target::external || link.target == Target::nothing;
  }
  /// Does it come with the further name of a group?
  bool is_below_other_name(const std::string& path) const {
    for (std::size_t at = path.find('/'); at != std::string::npos; at = path.find('/', at + 1)) {
      if (other_groups_.count(path.substr(0, at)) != 0) {
        return true;
      }
    }
    return false;
  }

  void take_object(const NamedLink& link) {
    if (link.target == Target::unreadable) {
      left_.push_back(link.path + " (" + link.why + ")");
    } else if (has_link(into_.get(), link.path)) {
      return;  // Sluice wrote it, or needed it
    } else if (link.target == Target::group) {
      make_group_like(from_.get(), into_.get(), link.path);
    } else {
      if (link.target == Target::dataset && is_of_pieces(link.path)) {
        copy_elements(link.path);
      } else {
        copy_object(link.path);
      }
      if (link.target == Target::dataset) {
        copied_.insert(link.path);
      }
    }
  }

  void take_other_name(const NamedLink& link) {
    if (link.target == Target::unreadable) {
      left_.push_back(link.path + " (" + link.why + ")");
      return;
    }
    const std::string& first = names_.at(link.identity);
    if (!first.empty() && !has_link(into_.get(), first)) {
      throw Error(Code::unsupported, "the same as " + first + ", which is left out");
    }
    make_name(first, link);
  }

  /// Has it elements that lie elsewhere (lists, text of variable length)? libhdf5 1.10 copies such
  /// a dataset with a fill value that leads nowhere.
  bool is_of_pieces(const std::string& path) {
    const Handle dataset = own(H5Dopen2(from_.get(), path.c_str(), H5P_DEFAULT), path);
    const Handle type = own(H5Dget_type(dataset.get()), path);
    const Handle list = own(H5Dget_create_plist(dataset.get()), path);
    H5D_fill_value_t state = H5D_FILL_VALUE_UNDEFINED;
    check(H5Pfill_value_defined(list.get(), &state), path);
    return state == H5D_FILL_VALUE_USER_DEFINED &&
           (is_yes(H5Tdetect_class(type.get(), H5T_VLEN), path) || has_text(type.get()));
  }

  /// Is there text of variable length in it?
  static bool has_text(hid_t type) {
    switch (H5Tget_class(type)) {
      case H5T_STRING:
        return is_yes(H5Tis_variable_str(type), "type");
      case H5T_COMPOUND:
        for (int m = 0; m < H5Tget_nmembers(type); ++m) {
          const Handle member = own(H5Tget_member_type(type, static_cast<unsigned>(m)), "type");
          if (has_text(member.get())) {
            return true;
          }
        }
        return false;
      case H5T_ARRAY:
      case H5T_VLEN:
        return has_text(own(H5Tget_super(type), "type").get());
      default:
        return false;
    }
  }

  void copy_elements(const std::string& path) {
    const Handle old_one = own(H5Dopen2(from_.get(), path.c_str(), H5P_DEFAULT), path);
    const Handle held = own(H5Dget_type(old_one.get()), path);
    const Handle type = own(H5Tcopy(held.get()), path);
    const Handle space = own(H5Dget_space(old_one.get()), path);
    const Handle list = own(H5Dget_create_plist(old_one.get()), path);
    const Handle new_one = own(H5Dcreate2(into_.get(), path.c_str(), type.get(), space.get(),
                                          H5P_DEFAULT, list.get(), H5P_DEFAULT),
                               path);
    const int rank = static_cast<int>(checked(H5Sget_simple_extent_ndims(space.get()), path));
    if (checked(H5Sget_simple_extent_npoints(space.get()), path) == 0) {
      return;
    }
    std::vector<hsize_t> dims(static_cast<std::size_t>(std::max(1, rank)), 1);
    check(H5Sget_simple_extent_dims(space.get(), rank == 0 ? nullptr : dims.data(), nullptr), path);
    std::uint64_t row_bytes = H5Tget_size(type.get());
    for (std::size_t d = 1; d < dims.size(); ++d) {
      row_bytes *= dims[d];
    }
    const hsize_t rows = std::max<hsize_t>(1, rows_bytes / std::max<std::uint64_t>(1, row_bytes));
    for (hsize_t first = 0; first < dims[0]; first += rows) {
      std::vector<hsize_t> start(dims.size(), 0);
      std::vector<hsize_t> count = dims;
      start[0] = first;
      count[0] = std::min(rows, dims[0] - first);
      const Handle memory = rank == 0 ? own(H5Scopy(space.get()), path)
                                      : own(H5Screate_simple(rank, count.data(), nullptr), path);
      if (rank != 0) {
        check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(),
                                  nullptr),
              path);
      }
      Elements elements(type.get(), memory.get(), path);
      check(H5Dread(old_one.get(), type.get(), memory.get(), space.get(), H5P_DEFAULT,
                    elements.data()),
            path);
      elements.is_read = true;
      check(H5Dwrite(new_one.get(), type.get(), memory.get(), space.get(), H5P_DEFAULT,
                     elements.data()),
            path);
    }
  }

  void copy_object(const std::string& path) {
    const Handle how = own(H5Pcreate(H5P_OBJECT_COPY), path);
    check(H5Pset_copy_object(how.get(),
                             H5O_COPY_WITHOUT_ATTR_FLAG | H5O_COPY_MERGE_COMMITTED_DTYPE_FLAG),
          path);
    check(H5Ocopy(from_.get(), path.c_str(), into_.get(), path.c_str(), how.get(), H5P_DEFAULT),
          path);
  }

  /// A further name of what is called `first`.
  void make_name(const std::string& first, const NamedLink& link) {
    const std::string target = "/" + first;
    if (has_link(into_.get(), link.path)) {
      const bool is_same =
          facts_of(into_.get(), link.path).identity == facts_of(into_.get(), target).identity;
      if (is_same || link.target != Target::group || holds_links(link.path)) {
        return;
      }
      // A group that only its attributes have made.
      check(H5Ldelete(into_.get(), link.path.c_str(), H5P_DEFAULT), link.path);
    }
    check(H5Lcreate_hard(into_.get(), target.c_str(), into_.get(), link.path.c_str(), H5P_DEFAULT,
                         H5P_DEFAULT),
          link.path);
  }

  bool holds_links(const std::string& group) {
    return !links_below(into_.get(), group, [](const std::string&) { return false; }).empty();
  }

  void copy_attributes(const std::string& path) {
    const std::string what = path.empty() ? "the file" : path;
    if (!path.empty() && (soft_.count(path) != 0 || !has_link(into_.get(), path))) {
      return;  // it was named already
    }
    attempt("attributes of " + what, [&] {
      const std::string object = "/" + path;
      const Handle old_object = own(H5Oopen(from_.get(), object.c_str(), H5P_DEFAULT), what);
      const Handle new_object = own(H5Oopen(into_.get(), object.c_str(), H5P_DEFAULT), what);
      std::vector<std::string> names;
      hsize_t position = 0;
      check(H5Aiterate2(old_object.get(), H5_INDEX_NAME, H5_ITER_NATIVE, &position, take_name,
                        &names),
            what);
      for (const std::string& name : names) {
        attempt(what + ": attribute " + name,
                [&] { copy_attribute(old_object.get(), new_object.get(), what, name); });
      }
    });
  }

  /// Can scales be added? The names of dimensions are part of what Sluice has committed, and where
  /// its variable has no labels, they would come from the scales.
  bool may_have_scales(hid_t dataset, const std::string& path) const {
    return copied_.count(path) != 0 || !netcdf4::dimension_labels(dataset).empty();
  }

  static bool is_kept_otherwise(const std::string& name) {
    static const std::set<std::string> names{"DIMENSION_LIST",      "REFERENCE_LIST",
                                             "_Netcdf4Dimid",       "_NCProperties",
                                             "_Netcdf4Coordinates", varying_attribute};
    return names.count(name) != 0;
  }

  void copy_attribute(hid_t old_object, hid_t new_object, const std::string& owner,
                      const std::string& name) {
    const std::string what = owner + ": attribute " + name;
    const bool is_there = is_yes(H5Aexists(new_object, name.c_str()), what);
    const bool is_of_scale = name == "CLASS" || name == "NAME";
    const bool is_decided =
        is_there ? netcdf4::is_scale(new_object)
                 : netcdf4::is_scale(old_object) && !may_have_scales(new_object, owner);
    if (is_kept_otherwise(name) || (is_of_scale && is_decided)) {
      return;
    }
    const Handle attribute = own(H5Aopen(old_object, name.c_str(), H5P_DEFAULT), what);
    const Handle held = own(H5Aget_type(attribute.get()), what);
    const Handle type = own(H5Tcopy(held.get()), what);
    const Handle space = own(H5Aget_space(attribute.get()), what);
    if (is_there && is_alike(new_object, name, type.get(), space.get())) {
      return;
    }
    Elements elements(type.get(), space.get(), what);
    const bool has_values =
        elements.count() != 0 && H5Sget_simple_extent_type(space.get()) != H5S_NULL;
    if (has_values) {
      check(H5Aread(attribute.get(), type.get(), elements.data()), what);
      elements.is_read = true;
      translate(type.get(), elements, what);
    }
    if (is_there) {
      check(H5Adelete(new_object, name.c_str()), what);
    }
    const Handle made =
        own(H5Acreate2(new_object, name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT),
            what);
    if (has_values) {
      check(H5Awrite(made.get(), type.get(), elements.data()), what);
    }
  }

  static bool is_alike(hid_t object, const std::string& name, hid_t type, hid_t space) {
    const Handle other = own(H5Aopen(object, name.c_str(), H5P_DEFAULT), name);
    const Handle other_type = own(H5Aget_type(other.get()), name);
    const Handle other_space = own(H5Aget_space(other.get()), name);
    return is_yes(H5Tequal(other_type.get(), type), name) &&
           is_yes(H5Sextent_equal(other_space.get(), space), name);
  }

  void translate(hid_t type, Elements& elements, const std::string& what) {
    if (References::has_any(type) && !References(from_.get(), into_.get(), names_)
                                          .translate(type, elements.data(), elements.count())) {
      left_.push_back(what + " (references to what is not there)");
    }
  }

  void translate_elements(const std::string& path) {
    const Handle old_dataset = own(H5Dopen2(from_.get(), path.c_str(), H5P_DEFAULT), path);
    const Handle held = own(H5Dget_type(old_dataset.get()), path);
    if (!References::has_any(held.get())) {
      return;
    }
    const Handle type = own(H5Tcopy(held.get()), path);
    const Handle space = own(H5Dget_space(old_dataset.get()), path);
    const Handle new_dataset = own(H5Dopen2(into_.get(), path.c_str(), H5P_DEFAULT), path);
    Elements elements(type.get(), space.get(), path);
    if (elements.count() == 0) {
      return;
    }
    check(H5Dread(old_dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, elements.data()),
          path);
    elements.is_read = true;
    translate(type.get(), elements, path);
    check(H5Dwrite(new_dataset.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, elements.data()),
          path);
  }

  /// An unlimited dimension without coordinates has no elements, only its variables have. Sluice's
  /// has the length that they have here, and keeps it.
  void name_limit(hid_t old_one, hid_t new_one, const std::string& path) {
    if (!netcdf4::is_plain_scale(old_one) || !netcdf4::is_plain_scale(new_one)) {
      return;
    }
    if (netcdf4::use_of(old_one, path).unlimited && !netcdf4::use_of(new_one, path).unlimited) {
      left_.push_back(path + " (" + netcdf4::fixed_limit + ")");
    }
  }

  void attach_scales() {
    netcdf4::Scales scales;
    scales.load(into_.get());
    for (const NamedLink& link : links_) {
      if (link.target != Target::dataset || names_.at(link.identity) != link.path) {
        continue;
      }
      attempt(link.path + ": its dimension scales", [&] {
        const Handle old_one =
            own(H5Dopen2(from_.get(), link.path.c_str(), H5P_DEFAULT), link.path);
        if (!has_link(into_.get(), link.path)) {
          return;
        }
        const Handle new_one =
            own(H5Dopen2(into_.get(), link.path.c_str(), H5P_DEFAULT), link.path);
        name_limit(old_one.get(), new_one.get(), link.path);
        if (!netcdf4::is_attached(old_one.get(), link.path) ||
            netcdf4::is_attached(new_one.get(), link.path) ||
            !may_have_scales(new_one.get(), link.path)) {
          return;
        }
        const auto names = netcdf4::dimension_names(from_.get(), old_one.get(), link.path);
        if (names.empty() || !std::all_of(names.begin(), names.end(), [&](const std::string& name) {
              return scales.has(name);
            })) {
          left_.push_back(link.path + " (dimension scales: not every dimension has one)");
          return;
        }
        scales.attach(into_.get(), new_one.get(), link.path, names);
      });
    }
    scales.seal(into_.get());
  }

  DriverState old_state_;
  DriverState new_state_;
  Handle from_;
  Handle into_;
  const std::set<std::string> written_;
  std::vector<NamedLink> links_;
  std::map<std::string, std::string> names_;  ///< of objects, by their identity
  std::set<std::string> soft_;                ///< paths of soft links
  std::set<std::string> other_groups_;        ///< further names of groups
  std::set<std::string> copied_;              ///< datasets that Sluice did not write
  std::vector<std::string> left_;
};

}  // namespace

std::vector<std::string> carry(storage::File& from, storage::File& into,
                               const std::vector<std::string>& written) {
  const QuietErrors quiet;
  std::vector<std::string> left;
  {
    Carrier carrier(from, into, written);
    left = carrier.run();
  }
  const auto catalog = Catalog::open(into);
  if (!catalog->commits().empty()) {
    into.set_modified_ns(catalog->commits().back().modified_ns);
  }
  return left;
}

}  // namespace sluice::layout::hdf5
