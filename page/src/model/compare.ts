/** Differences between runs. Runs with different numbers of ranks are compared by means over ranks. */
import type { Model } from './model';
import type { Run } from './run';
import type { Span } from './span';

/** How runs are compared: by sums if they have the same number of ranks, else by means. */
export function areCompared(runs: readonly Run[]): 'sums' | 'means' {
  return runs.every((run) => ranksOf(run) === ranksOf(runs[0]!)) ? 'sums' : 'means';
}

/** A, B, ... in the order of the command line. */
export function letterOf(run: number): string {
  return String.fromCharCode(65 + run);
}

export function ranksOf(run: Run): number {
  return run.head.ranks;
}

export interface Difference {
  value: number;
  error: number;
  /** Beyond three standard errors, or exact; false where errors are not known. */
  isCertain: boolean;
}

/** From `before` to `now`, each given with its error. `scales`: one for each, 1 for sums and 1 / ranks for means. */
export function difference(before: { value: number; error: number }, now: { value: number; error: number },
    scales: [number, number]): Difference {
  const value = now.value * scales[1] - before.value * scales[0];
  const error = Math.hypot(now.error * scales[1], before.error * scales[0]);
  return { value, error, isCertain: value !== 0 && Math.abs(value) >= 3 * error };
}

/** `nodes`: the call paths to compare. Parts of loops with different numbers of iterations in the two runs are compared
 * by means over iterations. */
export function scalesOf(model: Model, before: Run, now: Run, nodes: readonly Span[] = []): [number, number] {
  const [a, b] = [before, now].map((run) => model.iterationsIn(run, nodes)) as [number, number];
  const byRank = areCompared([before, now]) === 'means', byIteration = a !== b && a > 0 && b > 0;
  return [(byRank ? 1 / ranksOf(before) : 1) * (byIteration ? 1 / a : 1),
    (byRank ? 1 / ranksOf(now) : 1) * (byIteration ? 1 / b : 1)];
}

/** Names of the runs, each with its letter if there are several: names may be equal. */
export function namesOf({ runs }: Model): string[] {
  return runs.map((run) => (runs.length > 1 ? `${letterOf(run.index)}: ` : '') + run.head.name);
}

/** What these views lack, and in which run; null: all views. */
export function lacksOf({ runs }: Model, views: readonly string[] | null): string[] {
  return runs.flatMap((run) => run.head.lacks.filter((lack) => !views || views.includes(lack.view)).map((lack) =>
      (runs.length > 1 ? `${letterOf(run.index)}: ` : '') + lack.text));
}
