#include <algorithm>
#include <vector>

#include "check.hpp"
#include "malleable/kernel/fair_links.hpp"

namespace malleable::check {
namespace test_fair_links {

struct Plain {
  double weight, left;
  std::vector<FairLinks::Use> uses;
};

// Progressive filling word by word: all levels rise until some link is full; what crosses it stays.
std::vector<double> fair_rates(const std::vector<double>& capacity,
                               const std::vector<const Plain*>& flows) {
  std::vector<double> rate(flows.size(), -1.0);
  for (;;) {
    double least = kInfinity;
    for (Index link = 0; link < capacity.size(); ++link) {
      double room = capacity[link], weight = 0.0;
      for (std::size_t f = 0; f < flows.size(); ++f) {
        for (const auto& use : flows[f]->uses) {
          if (use.link != link) continue;
          if (rate[f] >= 0.0) room -= use.part * rate[f];
          if (rate[f] < 0.0) weight += use.part * flows[f]->weight;
        }
      }
      if (weight > 0.0) least = std::min(least, std::max(0.0, room) / weight);
    }
    std::vector<std::size_t> stay;
    for (Index link = 0; link < capacity.size(); ++link) {
      double load = 0.0, rising = 0.0;
      for (std::size_t f = 0; f < flows.size(); ++f) {
        for (const auto& use : flows[f]->uses) {
          if (use.link != link) continue;
          load += use.part * (rate[f] < 0.0 ? least * flows[f]->weight : rate[f]);
          rising += rate[f] < 0.0 ? 1.0 : 0.0;
        }
      }
      if (rising == 0.0 || load < capacity[link] * (1.0 - 1e-9)) continue;
      for (std::size_t f = 0; f < flows.size(); ++f) {
        for (const auto& use : flows[f]->uses) {
          if (use.link == link && rate[f] < 0.0) stay.push_back(f);
        }
      }
    }
    for (const std::size_t f : stay) rate[f] = least * flows[f]->weight;
    if (stay.empty()) break;
  }
  for (double& r : rate) r = r < 0.0 ? kInfinity : r;
  return rate;
}

// Two flows of 60 bytes over one link of 10 bytes a second: 5 each, until the first ends.
TEST(two_share_a_link_by_hand) {
  FairLinks links;
  links.reset(std::vector<double>{10.0, 100.0, 100.0});
  const std::vector<FairLinks::Use> first_way{{0, 1.0}, {1, 1.0}}, second_way{{0, 1.0}, {2, 1.0}};
  const Index first = links.start(1.0, 60.0, first_way, 0.0);
  links.settle(0.0);
  CHECK_EQUAL(links.next_end(), 6.0);
  const Index second = links.start(1.0, 60.0, second_way, 2.0);
  links.settle(2.0);
  CHECK_EQUAL(links.next(), first);
  CHECK_EQUAL(links.next_end(), 10.0);  // 40 left at 5
  links.stop(first, 10.0);
  links.settle(10.0);
  CHECK_EQUAL(links.next(), second);
  CHECK_EQUAL(links.next_end(), 12.0);  // 20 left at 10
  links.stop(second, 12.0);
  const std::vector<double> bytes = links.carried(12.0);
  CHECK_EQUAL(bytes[0], 120.0);
  CHECK_EQUAL(bytes[1], 60.0);
  CHECK_EQUAL(links.next_end(), kInfinity);
}

// What one flow cannot use another gets: links of 10 and 4, flows over both, the first, the second.
TEST(left_over_is_handed_on) {
  FairLinks links;
  links.reset(std::vector<double>{10.0, 4.0});
  const std::vector<FairLinks::Use> both{{0, 1.0}, {1, 1.0}}, one{{0, 1.0}}, two{{1, 1.0}};
  const Index a = links.start(1.0, 1e3, both, 0.0), b = links.start(1.0, 1e3, one, 0.0);
  const Index c = links.start(3.0, 1e3, two, 0.0);
  links.settle(0.0);
  CHECK_EQUAL(links.rate(a), 1.0);
  CHECK_EQUAL(links.rate(b), 9.0);
  CHECK_EQUAL(links.rate(c), 3.0);
  links.stop(c, 1.0);
  links.settle(1.0);
  CHECK_EQUAL(links.rate(a), 4.0);
  CHECK_EQUAL(links.rate(b), 6.0);
}

// A quarter over one link: it may go at four times what the link lets through.
TEST(parts_of_links) {
  FairLinks links;
  links.reset(std::vector<double>{1.0, 3.0, kInfinity});
  const std::vector<FairLinks::Use> split{{0, 0.25}, {1, 0.75}, {2, 1.0}}, free{{2, 1.0}};
  const Index a = links.start(1.0, 8.0, split, 0.0);
  const Index b = links.start(1.0, 8.0, free, 0.0);
  links.settle(0.0);
  CHECK_EQUAL(links.rate(a), 4.0);
  CHECK_EQUAL(links.rate(b), kInfinity);
  CHECK_EQUAL(links.next(), b);
  CHECK_EQUAL(links.next_end(), 0.0);
}

// Local changes against filling everything anew, and every end against exact steps between events.
TEST(agrees_with_filling_anew) {
  trials(11, 600, [](Random& random) {
    const auto count = static_cast<std::size_t>(integer(random, 1, 9));
    std::vector<double> capacity;
    const bool alike = chance(random, 0.3);
    for (std::size_t k = 0; k < count; ++k) {
      const double wide = chance(random, 0.3) ? 15.0 : 1.0;  // often slack
      capacity.push_back(chance(random, 0.15) ? kInfinity
                         : alike              ? 4.0 * wide
                                              : wide * real(random, 1.0, 9.0));
    }
    const auto way = [&] {
      std::vector<FairLinks::Use> uses;
      for (Index link = 0; link < count; ++link) {
        if (chance(random, 0.35)) uses.push_back({link, alike ? 1.0 : real(random, 0.05, 1.0)});
      }
      return uses;
    };
    FairLinks links;
    links.reset(capacity);
    std::vector<Plain> flows;  // by number
    std::vector<char> live;
    std::vector<double> crossed(count, 0.0);
    double now = 0.0;
    const auto compare = [&] {
      std::vector<const Plain*> there;
      std::vector<Index> number;
      for (Index f = 0; f < flows.size(); ++f) {
        if (!live[f]) continue;
        there.push_back(&flows[f]);
        number.push_back(f);
      }
      const std::vector<double> rate = fair_rates(capacity, there);
      double soonest = kInfinity;
      for (std::size_t k = 0; k < number.size(); ++k) {
        if (rate[k] == kInfinity) {
          CHECK_EQUAL(links.rate(number[k]), kInfinity);
        } else {
          CHECK_NEAR(links.rate(number[k]), rate[k], 1e-9 * rate[k]);
        }
        CHECK_NEAR(links.left(number[k], now), rate[k] == kInfinity ? 0.0 : there[k]->left, 1e-7);
        soonest = std::min(soonest, rate[k] == kInfinity ? now : now + there[k]->left / rate[k]);
      }
      CHECK_NEAR(links.next_end(), soonest, 1e-7);
      return std::pair{number, rate};
    };
    for (int step = 0; step < 40; ++step) {
      const auto acts = integer(random, 1, 3);
      for (int k = 0; k < acts; ++k) {
        std::vector<Index> there;
        for (Index f = 0; f < flows.size(); ++f) {
          if (live[f]) there.push_back(f);
        }
        const double draw = real(random, 0.0, 1.0);
        if (there.empty() || (draw < 0.5 && there.size() < 10)) {
          const Plain plain{alike ? 1.0 : real(random, 0.5, 3.0), real(random, 0.1, 20.0), way()};
          const Index f = links.start(plain.weight, plain.left, plain.uses, now);
          if (f >= flows.size()) {
            flows.resize(f + 1);
            live.resize(f + 1, 0);
          }
          flows[f] = plain;
          live[f] = 1;
        } else {
          const Index f = there[static_cast<std::size_t>(
              integer(random, 0, static_cast<std::int64_t>(there.size()) - 1))];
          if (draw < 0.75) {
            links.stop(f, now);
            live[f] = 0;
          } else {
            flows[f].uses = way();
            flows[f].left += real(random, 0.0, 5.0);
            links.change(f, flows[f].left, flows[f].uses, now);
          }
        }
      }
      links.settle(now);
      CHECK(!links.stale());
      auto [number, rate] = compare();
      // On to the next end, or somewhere before it.
      if (number.empty()) continue;
      const bool to_end = chance(random, 0.5);
      const double until = to_end ? links.next_end() : now + real(random, 0.0, 1.0);
      const double next = std::min(until, links.next_end());
      for (std::size_t k = 0; k < number.size(); ++k) {
        Plain& plain = flows[number[k]];
        const double moved =
            rate[k] == kInfinity ? plain.left : std::min(plain.left, rate[k] * (next - now));
        plain.left -= moved;
        for (const auto& use : plain.uses) crossed[use.link] += use.part * moved;
      }
      now = next;
      while (links.next_end() <= now) {
        const Index f = links.next();
        CHECK_NEAR(flows[f].left, 0.0, 1e-7);
        links.stop(f, now);
        live[f] = 0;
      }
    }
    links.settle(now);
    const std::vector<double> carried = links.carried(now);
    for (std::size_t k = 0; k < count; ++k) CHECK_NEAR(carried[k], crossed[k], 1e-6);
  });
}

// A change far from a flow costs it nothing.
TEST(changes_stay_local) {
  constexpr Index kPairs = 50;
  FairLinks links;
  links.reset(std::vector<double>(kPairs + 1, 1.0));  // the last is never full
  std::vector<double> capacity(kPairs + 1, 1.0);
  capacity.back() = 1e3;
  links.reset(capacity);
  for (Index k = 0; k < kPairs; ++k) {
    const std::vector<FairLinks::Use> uses{{k, 1.0}, {kPairs, 1.0}};
    links.start(1.0, 1e9, uses, 0.0);
    links.start(1.0, 1e9, uses, 0.0);
  }
  links.settle(0.0);
  const std::uint64_t before = links.filled();
  links.stop(0, 1.0);
  links.settle(1.0);
  CHECK_EQUAL(links.filled() - before, 1u);
  CHECK_EQUAL(links.rate(1), 1.0);
}

}  // namespace test_fair_links
}  // namespace malleable::check
