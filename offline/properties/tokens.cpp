#include "offline/properties/tokens.hpp"

#include <algorithm>
#include <fmt/format.h>

#include "offline/properties/grammar.hpp"

namespace refrain::properties {
namespace {

using TokenKind = Parser::token;

enum class Where : unsigned char { Everywhere, BeforeParenthesis, BeforeColon };

struct Keyword {
  const char* word;  ///< in upper case; keywords are case-insensitive
  int kind;
  Where where;
};

constexpr Keyword keywords[] = {
    {"CLASS", TokenKind::CLASS, Where::Everywhere},
    {"EXTENDS", TokenKind::EXTENDS, Where::Everywhere},
    {"ENUM", TokenKind::ENUM, Where::Everywhere},
    {"SETOF", TokenKind::SETOF, Where::Everywhere},
    {"PROPERTY", TokenKind::PROPERTY, Where::Everywhere},
    {"REFINES", TokenKind::REFINES, Where::Everywhere},
    {"LET", TokenKind::LET, Where::Everywhere},
    {"IN", TokenKind::IN, Where::Everywhere},
    {"WITH", TokenKind::WITH, Where::Everywhere},
    {"WHERE", TokenKind::WHERE, Where::Everywhere},
    {"AND", TokenKind::AND, Where::Everywhere},
    {"OR", TokenKind::OR, Where::Everywhere},
    {"NOT", TokenKind::NOT, Where::Everywhere},
    {"TRUE", TokenKind::TRUE, Where::Everywhere},
    {"FALSE", TokenKind::FALSE, Where::Everywhere},
    {"UNIQUE", TokenKind::UNIQUE, Where::BeforeParenthesis},
    {"SUM", TokenKind::SUM, Where::BeforeParenthesis},
    {"MIN", TokenKind::MIN, Where::BeforeParenthesis},
    {"MAX", TokenKind::MAX, Where::BeforeParenthesis},
    {"AVG", TokenKind::AVG, Where::BeforeParenthesis},
    {"COUNT", TokenKind::COUNT, Where::BeforeParenthesis},
    {"STDEV", TokenKind::STDEV, Where::BeforeParenthesis},
    {"EXISTS", TokenKind::EXISTS, Where::BeforeParenthesis},
    {"FORALL", TokenKind::FORALL, Where::BeforeParenthesis},
    {"CONDITION", TokenKind::CONDITION, Where::BeforeColon},
    {"CONFIDENCE", TokenKind::CONFIDENCE, Where::BeforeColon},
    {"SEVERITY", TokenKind::SEVERITY, Where::BeforeColon},
};

char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

std::string uppercase(const std::string& text) {
  std::string result = text;
  std::ranges::transform(result, result.begin(), upper);
  return result;
}

/// What a string literal stands for; `\x` stands for x.
std::string unquoted(const std::string& literal) {
  std::string result;
  for (std::size_t i = 1; i + 1 < literal.size(); ++i) {
    if (literal[i] == '\\') ++i;
    result += literal[i];
  }
  return result;
}

/// A comment without its marks, in one line.
std::string comment_text(std::string_view comment) {
  comment.remove_prefix(2);
  if (comment.ends_with("*/")) comment.remove_suffix(2);
  std::string result;
  for (const char c : comment) {
    const bool blank = c == ' ' || c == '\t' || c == '\n' || c == '\r' || (c == '*' && result.empty());
    if (!blank) result += c;
    else if (!result.empty() && result.back() != ' ') result += ' ';
  }
  if (result.ends_with(' ')) result.pop_back();
  return result;
}

void go_over(Position& at, std::string_view text) {
  for (const char c : text) {
    if (c == '\n') at = {at.line + 1, 1};
    else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) ++at.column;
  }
}

std::vector<Token> pieces(const Source& source) {
  std::vector<Token> tokens;
  Lexer lexer(source.text);
  Position at;
  std::size_t begin = 0, length = 0;
  std::string comment;
  int newlines = 0;  ///< since the last comment or token
  for (int kind; (kind = lexer.next(length)) != 0; begin += length) {
    const std::string text = source.text.substr(begin, length);
    switch (kind) {
      case SpaceBlank:
        newlines += static_cast<int>(std::ranges::count(text, '\n'));
        if (newlines > 1) comment.clear();
        break;
      case CommentBlank:
        comment += (comment.empty() ? "" : " ") + comment_text(text);
        newlines = 0;
        break;
      case OpenComment: throw SpecificationError(source, at, "this comment has no end: */ is missing");
      case OpenText: throw SpecificationError(source, at, "this string has no end in its line: \" is missing");
      case BadCharacter: {
        const auto c = static_cast<unsigned char>(text[0]);
        throw SpecificationError(source, at,
                                 c > 0x20 && c < 0x7F
                                     ? fmt::format("'{}' has no meaning here", text)
                                     : fmt::format("a byte {:#04x} outside of a string or comment", c));
      }
      default:
        tokens.push_back({kind, at, kind == TokenKind::TEXT ? unquoted(text) : text, std::move(comment)});
        comment.clear();
        newlines = 0;
    }
    go_over(at, text);
  }
  tokens.push_back({0, at, {}, {}});
  return tokens;
}

void tell_keywords(std::vector<Token>& tokens) {
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    if (tokens[i].kind != TokenKind::NAME || (i > 0 && tokens[i - 1].kind == '.')) continue;
    const std::string word = uppercase(tokens[i].text);
    const auto* row = std::ranges::find_if(keywords, [&](const Keyword& k) { return word == k.word; });
    if (row == std::end(keywords)) continue;
    const int next = tokens[i + 1].kind;
    if (row->where == Where::Everywhere || (row->where == Where::BeforeParenthesis && next == '(') ||
        (row->where == Where::BeforeColon && next == ':'))
      tokens[i].kind = row->kind;
  }
}

/// Whether `(name)` before this token is the id of a condition: no expression continues with such a token.
bool follows_id(int kind) {
  constexpr int kinds[] = {TokenKind::ARROW,
                           TokenKind::NAME,
                           TokenKind::INTEGER,
                           TokenKind::REAL,
                           TokenKind::TEXT,
                           TokenKind::NOT,
                           TokenKind::TRUE,
                           TokenKind::FALSE,
                           TokenKind::UNIQUE,
                           TokenKind::SUM,
                           TokenKind::MIN,
                           TokenKind::MAX,
                           TokenKind::AVG,
                           TokenKind::COUNT,
                           TokenKind::STDEV,
                           TokenKind::EXISTS,
                           TokenKind::FORALL,
                           '(',
                           '{'};
  return std::ranges::find(kinds, kind) != std::end(kinds);
}

void tell_ids(std::vector<Token>& tokens) {
  for (std::size_t i = 1; i + 3 < tokens.size(); ++i) {
    const int before = tokens[i - 1].kind;
    const bool may_be = before == ':' || before == TokenKind::OR || before == ',' || before == '(';
    if (may_be && tokens[i].kind == '(' && tokens[i + 1].kind == TokenKind::NAME && tokens[i + 2].kind == ')' &&
        follows_id(tokens[i + 3].kind))
      tokens[i].kind = TokenKind::OPEN_ID;
  }
}

/// Recognises the MAX of `CONFIDENCE: MAX(a, b);` and `SEVERITY: MAX((id) -> a, b);`, which lists entries and is no
/// expression. MAX as part of a larger expression, or of a set, is not meant.
void tell_lists(std::vector<Token>& tokens) {
  for (std::size_t i = 2; i + 1 < tokens.size(); ++i) {
    if (tokens[i].kind != TokenKind::MAX || tokens[i - 1].kind != ':' ||
        (tokens[i - 2].kind != TokenKind::CONFIDENCE && tokens[i - 2].kind != TokenKind::SEVERITY))
      continue;
    int depth = 0;
    bool is_list = true;
    std::size_t k = i + 1;
    for (; k < tokens.size(); ++k) {
      const int kind = tokens[k].kind;
      if (kind == '(' || kind == '{' || kind == TokenKind::OPEN_ID) ++depth;
      else if ((kind == ')' || kind == '}') && --depth == 0) break;
      else if (kind == TokenKind::WHERE && depth == 1) is_list = false;
    }
    if (is_list && k + 1 < tokens.size() && tokens[k + 1].kind == ';') tokens[i].kind = TokenKind::MAX_OF_LIST;
  }
}

}  // namespace

std::vector<Token> scan(const Source& source) {
  std::vector<Token> tokens = pieces(source);
  tell_keywords(tokens);
  tell_ids(tokens);
  tell_lists(tokens);
  return tokens;
}

}  // namespace refrain::properties
