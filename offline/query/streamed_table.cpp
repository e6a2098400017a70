#include "offline/query/streamed_table.hpp"

#include <algorithm>
#include <new>
#include <sqlite3.h>
#include <string>

namespace refrain::query {
namespace {

/// The data of a table that the connection holds.
struct Registered {
  const StreamedTable* table;
  Failure* failure;
};

// SQLite's structs come first, so that pointers to ours serve as pointers to them.
struct TableHandle : sqlite3_vtab {
  Registered of;
};
struct CursorHandle : sqlite3_vtab_cursor {
  std::unique_ptr<RowStream> rows;
};

/// Turns exceptions into codes: none may pass through SQLite.
template <class Do>
int guarded(const Registered& of, const Do& run) {
  try {
    run();
    return SQLITE_OK;
  } catch (const std::bad_alloc&) {
    return SQLITE_NOMEM;
  } catch (...) {
    of.failure->why = std::current_exception();
    return SQLITE_ERROR;
  }
}

const Registered& of_cursor(const sqlite3_vtab_cursor* cursor) {
  return static_cast<const TableHandle*>(cursor->pVtab)->of;
}

int connect_table(sqlite3* database, void* data, int, const char* const*, sqlite3_vtab** made, char**) {
  const auto& of = *static_cast<const Registered*>(data);
  const int result = sqlite3_declare_vtab(database, of.table->declaration);
  if (result != SQLITE_OK) return result;
  auto* handle = new (std::nothrow) TableHandle{};
  if (handle == nullptr) return SQLITE_NOMEM;
  handle->of = of;
  *made = handle;
  return SQLITE_OK;
}

int disconnect_table(sqlite3_vtab* table) {
  delete static_cast<TableHandle*>(table);
  return SQLITE_OK;
}

/// A constraint in the plan has two characters: the index of its column in `bounded`, and one of these operators.
constexpr char equal = '=', above = '>', at_least = ')', below = '<', at_most = '(';
char sign_of(unsigned char operation) {
  switch (operation) {
    case SQLITE_INDEX_CONSTRAINT_EQ: return equal;
    case SQLITE_INDEX_CONSTRAINT_GT: return above;
    case SQLITE_INDEX_CONSTRAINT_GE: return at_least;
    case SQLITE_INDEX_CONSTRAINT_LT: return below;
    case SQLITE_INDEX_CONSTRAINT_LE: return at_most;
    default: return 0;
  }
}
constexpr char first_place = 'a';

int plan_rows(sqlite3_vtab* handle, sqlite3_index_info* info) {
  const Registered& of = static_cast<const TableHandle*>(handle)->of;
  return guarded(of, [&] {
    constexpr double share_of_range = 4;
    const auto& bounded = of.table->bounded;
    double rows = of.table->rows, read = rows;
    std::string text;
    int arguments = 0;
    for (int i = 0; i < info->nConstraint; ++i) {
      const auto& constraint = info->aConstraint[i];
      const char sign = sign_of(constraint.op);
      const auto at = std::ranges::find(bounded, constraint.iColumn, &StreamedTable::Bounded::column);
      if (!constraint.usable || sign == 0 || at == bounded.end()) continue;
      text += static_cast<char>(first_place + (at - bounded.begin()));
      text += sign;
      info->aConstraintUsage[i].argvIndex = ++arguments;  // SQLite also checks each row itself
      const double fewer = sign == equal ? std::max(at->values, 1.0) : share_of_range;
      rows /= fewer;
      if (at->is_quicker) read /= fewer;
    }
    const auto& order = of.table->order;
    bool is_ordered = info->nOrderBy > 0 && static_cast<std::size_t>(info->nOrderBy) <= order.size();
    for (int i = 0; is_ordered && i < info->nOrderBy; ++i)
      is_ordered = !info->aOrderBy[i].desc && info->aOrderBy[i].iColumn == order[static_cast<std::size_t>(i)];
    info->orderByConsumed = is_ordered;
    info->estimatedRows = static_cast<sqlite3_int64>(std::max(rows, 1.0));
    constexpr double to_open = 10;
    info->estimatedCost = to_open + std::max(read, 1.0);
    info->idxStr = sqlite3_mprintf("%s", text.c_str());
    if (info->idxStr == nullptr) throw std::bad_alloc();
    info->needToFreeIdxStr = 1;
  });
}

int open_cursor(sqlite3_vtab*, sqlite3_vtab_cursor** made) {
  auto* cursor = new (std::nothrow) CursorHandle{};
  if (cursor == nullptr) return SQLITE_NOMEM;
  *made = cursor;
  return SQLITE_OK;
}

int close_cursor(sqlite3_vtab_cursor* cursor) {
  delete static_cast<CursorHandle*>(cursor);
  return SQLITE_OK;
}

void narrow(Bound& bound, char sign, std::int64_t value) {
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                         most = std::numeric_limits<std::int64_t>::max();
  if (sign == equal || sign == at_least) bound.first = std::max(bound.first, value);
  if (sign == equal || sign == at_most) bound.last = std::min(bound.last, value);
  if (sign == above && value < most) bound.first = std::max(bound.first, value + 1);
  if (sign == below && value > least) bound.last = std::min(bound.last, value - 1);
}

int first_row(sqlite3_vtab_cursor* handle, int, const char* text, int count, sqlite3_value** values) {
  auto* cursor = static_cast<CursorHandle*>(handle);
  const Registered& of = of_cursor(handle);
  return guarded(of, [&] {
    std::vector<Bound> bounds(of.table->bounded.size());
    // A value that is not an integer sets no bound: SQLite compares it by its own rules.
    for (int i = 0; i < count; ++i)
      if (sqlite3_value_numeric_type(values[i]) == SQLITE_INTEGER)
        narrow(bounds[static_cast<std::size_t>(text[2 * i] - first_place)], text[2 * i + 1],
               sqlite3_value_int64(values[i]));
    cursor->rows = of.table->open(bounds);
  });
}

int next_row(sqlite3_vtab_cursor* handle) {
  auto* cursor = static_cast<CursorHandle*>(handle);
  return guarded(of_cursor(handle), [&] { cursor->rows->next(); });
}

int is_behind_rows(sqlite3_vtab_cursor* handle) {
  const auto* cursor = static_cast<const CursorHandle*>(handle);
  return !cursor->rows || cursor->rows->at_end();
}

int value_of_row(sqlite3_vtab_cursor* handle, sqlite3_context* to, int number) {
  const Number value = static_cast<const CursorHandle*>(handle)->rows->at(number);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) sqlite3_result_int64(to, *integer);
  else if (const auto* real = std::get_if<double>(&value)) sqlite3_result_double(to, *real);
  else sqlite3_result_null(to);
  return SQLITE_OK;
}

int row_id(sqlite3_vtab_cursor* handle, sqlite3_int64* id) {
  *id = static_cast<const CursorHandle*>(handle)->rows->id();
  return SQLITE_OK;
}

/// Without a create function the table exists under the module's name, in every connection that has the module.
constexpr sqlite3_module streamed_module = [] {
  sqlite3_module module{};
  module.xConnect = connect_table;
  module.xBestIndex = plan_rows;
  module.xDisconnect = disconnect_table;
  module.xOpen = open_cursor;
  module.xClose = close_cursor;
  module.xFilter = first_row;
  module.xNext = next_row;
  module.xEof = is_behind_rows;
  module.xColumn = value_of_row;
  module.xRowid = row_id;
  return module;
}();

}  // namespace

int add_streamed_table(sqlite3* database, const char* name, const StreamedTable& table, Failure& failure) {
  auto* of = new (std::nothrow) Registered{&table, &failure};
  if (of == nullptr) return SQLITE_NOMEM;
  return sqlite3_create_module_v2(database, name, &streamed_module, of,
                                  [](void* data) { delete static_cast<Registered*>(data); });
}

}  // namespace refrain::query
