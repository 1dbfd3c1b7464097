#include "malleable/policy/slotted_policy.hpp"

#include <stdexcept>

#include "malleable/policy/asrpt.hpp"
#include "malleable/policy/fair_share.hpp"
#include "malleable/policy/greedy_order.hpp"
#include "malleable/policy/unlock.hpp"

namespace malleable {

std::unique_ptr<SlottedPolicy> make_slotted_policy(const std::string& name, bool preemptive) {
  if (name == "asrpt") return std::make_unique<Asrpt>();
  if (name == "unlock") return std::make_unique<Unlock>();
  if (name == "dsrpt") {
    if (preemptive) return std::make_unique<Dsrpt>();
    throw std::invalid_argument("policy = 'dsrpt': defined for preemptive reduce tasks only");
  }
  if (name == "srpt") {
    return std::make_unique<GreedyOrder>([](const SlottedJob& job) { return job.left(); });
  }
  if (name == "lrpt") {
    return std::make_unique<GreedyOrder>([](const SlottedJob& job) { return -job.left(); });
  }
  if (name == "fifo") return std::make_unique<GreedyOrder>([](const SlottedJob&) { return 0.0; });
  if (name == "fair") return std::make_unique<FairShare>();
  throw std::invalid_argument("policy = '" + name + "': unknown");
}

}  // namespace malleable
