/// What specifications may look like, and what is said of mistakes.

#include <cstdlib>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <random>

#include "offline/analysis/run_comparison.hpp"
#include "offline/findings/rules_of.hpp"
#include "offline/properties/builtin.hpp"
#include "offline/properties/sql.hpp"
#include "statistics/statistics.hpp"

namespace refrain::properties {
namespace {

constexpr const char* small_model = R"(
enum Color { red, green }
class Box { int Size; float Load; String Name; DateTime Made; Color Shade; Box Outer; setof Item Items; }
class Item { float Weight; }
class Heavy extends Item { bool Marked; }
)";

Program compiled(const std::string& text) { return compile({{"model.asl", small_model}, {"own.asl", text}}); }

/// The message without what it shows of the source.
std::string mistake(const std::string& text) {
  try {
    compiled(text);
  } catch (const SpecificationError& error) {
    const std::string what = error.what();
    return what.substr(0, what.find('\n'));
  }
  return "none";
}

std::string property_with(const std::string& condition) {
  return "PROPERTY P(Box b) {\nCONDITION: " + condition + "; CONFIDENCE: 1; SEVERITY: 1;\n}";
}

struct Mistake {
  const char* text;
  const char* message;
};

TEST(Language, mistakes_have_their_place_and_say_what_is_expected) {
  const Mistake mistakes[] = {
      {"PROPERTY P(Box b) {\n  CONDITION: b.Siz > 1; CONFIDENCE: 1; SEVERITY: 1; }",
       "own.asl:2:16: Box has no attribute Siz; did you mean Size?"},
      {"PROPERTY P(Box b) { CONDITION: b.Size = 1; CONFIDENCE: 1; SEVERITY: 1; }",
       "own.asl:1:39: an operator or ';' is expected here, not '=' (== compares)"},
      {"PROPERTY P(Bx b) { CONDITION: TRUE; CONFIDENCE: 1; SEVERITY: 1; }",
       "own.asl:1:12: there is no type Bx; did you mean Box?"},
      {"PROPERTY P(Box b) { LET Items i = UNIQUE(b.Items) IN CONDITION: TRUE; CONFIDENCE: 1; SEVERITY: 1; }",
       "own.asl:1:25: Items is no type but an attribute of Box, a setof Item; one of its members is a Item"},
      {"PROPERTY P(Box b) { CONDITION: b.Name; CONFIDENCE: 1; SEVERITY: 1; }",
       "own.asl:1:34: a condition is expected here, which is true or false, not String"},
      {"PROPERTY P(Box b) { CONDITION: b.Items.Weight > 1; CONFIDENCE: 1; SEVERITY: 1; }",
       "own.asl:1:40: only objects have attributes, and what is before '.' is a set of Item; UNIQUE(...) is its one "
       "member"},
      {"PROPERTY P(Box b) { CONDITION: b.Name > 1; CONFIDENCE: 1; SEVERITY: 1; }",
       "own.asl:1:39: String cannot be compared with int"},
      {"PROPERTY P(Box b) { CONDITION: b.Shade > red; CONFIDENCE: 1; SEVERITY: 1; }",
       "own.asl:1:40: Color has no order; == and != compare"},
      {"PROPERTY P(Box b) { CONDITION: b.Made > \"tomorrow\"; CONFIDENCE: 1; SEVERITY: 1; }",
       "own.asl:1:41: \"tomorrow\" is no date; dates are written as \"2026-11-26\" or \"2026-11-26 14:05:09\", in UTC"},
      {"PROPERTY P(Box b) { LET int n = b.Load IN CONDITION: TRUE; CONFIDENCE: 1; SEVERITY: 1; }",
       "own.asl:1:35: n is declared as int, and this is float"},
      {"PROPERTY P(Box b) { CONDITION: (a) TRUE OR (a) FALSE; CONFIDENCE: 1; SEVERITY: 1; }",
       "own.asl:1:44: (a) is the id of two conditions"},
      {"PROPERTY P(Box b) { CONDITION: (a) TRUE; CONFIDENCE: (c) -> 1; SEVERITY: 1; }",
       "own.asl:1:54: no condition has the id (c); did you mean a?"},
      {"float F(float x) = F(x);", "own.asl:1:20: F calls itself"},
      {"float F(float x) = x; float G = F(1, 2);", "own.asl:1:33: F takes 1 argument, not 2"},
      {"class Box { int A; }", "own.asl:1:7: Box has been declared before"},
      {"class A extends B { int X; } class B extends A { int Y; }", "own.asl:1:17: A extends itself"},
      {"class A { setof int X; }", "own.asl:1:11: a set has objects for members, and int is no class"},
      {"class refrain_a { int X; }", "own.asl:1:7: names that begin with refrain_ are taken by the database"},
      {"float X = 1", "own.asl:1:12: an operator or ';' is expected here, not the end of the file"},
      {"/* open", "own.asl:1:1: this comment has no end: */ is missing"},
      {"float X = \"a;\n", "own.asl:1:11: this string has no end in its line: \" is missing"},
      {"float X = 1 # 2;", "own.asl:1:13: '#' has no meaning here"},
      {"float X = 99999999999999999999;",
       "own.asl:1:11: 99999999999999999999 is too large for a number without a fraction; with one it is "
       "99999999999999999999.0"},
      {"PROPERTY P(Box b) REFINES Q { CONDITION: TRUE; CONFIDENCE: 1; SEVERITY: 1; }",
       "own.asl:1:19: there is no property Q; did you mean P?"},
      {"PROPERTY P(Box b) REFINES P { CONDITION: TRUE; CONFIDENCE: 1; SEVERITY: 1; }",
       "own.asl:1:19: P refines itself"},
      {"PROPERTY P() { CONDITION: TRUE; CONFIDENCE: 1; SEVERITY: 1; }",
       "own.asl:1:10: P has no context: name objects in its parentheses"},
  };
  for (const Mistake& of : mistakes) EXPECT_EQ(of.message, mistake(of.text)) << of.text;
}

TEST(Language, a_caret_stands_below_the_place) {
  try {
    compiled("// \xC3\xA4\nPROPERTY P(Box b) {\n\tCONDITION: /* \xC3\xA4 */ b.Siz > 1; CONFIDENCE: 1; SEVERITY: 1; }");
    FAIL();
  } catch (const SpecificationError& error) {
    EXPECT_EQ((Position{3, 23}), error.at);
    EXPECT_STREQ(
        "own.asl:3:23: Box has no attribute Siz; did you mean Size?\n  \tCONDITION: /* \xC3\xA4 */ b.Siz > 1; "
        "CONFIDENCE: 1; SEVERITY: 1; }\n  \t                     ^",
        error.what());
  }
}

TEST(Language, what_may_be_left_out_or_written_otherwise) {
  const char* const good[] = {
      "Property P(Box b) { let float x = b.Load; in condition: x > 0; confidence: 1; severity: x; };",
      "PROPERTY P(Box b) { LET IN CONDITION: (b.Size) > 0; CONFIDENCE: MAX(1); SEVERITY: MAX(b.Load, 1) + 1; }",
      "PROPERTY P(Box b, Item i IN b.Items WITH i.Weight > 1) { CONDITION: (a) TRUE OR (c) (b.Size) - 1 > 0; "
      "CONFIDENCE: MAX((a) -> 1, (c) -> 0.5); SEVERITY: (a) -> 2; }",
      // Words that are keywords elsewhere.
      "PROPERTY P(Box sum) { LET float max = sum.Load; IN CONDITION: max > 0 AND COUNT(sum.Items) > 0; CONFIDENCE: 1; "
      "SEVERITY: max; }",
      "class Severity { float Condition; setof Item Count; } PROPERTY P(Severity Unique) { CONDITION: Unique.Condition "
      "> 0; CONFIDENCE: 1; SEVERITY: COUNT(Unique.Count); }",
      // A name is not visible in its own initialiser.
      "PROPERTY P(Box b) { LET float red = COUNT(x WHERE x IN Box AND x.Shade == red); IN CONDITION: red > 0; "
      "CONFIDENCE: 1; SEVERITY: red; }",
      "PROPERTY P(Heavy h) { CONDITION: h.Weight > 1 && !h.Marked || FALSE; CONFIDENCE: 1; SEVERITY: 1e3; }",
  };
  for (const char* text : good) EXPECT_EQ("none", mistake(text)) << text;
}

TEST(Language, operators_bind_as_usual) {
  const auto sql = [](const std::string& condition) {
    const Program program = compiled(property_with(condition));
    return property_statement(program.properties[0], *program.model, Dialect::Sqlite, {});
  };
  const std::pair<const char*, const char*> same[] = {
      {"1 + 2 * 3 > 4 AND TRUE OR FALSE AND TRUE", "(((1 + (2 * 3)) > 4) AND TRUE) OR (FALSE AND TRUE)"},
      {"1 - 2 - 3 == -4 / 2 / 1", "((1 - 2) - 3) == (((-4) / 2) / 1)"},
      {"NOT TRUE AND FALSE", "(NOT TRUE) AND FALSE"},
      {"NOT 1 > 2", "NOT (1 > 2)"}};
  for (const auto& [a, b] : same) EXPECT_EQ(sql("(" + std::string(a) + ")"), sql("(" + std::string(b) + ")")) << a;
}

TEST(Language, the_library_has_properties_enough_and_each_says_what_it_is) {
  const Program program = compile_with_builtin({});
  EXPECT_GE(program.properties.size(), 35U);
  for (const Property& property : program.properties) {
    EXPECT_FALSE(property.help.empty()) << property.name;
    for (const Dialect dialect : {Dialect::Sqlite, Dialect::Postgresql})
      EXPECT_FALSE(property_statement(property, *program.model, dialect, {}).empty());
  }
}

TEST(Language, what_is_nested_too_deep_is_refused) {
  EXPECT_NE(std::string::npos,
            mistake("float X = " + std::string(100'000, '(') + "1;").find("more than 400 operators and brackets"));
  std::string doubling = "float F0(float x) = x;\n";
  for (int i = 1; i < 30; ++i)
    doubling += "float F" + std::to_string(i) + "(float x) = F" + std::to_string(i - 1) + "(x) + F" +
                std::to_string(i - 1) + "(x);\n";
  EXPECT_NE(std::string::npos, mistake(doubling).find("too large"));
  std::string nested = "float D(float x) = x + x;\nfloat Many = ";
  for (int i = 0; i < 100; ++i) nested += "D(";
  nested += '1';
  for (int i = 0; i < 100; ++i) nested += ')';
  EXPECT_NE(std::string::npos, mistake(nested + ';').find("too large"));
  std::string chain = "float A0 = 1;\n";
  for (int i = 1; i < 30'000; ++i) chain += "float A" + std::to_string(i) + " = A" + std::to_string(i - 1) + ";\n";
  EXPECT_NE(std::string::npos, mistake(chain).find("more than 100 functions that call each other"));
}

/// Whatever is changed in them, specifications are understood or refused with a place in them.
TEST(Language, damaged_specifications_are_refused_with_their_place) {
  std::mt19937_64 random(4);
  const Source model = builtin_model(), library = builtin_library();
  const int trials = std::getenv("FULL_TESTS") != nullptr ? 50'000 : 1500;
  int refused = 0;
  for (int trial = 0; trial < trials; ++trial) {
    std::string text = trial % 2 == 0 ? library.text : model.text;
    const auto place = [&] { return static_cast<std::size_t>(random() % text.size()); };
    for (int edits = 1 + static_cast<int>(random() % 3); edits > 0 && !text.empty(); --edits) switch (random() % 4) {
        case 0: text[place()] = static_cast<char>(random()); break;
        case 1: text.erase(place(), random() % 20); break;
        case 2: text.insert(place(), text.substr(place(), random() % 40)); break;
        default: text.insert(place(), 1, "(){};,.:=<>-+*/\"&|!"[random() % 20]); break;
      }
    try {
      if (trial % 2 == 0) compile({model, {"damaged.asl", text}});
      else compile({{"damaged.asl", text}, library});
    } catch (const SpecificationError& error) {
      ++refused;
      const std::string what = error.what();
      EXPECT_TRUE(what.starts_with("damaged.asl:") || what.starts_with("library.asl:")) << what;
    }
  }
  EXPECT_GT(refused, trials / 2);
}

TEST(Language, functions_of_the_library_may_be_declared_again_with_the_same_types) {
  const auto statement = [](const std::vector<Source>& further) {
    const Program program = compile_with_builtin(further);
    return property_statement(*program.property("LoadImbalance"), *program.model, Dialect::Sqlite, {});
  };
  const std::string usual = statement({});
  EXPECT_EQ(usual, statement({{"own.asl", "float Duration(Region r, TestRun t) = Summary(r, t).Incl;"}}));
  EXPECT_NE(usual, statement({{"own.asl", "float ImbalanceThreshold = 0.75;"}}));
  EXPECT_NE(std::string::npos, statement({{"own.asl", "float ImbalanceThreshold = 0.75;"}}).find("CAST(0.75 AS"));
  EXPECT_THROW(statement({{"own.asl", "float Duration(Region r) = 1;"}}), SpecificationError);
  EXPECT_THROW(statement({{"own.asl", "float X = 1; float X = 2;"}}), SpecificationError);
}

TEST(Language, the_slip_of_the_paper_is_diagnosed) {
  try {
    compile_with_builtin({{"paper.asl",
                           "Property Slip(Region r, TestRun t, Region Basis) {\n"
                           "LET TotTimes MinPeSum = UNIQUE({sum IN r.TotTimes WITH sum.Run.NoPe == MIN(s.Run.NoPe "
                           "WHERE s IN r.TotTimes)});\n"
                           "float TotalCost = Duration(r,t) - Duration(r,MinPeSum.Run)\nIN\n"
                           "CONDITION: TotalCost>0; CONFIDENCE: 1;\nSEVERITY: TotalCost/Duration(Basis,t);\n}\n"}});
    FAIL();
  } catch (const SpecificationError& error) {
    EXPECT_TRUE(std::string(error.what())
                    .starts_with("paper.asl:2:5: TotTimes is no type but an attribute of Region, a setof TotalTiming; "
                                 "one of its members is a TotalTiming"))
        << error.what();
  }
}

TEST(Sql, names_and_texts_cannot_leave_their_quotes) {
  EXPECT_EQ("\"a\"\"b\"", quoted_name("a\"b"));
  EXPECT_EQ("'a''; DROP TABLE x; --'", quoted_text("a'; DROP TABLE x; --"));
  EXPECT_EQ("'ab'", quoted_text(std::string_view("a\0b", 3)));
}

/// Properties and findings that ask the same draw the same line.
TEST(Library, thresholds_are_those_of_findings_and_comparisons) {
  const std::string library = builtin_library().text;
  const auto has = [&](const char* name, double value) {
    return library.find(fmt::format("float {} = {};", name, value)) != std::string::npos;
  };
  EXPECT_TRUE(has("SmallMessage", findings::small_message_bytes));
  EXPECT_TRUE(has("ManyErrors", statistics::certain_errors));
  EXPECT_TRUE(has("SlowerThreshold", analysis::RunComparisonOptions().tolerance));
}

}  // namespace
}  // namespace refrain::properties
