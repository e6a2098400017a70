#pragma once
/// A pattern of inefficiency: its name, the pattern of which it is a special case, and its use of compound events.
///
/// Each pattern of a search has a quantity of its own (Findings), to which it adds time with Search::add(). Its
/// severity is the sum in that quantity, and is contained in its parent's, as the intervals of time are.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "offline/patterns/search.hpp"

namespace refrain::patterns {

/// What users can set.
struct Parameters {
  std::int32_t master = 0;     ///< rank of the job
  double frequent_s = 1e-5;    ///< calls that are shorter on average are frequent communication
  double big_bytes = 1 << 20;  ///< messages that are longer on average are big
  double uneven = 0.5;         ///< threshold of the standard deviation over processes, as a share of the mean
};

struct About {
  std::string name, parent;  ///< parent: empty for a root
  std::string title;         ///< in a few words
  bool is_wait = false;      ///< a kind of waiting by itself, not a special case of one
};

class Pattern {
 public:
  explicit Pattern(About about) : about_(std::move(about)) {}
  virtual ~Pattern() = default;
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  const About& about() const { return about_; }
  virtual void subscribe(Search& search) = 0;
  /// Called after the pass, before the functions below.
  virtual void wrap_up() {}
  /// nullopt: the severity is the sum in its quantity. Else the severity in seconds, for no call path and location.
  virtual std::optional<double> severity_s() const { return std::nullopt; }
  /// Further results: names of operations or call paths.
  virtual std::vector<std::string> results() const { return {}; }
  /// From 0 (the result says nothing) to 1. Called after the pass.
  virtual double confidence(const SearchCounts&) const { return 1; }

  Quantity quantity() const { return quantity_; }
  void set_quantity(Quantity quantity) { quantity_ = quantity; }

 private:
  About about_;
  Quantity quantity_ = 0;
};

using Patterns = std::vector<std::unique_ptr<Pattern>>;

/// Name of the pattern of all waiting.
inline constexpr const char* waiting_name = "waiting";

/// Patterns of waiting that come with Refrain, parents first.
Patterns waiting_patterns(const Parameters& parameters);

}  // namespace refrain::patterns
