/// Random properties of random databases: the statement in a real database and the interpreter must agree. Values are
/// such that sums are exact in any order.

#include <cstdlib>
#include <gtest/gtest.h>
#include <random>
#include <sstream>

#include "offline/database/connection.hpp"
#include "offline/properties/check.hpp"
#include "offline/properties/sql.hpp"
#include "tests/unit/properties/interpreter.hpp"

namespace refrain::properties::test {
namespace {

constexpr const char* model_text = R"(
enum Color { red, green, blue }
class Item { int Number; float Weight; bool Flag; String Label; DateTime When; Color Shade; Item Next; Box Home; }
class Special extends Item { float Extra; setof Item Parts; }
class Box { String Name; int Size; float Load; setof Item Items; setof Special Specials; setof Box Boxes; Special Best; }
float Limit = 1.5;
float Total(Box of) = SUM(x.Weight WHERE x IN of.Items);
Box HomeOf(Item item) = item.Home;
)";

/// Writes random expressions of the model above.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  World world(const Model& model) {
    World world;
    const auto tables = model.tables();
    std::map<int, int> counts;
    for (const Table& table : tables) counts[table.root] = below(7);
    for (const Table& table : tables) {
      auto& objects = world[table.root];
      for (int i = 0; i < counts[table.root]; ++i) {
        Object object{i + 1, table.root, {}};
        if (table.has_class && below(2) == 0) object.of = model.class_named("Special");
        for (const Column& column : table.columns) object.values[column.name] = datum(model, column, counts);
        for (const Class& of : model.classes)
          for (const Attribute& attribute : of.attributes)
            if (!attribute.type.is_set && !model.is_a(object.of, attribute.of) &&
                object.values.contains(attribute.column) && model.root_of(attribute.of) == table.root)
              object.values[attribute.column] = {};
        objects.push_back(std::move(object));
      }
    }
    // References to a class that extends another one are to its objects, and its sets have such members.
    const int special = model.class_named("Special");
    const auto is_special = [&](const Datum& id) {
      for (const Object& object : world[model.root_of(special)])
        if (!is_missing(id) && object.id == std::get<std::int64_t>(id)) return object.of == special;
      return false;
    };
    for (auto& [root, objects] : world)
      for (Object& object : objects) {
        if (object.values.contains("Best") && !is_special(object.values["Best"])) object.values["Best"] = {};
        if (object.values.contains("Box_Specials") && object.of != special) object.values["Box_Specials"] = {};
        if (object.values.contains("Special_Parts") && !is_special(object.values["Special_Parts"]))
          object.values["Special_Parts"] = {};
      }
    return world;
  }

  std::string property() {
    names_ = 0;
    std::ostringstream out;
    scope_.clear();
    out << "PROPERTY P(";
    const int parameters = 1 + below(2);
    for (int i = 0; i < parameters; ++i) {
      const std::string type = pick({"Box", "Item", "Special"});
      out << (i > 0 ? ", " : "") << type << ' ';
      std::string set;
      if (i > 0 && below(2) == 0) set = this->set(type, 1);
      const std::string name = fresh();
      out << name;
      if (!set.empty()) out << " IN " << set;
      scope_.push_back({name, type});
      if (below(3) == 0) out << " WITH " << condition(2, true);
    }
    out << ") {\n";
    const int definitions = below(3);
    std::vector<Name> defined;
    if (definitions > 0) out << "LET ";
    for (int i = 0; i < definitions; ++i) {
      const std::string type = pick({"float", "Item", "bool", "Box", "int"});
      const std::string value = type == "float"  ? number(3, false)
                                : type == "bool" ? condition(2, false)
                                : type == "int"  ? "COUNT(" + set("Item", 1) + ")"
                                                 : object(type, 2);
      const std::string name = fresh();
      out << type << ' ' << name << " = " << value << (i + 1 < definitions ? ";\n" : "\nIN\n");
      scope_.push_back({name, type});
    }
    const int conditions = 1 + below(2);
    out << "CONDITION: ";
    for (int i = 0; i < conditions; ++i)
      out << (i > 0 ? " OR " : "") << "(c" << i << ") " << '(' << condition(3, false) << ')';
    out << ";\nCONFIDENCE: " << (below(2) == 0 ? "1" : number(2, false)) << ";\nSEVERITY: ";
    if (below(2) == 0) out << number(3, false);
    else out << "MAX((c0) -> " << number(2, false) << ", " << number(2, false) << ')';
    out << ";\n}\n";
    return out.str();
  }

 private:
  struct Name {
    std::string name, type;
  };

  int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
  std::string pick(std::initializer_list<const char*> words) {
    return *(words.begin() + below(static_cast<int>(words.size())));
  }
  std::string fresh() { return "n" + std::to_string(names_++); }

  Datum datum(const Model& model, const Column& column, std::map<int, int>& counts) {
    if (below(7) == 0) return {};
    switch (column.type.kind) {
      case Type::Int: return std::int64_t{below(9) - 3};
      case Type::Float: return (below(17) - 6) / 4.0;
      case Type::Bool: return std::int64_t{below(2)};
      case Type::String: {
        const char* const texts[] = {"", "a", "B", "o'k", "\xC3\xA4", "a\"b\\"};
        return std::string(texts[below(6)]);
      }
      case Type::DateTime: return std::int64_t{1'700'000'000'000'000} + below(4) * std::int64_t{1'000'000};
      case Type::Enumeration: return std::int64_t{below(3)};
      case Type::Object: {
        const int count = counts[model.root_of(column.type.index)];
        if (count == 0) return {};
        return std::int64_t{1 + below(count)};
      }
    }
    return {};
  }

  /// Of a type, or one that extends it; empty: none is in scope.
  std::string variable(const std::string& type) {
    std::vector<std::string> found;
    for (const Name& name : scope_)
      if (name.type == type || (type == "Item" && name.type == "Special")) found.push_back(name.name);
    return found.empty() ? "" : found[static_cast<std::size_t>(below(static_cast<int>(found.size())))];
  }

  std::string object(const std::string& type, int depth) {
    const std::string known = variable(type);
    if (!known.empty() && (depth <= 0 || below(3) > 0)) return known;
    if (depth <= 0) return "UNIQUE(" + type + ")";
    if (type == "Special")
      return below(2) == 0 ? object("Box", depth - 1) + ".Best" : "UNIQUE(" + set("Special", depth - 1) + ")";
    if (type == "Item")
      return below(2) == 0 ? object("Item", depth - 1) + ".Next" : "UNIQUE(" + set("Item", depth - 1) + ")";
    if (below(3) == 0) return "HomeOf(" + object("Item", depth - 1) + ")";
    return below(2) == 0 ? object("Item", depth - 1) + ".Home" : "UNIQUE(" + set("Box", depth - 1) + ")";
  }

  std::string set(const std::string& type, int depth) {
    if (depth > 0 && below(2) == 0) {
      const std::string inner = set(type, depth - 1);
      const std::string name = fresh();
      scope_.push_back({name, type});
      const std::string result = "{" + name + " IN " + inner + " WITH " + condition(depth - 1, true) + "}";
      scope_.pop_back();
      return result;
    }
    if (below(4) == 0) return type;
    if (type == "Item") {
      if (below(3) == 0) return object("Special", depth - 1) + ".Parts";
      return object("Box", depth - 1) + ".Items";
    }
    return object("Box", depth - 1) + (type == "Special" ? ".Specials" : ".Boxes");
  }

  std::string attribute(bool) {
    switch (below(6)) {
      case 0: return object("Item", 1) + ".Number";
      case 1: return object("Item", 1) + ".Weight";
      case 2: return object("Special", 1) + ".Extra";
      case 3: return object("Box", 1) + ".Size";
      case 4: return object("Box", 1) + ".Load";
      default: {
        const std::string known = variable("float");
        return known.empty() || exact_ ? object("Box", 1) + ".Load" : known;
      }
    }
  }

  std::string aggregated(int depth) {
    const std::string type = pick({"Item", "Box", "Special"});
    const std::string of = set(type, depth - 1);
    const std::string name = fresh();
    scope_.push_back({name, type});
    std::string bindings = name + " IN " + of;
    bool two = false;
    if (below(4) == 0) {
      const std::string more = set("Item", 0), second = fresh();
      scope_.push_back({second, "Item"});
      bindings += ", " + second + " IN " + more;
      two = true;
    }
    const bool exact = std::exchange(exact_, true);
    const std::string value = number(depth - 1, true);
    if (below(2) == 0) bindings += " AND (" + condition(depth - 1, true) + ")";
    exact_ = exact;
    if (two) scope_.pop_back();
    scope_.pop_back();
    // Means are not exact, so a sum of them would depend on the order.
    const std::string word =
        exact_ ? pick({"SUM", "MIN", "MAX", "COUNT"}) : pick({"SUM", "MIN", "MAX", "COUNT", "AVG", "STDEV"});
    return word + "(" + value + " WHERE " + bindings + ")";
  }

  std::string number(int depth, bool exact) {
    const bool before = std::exchange(exact_, exact_ || exact);
    std::string result;
    switch (depth <= 0 ? below(3) : below(10)) {
      case 0: result = pick({"0", "1", "2.5", "0.25", "Limit", "7"}); break;
      case 1:
      case 2: result = attribute(exact); break;
      case 3: result = "(" + number(depth - 1, exact) + " + " + number(depth - 1, exact) + ")"; break;
      case 4: result = "(" + number(depth - 1, exact) + " - " + number(depth - 1, exact) + ")"; break;
      case 5: result = "(" + number(0, exact) + " * " + number(0, exact) + ")"; break;
      case 6:
        result = exact_ ? "(" + number(depth - 1, exact) + " / " + pick({"2", "4", "0", "0.5"}) + ")"
                        : "(" + number(depth - 1, exact) + " / " + number(depth - 1, exact) + ")";
        break;
      case 7: result = "(-" + number(depth - 1, exact) + ")"; break;
      case 8:
        result = below(2) == 0
                     ? pick({"MAX", "MIN"}) + "(" + number(depth - 1, exact) + ", " + number(depth - 1, exact) + ")"
                     : "Total(" + object("Box", 1) + ")";
        break;
      default: result = aggregated(depth); break;
    }
    exact_ = before;
    return result;
  }

  std::string condition(int depth, bool exact) {
    const bool before = std::exchange(exact_, exact_ || exact);
    std::string result;
    const std::string compare = pick({" == ", " != ", " < ", " <= ", " > ", " >= "}), equal = pick({" == ", " != "});
    switch (depth <= 0 ? below(6) : below(12)) {
      case 0: result = number(depth - 1, exact) + compare + number(depth - 1, exact); break;
      case 1: result = object("Item", 1) + ".Shade" + equal + pick({"red", "green", "Color.blue"}); break;
      case 2:
        result = object("Item", 1) + ".Label" + compare + pick({"\"a\"", "\"B\"", "\"o'k\"", "\"\"", "\"a\\\"b\\\\\""});
        break;
      case 3: result = object("Item", 1) + ".Flag"; break;
      case 4:
        result = object("Item", 1) + ".When" + compare + pick({"\"2023-11-14 22:13:21\"", "\"2023-11-14 22:13:22\""});
        break;
      case 5: result = object("Box", 1) + equal + object("Box", 1); break;
      case 6: result = "(" + condition(depth - 1, exact) + " AND " + condition(depth - 1, exact) + ")"; break;
      case 7: result = "(" + condition(depth - 1, exact) + " OR " + condition(depth - 1, exact) + ")"; break;
      case 8: result = "NOT (" + condition(depth - 1, exact) + ")"; break;
      case 9: result = "(" + object("Item", 1) + ".When - " + object("Item", 1) + ".When)" + compare + "1"; break;
      default: {
        const std::string type = pick({"Item", "Special", "Box"});
        const std::string of = set(type, depth - 1), name = fresh();
        scope_.push_back({name, type});
        result = pick({"EXISTS", "FORALL"}) + "(" + name + " IN " + of + " WITH " + condition(depth - 1, true) + ")";
        scope_.pop_back();
      }
    }
    exact_ = before;
    return result;
  }

  std::mt19937_64 random_;
  std::vector<Name> scope_;
  int names_ = 0;
  bool exact_ = false;
};

/// Puts a world into a database, and takes the one before it out.
void fill(database::Connection& connection, const Model& model, const World& world) {
  connection.execute("BEGIN");
  for (const Table& table : model.tables()) {
    connection.execute("DELETE FROM " + quoted_name(table.name));
    std::vector<std::string> columns{"id"};
    if (table.has_class) columns.emplace_back("class");
    for (const Column& column : table.columns) columns.push_back(column.name);
    const auto appender = connection.append(table.name, columns);
    for (const Object& object : world.at(table.root)) {
      std::vector<database::Value> row{object.id};
      if (table.has_class) row.emplace_back(std::int64_t{object.of});
      for (const Column& column : table.columns) row.push_back(object.values.at(column.name));
      appender->row(row);
    }
    appender->finish();
  }
  connection.execute("COMMIT");
}

std::vector<Interpreter::Row> rows_of(database::Connection& connection, const Model& model, const Property& property) {
  std::vector<Interpreter::Row> rows;
  const std::size_t parameters = property.parameters.size(), conditions = property.conditions.size();
  connection.query(property_statement(property, model, connection.dialect(), {}),
                   [&](std::span<const database::Value> values) {
                     Interpreter::Row& row = rows.emplace_back();
                     for (std::size_t i = 0; i < parameters; ++i)
                       row.context.push_back(database::integer_of(values[i]));
                     for (std::size_t i = 0; i < conditions; ++i)
                       row.conditions.push_back(static_cast<int>(database::integer_of(values[parameters + i], -1)));
                     const auto real = [&](std::size_t at) {
                       return std::holds_alternative<std::monostate>(values[at]) ? std::optional<double>()
                                                                                 : database::real_of(values[at]);
                     };
                     row.confidence = real(parameters + conditions);
                     row.severity = real(parameters + conditions + 1);
                   });
  return rows;
}

void compare(const std::string& where, int cases, std::uint64_t seed) {
  const auto connection = database::Connection::open(where, true);
  const Source model_source{"model.asl", model_text};
  const Program base = compile({model_source});
  for (const std::string& sql : table_statements(*base.model, connection->dialect())) connection->execute(sql);
  for (const std::string& sql : index_statements(*base.model)) connection->execute(sql);
  constexpr int properties_of_world = 20;
  World world;
  int holding = 0, with_missing = 0;
  for (int i = 0; i < cases; ++i) {
    Generator generator(seed + static_cast<std::uint64_t>(i));
    if (i % properties_of_world == 0) {
      world = generator.world(*base.model);
      fill(*connection, *base.model, world);
    }
    const std::string text = generator.property();
    SCOPED_TRACE("case " + std::to_string(i) + "\n" + text);
    const Program program = compile({model_source, {"random.asl", text}});
    const Property& property = program.properties.at(0);
    std::vector<Interpreter::Row> expected = Interpreter(*program.model, world).evaluate(property);
    std::vector<Interpreter::Row> found;
    ASSERT_NO_THROW(found = rows_of(*connection, *program.model, property))
        << property_statement(property, *program.model, connection->dialect(), {});
    // The most severe ones come first.
    for (std::size_t k = 1; k < found.size(); ++k)
      ASSERT_TRUE(!found[k].severity || (found[k - 1].severity && *found[k - 1].severity >= *found[k].severity));
    std::ranges::sort(expected);
    std::ranges::sort(found);
    ASSERT_EQ(expected.size(), found.size());
    ASSERT_TRUE(expected == found) << property_statement(property, *program.model, connection->dialect(), {});
    holding += !found.empty();
    for (const auto& row : found) with_missing += !row.severity;
  }
  // Else there was little to compare: about a quarter hold.
  EXPECT_GT(holding, cases / 5);
  EXPECT_GT(with_missing, 0);
}

int number_of_cases(int few, int many) { return std::getenv("FULL_TESTS") != nullptr ? many : few; }

TEST(Differential, sqlite_and_the_interpreter_agree) { compare(":memory:", number_of_cases(3000, 100'000), 1); }

TEST(Differential, postgresql_and_the_interpreter_agree) {
  const char* server = std::getenv("REFRAIN_TEST_POSTGRESQL");
  if (server == nullptr) GTEST_SKIP() << "tests/apps/properties.py starts a server and runs this";
  compare(server, number_of_cases(1000, 20'000), 1'000'000);
}

}  // namespace
}  // namespace refrain::properties::test
