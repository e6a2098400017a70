#pragma once
/// Functions that the actions of grammar.yy call. Included by the parser only.

#include <charconv>
#include <fmt/format.h>
#include <utility>

namespace refrain::properties {
namespace {

using syntax::ExpressionPtr;
using Kind = syntax::Expression::Kind;

template <class... Parts>
ExpressionPtr node(Kind kind, Position at, std::string text, Parts... parts) {
  auto result = std::make_unique<syntax::Expression>();
  result->kind = kind;
  result->at = at;
  result->text = std::move(text);
  (result->parts.push_back(std::move(parts)), ...);
  return result;
}

ExpressionPtr binary(Position at, const char* operation, ExpressionPtr left, ExpressionPtr right) {
  return node(Kind::Binary, at, operation, std::move(left), std::move(right));
}

/// An expression over the members of a set that fulfil `condition`; null: over all members.
ExpressionPtr over(Kind kind, Position at, syntax::Binding binding, ExpressionPtr condition) {
  ExpressionPtr result = node(kind, at, {});
  result->bindings.push_back(std::move(binding));
  if (condition) result->parts.push_back(std::move(condition));
  return result;
}

ExpressionPtr aggregate(Position at, syntax::Aggregate aggregate, ExpressionPtr value, Elements elements) {
  ExpressionPtr result = node(Kind::Aggregate, at, {}, std::move(value));
  result->aggregate = aggregate;
  result->bindings = std::move(elements.bindings);
  if (elements.condition) result->parts.push_back(std::move(elements.condition));
  return result;
}

ExpressionPtr extremum(Position at, syntax::Aggregate which, std::vector<ExpressionPtr> values) {
  ExpressionPtr result = node(Kind::Extremum, at, {});
  result->aggregate = which;
  result->parts = std::move(values);
  return result;
}

ExpressionPtr boolean(Position at, bool value) {
  ExpressionPtr result = node(Kind::Boolean, at, {});
  result->integer = value;
  return result;
}

ExpressionPtr integer(const ParserInput& input, Position at, const std::string& text) {
  ExpressionPtr result = node(Kind::Integer, at, {});
  const auto read = std::from_chars(text.data(), text.data() + text.size(), result->integer);
  if (read.ec != std::errc())
    throw SpecificationError(
        input.source, at,
        fmt::format("{} is too large for a number without a fraction; with one it is {}.0", text, text));
  return result;
}

ExpressionPtr real(const ParserInput& input, Position at, const std::string& text) {
  ExpressionPtr result = node(Kind::Real, at, {});
  const auto read = std::from_chars(text.data(), text.data() + text.size(), result->real);
  if (read.ec != std::errc()) throw SpecificationError(input.source, at, text + " is outside of what a float can be");
  return result;
}

/// The comment before a declaration that begins at `at`.
std::string comment_before(const ParserInput& input, Position at) {
  for (const Token& token : input.tokens)
    if (token.at == at) return token.comment;
  return {};
}

}  // namespace
}  // namespace refrain::properties
