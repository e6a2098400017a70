#pragma once
/// Between scanner and parser: the tokens of a source, and what of them the grammar needs more than one token ahead
/// for.

#include <string>
#include <vector>

#include "offline/properties/source.hpp"

namespace refrain::properties {

struct Token {
  int kind = 0;  ///< of the parser; 0: the end
  Position at;
  std::string text;     ///< as written; of a string what it stands for
  std::string comment;  ///< directly before it, without its marks
};

/// What the scanner knows of a piece of text beside the parser's tokens.
enum Blank : int { SpaceBlank = -1, CommentBlank = -2, BadCharacter = -3, OpenComment = -4, OpenText = -5 };

/// lexer.ll: the next piece of `text`, from its beginning: its kind, a token's or a Blank; its length is put into
/// `length`.
class Lexer {
 public:
  explicit Lexer(const std::string& text);
  ~Lexer();
  Lexer(const Lexer&) = delete;
  int next(std::size_t& length);

 private:
  void* state_ = nullptr;
};

/// All tokens, the last one being the end. Words that are keywords in certain places only are told apart here: SUM and
/// its like before `(`, CONDITION, CONFIDENCE and SEVERITY before `:`; and the id of a condition, `(id)`, from an
/// expression in parentheses. Throws SpecificationError.
std::vector<Token> scan(const Source& source);

}  // namespace refrain::properties
