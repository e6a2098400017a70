/// The runtime's own memory and text functions; see own_functions.c. The compiler calls the first four on its own
/// account. All of them are async-signal-safe.

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct __attribute__((packed, may_alias)) {
  uint64_t low, high;
} Pair;
typedef uint64_t Word __attribute__((aligned(1), may_alias));
typedef uint32_t Half __attribute__((aligned(1), may_alias));
typedef uint16_t Quarter __attribute__((aligned(1), may_alias));

/// Up to 32 bytes: everything is read before anything is written, so the two ranges may overlap.
static void move_few(unsigned char* to, const unsigned char* from, size_t size) {
  if (size >= 16) {
    const Pair first = *(const Pair*)from, last = *(const Pair*)(from + size - 16);
    *(Pair*)to = first;
    *(Pair*)(to + size - 16) = last;
  } else if (size >= 8) {
    const Word first = *(const Word*)from, last = *(const Word*)(from + size - 8);
    *(Word*)to = first;
    *(Word*)(to + size - 8) = last;
  } else if (size >= 4) {
    const Half first = *(const Half*)from, last = *(const Half*)(from + size - 4);
    *(Half*)to = first;
    *(Half*)(to + size - 4) = last;
  } else if (size >= 2) {
    const Quarter first = *(const Quarter*)from, last = *(const Quarter*)(from + size - 2);
    *(Quarter*)to = first;
    *(Quarter*)(to + size - 2) = last;
  } else if (size) {
    *to = *from;
  }
}

void* memcpy(void* restrict to, const void* restrict from, size_t size) { return memmove(to, from, size); }

void* memmove(void* to, const void* from, size_t size) {
  unsigned char* out = to;
  const unsigned char* in = from;
  if (size <= 32) {
    move_few(out, in, size);
  } else if ((uintptr_t)out - (uintptr_t)in >= size) {  // `out` lies before `in`, or behind its end
    const Pair last = *(const Pair*)(in + size - 16);
    size_t at = 0;
    for (; at + 16 < size; at += 16) *(Pair*)(out + at) = *(const Pair*)(in + at);
    *(Pair*)(out + size - 16) = last;
  } else {
    const Pair first = *(const Pair*)in;
    for (size_t left = size; left > 16; left -= 16) *(Pair*)(out + left - 16) = *(const Pair*)(in + left - 16);
    *(Pair*)out = first;
  }
  return to;
}

void* memset(void* to, int value, size_t size) {
  unsigned char* out = to;
  const uint64_t bytes = (unsigned char)value * 0x0101010101010101u;
  if (size < 16) {
    for (size_t i = 0; i < size; ++i) out[i] = (unsigned char)value;
    return to;
  }
  const Pair pattern = {bytes, bytes};
  for (size_t at = 0; at + 16 < size; at += 16) *(Pair*)(out + at) = pattern;
  *(Pair*)(out + size - 16) = pattern;
  return to;
}

int memcmp(const void* a, const void* b, size_t size) {
  const unsigned char *left = a, *right = b;
  while (size >= 8 && *(const Word*)left == *(const Word*)right) left += 8, right += 8, size -= 8;
  for (; size; ++left, ++right, --size)
    if (*left != *right) return *left < *right ? -1 : 1;
  return 0;
}

void* memchr(const void* memory, int value, size_t size) {
  for (const unsigned char* at = memory; size; ++at, --size)
    if (*at == (unsigned char)value) return (void*)at;
  return NULL;
}

size_t strlen(const char* text) {
  const char* end = text;
  while (*end) ++end;
  return (size_t)(end - text);
}
size_t strnlen(const char* text, size_t most) {
  size_t length = 0;
  while (length < most && text[length]) ++length;
  return length;
}
int strncmp(const char* a, const char* b, size_t most) {
  for (; most; ++a, ++b, --most) {
    if (*a != *b) return (unsigned char)*a < (unsigned char)*b ? -1 : 1;
    if (!*a) break;
  }
  return 0;
}
int strcmp(const char* a, const char* b) { return strncmp(a, b, SIZE_MAX); }
char* strncpy(char* restrict to, const char* restrict from, size_t size) {
  size_t at = 0;
  for (; at < size && from[at]; ++at) to[at] = from[at];
  memset(to + at, 0, size - at);
  return to;
}
char* strchr(const char* text, int wanted) {
  for (;; ++text) {
    if (*text == (char)wanted) return (char*)text;
    if (!*text) return NULL;
  }
}
char* strrchr(const char* text, int wanted) {
  const char* found = NULL;
  for (;; ++text) {
    if (*text == (char)wanted) found = text;
    if (!*text) return (char*)found;
  }
}
size_t strcspn(const char* text, const char* stops) {
  size_t length = 0;
  while (text[length] && !strchr(stops, text[length])) ++length;
  return length;
}
