// The table of an epoch: rows of present jobs, whose ids are never used again.
#include <algorithm>
#include <map>

#include "check.hpp"
#include "malleable/policy/epoch/job_table.hpp"

namespace malleable::check::test_epoch_job_table {

// Jobs that are known by their work, which is their id; in a stable table their order stays.
TEST(rows_follow_their_ids) {
  for (const bool stable : {false, true}) {
    trials(11, 60, [&](Random& random) {
      JobTable table;
      std::vector<std::int64_t> beside;  // a column of another class
      std::vector<std::int64_t> known;
      for (int step = 0; step < 40; ++step) {
        const auto count = static_cast<std::size_t>(random() % 5);
        std::vector<double> work(count), zero(count, 0.0), one(count, 1.0);
        std::vector<double> never(count, kInfinity);
        std::vector<std::int64_t> low(count, 1), high(count, 3), offset(count + 1, 0);
        for (std::size_t k = 0; k < count; ++k) {
          known.push_back(table.next_id() + static_cast<std::int64_t>(k));
          work[k] = static_cast<double>(known.back());
          beside.push_back(known.back());
        }
        table.append({{zero, one, never, work, {offset, {}, {}}}, work, low, high}, {},
                     step % 2 == 0 ? Kind::kResponse : Kind::kStretch, 0.0);
        for (std::size_t row = 0; row < table.rows(); ++row) table.limit(row, 9, 1.0);
        std::vector<std::int64_t> gone;
        for (const std::int64_t id : known) {
          if (chance(random, 0.2)) gone.push_back(id);
        }
        std::shuffle(gone.begin(), gone.end(), random);
        table.remove(gone, stable, [&](const RowsGone& rows) { rows(beside); });
        for (const std::int64_t id : gone) {
          CHECK_EQUAL(table.find(id), kNone);
          std::erase(known, id);
        }
        CHECK_EQUAL(table.rows(), known.size());
        CHECK_EQUAL(table.minima, static_cast<double>(known.size()));
        CHECK_EQUAL(table.count(Kind::kResponse) + table.count(Kind::kStretch), known.size());
        for (const std::int64_t id : known) {
          const Index row = table.find(id);
          CHECK_EQUAL(table.id[row], id);
          CHECK_EQUAL(table.work[row], static_cast<double>(id));
          CHECK_EQUAL(beside[row], id);
        }
        if (stable) CHECK(std::is_sorted(table.id.begin(), table.id.end()));
      }
    });
  }
}

}  // namespace malleable::check::test_epoch_job_table
