// A table that counts, and what SQLite asks of it.
#include "offline/query/streamed_table.hpp"

#include <gtest/gtest.h>
#include <memory>
#include <sqlite3.h>
#include <stdexcept>

namespace refrain::query {
namespace {

/// The numbers 0 to 99 and their halves. Reading number 50 fails if it shall.
class Counting {
 public:
  const StreamedTable table{
      "CREATE TABLE counting (n INTEGER, half REAL)", {{0, 100}}, {0}, 100, [this](std::span<const Bound> bounds) {
        last_bound = bounds[0];
        return std::make_unique<Stream>(*this, std::max<std::int64_t>(bounds[0].first, 0),
                                        std::min<std::int64_t>(bounds[0].last, 99));
      }};

  Bound last_bound;
  int rows_read = 0;
  bool shall_fail = false;

 private:
  class Stream : public RowStream {
   public:
    Stream(Counting& of, std::int64_t at, std::int64_t last) : of_(of), at_(at), last_(last) {}
    bool at_end() const override { return at_ > last_; }
    void next() override {
      ++of_.rows_read;
      if (++at_ == 50 && of_.shall_fail) throw std::runtime_error("50 cannot be read");
    }
    Number at(int column) const override {
      if (column == 0) return at_;
      return at_ % 2 == 0 ? Number(static_cast<double>(at_) / 2) : Number();
    }

    std::int64_t id() const override { return at_; }

   private:
    Counting& of_;
    std::int64_t at_, last_;
  };
};

struct StreamedTables : testing::Test {
  StreamedTables() {
    sqlite3_open(":memory:", &database);
    EXPECT_EQ(add_streamed_table(database, "counting", counting.table, failure), SQLITE_OK);
  }
  ~StreamedTables() override { sqlite3_close(database); }
  /// The first value of the first row; -1: none. `result`: SQLite's code.
  double ask(const char* sql) {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(database, sql, -1, &statement, nullptr), SQLITE_OK) << sqlite3_errmsg(database);
    result = sqlite3_step(statement);
    const double value = result == SQLITE_ROW ? sqlite3_column_double(statement, 0) : -1;
    sqlite3_finalize(statement);
    return value;
  }

  Counting counting;
  Failure failure;
  sqlite3* database = nullptr;
  int result = SQLITE_OK;
};

TEST_F(StreamedTables, all_rows_come) {
  EXPECT_EQ(ask("SELECT SUM(n) FROM counting"), 4950);
  EXPECT_EQ(ask("SELECT COUNT(half) FROM counting"), 50);
}

TEST_F(StreamedTables, comparisons_bound_what_is_read) {
  EXPECT_EQ(ask("SELECT SUM(n) FROM counting WHERE n > 10 AND n <= 12"), 23);
  EXPECT_EQ(counting.last_bound.first, 11);
  EXPECT_EQ(counting.last_bound.last, 12);
  EXPECT_EQ(counting.rows_read, 2);
  EXPECT_EQ(ask("SELECT SUM(n) FROM counting WHERE n = 7"), 7);
  EXPECT_EQ(counting.rows_read, 3);
}

TEST_F(StreamedTables, a_bound_that_is_no_integer_is_left_to_sqlite) {
  EXPECT_EQ(ask("SELECT SUM(n) FROM counting WHERE n < 2.5"), 3);
  EXPECT_FALSE(counting.last_bound.is_narrow());
  EXPECT_EQ(ask("SELECT COUNT(*) FROM counting WHERE n < 9223372036854775807 AND n > -9223372036854775808"), 100);
}

TEST_F(StreamedTables, its_own_order_needs_no_reading_to_the_end) {
  EXPECT_EQ(ask("SELECT n FROM counting ORDER BY n LIMIT 1"), 0);
  EXPECT_LE(counting.rows_read, 1);
  EXPECT_EQ(ask("SELECT n FROM counting ORDER BY n DESC LIMIT 1"), 99);
}

TEST_F(StreamedTables, what_it_throws_is_kept) {
  counting.shall_fail = true;
  ask("SELECT SUM(n) FROM counting");
  EXPECT_EQ(result, SQLITE_ERROR);
  ASSERT_TRUE(failure.why);
  EXPECT_THROW(std::rethrow_exception(failure.why), std::runtime_error);
}

}  // namespace
}  // namespace refrain::query
