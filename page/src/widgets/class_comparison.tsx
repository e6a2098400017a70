/** Classes of iterations of several runs side by side: which are the same, how they differ, and which only one run
 * has. */
import { nameText, valueText } from '../format';
import { letterOf, pairsOfClasses, type Model, type ModelUnit, type Run } from '../model';
import { Table, type Cell } from './table';

export interface ClassComparisonProps {
  model: Model;
  loop: string;
  /** Runs that have the loop; the others are compared with the first one. */
  runs: readonly Run[];
}

const EMPTY: Cell = { value: '' };
const times = ['wall', 'mpi', 'user'] as const, titles = { wall: 'wall', mpi: 'MPI', user: 'user code' };

function countCell(unit: ModelUnit): Cell {
  return { value: unit.count, shown: unit.count.toLocaleString('en-US') };
}

function secondsCell(seconds: number, isDifference = false): Cell {
  return { value: seconds, shown: `${isDifference && seconds > 0 ? '+' : ''}${valueText(seconds, 's')}` };
}

function cellsOfFirst(unit: ModelUnit | null): Cell[] {
  return unit ? [{ value: nameText(unit.name) }, countCell(unit), ...times.map((time) => secondsCell(unit[time]))]
      : [{ value: 'none' }, EMPTY, ...times.map(() => EMPTY)];
}

/** `first`: the class of the first run that it corresponds to; null: it has appeared. */
function cellsOfOther(first: ModelUnit | null, unit: ModelUnit | null): Cell[] {
  if (!unit) return [{ value: first ? 'vanished' : '' }, EMPTY, ...times.map(() => EMPTY)];
  return [{ value: `${nameText(unit.name)}${first ? '' : ' (appeared)'}` }, countCell(unit), ...times.map((time) =>
    first ? secondsCell(unit[time] - first[time], true) : secondsCell(unit[time]))];
}

export function ClassComparison({ model, loop, runs }: ClassComparisonProps) {
  const [first, ...others] = runs.map((run) => model.unitsOf(run, loop, 'class').map((i) => model.units[i]!));
  if (!first || others.every((units) => units.length === 0)) return null;
  const pairs = others.map((units) => pairsOfClasses(first, units)), letter = letterOf(runs[0]!.index);
  const rows: Cell[][] = first.map((unit, i) => [...cellsOfFirst(unit), ...others.flatMap((units, run) => {
    const there = pairs[run]!.find(([before]) => before === i)?.[1] ?? null;
    return cellsOfOther(unit, there === null ? null : units[there]!);
  })]);
  others.forEach((units, run) => {
    for (const [before, now] of pairs[run]!) {
      if (before !== null || now === null) continue;
      rows.push([...cellsOfFirst(null), ...others.flatMap((_, other) =>
        cellsOfOther(null, other === run ? units[now]! : null))]);
    }
  });
  const head = ['class', 'iterations', ...times.map((time) => titles[time])].map((text) => `${text} in ${letter}`);
  const headOf = (run: Run): string[] => [`class in ${letterOf(run.index)}`, `iterations in ${letterOf(run.index)}`,
    ...times.map((time) => `${titles[time]}, ${letterOf(run.index)} \u2212 ${letter}`)];
  return <section aria-label="Classes of iterations of the runs beside each other">
    <Table name="compared_classes" caption="Classes of iterations of the runs beside each other, per iteration"
      head={[...head, ...runs.slice(1).flatMap(headOf)]}
      numbers={runs.flatMap(() => [false, true, true, true, true])} rows={rows} />
    <p class="hint">Two classes are the same if each is the nearest of the other run by time, in MPI and in user code.
      The times of a class that has appeared are its own. All times are measured, and have no error.</p>
  </section>;
}
