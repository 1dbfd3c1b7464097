#include "malleable/kernel/link_shares.hpp"

#include <algorithm>

namespace malleable {

void LinkShares::reset(std::span<const double> link, std::span<const double> storage) {
  link_.assign(link.begin(), link.end());
  storage_.assign(storage.begin(), storage.end());
  at_.assign(link.size(), {});
  mark_.assign(link.size(), 0);
  transfers_.clear();
  free_.clear();
  touched_.clear();
}

void LinkShares::touch(Index node) {
  if (mark_[node]) return;
  mark_[node] = 1;
  touched_.push_back(node);
}

Index LinkShares::start(Index from, Index to, double bytes, double now) {
  Index transfer;
  if (free_.empty()) {
    transfer = static_cast<Index>(transfers_.size());
    transfers_.emplace_back();
  } else {
    transfer = free_.back();
    free_.pop_back();
  }
  transfers_[transfer] = {from, to, bytes, 0.0, now};
  for (const Index node : {from, to}) {
    at_[node].push_back(transfer);
    touch(node);
  }
  return transfer;
}

void LinkShares::stop(Index transfer) {
  for (const Index node : {transfers_[transfer].from, transfers_[transfer].to}) {
    std::erase(at_[node], transfer);
    touch(node);
  }
  free_.push_back(transfer);
}

bool LinkShares::refresh(Index transfer, double now) {
  Transfer& t = transfers_[transfer];
  const auto part = [&](Index node) { return link_[node] / static_cast<double>(at_[node].size()); };
  const double rate = std::min({storage_[t.from], part(t.from), part(t.to)});
  if (rate == t.rate) return false;
  // An unlimited rate moves everything at once.
  t.left = std::max(0.0, t.left - (now > t.since ? t.rate * (now - t.since) : 0.0));
  t.since = now;
  t.rate = rate;
  return true;
}

}  // namespace malleable
