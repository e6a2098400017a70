#pragma once
/// Between scanner and parser: the tokens of a source. What would take the grammar more than one token of lookahead is
/// decided here.

#include <string>
#include <vector>

#include "offline/properties/source.hpp"

namespace refrain::properties {

struct Token {
  int kind = 0;  ///< the parser's kind; 0: the end
  Position at;
  std::string text;     ///< as written; for a string what it stands for
  std::string comment;  ///< the comment directly before it, without its marks
};

/// Kinds of pieces of text besides the parser's tokens.
enum Blank : int { SpaceBlank = -1, CommentBlank = -2, BadCharacter = -3, OpenComment = -4, OpenText = -5 };

/// The scanner of lexer.ll. next() returns the kind of the next piece of `text`, a token's or a Blank, and sets
/// `length` to the length of that piece.
class Lexer {
 public:
  explicit Lexer(const std::string& text);
  ~Lexer();
  Lexer(const Lexer&) = delete;
  int next(std::size_t& length);

 private:
  void* state_ = nullptr;
};

/// All tokens; the last one is the end. Words that are keywords only in certain positions are recognised here: SUM and
/// its like before `(`, CONDITION, CONFIDENCE and SEVERITY before `:`. The id of a condition, `(id)`, is distinguished
/// from an expression in parentheses. Throws SpecificationError.
std::vector<Token> scan(const Source& source);

}  // namespace refrain::properties
