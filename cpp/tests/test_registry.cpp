// The table of policies by name.
#include <set>
#include <string>

#include "check.hpp"
#include "malleable/policy/registry.hpp"

namespace malleable::check {
namespace test_registry {

TEST(every_name_of_a_model_is_found_and_is_its_own) {
  std::set<std::pair<Model, std::string>> seen;
  for (const Policy& policy : all_policies()) {
    CHECK(seen.emplace(policy.model, policy.name).second);
    CHECK(&find_policy(policy.model, policy.name) == &policy);
  }
  CHECK_THROWS(find_policy(Model::kJobs, "flx"), "policy = 'flx': expected one of flex, fair,");
  CHECK_THROWS(find_policy(Model::kJobs, "asrpt"), "policy = 'asrpt'");
}

TEST(a_code_leads_to_its_row) {
  for (const EpochPolicy code :
       {EpochPolicy::kFlex, EpochPolicy::kFair, EpochPolicy::kFifo, EpochPolicy::kWdeq}) {
    const Policy& policy = find_policy(code);
    CHECK(policy_code<EpochPolicy>(Model::kJobs, policy.name) == code);
    // On a cluster the same name keeps the same promises.
    const Promises& there = find_policy(Model::kCluster, policy.name).promises;
    CHECK_EQUAL(there.ignores_minima, policy.promises.ignores_minima);
    CHECK(there.shares == policy.promises.shares);
  }
  CHECK_THROWS(policy_code<TandemPolicy>(Model::kJobs, "flex"), "of another family (epoch)");
}

TEST(slotted_policies_are_made_by_name) {
  for (const Policy& policy : all_policies()) {
    if (policy.model != Model::kSlotted) continue;
    CHECK(make_slotted_policy(policy.name, true) != nullptr);
    if (policy.promises.preemptive_only) {
      CHECK_THROWS(make_slotted_policy(policy.name, false), "preemptive");
    } else {
      CHECK(make_slotted_policy(policy.name, false) != nullptr);
    }
  }
}

}  // namespace test_registry
}  // namespace malleable::check
