#!/bin/sh
# Everything that the tick handler and the MPI entry can reach, linked into one object, may need only what the list allows:
# nothing that allocates, locks or calls the loader. Usage: handler_symbols.sh OBJECT...
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tick=$(nm --defined-only "$@" 2>/dev/null | awk '/ T .*handle_tick/ {print $3; exit}')
entry=$(nm --defined-only "$@" 2>/dev/null | awk '/ T .*enter_region/ {print $3; exit}')
# What calls note of their messages: by adapters, which are not among the objects.
events=$(nm --defined-only "$@" 2>/dev/null | awk '/ T .*note_communication/ {print $3; exit}')
[ -n "$tick" ] && [ -n "$entry" ] && [ -n "$events" ] || { echo "the handler's entries were not found"; exit 1; }
echo '{ local: *; };' >"$work/hidden.map"
ld -shared --gc-sections -e "$tick" -u "$entry" -u "$events" --version-script="$work/hidden.map" "$@" -o "$work/handler.o"
allowed='clock_gettime syscall __errno_location memcpy memset memmove memcmp _dl_find_object _GLOBAL_OFFSET_TABLE_'
bad=0
for symbol in $(nm -D -u "$work/handler.o" | awk '{print $2}'); do
  case " $allowed " in
    *" $symbol "*) ;;
    *) echo "handler code needs $symbol"; bad=1 ;;
  esac
done
count=$(nm --defined-only "$work/handler.o" | grep -c ' [Tt] ')
echo "$count functions reachable from $tick and $entry"
[ "$count" -ge 10 ] || { echo "too few: the walk through the objects is broken"; exit 1; }
exit $bad
