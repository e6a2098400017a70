#include "offline/properties/reader.hpp"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "offline/properties/grammar.hpp"

namespace refrain::properties {
namespace {

/// Deeper expressions would exhaust the stack of the functions that walk over them. A chain of additions counts, too.
constexpr int most_nested = 400;

/// A token as it is written. A keyword is called one, since that can surprise.
std::string found_text(const Token& token) {
  if (token.kind == 0) return "the end of the file";
  if (token.kind == Parser::token::TEXT) return "a string";
  const bool is_keyword = token.kind > 255 && token.kind != Parser::token::NAME && !token.text.empty() &&
                          std::isalpha(static_cast<unsigned char>(token.text[0])) != 0;
  return is_keyword ? fmt::format("the keyword '{}'", token.text) : fmt::format("'{}'", token.text);
}

/// The expected tokens as text. The many tokens that can begin or continue an expression are summarised.
std::string expected_text(std::vector<std::string> words) {
  const auto has = [&](const char* word) { return std::ranges::find(words, word) != words.end(); };
  const auto drop = [&](std::initializer_list<const char*> some) {
    std::erase_if(words, [&](const std::string& word) { return std::ranges::find(some, word) != some.end(); });
  };
  std::vector<std::string> said;
  if (has("a number") && has("a name")) {
    drop({"a name",   "a number", "a number with a fraction",
          "a string", "TRUE",     "FALSE",
          "UNIQUE",   "SUM",      "MIN",
          "MAX",      "AVG",      "COUNT",
          "STDEV",    "EXISTS",   "FORALL",
          "NOT",      "'-'",      "'('",
          "'{'",      "(id)",     "MAX of a list"});
    said.emplace_back("an expression");
  }
  if (has("'+'") && has("'*'")) {
    drop({"'+'", "'-'", "'*'", "'/'", "'.'", "'<'", "'>'", "==", "!=", "<=", ">=", "AND", "OR"});
    said.emplace_back("an operator");
  }
  for (std::string& word : words) said.push_back(std::move(word));
  if (said.size() > 1) {
    const std::string last = said.back();
    said.pop_back();
    return fmt::format("{} or {}", fmt::join(said, ", "), last);
  }
  return said.empty() ? "nothing" : said[0];
}

}  // namespace

// NOLINTNEXTLINE: the parser asks for tokens by this name.
int yylex(Parser::value_type* value, Position* location, ParserInput& input) {
  const Token& token = input.tokens[std::min(input.next++, input.tokens.size() - 1)];
  *location = token.at;
  if (token.kind == Parser::token::NAME || token.kind == Parser::token::INTEGER || token.kind == Parser::token::REAL ||
      token.kind == Parser::token::TEXT)
    value->emplace<std::string>(token.text);
  return token.kind;
}

void Parser::error(const location_type& at, const std::string& message) {
  throw SpecificationError(input.source, at, message);
}

void Parser::report_syntax_error(const context& context) const {
  const Token& found = input.tokens[std::min(input.next, input.tokens.size()) - 1];
  symbol_kind_type kinds[YYNTOKENS];
  const int count = context.expected_tokens(kinds, YYNTOKENS);
  std::vector<std::string> words;
  for (int i = 0; i < count; ++i) words.push_back(symbol_name(kinds[i]));
  const bool compares = found.kind == '=' && std::ranges::find(words, "==") != words.end();
  throw SpecificationError(input.source, found.at,
                           fmt::format("{} is expected here, not {}{}", expected_text(std::move(words)),
                                       found_text(found), compares ? " (== compares)" : ""));
}

namespace {

void refuse_deep(const Source& source, const std::vector<Token>& tokens) {
  // Between two `;` an expression is at most as deep as it has operators and brackets.
  int depth = 0;
  for (const Token& token : tokens) {
    if (token.kind == ';') depth = 0;
    else if ((token.kind < 256 && token.kind != ',' && token.kind != ':') || token.kind == Parser::token::NOT ||
             token.kind == Parser::token::AND || token.kind == Parser::token::OR)
      ++depth;
    if (depth > most_nested)
      throw SpecificationError(source, token.at,
                               fmt::format("more than {} operators and brackets without a ';'", most_nested));
  }
}

}  // namespace

syntax::Specification parse(const Source& source) {
  ParserInput input{source, scan(source), 0, {}};
  refuse_deep(source, input.tokens);
  Parser parser(input);
  parser.parse();
  return std::move(input.result);
}

}  // namespace refrain::properties
