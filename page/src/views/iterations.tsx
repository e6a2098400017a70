/** Iterations of a loop: a graph, a map of ranks and iterations, and classes of iterations. */
import { signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { errorText, nameText, pathText, valueText } from '../format';
import {
  coverageOf, differenceOfCurves, letterOf, loadIterations, meanDifference, meanOver, overText, type Curves,
  type CurvesDifference, type CurvesOfLoop, type Iterations, type Loop, type Run, type SeriesRow, type Unit,
} from '../model';
import * as state from '../state';
import { Choice } from '../widgets/choice';
import { ClassComparison } from '../widgets/class_comparison';
import { saveCsv, SvgWriter } from '../widgets/download';
import { IterationClasses } from '../widgets/iteration_classes';
import { IterationGraph, type Line } from '../widgets/iteration_graph';
import { IterationMap } from '../widgets/iteration_map';
import { TableOfPicture, type Cell } from '../widgets/table';

/** By run; null: not unpacked yet. Unpacked when the view is first opened. */
const unpacked = signal<readonly (Iterations | null)[] | null>(null);

async function unpackAll(runs: readonly Run[]): Promise<void> {
  unpacked.value ??= await Promise.all(runs.map((run) => loadIterations(run.index)));
}

function labelOf(run: Run, row: SeriesRow): string {
  if (row.node === undefined) return row.metric ?? '';
  return pathText(state.pathOf(run.numbering.nodes[row.node] ?? 0).slice(-2));
}

/** The same row in another run. */
function sameRow(first: Run, row: SeriesRow, run: Run, loop: Loop): SeriesRow | undefined {
  const node = row.node === undefined ? undefined : first.numbering.nodes[row.node];
  return loop.series.rows.find((other) => other.metric === row.metric
      && (other.node === undefined ? undefined : run.numbering.nodes[other.node]) === node);
}

function loopNamed(run: Run, name: string): Loop | undefined {
  return run.head.loops.find((loop) => loop.name === name);
}

interface LoopOfRun {
  run: Run;
  loop: Loop;
  data: Iterations;
}

interface Of {
  run: Run;
  loop: Loop;
  row: SeriesRow;
  curves: Curves;
}

/** How much more a further run takes than the first one. */
interface Compared {
  now: Of;
  /** "B \u2212 A". */
  name: string;
  difference: CurvesDifference;
  lacks: readonly string[];
}

function curvesOf({ loop, row, curves }: Of): CurvesOfLoop {
  return { iterations: loop.iterations, width: row.width, curves };
}

function comparedOf([before, ...others]: readonly Of[]): Compared[] {
  return !before ? [] : others.map((now) => {
    const [a, b] = [curvesOf(before), curvesOf(now)], difference = differenceOfCurves(a, b);
    const names = [letterOf(before.run.index), letterOf(now.run.index)] as const;
    return { now, name: `${names[1]} \u2212 ${names[0]}`, difference, lacks: coverageOf(a, b, difference, names) };
  });
}

/** Mean differences over the shown iterations, and which of these only one of the runs has. */
function DifferenceText({ compared, unit, range: [from, to] }: {
  compared: readonly Compared[]; unit: Unit; range: readonly [number, number];
}) {
  return <>{compared.map(({ name, difference, lacks }) => {
    const end = Math.min(to, difference.iterations), of = meanDifference(difference, from, end);
    return <p key={name}>{name}, the median rank, {end > from ? `iterations ${from} to ${end - 1}` : 'no iterations'}: {of
      ? `${signed(of.value, unit)} ${errorText(of.error, unit, false)} per iteration`
      : 'too few iterations to tell'}. {lacks.join(' ')}</p>;
  })}</>;
}

function signed(value: number, unit: Unit): string {
  return `${value > 0 ? '+' : ''}${valueText(value, unit)}`;
}

/** Which runs lack a loop, or the shown values of it. */
function LackingRuns({ having, lines }: { having: readonly { run: Run }[]; lines: readonly Of[] }) {
  const lettersWithout = (all: readonly { run: Run }[], some: readonly { run: Run }[]): string => all.filter(({ run }) =>
      !some.some((each) => each.run === run)).map(({ run }) => letterOf(run.index)).join(', ');
  const all = state.model.value!.runs.map((run) => ({ run })), loop = lettersWithout(all, having),
      values = lettersWithout(having, lines);
  return <>
    {loop && <p>Not in {loop}: this loop.</p>}
    {values && <p>Not in {values}: these values of it.</p>}
  </>;
}

/** Curves of all runs and their differences, point by point. */
function csvOf(lines: readonly Of[], compared: readonly Compared[], label: string): void {
  const rowsOfCurves = (name: string, width: number, curves: Line['curves']): (string | number)[][] =>
    Array.from(curves.median, (median, bin) => [name, label, bin * width, width, curves.least[bin]!, median,
        curves.greatest[bin]!, curves.peak?.[bin] ?? NaN]);
  saveCsv('iterations', ['run', 'values', 'first_iteration', 'iterations', 'least', 'median', 'greatest', 'peak'], [
    ...lines.flatMap(({ run, row, curves }) => rowsOfCurves(letterOf(run.index), row.width, curves)),
    ...compared.flatMap(({ name, difference }) => rowsOfCurves(name, difference.width, difference.curves)),
  ]);
}

const TABLE_ROWS = 32;

/** The curves of the first run in some rows, over the shown iterations, with those of the other runs beside them. */
function CurvesTable({ of, compared, label, range }: {
  of: Of; compared: readonly Compared[]; label: string; range: readonly [number, number];
}) {
  const { row, curves } = of, first = Math.floor(range[0] / row.width),
      last = Math.min(row.bins, Math.ceil(range[1] / row.width));
  const size = Math.max(1, Math.ceil((last - first) / TABLE_ROWS));
  const begins = Array.from({ length: Math.ceil((last - first) / size) }, (_, i) => first + i * size);
  const known = (values: Float32Array, begin: number): number[] =>
      [...values.subarray(begin, Math.min(begin + size, last))].filter((value) => !Number.isNaN(value));
  const mean = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
  const cell = (values: readonly number[], fold: (all: readonly number[]) => number): Cell => {
    const value = values.length > 0 ? fold(values) : NaN;
    return { value, shown: valueText(value, row.unit) };
  };
  return <TableOfPicture name="iterations_in_parts" caption={`${label} per iteration`}
    head={['iterations from', 'least', 'mean of medians', 'greatest', 'peak', ...compared.flatMap(({ now, name }) =>
      [`mean of medians in ${letterOf(now.run.index)}`, `medians, ${name}`, `least, ${name}`, `greatest, ${name}`])]}
    numbers={[true, true, true, true, true, ...compared.flatMap(() => [true, true, true, true])]}
    rows={begins.map((begin) => [{ value: begin * row.width },
      cell(known(curves.least, begin), (all) => Math.min(...all)), cell(known(curves.median, begin), mean),
      cell(known(curves.greatest, begin), (all) => Math.max(...all)),
      cell(known(curves.peak, begin), (all) => Math.max(...all)),
      ...compared.flatMap((each) => cellsBeside(each, row.unit, begin * row.width,
          Math.min((begin + size) * row.width, last * row.width)))])} />;
}

/** What a further run has in these iterations, and how much more than the first one, where both have them. */
function cellsBeside({ now, difference }: Compared, unit: Unit, begin: number, end: number): Cell[] {
  const { width, curves } = difference, both = Math.min(end, difference.iterations);
  const more = (values: Float32Array): number => meanOver(values, width, begin, both);
  const error = meanDifference(difference, begin, both)?.error ?? NaN, there = meanOver(now.curves.median,
      now.row.width, begin, Math.min(end, now.loop.iterations));
  return [{ value: there, shown: valueText(there, unit) }, { value: more(curves.median),
    shown: `${signed(more(curves.median), unit)} ${errorText(error, unit, false)}` },
    ...[curves.least, curves.greatest].map((values) => ({ value: more(values), shown: signed(more(values), unit) }))];
}

/** By bin: the class of the loop that most of the bin belongs to, from 1 on; 0: none. */
function classesOf(run: Run, loop: Loop, data: Iterations): Float32Array {
  const number = run.head.loops.indexOf(loop);
  const first = run.head.units.findIndex((unit) => unit.loop === number && unit.kind === 'class');
  return data.classes(loop).map((unit) => unit > 0 ? unit - first + 1 : 0);
}

const SVG_COLORS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7'];

/** The shown curves, on one axis of iterations. */
function svgOf(lines: readonly Line[], unit: Unit, label: string): void {
  const all = lines.map(({ curves }, i) => i === 0 ? [curves.least, curves.greatest, curves.median] : [curves.median]);
  const known = all.flat().flatMap((values) => [...values].filter((value) => !Number.isNaN(value)));
  const svg = new SvgWriter(900, 320), most = known.reduce((a, b) => Math.max(a, b), 0),
      least = known.reduce((a, b) => Math.min(a, b), 0);
  const iterations = Math.max(...lines.map(({ curves, width }) => curves.median.length * width));
  lines.forEach(({ curves, width }, i) => {
    for (const values of all[i]!) {
      const points = Array.from(values, (value, bin): [number, number] =>
          [(bin + 0.5) * width / iterations * 900, 300 - (value - least) / (most - least || 1) * 290]);
      svg.line(points.filter(([, y]) => !Number.isNaN(y)), values === curves.median ? SVG_COLORS[i % 4]! : '#999999');
    }
  });
  svg.text(0, 316, `${label}, from ${valueText(least, unit)} to ${valueText(most, unit)}`);
  svg.save('iterations');
}

function showInTrees(units: readonly number[]): void {
  state.showParts(units);
  state.view.value = 'trees';
}

/** Single iterations in a range whose call paths the file has. */
function keptIn(run: Run, loop: Loop, [begin, end]: readonly [number, number]): number[] {
  const number = run.head.loops.indexOf(loop);
  return state.model.value!.units.flatMap((unit, i) => unit.kind === 'iteration' && unit.run === run.index
      && unit.loop === number && unit.has_values && begin <= unit.first && unit.last < end ? [i] : []);
}

/** The ranks that a click on the map has selected: the trees show them. */
function SelectedRanks() {
  const ranks = state.coupled.value!.system.selected.filter((row) => row.item.kind === 'rank');
  if (ranks.length === 0) return null;
  const names = ranks.slice(0, 8).map((row) => row.item.name).join(', ') + (ranks.length > 8 ? ', \u2026' : '');
  return <p>Selected: {names}. <button type="button"
      onClick={() => { state.view.value = 'trees'; }}>Show in the trees</button></p>;
}

/** What the graph can show: values of the first run, and those that only further runs have. */
function rowsOf(having: readonly LoopOfRun[]): { of: LoopOfRun; row: SeriesRow }[] {
  return having.flatMap((of, i) => of.loop.series.rows.filter((row) => !having.slice(0, i).some((before) =>
      sameRow(of.run, row, before.run, before.loop))).map((row) => ({ of, row })));
}

function LoopView({ run, loop, all }: { run: Run; loop: Loop; all: readonly (Iterations | null)[] }) {
  const model = state.model.value!;
  const having = useMemo(() => model.runs.flatMap((other) => {
    const there = loopNamed(other, loop.name), data = all[other.index];
    return there && data ? [{ run: other, loop: there, data }] : [];
  }), [loop, all]);
  const rows = useMemo(() => rowsOf(having), [having]);
  const chosen = rows[Math.min(state.seriesRow.value, rows.length - 1)], row = chosen?.row;
  const lines = useMemo<Of[]>(() => having.flatMap((of) => {
    const rowThere = chosen && (of.run === chosen.of.run ? chosen.row
        : sameRow(chosen.of.run, chosen.row, of.run, of.loop));
    return rowThere ? [{ run: of.run, loop: of.loop, row: rowThere, curves: of.data.curves(rowThere) }] : [];
  }), [chosen, having]);
  const compared = useMemo(() => comparedOf(lines), [lines]);
  const shown = compared.find(({ now }) => now.run.index === state.graphRun.value);
  const graph = useMemo<Line[]>(() => shown
      ? [{ name: shown.name, width: shown.difference.width, curves: shown.difference.curves }]
      : lines.map((of) => ({ name: model.runs.length > 1 ? letterOf(of.run.index) : '', width: of.row.width,
          curves: of.curves })), [lines, shown]);
  const data = all[run.index], kept = state.iterations.value ? keptIn(run, loop, state.iterations.value) : [];
  if (!chosen || !row || !data) return <p>Iterations are not in this file.</p>;
  const label = labelOf(chosen.of.run, row), range = state.iterations.value ?? [0, loop.iterations] as const;
  return <>
    <div class="tools">
      <Choice label="Values" value={String(rows.indexOf(chosen))}
        onChoose={(value) => { state.seriesRow.value = Number(value); }}
        options={rows.map((each, i) => ({ value: String(i), text: labelOf(each.of.run, each.row)
          + (each.of.run === run ? '' : `, not in ${letterOf(run.index)}`) }))} />
      {compared.length > 0 && <Choice label="Runs in the graph" value={shown ? String(shown.now.run.index) : ''}
        onChoose={(value) => { state.graphRun.value = value === '' ? null : Number(value); }}
        options={[{ value: '', text: lines.map((of) => letterOf(of.run.index)).join(', ') },
          ...compared.map((each) => ({ value: String(each.now.run.index), text: each.name }))]} />}
      <button type="button" onClick={() => { state.iterations.value = null; }}>All iterations</button>
      {kept.length > 0 && <button type="button" onClick={() => showInTrees(kept)}>
        Show {kept.length === 1 ? 'the iteration' : `the ${kept.length} iterations`} of this range that the file has
      </button>}
      <button type="button" class="quiet" onClick={() =>
        csvOf(lines, compared, label)}>Save as CSV</button>
      <button type="button" class="quiet" onClick={() =>
        svgOf(graph, row.unit, shown ? `${label}, ${shown.name}` : label)}>Save as SVG</button>
    </div>
    <IterationGraph lines={graph} unit={row.unit} iterations={loop.iterations} range={state.iterations.value}
      onRange={(next) => { state.iterations.value = next; }}
      classes={classesOf(run, loop, data)} classWidth={loop.series.width} />
    {shown && <p class="hint">The least, median and greatest rank of one run less that of the other one, which need not
      be the same rank.</p>}
    {lines[0] && <CurvesTable of={lines[0]} compared={compared} label={label} range={range} />}
    <DifferenceText compared={compared} unit={row.unit} range={range} />
    <LackingRuns having={having} lines={lines} />
    <p class="hint">
      {row.width > 1 && `Each point is ${row.width} iterations: means, and the greatest single one as peak. `}
      {overText(chosen.of.loop, row)}
      {row.node !== undefined && ' Times of call paths in single iterations are reconstructed.'}</p>
    {loop.maps.length > 0 && <IterationMap loop={loop} data={data}
        others={having.filter((of) => of.run !== run)} range={state.iterations.value}
        onRange={(next) => { state.iterations.value = next; }}
        onRanks={(ranks) => state.selectRanks(ranks.map((rank): [number, number] => [rank, rank]))}
            run={run} setting={state.map.value} onSetting={(next) => { state.map.value = next; }} />}
    <SelectedRanks />
    {having.length > 1 && <ClassComparison model={model} loop={loop.name} runs={having.map((of) => of.run)} />}
    {having.map((of) => <IterationClasses run={of.run} loop={of.loop} units={model.units} shown={state.parts.value}
      name={model.runs.length > 1 ? letterOf(of.run.index) : ''} onShow={showInTrees} key={of.run.index} />)}
  </>;
}

export function IterationsView() {
  const model = state.model.value!, loops = model.runs.flatMap((run) => run.head.loops.map((loop) => ({ run, loop })))
      .filter(({ loop }, i, others) => others.findIndex((other) => other.loop.name === loop.name) === i);
  useEffect(() => { void unpackAll(model.runs); }, [model]);
  if (loops.length === 0) return <p class="message">No loop of this run is
      marked: see <code>REFRAIN_LOOP_BEGIN</code> and <code>REFRAIN_ITERATION_AT</code>.</p>;
  const { run, loop } = state.shownLoop.value!;
  const titleOf = (of: { run: Run; loop: Loop }): string =>
      `${nameText(of.loop.name)}, ${of.loop.iterations.toLocaleString('en-US')} iterations`
      + (of.run === model.first ? '' : `, not in A`);
  return <div class="iterations">
    <div class="tools">
      <Choice label="Loop" value={loop.name} onChoose={state.showLoop}
        options={loops.map((each) => ({ value: each.loop.name, text: titleOf(each) }))} />
    </div>
    {unpacked.value ? <LoopView run={run} loop={loop} all={unpacked.value} key={loop.name} />
        : <p>Reading{'\u2026'}</p>}
  </div>;
}
