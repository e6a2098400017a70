/** Ranges of an axis: what an item of a tree stands for, and what is selected. */

/** Numbers from `begin` to `end`, exclusive; in one unit for call paths, in unit 0 for other axes. */
export interface Span {
  unit: number;
  begin: number;
  end: number;
}

export function span(begin: number, end: number, unit = 0): Span {
  return { unit, begin, end };
}

/** Ascending and without overlaps: several selections as one. */
export function union(spans: readonly Span[]): Span[] {
  const sorted = [...spans].sort((a, b) => a.unit - b.unit || a.begin - b.begin);
  const result: Span[] = [];
  for (const each of sorted) {
    const last = result[result.length - 1];
    if (last && last.unit === each.unit && each.begin <= last.end) last.end = Math.max(last.end, each.end);
    else if (each.end > each.begin) result.push({ ...each });
  }
  return result;
}

/** `spans` without the parts in `taken`. */
export function without(spans: readonly Span[], taken: readonly Span[]): Span[] {
  let rest = union(spans);
  for (const hole of taken) {
    rest = rest.flatMap((each) => each.unit !== hole.unit || hole.end <= each.begin || each.end <= hole.begin ? [each] :
      [{ ...each, end: hole.begin }, { ...each, begin: hole.end }].filter((part) => part.end > part.begin));
  }
  return rest;
}

export function contains(spans: readonly Span[], unit: number, index: number): boolean {
  return spans.some((each) => each.unit === unit && each.begin <= index && index < each.end);
}

/** The sum of all numbers before each place: the sum of a range is a difference of two. */
export function prefixSums(values: ArrayLike<number>): Float64Array {
  const sums = new Float64Array(values.length + 1);
  for (let i = 0; i < values.length; i++) sums[i + 1] = sums[i]! + values[i]!;
  return sums;
}

export function sumOf(prefix: Float64Array, each: Span): number {
  return (prefix[each.end] ?? 0) - (prefix[each.begin] ?? 0);
}
