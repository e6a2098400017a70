/* The pieces of a specification. tokens.cpp tells keywords from names. */
%top{
#include "offline/properties/grammar.hpp"
#include "offline/properties/tokens.hpp"
}
%option reentrant noyywrap nounput noinput nodefault 8bit never-interactive prefix="refrain_asl_"
%{
using token = refrain::properties::Parser::token;
using namespace refrain::properties;
%}
name      [A-Za-z_][A-Za-z0-9_]*
digits    [0-9]+
exponent  [eE][-+]?{digits}
%%
[ \t\r\n\f]+                      return SpaceBlank;
"//"[^\n]*                        return CommentBlank;
"/*"([^*]|\*+[^*/])*\*+"/"        return CommentBlank;
"/*"                              return OpenComment;
{name}                            return token::NAME;
{digits}                          return token::INTEGER;
{digits}"."{digits}{exponent}?    return token::REAL;
{digits}{exponent}                return token::REAL;
\"([^"\\\n]|\\[^\n])*\"           return token::TEXT;
\"                                return OpenText;
"=="                              return token::EQUAL;
"!="|"<>"                         return token::UNEQUAL;
"<="                              return token::AT_MOST;
">="                              return token::AT_LEAST;
"->"                              return token::ARROW;
"&&"                              return token::AND;
"||"                              return token::OR;
"!"                               return token::NOT;
[-+*/<>=(){}:;,.]                 return yytext[0];
.                                 return BadCharacter;
%%
namespace refrain::properties {

Lexer::Lexer(const std::string& text) {
  refrain_asl_lex_init(&state_);
  refrain_asl__scan_bytes(text.data(), static_cast<int>(text.size()), state_);
}

Lexer::~Lexer() { refrain_asl_lex_destroy(state_); }

int Lexer::next(std::size_t& length) {
  const int kind = refrain_asl_lex(state_);
  length = kind == 0 ? 0 : static_cast<std::size_t>(refrain_asl_get_leng(state_));
  return kind;
}

}  // namespace refrain::properties
