/** The part of an axis that a picture shows. */

/** Begin and end, which is excluded; for ranks, first and last. */
export type Range = readonly [number, number];

/** The part of a range that lies within `count`; null: it is everything, or empty. */
export function rangeIn(range: Range | null, count: number): Range | null {
  if (!range) return null;
  const [begin, end] = [Math.max(0, range[0]), Math.min(count, range[1])];
  return begin >= end || (begin === 0 && end === count) ? null : [begin, end];
}

/** How a map is shown. */
export interface MapSetting {
  /** Index among the loop's maps. */
  readonly metric: number;
  /** The run that the shown one is compared with; null: none. */
  readonly run: number | null;
  /** Visible rows; null: all. */
  readonly rows: Range | null;
}
