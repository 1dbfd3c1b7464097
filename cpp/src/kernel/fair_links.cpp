#include "malleable/kernel/fair_links.hpp"

#include <algorithm>
#include <cassert>

#include "malleable/model/tolerance.hpp"

namespace malleable {
namespace {

// Part of a link's weight that is left when it has to be summed anew.
constexpr double kWorn = 1e-4;

struct Higher {
  template <typename Level>
  bool operator()(const Level& a, const Level& b) const {
    return a.level != b.level ? a.level > b.level : a.link > b.link;
  }
};

}  // namespace

void FairLinks::reset(std::span<const double> capacity) {
  const std::size_t links = capacity.size();
  capacity_.assign(capacity.begin(), capacity.end());
  load_.assign(links, 0.0);
  carried_.assign(links, 0.0);
  updates_.assign(links, 0);
  demand_.assign(links, 0.0);
  slack_.assign(links, 1);
  at_.assign(links, {});
  full_.assign(links, 0);
  fill_.assign(links, Fill{});
  flows_.clear();
  free_.clear();
  changed_.clear();
  spread_.clear();
  ends_.clear();
  filled_ = 0;
}

double FairLinks::left(Index flow, double now) const {
  const Flow& f = flows_[flow];
  if (f.rate == kInfinity) return 0.0;
  if (f.end != kNone && now >= ends_[f.end].time) return 0.0;
  return now > f.since ? std::max(0.0, f.left - f.rate * (now - f.since)) : f.left;
}

std::vector<double> FairLinks::carried(double now) const {
  std::vector<double> bytes = carried_;
  for (Index flow = 0; flow < flows_.size(); ++flow) {
    const Flow& f = flows_[flow];
    if (!f.live) continue;
    const double moved = f.moved + (f.left - left(flow, now));
    for (const Use& use : f.uses) bytes[use.link] += use.part * moved;
  }
  return bytes;
}

// Takes off what a flow has moved since its rate was set.
void FairLinks::fold(Index flow, double now) {
  Flow& f = flows_[flow];
  const double still = left(flow, now);
  f.moved += f.left - still;
  f.left = still;
  f.since = now;
}

void FairLinks::count(Flow& flow) {
  for (const Use& use : flow.uses) carried_[use.link] += use.part * flow.moved;
  flow.moved = 0.0;
}

// The load of a link, summed anew.
double FairLinks::used(Index link) const {
  double sum = 0.0;
  for (const Member& member : at_[link]) {
    const Flow& f = flows_[member.flow];
    sum += f.uses[member.use].part * f.rate;
  }
  return sum;
}

double FairLinks::demand(Index link) const {
  double sum = 0.0;
  for (const Member& member : at_[link]) {
    const Flow& f = flows_[member.flow];
    sum += f.uses[member.use].part * f.most;
  }
  return sum;
}

// Puts a flow on its links; the links without limit need not know.
void FairLinks::join(Index flow) {
  Flow& f = flows_[flow];
  f.place.assign(f.uses.size(), kNone);
  f.most = kInfinity;
  for (const Use& use : f.uses) f.most = std::min(f.most, capacity_[use.link] / use.part);
  for (std::size_t k = 0; k < f.uses.size(); ++k) {
    const Index link = f.uses[k].link;
    assert(f.uses[k].part > 0.0);
    if (capacity_[link] == kInfinity) continue;
    f.place[k] = static_cast<Index>(at_[link].size());
    at_[link].push_back({flow, static_cast<Index>(k)});
    demand_[link] += f.uses[k].part * f.most;
    if (slack_[link] && demand_[link] > capacity_[link] * (1.0 - kAmple)) {
      slack_[link] = 0;
      updates_[link] = kNone;
    }
  }
}

// Takes it off; full links that it leaves may now let others rise.
void FairLinks::part(Index flow) {
  Flow& f = flows_[flow];
  for (std::size_t k = 0; k < f.uses.size(); ++k) {
    const Index link = f.uses[k].link;
    if (f.place[k] == kNone) continue;
    if (full_[link]) {
      full_[link] = 0;
      spread_.push_back(link);
    }
    auto& members = at_[link];
    const Member last = members.back();
    members.pop_back();
    if (f.place[k] < members.size()) {
      members[f.place[k]] = last;
      flows_[last.flow].place[last.use] = f.place[k];
    }
    demand_[link] = members.empty() ? 0.0 : demand_[link] - f.uses[k].part * f.most;
    if (slack_[link]) continue;
    load_[link] -= f.uses[k].part * f.rate;
    if (updates_[link] != kNone) ++updates_[link];
    if (demand_[link] > capacity_[link] * (1.0 - kAmple)) continue;
    demand_[link] = demand(link);
    slack_[link] = demand_[link] <= capacity_[link] * (1.0 - kAmple);
  }
}

Index FairLinks::start(double weight, double bytes, std::span<const Use> uses, double now) {
  Index flow;
  if (free_.empty()) {
    flow = static_cast<Index>(flows_.size());
    flows_.emplace_back();
  } else {
    flow = free_.back();
    free_.pop_back();
  }
  Flow& f = flows_[flow];
  f.weight = weight;
  f.left = bytes;
  f.rate = 0.0;
  f.since = now;
  f.moved = 0.0;
  f.uses.assign(uses.begin(), uses.end());
  f.live = true;
  f.end = kNone;
  join(flow);
  if (!f.fresh) changed_.push_back(flow);
  f.fresh = true;
  return flow;
}

void FairLinks::change(Index flow, double bytes, std::span<const Use> uses, double now) {
  Flow& f = flows_[flow];
  fold(flow, now);
  count(f);
  part(flow);
  drop_end(flow);
  f.left = bytes;
  f.rate = 0.0;
  f.uses.assign(uses.begin(), uses.end());
  join(flow);
  if (!f.fresh) changed_.push_back(flow);
  f.fresh = true;
}

void FairLinks::stop(Index flow, double now) {
  Flow& f = flows_[flow];
  fold(flow, now);
  count(f);
  part(flow);
  drop_end(flow);
  f.live = false;
  f.rate = 0.0;
  f.uses.clear();
  free_.push_back(flow);
}

void FairLinks::choose(Index flow) {
  Flow& f = flows_[flow];
  if (f.chosen) return;
  f.chosen = true;
  chosen_.push_back(flow);
}

// All flows of a link are to be filled again.
void FairLinks::spread(Index link) {
  Fill& own = fill_[link];
  if (own.open) return;
  own.open = true;
  if (!own.seen) {
    own.seen = true;
    touched_.push_back(link);
  }
  for (const Member& member : at_[link]) choose(member.flow);
}

// Room and weight of a link, summed anew.
void FairLinks::look(Index link) {
  Fill& own = fill_[link];
  double used = 0.0, weight = 0.0;
  for (const Member& member : at_[link]) {
    const Flow& f = flows_[member.flow];
    const double part = f.uses[member.use].part;
    if (!f.chosen) {
      used += part * f.rate;
    } else if (f.level >= 0.0) {
      used += part * f.weight * f.level;
    } else {
      weight += part * f.weight;
    }
  }
  own.room = std::max(0.0, capacity_[link] - used);
  own.weight = weight;
  own.whole = weight;
}

void FairLinks::start_filling() {
  filled_ += chosen_.size();
  for (const Index link : touched_) {
    Fill& own = fill_[link];
    own.room = own.open ? capacity_[link] : capacity_[link] - load_[link];
    own.weight = 0.0;
    own.rising = 0;
    own.stale = false;
    full_[link] = 0;
  }
  for (const Index flow : chosen_) {
    Flow& f = flows_[flow];
    f.level = -1.0;
    for (std::size_t k = f.begin; k < f.end_use; ++k) {
      const Use use = filling_[k];
      Fill& own = fill_[use.link];
      own.weight += use.part * f.weight;
      ++own.rising;
      if (!own.open) own.room += use.part * f.rate;
    }
  }
  levels_.clear();
  for (const Index link : touched_) {
    Fill& own = fill_[link];
    own.whole = own.weight;
    if (own.rising > 0) levels_.push_back({std::max(0.0, own.room) / own.weight, link});
  }
  std::make_heap(levels_.begin(), levels_.end(), Higher());
}

// One filling of the chosen flows; false if a link filled up that has others, which have joined.
bool FairLinks::fill() {
  start_filling();
  while (!levels_.empty()) {
    std::pop_heap(levels_.begin(), levels_.end(), Higher());
    const Level least = levels_.back();
    levels_.pop_back();
    Fill& own = fill_[least.link];
    if (own.rising == 0) continue;
    if (own.stale) {
      own.stale = false;
      // Where nearly all has gone the difference means little.
      if (own.weight < kWorn * own.whole) look(least.link);
      const double level = std::max(0.0, own.room) / own.weight;
      levels_.push_back({std::max(least.level, level), least.link});
      std::push_heap(levels_.begin(), levels_.end(), Higher());
      continue;
    }
    if (!own.open) {
      const std::size_t before = chosen_.size();
      spread(least.link);
      if (chosen_.size() > before) return false;
    }
    full_[least.link] = 1;
    for (const Member& member : at_[least.link]) {
      Flow& f = flows_[member.flow];
      if (f.level >= 0.0) continue;
      f.level = least.level;
      for (std::size_t k = f.begin; k < f.end_use; ++k) {
        Fill& other = fill_[filling_[k].link];
        const double part = filling_[k].part * f.weight;
        other.room -= part * f.level;
        other.weight -= part;
        --other.rising;
        other.stale = true;
      }
    }
  }
  return true;
}

// The links of the chosen flows from number `walked` on; how many flows have been walked.
std::size_t FairLinks::walk(std::size_t walked) {
  for (; walked < chosen_.size(); ++walked) {
    Flow& f = flows_[chosen_[walked]];
    f.begin = filling_.size();
    for (const Use& use : f.uses) {
      const Index link = use.link;
      if (slack_[link]) continue;
      filling_.push_back(use);
      if (full_[link]) {
        full_[link] = 0;
        spread(link);
      } else if (!fill_[link].seen) {
        fill_[link].seen = true;
        touched_.push_back(link);
      }
    }
    f.end_use = filling_.size();
  }
  for (const Index link : touched_) {
    // A sum that many additions have worn is taken anew.
    if (fill_[link].open || updates_[link] <= 64 + 4 * at_[link].size()) continue;
    updates_[link] = 0;
    load_[link] = used(link);
  }
  return walked;
}

// The rate that a filling has found.
void FairLinks::set_rate(Index flow, double now) {
  Flow& f = flows_[flow];
  f.chosen = false;
  const double rate = f.level < 0.0 ? kInfinity : f.level * f.weight;
  if (rate == f.rate) return;
  fold(flow, now);
  for (std::size_t k = f.begin; k < f.end_use; ++k) {
    const Index link = filling_[k].link;
    load_[link] += filling_[k].part * (rate - f.rate);
    ++updates_[link];
  }
  f.rate = rate;
  set_end(flow, now);
}

void FairLinks::settle(double now) {
  if (!stale()) return;
  chosen_.clear();
  touched_.clear();
  filling_.clear();
  for (const Index link : spread_) spread(link);
  for (const Index flow : changed_) {
    flows_[flow].fresh = false;
    if (flows_[flow].live) choose(flow);
  }
  std::size_t walked = 0;
  do {
    walked = walk(walked);
  } while (!fill());
  for (const Index flow : chosen_) set_rate(flow, now);
  for (const Index link : touched_) {
    if (fill_[link].open && !slack_[link]) {
      updates_[link] = 0;
      load_[link] = capacity_[link] - fill_[link].room;
    }
    fill_[link] = Fill{};
  }
  changed_.clear();
  spread_.clear();
}

void FairLinks::set_end(Index flow, double now) {
  Flow& f = flows_[flow];
  if (f.rate <= 0.0 && f.left > 0.0) {
    drop_end(flow);
    return;
  }
  const double time = f.rate == kInfinity || f.left == 0.0 ? now : now + f.left / f.rate;
  if (f.end == kNone) {
    f.end = static_cast<Index>(ends_.size());
    ends_.push_back({time, flow});
  } else {
    ends_[f.end].time = time;
  }
  sift(f.end);
}

void FairLinks::drop_end(Index flow) {
  const Index place = flows_[flow].end;
  if (place == kNone) return;
  flows_[flow].end = kNone;
  const End last = ends_.back();
  ends_.pop_back();
  if (place == ends_.size()) return;
  ends_[place] = last;
  flows_[last.flow].end = place;
  sift(place);
}

// Moves an end whose time changed to where it belongs.
void FairLinks::sift(std::size_t place) {
  const End end = ends_[place];
  const auto put = [&](std::size_t k, const End& what) {
    ends_[k] = what;
    flows_[what.flow].end = static_cast<Index>(k);
  };
  while (place > 0 && earlier(end, ends_[(place - 1) / 2])) {
    put(place, ends_[(place - 1) / 2]);
    place = (place - 1) / 2;
  }
  for (;;) {
    std::size_t child = 2 * place + 1;
    if (child >= ends_.size()) break;
    if (child + 1 < ends_.size() && earlier(ends_[child + 1], ends_[child])) ++child;
    if (!earlier(ends_[child], end)) break;
    put(place, ends_[child]);
    place = child;
  }
  put(place, end);
}

}  // namespace malleable
