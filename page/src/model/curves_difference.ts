/** Curves of a run minus those of another run, by iteration number, where both have the iteration. */
import type { Curves } from './series';

export interface CurvesOfLoop {
  /** Number of iterations of the loop. */
  iterations: number;
  /** Iterations per point. */
  width: number;
  curves: Curves;
}

export interface CurvesDifference {
  /** Iterations per point, the greater number of both. */
  width: number;
  /** Each statistic of one run minus that of the other, which is not the statistic of the ranks' differences. */
  curves: Omit<Curves, 'peak'>;
  /** Number of iterations, from 0 on, that both have. */
  iterations: number;
  /** Number of points in these where a run's value is not known. */
  unknown: number;
}

/** Mean over these iterations, each point weighted by its part in them; NaN: nothing is known. */
export function meanOver(values: Float32Array, width: number, begin: number, end: number): number {
  let sum = 0, weight = 0;
  for (let bin = Math.floor(begin / width); bin < values.length && bin * width < end; bin++) {
    if (Number.isNaN(values[bin]!)) continue;
    const part = Math.min(end, (bin + 1) * width) - Math.max(begin, bin * width);
    sum += part * values[bin]!;
    weight += part;
  }
  return weight > 0 ? sum / weight : NaN;
}

/** How much more `now` has than `before`. */
export function differenceOfCurves(before: CurvesOfLoop, now: CurvesOfLoop): CurvesDifference {
  const width = Math.max(before.width, now.width), iterations = Math.min(before.iterations, now.iterations);
  const bins = Math.ceil(iterations / width);
  const of = (curve: 'least' | 'median' | 'greatest'): Float32Array => Float32Array.from({ length: bins }, (_, bin) => {
    const begin = bin * width, end = Math.min(begin + width, iterations);
    return meanOver(now.curves[curve], now.width, begin, end)
        - meanOver(before.curves[curve], before.width, begin, end);
  });
  const curves = { least: of('least'), median: of('median'), greatest: of('greatest') };
  return { width, curves, iterations, unknown: curves.median.filter(Number.isNaN).length };
}

/** "0 to 9". */
function rangeText(begin: number, end: number): string {
  return end - begin === 1 ? `${begin}` : `${begin} to ${end - 1}`;
}

/** What a difference of two runs does not cover, and how its points were made; `names`: letters of both runs. */
export function coverageOf(before: CurvesOfLoop, now: CurvesOfLoop, of: CurvesDifference,
    names: readonly [string, string]): string[] {
  const longer = before.iterations > now.iterations ? 0 : 1, [most, alone] = [Math.max(before.iterations,
      now.iterations), names[longer]!];
  const wider = before.width > now.width ? 0 : 1, finer = [before, now][1 - wider]!;
  return [
    ...(most > of.iterations ? [`Not compared, only ${alone} has them: iterations ${rangeText(of.iterations, most)}.`]
        : []),
    ...(of.unknown > 0 ? [`In ${of.unknown} of ${of.curves.median.length} points a value of ${names.join(' or ')} `
        + 'is not known.'] : []),
    ...(before.width !== now.width ? [`Points of ${names[wider]!} are ${of.width} iterations, of ${names[1 - wider]!} `
        + `${finer.width}: means of these are compared.`] : []),
  ];
}

/** Mean difference of the medians over these iterations, with its error from batches of successive points; null: too
 * few points. */
export function meanDifference(of: CurvesDifference, from: number, to: number): { value: number; error: number } | null {
  const known = [...of.curves.median.subarray(Math.floor(from / of.width), Math.ceil(to / of.width))]
      .filter((value) => !Number.isNaN(value));
  const batches = Math.min(20, Math.floor(known.length / 2));
  if (batches < 5) return null;
  const size = known.length / batches, mean = (values: readonly number[]): number =>
      values.reduce((a, b) => a + b, 0) / values.length;
  const means = Array.from({ length: batches }, (_, i) =>
      mean(known.slice(Math.floor(i * size), Math.floor((i + 1) * size))));
  const all = mean(known), middle = mean(means);
  const variance = means.reduce((sum, value) => sum + (value - middle) ** 2, 0) / (batches - 1);
  return { value: all, error: Math.sqrt(variance / batches) };
}
