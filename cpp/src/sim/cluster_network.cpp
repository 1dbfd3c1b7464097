#include "malleable/sim/cluster_network.hpp"

#include <algorithm>

namespace malleable {
namespace {

// Links without limit that only count: bytes between nodes, of the shuffle.
constexpr Index kRemote = 0, kShuffled = 1, kCounters = 2;

}  // namespace

bool ClusterNetwork::limits(const ClusterView& cluster) {
  for (const auto& speeds : {cluster.storage, cluster.link}) {
    for (const double speed : speeds) {
      if (speed < kInfinity) return true;
    }
  }
  return false;
}

void ClusterNetwork::reset(const ClusterView& cluster, const ClusterJobsView& jobs,
                           std::int64_t steps) {
  steps_ = steps;
  cluster_ = cluster;
  jobs_ = jobs;
  nodes_ = static_cast<Index>(cluster.size());
  capacity_.clear();
  for (const auto& speeds : {cluster.storage, cluster.link, cluster.link}) {
    capacity_.insert(capacity_.end(), speeds.begin(), speeds.end());
  }
  capacity_.resize(capacity_.size() + kCounters, kInfinity);
  links_.reset(capacity_);
  transfers_.clear();
  free_.clear();
  news_.clear();
  shuffles_.clear();
  shuffles_.resize(jobs.shuffle_bytes.empty() ? 0 : jobs.size());
  reads_at_.assign(nodes_, 0);
  share_.assign(nodes_, 0.0);
  const auto slots = cluster.generic ? cluster.map_slots : cluster.reduce_slots;
  double all = 0.0;
  for (const std::int64_t count : slots) all += static_cast<double>(count);
  for (Index n = 0; n < nodes_ && all > 0.0; ++n) share_[n] = static_cast<double>(slots[n]) / all;
}

Index ClusterNetwork::new_transfer() {
  if (free_.empty()) {
    transfers_.emplace_back();
    return static_cast<Index>(transfers_.size() - 1);
  }
  const Index transfer = free_.back();
  free_.pop_back();
  return transfer;
}

Index ClusterNetwork::read(Index from, Index to, double bytes, Index owner, double now) {
  const Index transfer = new_transfer();
  Transfer& t = transfers_[transfer];
  t.owner = owner;
  t.job = kNone;
  t.from = from;
  t.node = to;
  t.since = now;
  t.seconds = 0.0;
  ++reads_at_[from];
  uses_.clear();
  use(disk(from), 1.0);
  if (from != to) {
    use(counter(kRemote), 1.0);
    use(out(from), 1.0);
    use(in(to), 1.0);
  }
  t.flow = links_.start(1.0, bytes, uses_, now);
  owner_of_.resize(std::max<std::size_t>(owner_of_.size(), t.flow + 1));
  owner_of_[t.flow] = transfer;
  return transfer;
}

// What is new about a job is looked at when the instant is over.
void ClusterNetwork::list(Index job) {
  Shuffle& own = shuffles_[job];
  if (own.listed) return;
  own.listed = true;
  news_.push_back(job);
}

Index ClusterNetwork::copy(Index job, Index node, Index owner) {
  const Index transfer = new_transfer();
  Transfer& t = transfers_[transfer];
  t.owner = owner;
  t.job = job;
  t.from = kNone;
  t.node = node;
  t.flow = kNone;
  t.seconds = 0.0;
  t.total = 0.0;
  t.holds.clear();
  t.seen = 0;
  t.had = 0.0;
  shuffles_[job].copies.push_back(transfer);
  list(job);
  return transfer;
}

void ClusterNetwork::map_ended(Index job, Index node) {
  Shuffle& own = shuffles_[job];
  own.fresh.push_back(node);
  const std::int64_t maps = jobs_.tasks[kMap][job];
  const auto news = static_cast<std::int64_t>(own.fresh.size());
  if (own.told + news < maps && steps_ > 0 && news < (maps + steps_ - 1) / steps_) return;
  own.tells = true;
  list(job);
}

void ClusterNetwork::lose_from(Index transfer, Index node, double now) {
  Transfer& t = transfers_[transfer];
  --t.seen;
  t.had += each(t);
  if (t.flow == kNone) return;
  const double scale = t.total > 0.0 ? links_.left(t.flow, now) / t.total : 0.0;
  double gone = 0.0;
  for (auto& [from, bytes] : t.holds) {
    bytes *= scale;
    if (from != node) continue;
    gone = bytes / static_cast<double>(shuffles_[t.job].at[node]);
    bytes -= gone;
  }
  std::erase_if(t.holds, [](const auto& held) { return held.second <= 0.0; });
  t.had = std::max(0.0, t.had - gone);
  go(transfer, now);
}

void ClusterNetwork::lose(Index job, Index node, double now) {
  Shuffle& own = shuffles_[job];
  added_.clear();
  if (!own.fresh.empty()) tell(own);
  for (const Index transfer : own.copies) {
    update(transfer, now);
    if (transfers_[transfer].seen > 0) lose_from(transfer, node, now);
  }
  --own.at[node];
  --own.told;
}

void ClusterNetwork::stop(Index transfer, double now) {
  Transfer& t = transfers_[transfer];
  if (t.flow != kNone) links_.stop(t.flow, now);
  t.flow = kNone;
  if (t.job == kNone) {
    --reads_at_[t.from];
  } else {
    std::erase(shuffles_[t.job].copies, transfer);
  }
  free_.push_back(transfer);
}

void ClusterNetwork::forget(Index job) {
  if (!shuffles_.empty()) shuffles_[job] = Shuffle{};
}

std::optional<ClusterNetwork::End> ClusterNetwork::end_next(double now) {
  const Index transfer = owner_of_[links_.next()];
  Transfer& t = transfers_[transfer];
  t.seconds += now - t.since;
  if (t.job != kNone && t.seen < jobs_.tasks[kMap][t.job]) {  // it waits for more
    links_.stop(t.flow, now);
    t.flow = kNone;
    return std::nullopt;
  }
  const End end{t.job, t.node, t.owner, t.seconds};
  stop(transfer, now);
  return end;
}

// From where a copy comes and over what it goes, in parts of its bytes.
void ClusterNetwork::route_to_node(const Transfer& t) {
  double remote = 0.0;
  for (const auto& [from, bytes] : t.holds) {
    const double part = bytes / t.total;
    use(disk(from), part);
    if (from == t.node) continue;
    use(out(from), part);
    remote += part;
  }
  use(in(t.node), remote);
  use(counter(kRemote), remote);
}

void ClusterNetwork::route_to_all(const Transfer& t) {
  double remote = 0.0;
  for (const auto& [from, bytes] : t.holds) {
    const double part = bytes / t.total;
    use(disk(from), part);
    use(out(from), part * (1.0 - share_[from]));
    remote += part * (1.0 - share_[from]);
  }
  auto source = t.holds.begin();  // in the order of the nodes
  for (Index n = 0; n < nodes_; ++n) {
    double own = 0.0;
    if (source != t.holds.end() && source->first == n) own = source++->second / t.total;
    use(in(n), share_[n] * (1.0 - own));
  }
  use(counter(kRemote), remote);
}

// What one map task leaves for a copy.
double ClusterNetwork::each(const Transfer& t) const {
  const double all = jobs_.shuffle_bytes[t.job] / static_cast<double>(jobs_.tasks[kMap][t.job]);
  return t.node == kNone ? all : all / static_cast<double>(jobs_.tasks[kReduce][t.job]);
}

// Gives a copy what the maps left for it since it was last here.
void ClusterNetwork::update(Index transfer, double now) {
  Transfer& t = transfers_[transfer];
  const Shuffle& own = shuffles_[t.job];
  if (t.seen == own.told) return;
  const double one = each(t);
  const auto bytes_of = [&](double maps) {
    const double bytes = one * maps, had = std::min(t.had, bytes);
    t.had -= had;
    return bytes - had;
  };
  const double left = t.flow == kNone ? 0.0 : links_.left(t.flow, now);
  merged_.clear();
  if (t.seen == 0) {
    for (Index n = 0; n < nodes_; ++n) {
      if (own.at[n] > 0) merged_.emplace_back(n, bytes_of(static_cast<double>(own.at[n])));
    }
  } else {
    // All sources have given in proportion.
    const double scale = left > 0.0 ? left / t.total : 0.0;
    auto held = t.holds.begin();
    const auto end = scale > 0.0 ? t.holds.end() : held;
    for (const auto& [node, count] : added_) {
      for (; held != end && held->first < node; ++held) {
        merged_.emplace_back(held->first, held->second * scale);
      }
      double bytes = bytes_of(count);
      if (held != end && held->first == node) bytes += held++->second * scale;
      merged_.emplace_back(node, bytes);
    }
    for (; held != end; ++held) merged_.emplace_back(held->first, held->second * scale);
  }
  t.seen = own.told;
  std::swap(t.holds, merged_);
  go(transfer, now);
}

// Sends a copy on its way with what it holds.
void ClusterNetwork::go(Index transfer, double now) {
  Transfer& t = transfers_[transfer];
  t.total = 0.0;
  for (const auto& [node, bytes] : t.holds) t.total += bytes;
  uses_.clear();
  use(counter(kShuffled), 1.0);
  if (t.total <= 0.0) {  // over at once
  } else if (t.node == kNone) {
    route_to_all(t);
  } else {
    route_to_node(t);
  }
  if (t.flow != kNone) {
    links_.change(t.flow, t.total, uses_, now);
    return;
  }
  const double weight = t.node == kNone ? static_cast<double>(jobs_.tasks[kReduce][t.job]) : 1.0;
  t.flow = links_.start(weight, t.total, uses_, now);
  t.since = now;
  owner_of_.resize(std::max<std::size_t>(owner_of_.size(), t.flow + 1));
  owner_of_[t.flow] = transfer;
}

// The output of all maps that have ended may be fetched.
void ClusterNetwork::tell(Shuffle& own) {
  own.tells = false;
  added_.clear();
  std::sort(own.fresh.begin(), own.fresh.end());
  if (own.at.empty()) own.at.assign(nodes_, 0);
  for (const Index node : own.fresh) {
    if (added_.empty() || added_.back().first != node) added_.emplace_back(node, 0.0);
    added_.back().second += 1.0;
    ++own.at[node];
  }
  own.told += static_cast<std::int64_t>(own.fresh.size());
  own.fresh.clear();
}

void ClusterNetwork::settle(double now) {
  for (const Index job : news_) {
    Shuffle& own = shuffles_[job];
    own.listed = false;
    if (own.tells) tell(own);
    for (const Index transfer : own.copies) update(transfer, now);
  }
  news_.clear();
  links_.settle(now);
}

ClusterNetwork::Totals ClusterNetwork::totals(double now) const {
  const std::vector<double> carried = links_.carried(now);
  Totals totals;
  totals.remote = carried[counter(kRemote)];
  totals.shuffled = carried[counter(kShuffled)];
  if (!(now > 0.0)) return totals;
  const auto look = [&](Index begin, Index end, double& mean, double& most) {
    double sum = 0.0, count = 0.0;
    for (Index link = begin; link < end; ++link) {
      if (capacity_[link] == kInfinity) continue;
      const double use = carried[link] / (capacity_[link] * now);
      sum += use;
      count += 1.0;
      most = std::max(most, use);
    }
    mean = count > 0.0 ? sum / count : 0.0;
  };
  look(0, nodes_, totals.disk_use, totals.busiest_disk);
  look(nodes_, 3 * nodes_, totals.link_use, totals.busiest_link);
  return totals;
}

}  // namespace malleable
