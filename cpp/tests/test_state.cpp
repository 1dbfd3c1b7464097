// The state of objects as bytes, and back.
#include "check.hpp"
#include "malleable/model/named_rows.hpp"
#include "malleable/model/state.hpp"

namespace malleable::check {
namespace test_state {

enum class Colour : std::uint8_t { kRed, kBlue };

// Padding between its fields: only values are written.
struct Inner {
  std::int64_t number = 0;
  bool flag = false;
  double real = 0.0;

  void state(State& s) { s(number, flag, real); }
  bool operator==(const Inner&) const = default;
};

struct Checkpointed {
  Colour colour = Colour::kRed;
  std::string text;
  std::vector<double> reals;
  std::vector<std::vector<std::uint32_t>> nested;
  std::vector<Inner> inner;
  std::optional<std::uint64_t> maybe;
  std::int64_t pair[2] = {0, 0};
  std::pair<double, bool> both;

  void state(State& s) { s(colour, text, reals, nested, inner, maybe, pair, both); }
  bool operator==(const Checkpointed& other) const {
    return colour == other.colour && text == other.text && reals == other.reals &&
           nested == other.nested && inner == other.inner && maybe == other.maybe &&
           pair[0] == other.pair[0] && pair[1] == other.pair[1] && both == other.both;
  }
};

Checkpointed some() {
  Checkpointed kept;
  kept.colour = Colour::kBlue;
  kept.text = "text";
  kept.reals = {1.0, -0.0, kInfinity};
  kept.nested = {{1, 2}, {}, {3}};
  kept.inner = {{5, true, 2.5}, {-1, false, 0.1}};
  kept.maybe = 7;
  kept.pair[1] = -3;
  kept.both = {4.0, true};
  return kept;
}

TEST(what_is_written_is_read_again) {
  Checkpointed kept = some(), found;
  found.maybe = 99;
  const std::string bytes = save_state("Checkpointed", kept);
  load_state("Checkpointed", bytes, found);
  CHECK(found == kept);
  CHECK(save_state("Checkpointed", found) == bytes);
  Checkpointed nothing;
  load_state("Checkpointed", save_state("Checkpointed", nothing), found);
  CHECK(found == nothing);
}

TEST(bytes_say_nothing_of_padding) {
  alignas(Inner) unsigned char one[sizeof(Inner)], two[sizeof(Inner)];
  std::fill(std::begin(one), std::end(one), std::uint8_t{0x00});
  std::fill(std::begin(two), std::end(two), std::uint8_t{0xff});
  auto* a = new (one) Inner{1, true, 2.0};
  auto* b = new (two) Inner{1, true, 2.0};
  CHECK(save_state("Inner", *a) == save_state("Inner", *b));
}

TEST(other_bytes_are_refused) {
  Checkpointed kept = some(), found;
  const std::string bytes = save_state("Checkpointed", kept);
  for (std::size_t end = 0; end < bytes.size(); ++end) {
    CHECK_THROWS(load_state("Checkpointed", std::string_view(bytes).substr(0, end), found),
                 "state: ");
  }
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string spoilt = bytes;
      spoilt[at] = static_cast<char>(spoilt[at] ^ (1 << bit));
      CHECK_THROWS(load_state("Checkpointed", spoilt, found), "state: ");
    }
  }
  CHECK_THROWS(load_state("Checkpointed", bytes + "x", found), "damaged");
  CHECK_THROWS(load_state("Other", bytes, found), "of 'Checkpointed', not of 'Other'");
  Inner inner;
  CHECK_THROWS(load_state("Checkpointed", bytes, inner), "goes on after its end");
  const std::string few = save_state("Inner", inner);
  CHECK_THROWS(load_state("Inner", few, found), "ends too early");
}

// A length beyond what is there allocates nothing.
TEST(lengths_are_checked_before_anything_is_made) {
  std::uint64_t length = std::uint64_t{1} << 60;
  State out;
  out(length);
  const std::string bytes = out.take();
  std::vector<double> reals;
  State in(bytes);
  CHECK_THROWS(in(reals), "ends too early");
  std::vector<Inner> inner;
  State again(bytes);
  CHECK_THROWS(again(inner), "ends too early");
}

TEST(ids_are_known_and_named_once) {
  NamedRows named;
  const auto find = [](std::int64_t id) {
    return id >= 0 && id < 5 ? static_cast<Index>(id) : kNone;
  };
  using Ids = std::vector<std::int64_t>;
  for (int round = 0; round < 2; ++round) {  // what was refused leaves no marks behind
    CHECK_THROWS(named.of(Ids{0, 1, 0}, 5, find), "ids[2] = 0: named twice");
    CHECK_THROWS(named.of(Ids{3, 7}, 5, find), "ids[1] = 7: no such job");
    const auto rows = named.of(Ids{3, 1, 0}, 5, find);
    CHECK((std::vector<Index>(rows.begin(), rows.end()) == std::vector<Index>{3, 1, 0}));
  }
  CHECK(named.of({}, 0, find).empty());
}

}  // namespace test_state
}  // namespace malleable::check
