// Attributes that are set anew with every step: what waits, and what further steps inherit, does
// not grow, and an abandoned commit leaves the values of the last one that is in the file.
#include "layout/hdf5/planned_attributes.hpp"

#include <gtest/gtest.h>

#include "layout/hdf5/log.hpp"
#include "support/memory_storage.hpp"

namespace sluice::layout::hdf5 {
namespace {

constexpr int times = 50;

model::Definition field(const std::string& name) {
  model::Definition definition;
  definition.name = name;
  definition.type = type_of<double>();
  definition.shape = {4};
  definition.stepped = true;
  return definition;
}

class PlannedAttributesOf {
 public:
  explicit PlannedAttributesOf(Profile profile) : file_(*storage_file_, {}, profile) {
    file_.create();
    variables.add(field("v"));
  }
  void make_prototype() {
    file_.make_group(prototype_path("v"));
    variables.note_made(0, {});
  }
  void set(double value) {
    attributes.set({"v", "energy", value});
    attributes.apply(false);
    attributes.take_applied();
  }

 private:
  std::shared_ptr<storage::MemoryStorage> storage_ = storage::make_memory();
  std::unique_ptr<storage::File> storage_file_ = storage_->open("f.h5", storage::Access::create);
  PlannedFile file_;

 public:
  PlannedVariables variables{file_};
  PlannedAttributes attributes{file_, variables};
};

TEST(PlannedAttributes, WaitOnceForTheirOwner) {
  PlannedAttributesOf stacked(Profile::stacked);
  for (int i = 0; i <= times; ++i) {
    stacked.set(i);
    stacked.attributes.set({"v", "other", 1.0});
  }
  stacked.attributes.apply(false);
  const std::vector<model::Attribute> expected{{"v", "energy", 1.0 * times}, {"v", "other", 1.0}};
  EXPECT_EQ(stacked.attributes.waiting(), expected);
}

TEST(PlannedAttributes, ThatStepsInheritAreKeptOnce) {
  PlannedAttributesOf grouped(Profile::grouped);
  grouped.make_prototype();
  for (int i = 0; i <= times; ++i) {
    grouped.set(i);
    grouped.attributes.inherited_committed(grouped.attributes.inherited_count());
    const std::vector<model::Attribute> expected{{"v", "energy", 1.0 * i}};
    EXPECT_EQ(grouped.attributes.inherited_of("v"), expected);
  }
  constexpr std::size_t most = 2;  // what is in the file, and what replaces it
  EXPECT_LE(grouped.attributes.inherited().size(), most);
  EXPECT_TRUE(grouped.attributes.inherited_of("w").empty());
}

TEST(PlannedAttributes, AreThoseOfTheLastCommitAfterAnAbandonedOne) {
  PlannedAttributesOf grouped(Profile::grouped);
  grouped.make_prototype();
  grouped.set(1);
  grouped.set(2);
  const std::size_t committed = grouped.attributes.inherited_count();
  grouped.set(3);  // under way at once with those before
  grouped.attributes.inherited_committed(committed);
  grouped.set(4);
  grouped.attributes.set({"v", "other", 1.0});
  grouped.attributes.apply(false);
  grouped.attributes.forget_uncommitted();
  const std::vector<model::Attribute> expected{{"v", "energy", 2.0}};
  EXPECT_EQ(grouped.attributes.inherited_of("v"), expected);
}

}  // namespace
}  // namespace sluice::layout::hdf5
