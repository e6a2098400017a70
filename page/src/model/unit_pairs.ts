/** Classes of a loop in two runs: which class of one run corresponds to which of the other. */
import type { ModelUnit } from './merge';

/** Seconds per iteration. */
export type UnitTimes = Pick<ModelUnit, 'wall' | 'mpi' | 'user'>;

/** Indices into the lists; null: none. */
export type Pair = readonly [before: number | null, now: number | null];

function distance(a: UnitTimes, b: UnitTimes): number {
  return Math.hypot(a.wall - b.wall, a.mpi - b.mpi, a.user - b.user);
}

/** The first of the nearest ones; -1: the list is empty. */
function nearest(to: UnitTimes, among: readonly UnitTimes[]): number {
  return among.reduce((best, each, i) => best < 0 || distance(to, each) < distance(to, among[best]!) ? i : best, -1);
}

/** Two classes are the same if each is the nearest one of the other run by wall time, time in MPI and time in user
 * code. The others have vanished (no second) or appeared (no first). In the order of `before`, then of `now`. */
export function pairsOfClasses(before: readonly UnitTimes[], now: readonly UnitTimes[]): Pair[] {
  const pairs = before.map((each, i): Pair => {
    const there = nearest(each, now);
    return [i, there >= 0 && nearest(now[there]!, before) === i ? there : null];
  });
  const met = new Set(pairs.map(([, there]) => there));
  return [...pairs, ...now.flatMap((_, i): Pair[] => met.has(i) ? [] : [[null, i]])];
}
