#include "layout/hdf5/links.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace sluice::layout::hdf5 {

namespace {

/// Depth of groups within groups; no program needs more.
constexpr std::size_t most_depth = 256;
/// Links that are visited under another name of a group that was entered before.
constexpr std::size_t most_repeated = 1 << 16;

/// Why libhdf5 failed. A failure of the storage, which is not a property of the file, is thrown.
std::string reason() {
  std::string why = last_error();
  if (const auto met = take_storage_failure()) {
    if (met->code() != Code::damaged && met->code() != Code::format) {
      throw *met;
    }
    why = met->what();
  }
  return why;
}

template <class Bytes>
void append(std::string& text, const Bytes& bytes) {
  text.append(reinterpret_cast<const char*>(&bytes), sizeof bytes);
}

struct Named {
  std::string name;
  H5L_type_t type;
  std::size_t value_bytes;
};

herr_t take_link(hid_t, const char* name, const H5L_info_t* info, void* into) {
  const std::size_t bytes = info->type == H5L_TYPE_HARD ? 0 : info->u.val_size;
  static_cast<std::vector<Named>*>(into)->push_back({name, info->type, bytes});
  return 0;
}

/// By creation where the group keeps it, which is the order of definition; otherwise by name.
H5_index_t order_of(hid_t group, const std::string& what) {
  const Handle list = own(H5Gget_create_plist(group), what);
  unsigned kept = 0;
  check(H5Pget_link_creation_order(list.get(), &kept), what);
  return (kept & H5P_CRT_ORDER_TRACKED) != 0 ? H5_INDEX_CRT_ORDER : H5_INDEX_NAME;
}

/// libhdf5 itself has no longer ones.
constexpr std::size_t most_value_bytes = 1 << 16;

/// The path of a soft link, or file and path of an external one, for messages.
std::string value_of(hid_t file, const std::string& path, const Named& link) {
  std::string value(std::min(link.value_bytes, most_value_bytes), '\0');
  if (value.empty() ||
      H5Lget_val(file, path.c_str(), value.data(), value.size(), H5P_DEFAULT) < 0) {
    return reason();
  }
  if (link.type == H5L_TYPE_SOFT) {
    return value.c_str();
  }
  unsigned flags = 0;
  const char* other = nullptr;
  const char* object = nullptr;
  if (H5Lunpack_elink_val(value.data(), value.size(), &flags, &other, &object) < 0) {
    return reason();
  }
  return std::string(other) + ":" + object;
}

class Walk {
 public:
  Walk(hid_t file, const std::function<bool(const std::string&)>& skips)
      : file_(file), skips_(skips) {}

  void begin(const std::string& group) {
    above_.push_back(facts_of(file_, "/" + group).identity);
    entered_.insert(above_.back());
    enter(group);
  }

  std::vector<NamedLink> links;

 private:
  void enter(const std::string& group) {
    const Handle opened = own(H5Gopen2(file_, ("/" + group).c_str(), H5P_DEFAULT),
                              group.empty() ? "the root group" : group);
    std::vector<Named> names;
    hsize_t position = 0;
    const std::string what = group.empty() ? "the root group" : group;
    check(H5Literate(opened.get(), order_of(opened.get(), what), H5_ITER_INC, &position, take_link,
                     &names),
          what);
    for (const Named& link : names) {
      const std::string path = joined(group, link.name);
      if (!skips_(path)) {
        take(path, link);
      }
    }
  }

  void take(const std::string& path, const Named& link) {
    repeated_ += repeats_ != 0 ? 1 : 0;
    if (link.type != H5L_TYPE_HARD && link.type != H5L_TYPE_SOFT) {
      links.push_back({path, Target::external, false, softs_ != 0, "",
                       link.type == H5L_TYPE_EXTERNAL
                           ? "external link to " + value_of(file_, path, link)
                           : "a link of another program's own kind"});
      return;
    }
    const bool is_soft = link.type == H5L_TYPE_SOFT;
    ObjectFacts facts = facts_of(file_, path);
    if (facts.target == Target::unreadable && is_soft) {
      facts = {Target::nothing, "",
               "soft link to " + value_of(file_, path, link) + ", which is not in this file"};
    }
    links.push_back(
        {path, facts.target, is_soft, is_soft || softs_ != 0, facts.identity, facts.why});
    if (facts.target == Target::group) {
      softs_ += is_soft ? 1 : 0;
      descend(path, facts.identity);
      softs_ -= is_soft ? 1 : 0;
    }
  }

  void descend(const std::string& path, const std::string& identity) {
    const bool is_inside_itself = std::find(above_.begin(), above_.end(), identity) != above_.end();
    const bool is_new = entered_.insert(identity).second;
    if (is_inside_itself || (!is_new && repeated_ >= most_repeated)) {
      return;
    }
    if (above_.size() >= most_depth) {
      links.back().target = Target::unreadable;
      links.back().why = "lies in more than " + std::to_string(most_depth) + " groups";
      return;
    }
    above_.push_back(identity);
    repeats_ += is_new ? 0 : 1;
    const std::size_t at = links.size() - 1;
    try {
      enter(path);
    } catch (const Error& e) {
      if (!concerns_object(e)) {
        throw;
      }
      links[at].target = Target::unreadable;
      links[at].why = e.what();
    }
    repeats_ -= is_new ? 0 : 1;
    above_.pop_back();
  }

  hid_t file_;
  const std::function<bool(const std::string&)>& skips_;
  std::vector<std::string> above_;  ///< identities of the groups on the current path
  std::set<std::string> entered_;
  std::size_t softs_ = 0;     ///< soft links to groups that are being walked
  std::size_t repeats_ = 0;   ///< groups of them that were entered before
  std::size_t repeated_ = 0;  ///< links that were met in such
};

Target target_of(H5O_type_t type) {
  switch (type) {
    case H5O_TYPE_DATASET:
      return Target::dataset;
    case H5O_TYPE_GROUP:
      return Target::group;
    case H5O_TYPE_NAMED_DATATYPE:
      return Target::datatype;
    default:
      return Target::unreadable;
  }
}

herr_t take_name(hid_t, const char* name, const H5A_info_t*, void* into) {
  static_cast<std::vector<std::string>*>(into)->emplace_back(name);
  return 0;
}

}  // namespace

std::vector<std::string> attribute_names(hid_t object, const std::string& what) {
  std::vector<std::string> names;
  hsize_t position = 0;
  check(H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_NATIVE, &position, take_name, &names), what);
  return names;
}

void copy_link(hid_t from, hid_t into, const std::string& path) {
  H5L_info_t info{};
  check(H5Lget_info(from, path.c_str(), &info, H5P_DEFAULT), path);
  if (info.type != H5L_TYPE_SOFT && info.type != H5L_TYPE_EXTERNAL) {
    throw Error(Code::unsupported, "a link of another program's own kind");
  }
  std::string value(std::min(info.u.val_size, most_value_bytes), '\0');
  check(H5Lget_val(from, path.c_str(), value.data(), value.size(), H5P_DEFAULT), path);
  if (info.type == H5L_TYPE_SOFT) {
    check(H5Lcreate_soft(value.c_str(), into, path.c_str(), H5P_DEFAULT, H5P_DEFAULT), path);
    return;
  }
  unsigned flags = 0;
  const char* file = nullptr;
  const char* object = nullptr;
  check(H5Lunpack_elink_val(value.data(), value.size(), &flags, &file, &object), path);
  check(H5Lcreate_external(file, object, into, path.c_str(), H5P_DEFAULT, H5P_DEFAULT), path);
}

void make_group_like(hid_t from, hid_t into, const std::string& path) {
  const Handle group = own(H5Gopen2(from, path.c_str(), H5P_DEFAULT), path);
  // Not the old list: it also contains the number of links of the old group and their addresses.
  // libhdf5 writes these into the new group, and crashes when it reads them.
  const Handle old_list = own(H5Gget_create_plist(group.get()), path);
  const Handle list = own(H5Pcreate(H5P_GROUP_CREATE), path);
  unsigned order_of_links = 0;
  unsigned order_of_attributes = 0;
  hbool_t has_times = false;
  check(H5Pget_link_creation_order(old_list.get(), &order_of_links), path);
  check(H5Pget_attr_creation_order(old_list.get(), &order_of_attributes), path);
  check(H5Pget_obj_track_times(old_list.get(), &has_times), path);
  check(H5Pset_link_creation_order(list.get(), order_of_links), path);
  check(H5Pset_attr_creation_order(list.get(), order_of_attributes), path);
  check(H5Pset_obj_track_times(list.get(), has_times), path);
  own(H5Gcreate2(into, path.c_str(), H5P_DEFAULT, list.get(), H5P_DEFAULT), path);
}

Handle ordered_list(hid_t kind) {
  Handle list = own(H5Pcreate(kind), "creation list");
  check(H5Pset_link_creation_order(list.get(), H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED),
        "creation order");
  return list;
}

void make_groups_above(hid_t file, const std::string& path, hid_t list) {
  for (std::size_t slash = path.find('/'); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string group = path.substr(0, slash);
    if (!is_yes(H5Lexists(file, group.c_str(), H5P_DEFAULT), group)) {
      own(H5Gcreate2(file, group.c_str(), H5P_DEFAULT, list, H5P_DEFAULT), group);
    }
  }
}

// Made anew: H5Ocopy of libhdf5 1.10 leaves a header that newer ones refuse where the type is
// opaque.
void commit_type_like(hid_t from, hid_t into, const std::string& path) {
  const Handle held = own(H5Topen2(from, path.c_str(), H5P_DEFAULT), path);
  const Handle type = own(H5Tcopy(held.get()), path);
  check(H5Tcommit2(into, path.c_str(), type.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), path);
}

void copy_object(hid_t from, hid_t into, const std::string& path) {
  const Handle how = own(H5Pcreate(H5P_OBJECT_COPY), path);
  check(H5Pset_copy_object(how.get(),
                           H5O_COPY_WITHOUT_ATTR_FLAG | H5O_COPY_MERGE_COMMITTED_DTYPE_FLAG),
        path);
  check(H5Ocopy(from, path.c_str(), into, path.c_str(), how.get(), H5P_DEFAULT), path);
}

std::string joined(const std::string& above, const std::string& below) {
  return above.empty() ? below : above + "/" + below;
}

ObjectFacts facts_of(hid_t file, const std::string& path) {
  ObjectFacts facts;
#if H5_VERSION_GE(1, 12, 0)
  H5O_info2_t info{};
  const herr_t status =
      H5Oget_info_by_name3(file, path.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT);
#else
  H5O_info_t info{};
  const herr_t status =
      H5Oget_info_by_name2(file, path.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT);
#endif
  if (status < 0) {
    facts.why = reason();
    return facts;
  }
  facts.target = target_of(info.type);
  append(facts.identity, info.fileno);
#if H5_VERSION_GE(1, 12, 0)
  append(facts.identity, info.token);
#else
  append(facts.identity, info.addr);
#endif
  if (facts.target == Target::unreadable) {
    facts.why = "an object of a kind that this libhdf5 does not know";
  }
  return facts;
}

std::vector<NamedLink> links_below(hid_t file, const std::string& group,
                                   const std::function<bool(const std::string& path)>& skips) {
  const QuietErrors quiet;
  Walk walk(file, skips);
  walk.begin(group);
  return std::move(walk.links);
}

}  // namespace sluice::layout::hdf5
