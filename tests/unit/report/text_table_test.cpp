// Tables as text: which columns there are, how wide they are, and which rows.
#include <gtest/gtest.h>

#include "offline/report/arrangement.hpp"
#include "offline/report/columns.hpp"
#include "offline/report/print_tables.hpp"

namespace refrain::report {
namespace {

Table ports() {
  return {.name = "ports",
          .columns = {{"share", Kind::Share, Everywhere, "time %"},
                      {.name = "note", .is_optional = true},
                      {.name = "time", .kind = Kind::Seconds, .gives_way = 1},
                      {"ships", Kind::Count},
                      {"name", Kind::Words}},
          .rows =
              [](const TakeRow& take) {
                take({{0.75, "", 1.5, std::int64_t{1200}, "Rotterdam, the largest one of them"}});
                take({{0.25, "", 0.5, std::int64_t{0}, "Oslo"}});
              },
          .empty = "No port."};
}

std::string text_of(const Table& table, int width = 0, bool utf8 = false) {
  std::string out;
  print_tables({table}, Format::Text, {width, utf8, false}, [&](std::string_view text) { out += text; });
  return out;
}

TEST(TextTable, has_the_columns_that_have_values) {
  EXPECT_EQ(text_of(ports()),
            " time %      time       ships  name\n"
            "   75.0    1.50 s       1,200  Rotterdam, the largest one of them\n"
            "   25.0    500 ms              Oslo\n");
}

TEST(TextTable, leaves_out_what_gives_way_first) {
  EXPECT_EQ(text_of(ports(), 42),
            " time %       ships  name\n"
            "   75.0       1,200  Rotterdam, the lar...\n"
            "   25.0              Oslo\n");
}

TEST(TextTable, without_rows_says_so) {
  Table table = ports();
  table.rows = [](const TakeRow&) {};
  table.before = {{"Ports:", Note::Strong}, {}};
  table.footnotes = {{"By share.", Note::Faint}};
  EXPECT_EQ(text_of(table), "Ports:\n\nNo port.\nBy share.\n");
}

TEST(TextTable, of_fixed_widths_is_printed_as_it_comes) {
  const Table table{.name = "events",
                    .columns = {{.name = "time, s", .kind = Kind::Moment, .width = 12},
                                {.name = "event", .align = Align::Left, .width = 6},
                                {.name = "of", .kind = Kind::Words}},
                    .rows = [](const TakeRow& take) {
                      take({{0.5, "enter", "MPI_Send"}});
                    }};
  EXPECT_EQ(text_of(table, 20),
            "     time, s  event   of\n"
            " 0.500000000  enter   MPI_Send\n")
      << "not cut";
}

TEST(TextTable, errors_have_the_sign_of_the_terminal) {
  Table table = ports();
  table.columns[2].head = "+-";
  EXPECT_NE(text_of(table, 0, true).find(" ±  "), std::string::npos);
  EXPECT_NE(text_of(table, 0, false).find(" +-  "), std::string::npos);
}

TEST(Arranged, takes_the_column_that_the_format_shows) {
  Table table{.name = "functions",
              .columns = {{"name", Kind::Text, InTables}, {"name", Kind::Text, InText}},
              .rows = [](const TakeRow& take) {
                take({{"ns::f(int)", "f"}});
              }};
  Request request;
  request.columns = {"name"};
  EXPECT_EQ(text_of(arranged(table, request)), "name\nf\n");
  request.format = Format::Csv;
  std::string csv;
  write_csv(arranged(table, request), [&](std::string_view text) { csv += text; });
  EXPECT_EQ(csv, "name\r\nns::f(int)\r\n");
}

TEST(Columns, have_the_kinds_of_their_names) {
  const std::vector<Column> all =
      columns("share: time %, time_s: time, rank, calls, mean_bytes, path, name", ForPeople);
  const std::vector<Kind> kinds{Kind::Share, Kind::Seconds, Kind::Id, Kind::Count, Kind::Bytes, Kind::Path, Kind::Text};
  ASSERT_EQ(all.size(), kinds.size());
  for (std::size_t c = 0; c < all.size(); ++c) {
    EXPECT_EQ(all[c].kind, kinds[c]) << all[c].name;
    EXPECT_EQ(all[c].in, unsigned{ForPeople});
  }
  EXPECT_EQ(all[0].name, "share");
  EXPECT_EQ(all[0].head, "time %");
  EXPECT_EQ(all[2].head, "") << "its name";
  EXPECT_TRUE(columns("").empty());
}

TEST(Cells, may_be_texts_by_name) {
  const Table table = object_of("of", columns("context, calls"), {{NamedTexts{{"region", "a,b"}, {"run", "7"}}, 3}});
  std::string csv, json;
  write_csv(table, [&](std::string_view text) { csv += text; });
  write_json({table}, [&](std::string_view text) { json += text; });
  EXPECT_EQ(csv, "context,calls\r\n\"region=a,b;run=7\",3\r\n");
  EXPECT_NE(json.find(R"("context":{"region":"a,b","run":"7"},)"), json.npos) << json;
  EXPECT_TRUE(json.starts_with("{\n  \"schema\":1,\n")) << json;
}

}  // namespace
}  // namespace refrain::report
