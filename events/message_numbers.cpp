#include "events/message_numbers.hpp"

#include "format/bytes.hpp"

namespace refrain::events {
namespace {

/// Collective operations are apart from messages, and those of all roots have one order.
std::uint32_t class_and_kind(const Record& r) {
  return is_message(r.kind) ? class_of(r.tag) << 1 | (r.kind == Kind::Receive ? 1u : 0u) : 2 * tag_classes;
}
std::int32_t peer_of(const Record& r) { return is_message(r.kind) ? r.peer : no_peer; }
std::uint64_t hash_of(const Record& r) { return is_message(r.kind) ? hash_of_tag(r.tag) : 0; }

/// Nearer numbers take few bytes as a difference.
constexpr std::int64_t near = 1 << 12;

}  // namespace

MessageNumbers::Channel& MessageNumbers::place_of(const Record& r) {
  const auto x = static_cast<std::uint32_t>(peer_of(r)) * 0x9e3779b1u +
                 static_cast<std::uint32_t>(r.communicator) * 0x85ebca6bu + class_and_kind(r) * 0xc2b2ae35u;
  return channels_[x >> 24];
}

bool MessageNumbers::is_known(const Channel& of, const Record& r) const {
  return of.epoch == epoch_ && of.peer == peer_of(r) && of.communicator == r.communicator &&
         of.class_and_kind == class_and_kind(r);
}

void MessageNumbers::know(Channel& of, const Record& r, const MessageNumber& next, std::uint64_t hash) {
  of = {r.communicator, peer_of(r), class_and_kind(r), epoch_, next, r.tag, hash};
}

void MessageNumbers::put(Record& r, const MessageNumber& number) {
  static_assert(places == 1u << 8);
  if (number.ordinal == no_ordinal) {
    r.form = NumberForm::None;
    return;
  }
  Channel& of = place_of(r);
  if (of.tag == r.tag && of.next == number && is_known(of, r)) [[likely]] {
    r.form = NumberForm::Next;
    ++of.next.ordinal;
    of.next.tags_before += of.hash;
    return;
  }
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

MessageNumber MessageNumbers::take(const Record& r) {
  if (r.form == NumberForm::None) return {};
  const std::uint64_t hash = hash_of(r);
  Channel& of = place_of(r);
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
