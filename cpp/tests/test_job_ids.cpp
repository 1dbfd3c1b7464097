// Ids of jobs, which are never used again, and rows, which are.
#include <algorithm>

#include "check.hpp"
#include "malleable/model/job_ids.hpp"

namespace malleable::check::test_job_ids {

TEST(rows_come_again_but_no_ids) {
  JobIds ids;
  std::vector<std::int64_t> seen;
  for (int k = 0; k < 50; ++k) {
    const Index row = ids.add();
    CHECK(row < 2);
    seen.push_back(ids.id_of(row));
    const Index other = ids.add();
    seen.push_back(ids.id_of(other));
    CHECK_EQUAL(ids.size(), std::size_t{2});
    CHECK_EQUAL(ids.rows_of(std::span(seen).last(2))[1], other);
    ids.remove(row);
    ids.remove(other);
    CHECK_THROWS(ids.rows_of(std::span(seen).last(1)), "no such job");
  }
  std::sort(seen.begin(), seen.end());
  CHECK(std::adjacent_find(seen.begin(), seen.end()) == seen.end() && seen.front() >= 0);
}

TEST(a_row_that_had_its_2_31_jobs_is_given_up) {
  State out;
  std::vector<std::uint32_t> before = {0x7fffffff};
  std::vector<std::uint8_t> live = {0};
  std::vector<Index> free = {0};
  std::size_t size = 0;
  out(before, live, free, size);
  const std::string bytes = out.take();
  State in(bytes);
  JobIds ids;
  ids.state(in);
  CHECK_EQUAL(ids.add(), Index{0});
  const std::vector<std::int64_t> last = {ids.id_of(0)};
  CHECK_EQUAL(last[0], std::int64_t{0x7fffffff} << 32);
  CHECK_EQUAL(ids.rows_of(last)[0], Index{0});
  ids.remove(0);
  CHECK_EQUAL(ids.add(), Index{1});
  CHECK_THROWS(ids.rows_of(last), "no such job");
}

}  // namespace malleable::check::test_job_ids
