// The tables of views and of options: each option does something where it is known, and is refused elsewhere.
#include <gtest/gtest.h>
#include <set>

#include "offline/report/views.hpp"

namespace refrain::report {
namespace {

void set(Request& request, const RequestOption& option) {
  std::visit(
      [&](const auto member) {
        auto& value = request.*member;
        using Value = std::remove_reference_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, bool>) value = true;
        else if constexpr (std::is_same_v<Value, std::vector<std::string>>) value = {"x"};
        else if constexpr (std::is_same_v<Value, std::string>) value = "x";
        else value = 1;
      },
      option.member);
}

std::string refusal(const Request& request) {
  try {
    check_options(request);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(RequestOptions, nothing_is_given_by_default) {
  for (const RequestOption& option : request_options()) EXPECT_FALSE(option.is_given(Request())) << option.name;
}

TEST(RequestOptions, each_is_given_when_it_is_set) {
  for (const RequestOption& option : request_options()) {
    Request request;
    set(request, option);
    for (const RequestOption& other : request_options())
      EXPECT_EQ(option.ask == other.ask, other.is_given(request)) << option.name << " " << other.name;
  }
}

TEST(RequestOptions, values_are_checked) {
  const auto wrong = [](Ask ask, const std::string& value) {
    for (const RequestOption& option : request_options())
      if (option.ask == ask) return option.wrong(value);
    return std::string("there is none");
  };
  EXPECT_EQ(wrong(Ask::Iteration, "12"), "");
  EXPECT_EQ(wrong(Ask::Iteration, "1.5"), "1.5: a number, counted from 0");
  EXPECT_EQ(wrong(Ask::Limit, "-1"), "-1: a whole number, 0 or more");
  EXPECT_EQ(wrong(Ask::Loop, ""), "a name is missing");
  EXPECT_EQ(wrong(Ask::MinShare, "0.5"), "");
  EXPECT_EQ(wrong(Ask::MinShare, "200"), "200 is not a number from 0 to 100");
  EXPECT_EQ(wrong(Ask::CallpathDepth, "0"), "0 is not a number from 1 to 1000000");
}

TEST(Views, options_and_names_are_their_own) {
  std::set<std::string> names;
  for (const View& view : views()) EXPECT_TRUE(names.insert(view.option).second) << view.option;
  for (const RequestOption& option : request_options()) EXPECT_TRUE(names.insert(option.name).second) << option.name;
  EXPECT_EQ(views().back().show, Show::CallTree) << "what is shown where nothing else was asked for";
  for (const View& view : views()) EXPECT_EQ(&row_of(view.show), &view) << view.option;
}

TEST(Views, refuse_the_options_that_they_do_not_know) {
  for (const View& view : views())
    for (const RequestOption& option : request_options()) {
      Request request;
      if (view.show != Show::CallTree) request.views = {view.show};
      set(request, option);
      const std::string said = refusal(request);
      if (!view.knows_of(option.ask)) {
        EXPECT_TRUE(said.starts_with(std::string(option.name) + ": ")) << view.option << " " << said;
      } else if (option.ask != Ask::Loop && option.ask != Ask::CallpathDepth) {  // which need another option
        EXPECT_EQ("", said) << view.option;
      }
    }
}

TEST(Views, go_together_where_a_row_says_so) {
  EXPECT_TRUE(go_together("--iterations", "--clusters"));
  EXPECT_TRUE(go_together("--clusters", "--iterations"));
  EXPECT_TRUE(go_together("--iteration", "--flat"));
  EXPECT_FALSE(go_together("--iteration", "--cluster"));
  EXPECT_FALSE(go_together("--mpi", "--flat"));
  EXPECT_FALSE(go_together("--windows", "--iteration"));
}

TEST(Views, the_first_one_is_what_a_table_shows) {
  Request request;
  request.views = {Show::Functions, Show::Clusters, Show::Iterations};
  std::vector<Show> wanted;
  for (const View* view : wanted_views(request)) wanted.push_back(view->show);
  EXPECT_EQ(wanted, (std::vector<Show>{Show::Iterations, Show::Clusters, Show::Functions, Show::CallTree}));
  EXPECT_EQ(first_view_option(request), "--flat");
  EXPECT_EQ(first_view_option({}), "");
  request.format = Format::Csv;
  EXPECT_EQ(refusal(request), "--format csv: one table at a time, --iterations or --clusters");
}

TEST(Request, knows_what_it_needs) {
  Request request;
  EXPECT_TRUE(request.is_first_page() && request.shows_call_tree() && request.needs_search());
  EXPECT_TRUE(request.has_usual_names());
  request.views = {Show::Mpi};
  EXPECT_TRUE(request.has_callsites() && request.needs_traffic() && request.shows_call_tree());
  EXPECT_FALSE(request.is_first_page() || request.has_usual_names());
  request.views = {Show::Modules};
  EXPECT_FALSE(request.shows_call_tree() || request.needs_search());
  request.format = Format::Json;
  EXPECT_TRUE(request.shows_call_tree() && request.needs_findings()) << "a document has them";
  request.iteration = 3;
  EXPECT_FALSE(request.shows_call_tree());
}

}  // namespace
}  // namespace refrain::report
