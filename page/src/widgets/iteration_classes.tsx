/** Classes of iterations of the job, and the single iterations in the file: what they are, and which of them the trees
 * show. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { classColors } from '../colors';
import { nameText, shareText, valueText } from '../format';
import type { Loop, ModelUnit, Run } from '../model';
import { Table, type Cell } from './table';

export interface IterationClassesProps {
  run: Run;
  loop: Loop;
  units: readonly ModelUnit[];
  shown: readonly number[];
  /** Letter of the run; empty: there is only one run. */
  name: string;
  onShow: (units: readonly number[]) => void;
}

/** "0 to 99, 200 to 299". */
function whereText(unit: ModelUnit): string {
  if (unit.kind === 'iteration') return `iteration ${unit.first}`;
  const ranges = unit.ranges.map(([first, last]) => first === last ? String(first) : `${first} to ${last}`);
  return ranges.length > 0 ? ranges.join(', ') : `here and there from ${unit.first} to ${unit.last}`;
}

function chosenKinds(units: readonly ModelUnit[], chosen: Iterable<number>): Set<string> {
  return new Set([...chosen].map((unit) => units[unit]!.kind));
}

/** What sets a class apart from the mean iteration. */
function explanation(unit: ModelUnit, mean: { wall: number; mpi: number; user: number }): string {
  if (!(mean.wall > 0)) return '';
  const factor = unit.wall / mean.wall, parts = ([['user code', unit.user - mean.user],
      ['MPI', unit.mpi - mean.mpi]] as [string, number][])
    .filter(([, more]) => Math.abs(more) > 0.02 * mean.wall).map(([name, more]) =>
        `${valueText(Math.abs(more), 's')} ${more > 0 ? 'more' : 'less'} in ${name}`);
  const length = factor > 1.02 ? `${factor.toFixed(2)} times the mean` : factor < 0.98
      ? `${factor.toFixed(2)} times the mean` : 'about the mean';
  return parts.length > 0 ? `${length}: ${parts.join(', ')}` : length;
}

export function IterationClasses({ run, loop, units, shown, name, onShow }: IterationClassesProps) {
  const number = run.head.loops.indexOf(loop);
  const of = units.map((unit, i) => ({ unit, i })).filter(({ unit, i }) => i > 0 && unit.run === run.index
      && unit.loop === number);
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set(of.map(({ i }) => i).filter((i) =>
      shown.includes(i))));
  const classes = of.filter(({ unit }) => unit.kind === 'class'),
      all = classes.reduce((sum, { unit }) => sum + unit.count, 0) || 1;
  const meanOf = (value: (unit: ModelUnit) => number): number =>
      classes.reduce((sum, { unit }) => sum + unit.count * value(unit), 0) / all;
  const mean = { wall: meanOf((unit) => unit.wall), mpi: meanOf((unit) => unit.mpi),
      user: meanOf((unit) => unit.user) };
  if (of.length === 0) return <p>Classes of iterations are not in this file.</p>;
  const colorOf = (i: number): string | undefined => {
    const place = classes.findIndex((each) => each.i === i);
    return place < 0 ? undefined : classColors[place % classColors.length];
  };
  const show = (i: number, isShown: boolean): void => {
    const next = new Set(chosen);
    if (isShown) next.add(i);
    else next.delete(i);
    setChosen(next);
  };
  const nameOf = (unit: ModelUnit, i: number): ComponentChildren => <>
    <input type="checkbox" aria-label={`Show ${nameText(unit.name)}`} checked={chosen.has(i)}
      disabled={!unit.has_values} onChange={(event) => show(i, event.currentTarget.checked)} />{' '}
    <i class="box" aria-hidden="true" style={{ background: colorOf(i) ?? 'transparent' }} /><button
      type="button" class="link" disabled={!unit.has_values} onClick={() => onShow([i])}>{nameText(unit.name)}</button>
  </>;
  const time = (seconds: number): Cell => ({ value: seconds, shown: valueText(seconds, 's') });
  const shareOf = (unit: ModelUnit): Cell => {
    if (unit.kind !== 'class' || !(mean.wall > 0)) return { value: '' };
    const share = unit.count * unit.wall / (all * mean.wall);
    return { value: share, shown: shareText(share) };
  };
  const ofRun = name && ` of ${name}`, isTwice = chosenKinds(units, chosen).size > 1;
  return <section aria-label={`Classes of iterations${ofRun}`}>
    <Table name="classes_of_iterations"
      caption={`Classes of iterations of the whole job${ofRun}, and single iterations`}
      head={['class', 'iterations', 'of the time', 'wall', 'MPI', 'user code', 'which', 'what sets it apart']}
      numbers={[false, true, true, true, true, true, false, false]}
      rows={of.map(({ unit, i }) => [
        { value: nameText(unit.name), shown: nameOf(unit, i) },
        { value: unit.count, shown: unit.count.toLocaleString('en-US') }, shareOf(unit),
        time(unit.wall), time(unit.mpi), time(unit.user),
        { value: whereText(unit) }, { value: explanation(unit, mean) },
      ])} />
    {isTwice && <p>An iteration is a part of its class: what both have is counted twice.</p>}
    <div class="tools">
      <button type="button" disabled={chosen.size === 0}
        onClick={() => onShow([...chosen])}>Show these in the trees</button>
      <button type="button" onClick={() => onShow([0])}>Show the whole run</button>
    </div>
  </section>;
}
