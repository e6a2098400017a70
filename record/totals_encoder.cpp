#include "record/totals_encoder.hpp"

#include "format/time_rules.hpp"

namespace refrain::record {

namespace {

using format::PathClaim;
using platform::GrowableArray;
using Values = GrowableArray<std::int64_t>;

/// The sums of the current location. Functions return false if there is no memory.
class LocationSums {
 public:
  LocationSums(const RankRecord& record, double ticks_per_second)
      : record_(record), ticks_per_second_(ticks_per_second), extras_(record.extra_metrics.size()) {}

  /// Reserves room for the largest unit at once, because growing step by step costs more in the kernel than all the
  /// sums.
  bool create(std::size_t path_count) {
    std::size_t most = 0;
    for (const LocationRecord& location : record_.locations)
      for (const UnitRecord& unit : location.units) most = std::max(most, unit.values.size());
    return index_of_path_.resize(path_count) && paths_.reserve(most) && sums_.reserve(most * width()) &&
           rows_.reserve(most) && unit_paths_.reserve(most) && unit_extras_.reserve(most * extras_) &&
           mpi_.reserve(most) && user_.reserve(most) && room_.reserve(most + 1);
  }

  bool add_all(const LocationRecord& location, Paths paths) {
    begin();
    const auto cost = [&](measurement::OwnTime of, const CalibratedCost& calibrated) {
      return format::cost_of(location.own_times[static_cast<std::size_t>(of)], calibrated.median);
    };
    const format::TimeConstants constants{
        cost(measurement::OwnTime::Call, record_.call_cost), cost(measurement::OwnTime::Tick, record_.tick_cost),
        ticks_per_second_, true, location.losses[static_cast<std::size_t>(measurement::Loss::RunDelayUnknown)] == 0};
    for (const UnitRecord& unit : location.units)
      if (!collect_unit(unit, location, paths) || !divide_time(unit, constants) || !divide_extras(unit)) return false;
    return true;
  }

  bool encode(Encoder& out) {
    for (const auto& column : format::total_columns) out.signed_varint(totals_.*column.total);
    out.real(totals_.weight_user_squared);
    for (const auto& column : format::time_columns) out.signed_varint(times_.*column.time);
    for (const auto& of : {extra_totals_, extra_no_path_})
      for (std::size_t m = 0; m < extras_; ++m) out.signed_varint(of[m]);
    Numbers order;
    for (std::uint32_t index = 0; index < paths_.size(); ++index)
      if (!all_zero({sums(index), width()}) && !order.push_back(index)) return false;
    std::sort(order.begin(), order.end(),
              [&](std::uint32_t a, std::uint32_t b) { return paths_[a].path < paths_[b].path; });
    out.varint(order.size());
    std::uint32_t last_path = 0;
    for (const std::uint32_t index : order) {
      const auto [path, kind, has_columns] = paths_[index];
      out.varint(path - last_path);
      last_path = path;
      out.signed_varint(*ticks(index));
      for (std::size_t c = 0; c < kind_columns(kind).count; ++c) out.signed_varint(columns(index)[c]);
      if (!measurement::has_extra_columns(kind)) continue;
      for (std::size_t m = 0; m < extras_; ++m) out.signed_varint(extras(index)[m]);
    }
    return true;
  }

 private:
  /// A call path of the location.
  struct LocationPath {
    std::uint32_t path;
    NodeKind kind;
    bool has_columns;  ///< some unit had values, so a minimum has begun
  };
  /// A call path in the unit; its extra metrics are in `unit_extras_`.
  struct UnitPath {
    std::uint32_t index;
    NodeKind kind;
    PathClaim claim;
  };

  // The sums of a call path: ticks, columns, shares of the extra metrics.
  std::size_t width() const { return 1 + max_columns + extras_; }
  std::int64_t* sums(std::uint32_t index) { return &sums_[index * width()]; }
  std::int64_t* ticks(std::uint32_t index) { return sums(index); }
  std::int64_t* columns(std::uint32_t index) { return sums(index) + 1; }
  std::int64_t* extras(std::uint32_t index) { return sums(index) + 1 + max_columns; }

  void begin() {
    for (const LocationPath& path : paths_) index_of_path_[path.path] = 0;
    paths_.clear();
    sums_.clear();
    totals_ = {};
    times_ = {};
    std::fill_n(extra_totals_, extras_, 0);
    std::fill_n(extra_no_path_, extras_, 0);
  }

  bool find_index(std::uint32_t path, NodeKind kind, std::uint32_t& index) {
    std::uint32_t& known = index_of_path_[path];
    if (known == 0) {
      if (!paths_.push_back({path, kind, false}) || !sums_.resize(paths_.size() * width())) return false;
      known = static_cast<std::uint32_t>(paths_.size());
    }
    index = known - 1;
    return true;
  }

  /// Collects the call paths of the unit in ascending order, and adds up the values that need no rule.
  bool collect_unit(const UnitRecord& unit, const LocationRecord& location, Paths paths) {
    totals_ += unit;
    unit_paths_.clear();
    unit_extras_.clear();
    const auto values_of = [&](NodeKind kind, const std::int64_t* values) {
      return std::span(values, kind_columns(kind).count + (measurement::has_extra_columns(kind) ? extras_ : 0));
    };
    return collect_rows(unit, location, paths, values_of, rows_) &&
           for_each_path(rows_.view(), [&](std::span<const Row> rows) { return collect_path(rows); });
  }

  bool collect_path(std::span<const Row> rows) {
    const NodeKind kind = rows[0].kind;
    const std::size_t count = kind_columns(kind).count;
    UnitPath path{0, kind, {PathClaim::Nothing, 0}};
    if (!find_index(rows[0].path, kind, path.index)) return false;
    std::int64_t combined[max_values] = {};
    bool has_columns = false;
    for (const Row& row : rows) {
      add_columns(kind, row.values.data(), combined, has_columns);
      add_extras(row.values.subspan(count), combined + count);
    }
    add_columns(kind, combined, columns(path.index), paths_[path.index].has_columns);
    path.claim = format::claim_of(kind, {combined, count});
    return unit_paths_.push_back(path) && unit_extras_.append(combined + count, extras_);
  }

  /// Columns that are all zero hold no values, so they do not begin a minimum.
  static void add_columns(NodeKind kind, const std::int64_t* values, std::int64_t* sums, bool& begun) {
    const std::size_t count = kind_columns(kind).count;
    if (all_zero({values, count})) return;
    if (begun) combine_columns(kind, values, sums);
    else std::copy_n(values, count, sums);
    begun = true;
  }

  /// The participants of a division. A claim, and the share that it becomes, belongs to the call path whose
  /// index is at the same position.
  struct Claims {
    Numbers indices;
    Values values;
    void clear() {
      indices.clear();
      values.clear();
    }
    bool reserve(std::size_t count) { return indices.reserve(count) && values.reserve(count); }
    bool add(std::uint32_t index, std::int64_t value) { return indices.push_back(index) && values.push_back(value); }
    std::span<std::int64_t> span() { return {values.data(), values.size()}; }
  };

  /// Makes room for the division of the claims.
  bool begin_division() { return room_.resize(std::max(mpi_.values.size(), user_.values.size()) + 1); }
  std::span<format::Remainder> room() { return {room_.data(), room_.size()}; }

  bool divide_time(const UnitRecord& unit, const format::TimeConstants& constants) {
    if (format::is_stopped(unit.loop, unit.cluster)) {
      times_ += format::stopped_times(unit);
      return true;
    }
    mpi_.clear();
    user_.clear();
    for (const UnitPath& path : unit_paths_)
      if (path.claim.of != PathClaim::Nothing &&
          !(path.claim.of == PathClaim::Mpi ? mpi_ : user_).add(path.index, path.claim.value))
        return false;
    if (!begin_division()) return false;
    times_ += format::divide_unit(unit, constants, mpi_.span(), user_.span(), room());
    for (Claims* claims : {&mpi_, &user_})
      for (std::size_t i = 0; i < claims->indices.size(); ++i) *ticks(claims->indices[i]) += claims->values[i];
    return true;
  }

  bool divide_extras(const UnitRecord& unit) {
    for (std::size_t m = 0; m < extras_; ++m) {
      mpi_.clear();
      user_.clear();
      for (std::size_t i = 0; i < unit_paths_.size(); ++i) {
        const std::int64_t value = unit_extras_[i * extras_ + m];
        if (value > 0 && !(format::is_sampled(unit_paths_[i].kind) ? user_ : mpi_).add(unit_paths_[i].index, value))
          return false;
      }
      if (user_.indices.empty())
        for (const UnitPath& path : unit_paths_)
          if (path.claim.of == PathClaim::User && !user_.add(path.index, path.claim.value)) return false;
      if (!begin_division()) return false;
      const std::int64_t total = std::max<std::int64_t>(unit.extra[m], 0);
      extra_totals_[m] = format::add_saturating(extra_totals_[m], total);
      extra_no_path_[m] += format::divide_extra(total, mpi_.span(), user_.span(), room());
      for (Claims* claims : {&mpi_, &user_})
        for (std::size_t i = 0; i < claims->indices.size(); ++i) extras(claims->indices[i])[m] += claims->values[i];
    }
    return true;
  }

  const RankRecord& record_;
  const double ticks_per_second_;
  const std::size_t extras_;

  Numbers index_of_path_;  ///< by own path: index + 1; 0: the location does not have the path
  GrowableArray<LocationPath> paths_;
  Values sums_;
  measurement::UnitTotals totals_;
  format::UnitTimes times_;
  std::int64_t extra_totals_[measurement::max_extra_metrics];
  std::int64_t extra_no_path_[measurement::max_extra_metrics];

  // Of the current unit.
  GrowableArray<Row> rows_;
  GrowableArray<UnitPath> unit_paths_;
  Values unit_extras_;
  Claims mpi_, user_;
  GrowableArray<format::Remainder> room_;
};

}  // namespace

void encode_totals(const RankRecord& record, const Numbers& paths, std::size_t path_count, double ticks_per_second,
                   Encoder& out) {
  out.varint(format::time_count);
  for (const auto& column : format::time_columns) out.text(column.name);
  out.varint(format::total_count);
  encode_extra_metrics(record, out);
  out.varint(record.locations.size());
  LocationSums sums(record, ticks_per_second);
  if (!sums.create(path_count)) return out.fail();
  for_each_location(record, paths, [&](const LocationRecord& location, Paths of) {
    encode_location_head(location, out);
    if (!sums.add_all(location, of) || !sums.encode(out)) out.fail();
  });
}

}  // namespace refrain::record
