#include "events/message_numbers.hpp"

#include "format/bytes.hpp"

namespace refrain::events {
namespace {

std::uint64_t hash_of(const Record& r) { return is_message(r.kind) ? hash_of_tag(r.tag) : 0; }

/// Differences below this take few bytes.
constexpr std::int64_t near = 1 << 12;

}  // namespace

void MessageNumbers::know(Channel& of, const Record& r, const MessageNumber& next, std::uint64_t hash) {
  of = {r.communicator, peer_of(r), bucket_and_kind(r), epoch_, next, r.tag, hash};
}

void MessageNumbers::put_other(Record& r, const MessageNumber& number) {
  if (number.ordinal == no_ordinal) {
    r.form = NumberForm::None;
    return;
  }
  Channel& of = slot_of(r);
  const std::uint64_t hash = hash_of(r);
  const bool is_one_tag = number.tags_before == number.ordinal * hash;
  if (is_known(of, r) && of.next == number) {
    r.form = NumberForm::Next;
  } else if (const auto difference = static_cast<std::int64_t>(number.ordinal - of.next.ordinal);
             is_one_tag && is_known(of, r) && difference > -near && difference < near) {
    r.form = NumberForm::Near;
    r.ordinal = format::zigzag(difference);
  } else {
    r.form = is_one_tag ? NumberForm::OneTag : NumberForm::Full;
    r.ordinal = number.ordinal;
    if (!is_one_tag) r.tags_before = number.tags_before;
  }
  know(of, r, {number.ordinal + 1, number.tags_before + hash}, hash);
}

/// Takes a number that is not the next one with the same tag.
MessageNumber MessageNumbers::take_other(const Record& r, Channel& of) {
  if (r.form == NumberForm::None) return {};
  const std::uint64_t hash = hash_of(r);
  MessageNumber number;
  switch (r.form) {
    case NumberForm::Next:
      if (!is_known(of, r)) return {};
      number = of.next;
      break;
    case NumberForm::Near:
      if (!is_known(of, r)) return {};
      number.ordinal = of.next.ordinal + static_cast<std::uint64_t>(format::unzigzag(r.ordinal));
      number.tags_before = number.ordinal * hash;
      break;
    case NumberForm::OneTag: number = {r.ordinal, r.ordinal * hash}; break;
    default: number = {r.ordinal, r.tags_before}; break;
  }
  know(of, r, {number.ordinal + 1, number.tags_before + hash}, hash);
  return number;
}

}  // namespace refrain::events
