/** Differences between runs. Runs of different numbers of ranks are compared by their means over ranks. */
import type { Run } from './run';

/** Whether sums of these runs say nothing beside each other. */
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
  /** Beyond three standard errors, or exact. */
  isCertain: boolean;
}

/** From `before` to `now`; each with its error. `scale` of each: 1 for sums, 1 / ranks for means. */
export function difference(before: { value: number; error: number }, now: { value: number; error: number },
    scales: [number, number]): Difference {
  const value = now.value * scales[1] - before.value * scales[0];
  const error = Math.hypot(now.error * scales[1], before.error * scales[0]);
  return { value, error, isCertain: value !== 0 && !(Math.abs(value) < 3 * error) };
}

export function scalesOf(before: Run, now: Run): [number, number] {
  return areCompared([before, now]) === 'sums' ? [1, 1] : [1 / ranksOf(before), 1 / ranksOf(now)];
}
