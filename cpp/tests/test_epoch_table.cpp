// The jobs of an epoch by row: added, changed, removed.
#include <map>

#include "check.hpp"
#include "malleable/model/error.hpp"
#include "malleable/policy/epoch/table.hpp"

namespace malleable::check::test_epoch_table {

struct Columns {
  std::span<const double> work;
  std::span<const std::int64_t> tasks;

  std::size_t size() const { return work.size(); }
  template <typename Self, typename Visit>
  static void each(Self& self, std::size_t rows, Visit&& visit) {
    const bool anew = rows == kAnyLength;
    visit("work", self.work, rows, !anew);
    if (anew) rows = self.size();
    visit("tasks", self.tasks, rows, true);
  }
  void check(bool anew) const {
    check_amounts("work", work, anew ? kWorkRange : kLeftRange);
    check_counts("tasks", tasks, 0, 9, "must be from 0 to 9");
  }
};

struct Job {
  double work = 0.0, arrival = 0.0;
  std::int64_t tasks = 7;

  void state(State& s) { s(work, arrival, tasks); }
  bool operator==(const Job&) const = default;
};

using Table = EpochTable<Job, 1>;

void write(Table& table, const Columns& columns, Index row, std::size_t k) {
  overwrite(table[row].work, columns.work, k);
  overwrite(table[row].tasks, columns.tasks, k);
}

// Against a map of the jobs, by id.
TEST(jobs_come_change_and_leave) {
  trials(7, 100, [](Random& random) {
    Table table;
    std::map<std::int64_t, Job> known;
    for (int step = 0; step < 30; ++step) {
      const auto count = static_cast<std::size_t>(random() % 4);
      std::vector<double> work(count), arrival(count, step);
      std::vector<std::int64_t> tasks(chance(random, 0.5) ? count : 0), ids(count);
      for (double& one : work) one = static_cast<double>(integer(random, 0, 9));
      for (std::int64_t& one : tasks) one = integer(random, 0, 9);
      const Columns columns{work, tasks};
      table.add(arrival, columns, ids, [&](Index row, std::size_t k) {
        CHECK_EQUAL(table[row].tasks, 7);  // a job that had the row left nothing there
        write(table, columns, row, k);
        table[row].arrival = arrival[k];
      });
      for (std::size_t k = 0; k < count; ++k) {
        CHECK(!known.contains(ids[k]));
        known[ids[k]] = {work[k], arrival[k], tasks.empty() ? 7 : tasks[k]};
      }
      std::vector<std::int64_t> some;
      for (const auto& [id, job] : known) {
        if (chance(random, 0.3)) some.push_back(id);
      }
      const std::vector<double> left(some.size(), 0.5);
      const Columns changes{left, {}};
      table.update(some, changes, [&](Index row, std::size_t k) { write(table, changes, row, k); });
      for (const std::int64_t id : some) known[id].work = 0.5;
      if (!some.empty() && chance(random, 0.5)) {
        some.resize(1);
        table.remove(some, [&](Index row) { CHECK_EQUAL(table.id_of(row), some[0]); });
        known.erase(some[0]);
      }
      CHECK_EQUAL(table.size(), known.size());
      for (Index row = 0; row < table.rows(); ++row) {
        if (table.has(row)) CHECK(table[row] == known.at(table.id_of(row)));
      }
    }
    Table copy;
    load_state("Table", save_state("Table", table), copy);
    CHECK(save_state("Table", copy) == save_state("Table", table));
  });
}

TEST(what_is_wrong_changes_nothing) {
  Table table;
  const std::vector<double> work{1.0, 2.0}, late{0.0, INFINITY}, one{1.0}, now{0.0, 0.0};
  const std::vector<std::int64_t> many{1, 10};
  std::vector<std::int64_t> ids(2);
  const auto add = [&](std::span<const double> arrival, const Columns& columns) {
    table.add(arrival, columns, ids, [](Index, std::size_t) {});
  };
  CHECK_THROWS(add(one, {work, {}}), "arrival has 1 entry, expected 2");
  CHECK_THROWS(add(late, {work, {}}), "arrival[1] = inf");
  CHECK_THROWS(add(now, {one, {}}), "ids has 2 entries");
  CHECK_THROWS(add(now, {work, {many.data(), 1}}), "tasks has 1 entry, expected 2");
  CHECK_THROWS(add(now, {work, many}), "tasks[1] = 10");
  CHECK_EQUAL(table.size(), 0u);
  add(now, {work, {}});
  const auto none = [](Index, std::size_t) { CHECK(false); };
  CHECK_THROWS(table.update(ids, Columns{one, {}}, none), "work has 1 entry, expected 2");
  CHECK_THROWS(table.update(ids, Columns{{}, many}, none), "tasks[1] = 10");
  const std::vector<std::int64_t> twice{ids[0], ids[0]};
  CHECK_THROWS(table.update(twice, Columns{}, none), "named twice");
  CHECK_THROWS(table.remove(twice, [](Index) { CHECK(false); }), "named twice");
  CHECK_EQUAL(table.size(), 2u);
}

}  // namespace malleable::check::test_epoch_table
