#include "layout/hdf5/carry.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "codec/quantise.hpp"
#include "layout/hdf5/attributes.hpp"
#include "layout/hdf5/carried_scales.hpp"
#include "layout/hdf5/catalog.hpp"
#include "layout/hdf5/datasets.hpp"
#include "layout/hdf5/driver.hpp"
#include "layout/hdf5/elements.hpp"
#include "layout/hdf5/links.hpp"
#include "layout/hdf5/log.hpp"
#include "layout/hdf5/netcdf_attributes.hpp"
#include "layout/hdf5/references.hpp"
#include "layout/hdf5/scales.hpp"
#include "layout/hdf5/step_groups.hpp"
#include "layout/rounding.hpp"

namespace sluice::layout::hdf5 {

namespace {

constexpr const char* lost_references = " (references to what is not there)";

class Carrier {
 public:
  Carrier(storage::File& from, storage::File& into, StepGroups steps, bool is_netcdf,
          const std::vector<std::string>& written)
      : steps_(std::move(steps)), is_netcdf_(is_netcdf), written_(written.begin(), written.end()) {
    old_state_.file = &from;
    new_state_.file = &into;
    new_state_.writable = true;
    new_state_.is_direct = true;
    const Handle reading = access_list(old_state_);
    from_ = own(H5Fopen(from.path().c_str(), H5F_ACC_RDONLY, reading.get()), from.path());
    const Handle writing = access_list(new_state_);
    into_ = own(H5Fopen(into.path().c_str(), H5F_ACC_RDWR, writing.get()), into.path());
    scales_.emplace(from_.get(), into_.get(), is_netcdf);
  }

  std::vector<std::string> run() {
    list();
    // Groups, types, datasets, which may be of these types; further names; what only points.
    for (const Target kind :
         {Target::group, Target::datatype, Target::dataset, Target::unreadable}) {
      for (const NamedLink& link : links_) {
        if (link.target == kind && is_first(link)) {
          attempt(link.path, [&] { take_object(link); });
        }
      }
    }
    for (const NamedLink& link : links_) {
      if (!is_first(link) && !is_pointer(link) && !is_below_other_name(link.path)) {
        attempt(link.path, [&] { take_other_name(link); });
      }
    }
    for (const NamedLink& link : links_) {
      if (is_pointer(link) && !is_below_other_name(link.path)) {
        attempt(link.path, [&] {
          if (!leaves_displaced(link) && !has_link(into_.get(), link.path)) {
            copy_link(from_.get(), into_.get(), link.path);
          }
        });
      }
    }
    translate_elements();
    copy_attributes("");
    for (const auto& [identity, path] : names_) {
      if (!path.empty()) {
        copy_attributes(path);
      }
    }
    steps_.visit_attributes(from_.get(), [&](auto& path, auto& name) { take_of_step(path, name); });
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
      const bool is_group = facts_of(from_.get(), group_name).target == Target::group;
      left_.push_back(std::string(group_name) + (is_group ? " (the group" : " (it") +
                      " is called as Sluice's own)");
    }
    links_ = links_below(from_.get(), "", [&](const std::string& path) {
      return path == group_name || steps_.contains(path);
    });
    std::vector<NamedLink> in_steps = steps_.others(from_.get());
    std::move(in_steps.begin(), in_steps.end(), std::back_inserter(links_));
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
      } else if (!is_new && soft_.count(known->second) != 0 && !link.is_below_soft) {
        known->second = link.path;
      }
      if (link.is_below_soft) {
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
    return !is_pointer(link) && !link.is_below_soft && !link.identity.empty() &&
           names_.at(link.identity) == link.path;
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
    } else if (leaves_displaced(link) ||
               (has_link(into_.get(), link.path) &&
                (written_.count(link.path) != 0 || !scales_->make_room(link.path)))) {
      return;  // Sluice wrote it, or needed it
    } else if (link.target == Target::group) {
      make_group_like(from_.get(), into_.get(), link.path);
    } else if (link.target == Target::datatype) {
      commit_type_like(from_.get(), into_.get(), link.path);
    } else if (!scales_->is_unused(link.path, [this] { return others(); })) {
      if (is_of_pieces(link.path)) {
        copy_elements(link.path);
      } else {
        copy_object(from_.get(), into_.get(), link.path);
      }
      copied_.insert(link.path);
    }
  }

  bool leaves_displaced(const NamedLink& link) {
    const bool is_displaced = has_link(into_.get(), link.path) && written_.count(link.path) == 0 &&
                              scales_->is_displaced(link.path);
    if (is_displaced && displaced_.insert(link.path).second) {
      left_.push_back(link.path + " (in the new file it is the name of a dimension)");
    }
    return is_displaced;
  }

  /// The datasets that Sluice has not written.
  std::vector<std::string> others() const {
    std::vector<std::string> others;
    for (const NamedLink& link : links_) {
      if (link.target == Target::dataset && is_first(link) && written_.count(link.path) == 0) {
        others.push_back(link.path);
      }
    }
    return others;
  }

  void take_other_name(const NamedLink& link) {
    if (link.target == Target::unreadable) {
      left_.push_back(link.path + " (" + link.why + ")");
      return;
    }
    const std::string& first = names_.at(link.identity);
    if (leaves_displaced(link)) {
      return;
    }
    if (!first.empty() && (displaced_.count(first) != 0 || !has_link(into_.get(), first))) {
      throw Error(Code::unsupported, "the same as " + first + ", which is left out");
    }
    make_name(first, link);
  }

  /// Has it elements that lie elsewhere (lists, text of variable length)? libhdf5 1.10 copies such
  /// a dataset with a fill value that leads nowhere.
  bool is_of_pieces(const std::string& path) {
    const Handle dataset = own(H5Dopen2(from_.get(), path.c_str(), H5P_DEFAULT), path);
    const Handle type = own(H5Dget_type(dataset.get()), path);
    if (has_lists_in_array(type.get())) {
      throw Error(Code::unsupported, "lists in an array of compounds, which libhdf5 reads wrongly");
    }
    const Handle list = own(H5Dget_create_plist(dataset.get()), path);
    const bool has_pieces =
        is_yes(H5Tdetect_class(type.get(), H5T_VLEN), path) || has_text(type.get());
    const bool is_external = checked(H5Pget_external_count(list.get()), path) > 0;
    if (is_external && (has_pieces || References::has_any(type.get()))) {
      throw Error(Code::unsupported,
                  "lists, text or references in other files, which would have to be written");
    }
    return has_pieces && H5Pget_layout(list.get()) != H5D_VIRTUAL;
  }

  /// The type as the new file has it under a name, else as it is.
  Handle type_in_new(hid_t held, const std::string& path) {
    if (is_yes(H5Tcommitted(held), path)) {
      const auto known = names_.find(facts_of(held, ".").identity);
      if (known != names_.end() && has_link(into_.get(), known->second)) {
        return own(H5Topen2(into_.get(), known->second.c_str(), H5P_DEFAULT), path);
      }
    }
    return own(H5Tcopy(held), path);
  }

  void copy_elements(const std::string& path) {
    const Handle old_one = own(H5Dopen2(from_.get(), path.c_str(), H5P_DEFAULT), path);
    const Handle held = own(H5Dget_type(old_one.get()), path);
    const Handle named = type_in_new(held.get(), path);
    const Handle space = own(H5Dget_space(old_one.get()), path);
    const Handle list = own(H5Dget_create_plist(old_one.get()), path);
    const Handle new_one = create_dataset(into_.get(), path, named.get(), space.get(), list.get());
    try {
      if (has_storage(old_one.get(), path)) {
        copy_rows(old_one.get(), new_one.get(), path);
      }
    } catch (const Error&) {
      H5Ldelete(into_.get(), path.c_str(), H5P_DEFAULT);
      throw;
    }
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
    if (!path.empty() &&
        (soft_.count(path) != 0 || displaced_.count(path) != 0 || !has_link(into_.get(), path))) {
      return;  // it was named already
    }
    attempt("attributes of " + what, [&] {
      const std::string object = "/" + path;
      const Handle old_object = own(H5Oopen(from_.get(), object.c_str(), H5P_DEFAULT), what);
      const Handle new_object = own(H5Oopen(into_.get(), object.c_str(), H5P_DEFAULT), what);
      for (const std::string& name : attribute_names(old_object.get(), what)) {
        attempt(what + ": attribute " + name,
                [&] { copy_attribute(old_object.get(), new_object.get(), what, name); });
      }
    });
  }

  /// What Sluice writes there itself comes from its variables, and from the times.
  void take_of_step(const std::string& path, const std::string& name) {
    const std::string what = path + ": attribute " + name;
    if (!has_link(into_.get(), path)) {
      if (!steps_.has_standard()) {
        left_.push_back(what + " (the new file has no such place)");
      }
      return;
    }
    attempt(what, [&] {
      const Handle old_object = own(H5Oopen(from_.get(), path.c_str(), H5P_DEFAULT), path);
      const Handle new_object = own(H5Oopen(into_.get(), path.c_str(), H5P_DEFAULT), path);
      if (!is_yes(H5Aexists(new_object.get(), name.c_str()), what)) {
        copy_attribute(old_object.get(), new_object.get(), path, name);
      }
    });
  }

  /// Can scales be added? The names of dimensions are part of what Sluice has committed, and where
  /// its variable has no labels, they would come from the scales.
  bool may_have_scales(hid_t dataset, const std::string& path) const {
    return copied_.count(path) != 0 || !dimension_labels(dataset).empty();
  }

  /// Labels of dimensions are copied, but to netCDF, which has scales for them.
  bool is_kept_otherwise(const std::string& name) const {
    return name == labels_name ? is_netcdf_ : is_own_attribute(name);
  }

  /// How a variable was rounded, where it is rounded once more: the writer says what holds now.
  static bool is_said_anew(hid_t old_object, hid_t new_object, const std::string& name,
                           bool is_there) {
    if (!is_about_rounding(name)) {
      return false;
    }
    if (is_there) {
      return read_attribute(old_object, name) != read_attribute(new_object, name);
    }
    const auto rows = codec::quantisers();
    return std::any_of(rows.begin(), rows.end(), [&](const codec::Quantiser& row) {
      return is_yes(H5Aexists(new_object, row.attribute), name);
    });
  }

  void copy_attribute(hid_t old_object, hid_t new_object, const std::string& owner,
                      const std::string& name) {
    const std::string what = owner + ": attribute " + name;
    const bool is_there = is_yes(H5Aexists(new_object, name.c_str()), what);
    const bool is_of_scale = name == "CLASS" || name == "NAME";
    const bool is_decided = is_there ? is_scale(new_object)
                                     : is_scale(old_object) && !may_have_scales(new_object, owner);
    // Sluice writes it in the type of its variable.
    const bool is_own_fill = name == "_FillValue" && is_there && copied_.count(owner) == 0;
    if (is_kept_otherwise(name) || (is_of_scale && is_decided) || is_own_fill ||
        (copied_.count(owner) == 0 && is_said_anew(old_object, new_object, name, is_there))) {
      return;
    }
    const Handle attribute = own(H5Aopen(old_object, name.c_str(), H5P_DEFAULT), what);
    const Handle held = own(H5Aget_type(attribute.get()), what);
    const Handle type = own(H5Tcopy(held.get()), what);
    const Handle space = own(H5Aget_space(attribute.get()), what);
    if (is_there && (is_alike(new_object, name, type.get(), space.get()) ||
                     is_flag_of_netcdf(old_object, new_object, name))) {
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

  /// A byte in netCDF, which Sluice wrote as the boolean that it stands for.
  static bool is_flag_of_netcdf(hid_t old_object, hid_t new_object, const std::string& name) {
    const Handle made = own(H5Aopen(new_object, name.c_str(), H5P_DEFAULT), name);
    const Handle type = own(H5Aget_type(made.get()), name);
    return H5Tget_class(type.get()) == H5T_ENUM && is_flag(old_object, name);
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
      left_.push_back(what + lost_references);
    }
  }

  /// A dataset whose references cannot be translated is left out, and references to it lead nowhere
  /// then: those that were translated before are translated once more.
  void translate_elements() {
    const References references(from_.get(), into_.get(), names_);
    std::set<std::string> incomplete;
    bool is_final = false;
    while (!is_final) {
      is_final = true;
      incomplete.clear();
      for (const std::string& path : std::set<std::string>(copied_)) {
        try {
          if (!references.translate_elements(path)) {
            incomplete.insert(path);
          }
        } catch (const Error& e) {
          if (!concerns_object(e)) {
            throw;
          }
          leave_out(path, e.what());
          is_final = false;
        }
      }
    }
    for (const std::string& path : incomplete) {
      left_.push_back(path + lost_references);
    }
  }

  /// Removes a dataset that was copied, with all its names.
  void leave_out(const std::string& path, const std::string& why) {
    copied_.erase(path);
    left_.push_back(path + " (" + why + ")");
    for (const NamedLink& link : links_) {
      const bool is_name = !is_pointer(link) && !link.is_below_soft && !link.identity.empty() &&
                           names_.at(link.identity) == path && !is_below_other_name(link.path);
      if (is_name && has_link(into_.get(), link.path)) {
        check(H5Ldelete(into_.get(), link.path.c_str(), H5P_DEFAULT), link.path);
        if (link.path != path) {
          left_.push_back(link.path + " (the same as " + path + ", which is left out)");
        }
      }
    }
  }

  void attach_scales() {
    scales_->load();
    for (const NamedLink& link : links_) {
      if (link.target != Target::dataset || names_.at(link.identity) != link.path) {
        continue;
      }
      attempt(link.path + ": its dimension scales", [&] {
        const bool is_there = has_link(into_.get(), link.path);  // else it was named already
        if (is_there && !scales_->attach(link.path, copied_.count(link.path) == 0)) {
          left_.push_back(link.path + " (dimension scales: not every dimension has one)");
        }
      });
    }
    scales_->finish();
  }

  DriverState old_state_;
  DriverState new_state_;
  Handle from_;
  Handle into_;
  std::optional<CarriedScales> scales_;
  const StepGroups steps_;  ///< of the old file
  const bool is_netcdf_;    ///< is the new file netCDF's?
  const std::set<std::string> written_;
  std::vector<NamedLink> links_;
  std::map<std::string, std::string> names_;  ///< of objects, by their identity
  std::set<std::string> soft_;                ///< paths through soft links
  std::set<std::string> other_groups_;        ///< further names of groups
  std::set<std::string> displaced_;           ///< whose names dimensions have in the new file
  std::set<std::string> copied_;              ///< datasets that Sluice did not write
  std::vector<std::string> left_;
};

}  // namespace

std::vector<std::string> carry(storage::File& from, storage::File& into,
                               const std::vector<std::string>& written) {
  const QuietErrors quiet;
  const bool is_netcdf = Catalog::open(into)->profile() == Profile::netcdf4;
  std::vector<std::string> left;
  {
    Carrier carrier(from, into, Catalog::open(from)->step_groups(), is_netcdf, written);
    left = carrier.run();
  }
  const auto catalog = Catalog::open(into);
  if (!catalog->commits().empty()) {
    into.set_modified_ns(catalog->commits().back().modified_ns);
  }
  return left;
}

}  // namespace sluice::layout::hdf5
