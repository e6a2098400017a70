/** Iterations of a loop: a graph, a map of ranks and iterations, and classes of iterations. */
import { signal } from '@preact/signals';
import { useEffect, useMemo } from 'preact/hooks';
import { nameText, pathText, valueText } from '../format';
import {
  letterOf, loadIterations, overText, type Curves, type Iterations, type Loop, type Run, type SeriesRow,
} from '../model';
import * as state from '../state';
import { Choice } from '../widgets/choice';
import { saveCsv, SvgWriter } from '../widgets/download';
import { IterationClasses } from '../widgets/iteration_classes';
import { IterationGraph, type Line } from '../widgets/iteration_graph';
import { IterationMap } from '../widgets/iteration_map';
import { TableOfPicture, type Cell } from '../widgets/table';

/** By run; null: not unpacked yet. Unpacked when the view is opened first. */
const unpacked = signal<readonly (Iterations | null)[] | null>(null);

async function unpackAll(runs: readonly Run[]): Promise<void> {
  unpacked.value ??= await Promise.all(runs.map((run) => loadIterations(run.index)));
}

function labelOf(run: Run, row: SeriesRow): string {
  if (row.node === undefined) return row.metric ?? '';
  return pathText(state.pathOf(run.numbering.nodes[row.node] ?? 0).slice(-2));
}

/** The same row of another run. */
function sameRow(first: Run, row: SeriesRow, run: Run, loop: Loop): SeriesRow | undefined {
  const node = row.node === undefined ? undefined : first.numbering.nodes[row.node];
  return loop.series.rows.find((other) => other.metric === row.metric
      && (other.node === undefined ? undefined : run.numbering.nodes[other.node]) === node);
}

function loopNamed(run: Run, name: string): Loop | undefined {
  return run.head.loops.find((loop) => loop.name === name);
}

interface Of {
  run: Run;
  loop: Loop;
  row: SeriesRow;
  curves: Curves;
}

/** Mean of what the second run takes more than the first one, over a range of bins, with its error from batches of bins
 * that follow each other. */
function meanDifference(before: Of, now: Of, from: number, to: number): { value: number; error: number } | null {
  const begin = Math.floor(from / before.row.width), end = Math.min(Math.ceil(to / before.row.width), before.row.bins);
  const differences: number[] = [];
  for (let bin = begin; bin < end; bin++) {
    const other = Math.floor((bin + 0.5) * before.row.width / now.row.width);
    const value = (now.curves.median[other] ?? NaN) - before.curves.median[bin]!;
    if (!Number.isNaN(value)) differences.push(value);
  }
  const batches = Math.min(20, Math.floor(differences.length / 2));
  if (batches < 5) return null;
  const size = differences.length / batches, mean = (values: readonly number[]): number =>
      values.reduce((a, b) => a + b, 0) / values.length;
  const means = Array.from({ length: batches }, (_, i) =>
      mean(differences.slice(Math.floor(i * size), Math.floor((i + 1) * size))));
  const all = mean(means), variance = means.reduce((sum, value) => sum + (value - all) ** 2, 0) / (batches - 1);
  return { value: all, error: Math.sqrt(variance / batches) };
}

function DifferenceText({ lines, loop }: { lines: readonly Of[]; loop: Loop }) {
  const [before, ...others] = lines, [from, to] = state.iterations.value ?? [0, loop.iterations];
  return <>{others.map((now, i) => {
    const names = `${letterOf(now.run.index)} \u2212 ${letterOf(before!.run.index)}`;
    const of = before && meanDifference(before, now, from, to), unit = before!.row.unit;
    return <p key={i}>{names}, the median rank, iterations {from} to {to - 1}: {of ?
      `${valueText(of.value, unit)} \u00b1 ${valueText(of.error, unit)} per iteration`
          : 'too few iterations to tell'}.</p>;
  })}</>;
}

/** Curves of all runs, point by point. */
function csvOf(lines: readonly Of[], label: string): void {
  saveCsv('iterations', ['run', 'values', 'first_iteration', 'iterations', 'least', 'median', 'greatest', 'peak'],
      lines.flatMap(({ run, row, curves }) => Array.from({ length: row.bins }, (_, bin) =>
    [letterOf(run.index), label, bin * row.width, row.width, curves.least[bin]!, curves.median[bin]!,
        curves.greatest[bin]!, curves.peak[bin]!])));
}

const TABLE_ROWS = 32;

/** The curves of the first run in some rows, over the iterations that are shown. */
function CurvesTable({ of, label, range }: { of: Of; label: string; range: readonly [number, number] }) {
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
    head={['iterations from', 'least', 'mean of medians', 'greatest', 'peak']} numbers={[true, true, true, true, true]}
    rows={begins.map((begin) => [{ value: begin * row.width },
      cell(known(curves.least, begin), (all) => Math.min(...all)), cell(known(curves.median, begin), mean),
      cell(known(curves.greatest, begin), (all) => Math.max(...all)),
      cell(known(curves.peak, begin), (all) => Math.max(...all))])} />;
}

/** By bin: which class of the loop most of it is of, from 1 on; 0: none. */
function classesOf(run: Run, loop: Loop, data: Iterations): Float32Array {
  const number = run.head.loops.indexOf(loop);
  const first = run.head.units.findIndex((unit) => unit.loop === number && unit.kind === 'class');
  return data.classes(loop).map((unit) => unit > 0 ? unit - first + 1 : 0);
}

const SVG_COLORS = ['#0072b2', '#d55e00', '#009e73', '#cc79a7'];

/** The curves of all runs, from 0 to the greatest. */
function svgOf(lines: readonly Of[], label: string): void {
  const svg = new SvgWriter(900, 320), most = Math.max(...lines.flatMap(({ curves }) =>
      [...curves.greatest].filter((v) => v >= 0)));
  lines.forEach(({ curves, row }, i) => {
    const all = i === 0 ? [curves.least, curves.greatest, curves.median] : [curves.median];
    for (const values of all) {
      const points = Array.from(values, (value, bin): [number, number] =>
          [(bin + 0.5) / row.bins * 900, 300 - value / most * 290]);
      svg.line(points.filter(([, y]) => !Number.isNaN(y)), values === curves.median ? SVG_COLORS[i % 4]! : '#999999');
    }
  });
  svg.text(0, 316, `${label}, up to ${valueText(most, lines[0]?.row.unit ?? 's')}`);
  svg.save('iterations');
}

function showInTrees(units: readonly number[]): void {
  state.showParts(units);
  state.view.value = 'trees';
}

/** Single iterations in a range that the file has call paths of. */
function keptIn(run: Run, loop: Loop, [begin, end]: readonly [number, number]): number[] {
  const number = run.head.loops.indexOf(loop);
  return state.model.value!.units.flatMap((unit, i) => unit.kind === 'iteration' && unit.run === run.index
      && unit.loop === number && unit.has_values && begin <= unit.first && unit.last < end ? [i] : []);
}

/** What a click on the map has selected: the trees show it. */
function SelectedRanks() {
  const ranks = state.coupled.value!.system.selected.filter((row) => row.item.kind === 'rank');
  if (ranks.length === 0) return null;
  const names = ranks.slice(0, 8).map((row) => row.item.name).join(', ') + (ranks.length > 8 ? ', \u2026' : '');
  return <p>Selected: {names}. <button type="button"
      onClick={() => { state.view.value = 'trees'; }}>Show in the trees</button></p>;
}

function LoopView({ run, loop, all }: { run: Run; loop: Loop; all: readonly (Iterations | null)[] }) {
  const rows = loop.series.rows, row = rows[Math.min(state.seriesRow.value, rows.length - 1)];
  const model = state.model.value!;
  const having = useMemo(() => model.runs.flatMap((other) => {
    const there = loopNamed(other, loop.name), data = all[other.index];
    return there && data ? [{ run: other, loop: there, data }] : [];
  }), [loop, all]);
  const lines = useMemo<Of[]>(() => having.flatMap((of) => {
    const rowThere = row && (of.run === run ? row : sameRow(run, row, of.run, of.loop));
    return rowThere ? [{ run: of.run, loop: of.loop, row: rowThere, curves: of.data.curves(rowThere) }] : [];
  }), [run, row, having]);
  const data = all[run.index], kept = state.iterations.value ? keptIn(run, loop, state.iterations.value) : [];
  const graph = useMemo<Line[]>(() => lines.map((of) => ({ name: model.runs.length > 1 ? letterOf(of.run.index) : '',
      width: of.row.width, curves: of.curves })), [lines]);
  if (!row || !data) return <p>Iterations are not in this file.</p>;
  return <>
    <div class="tools">
      <Choice label="Values" value={String(rows.indexOf(row))}
        onChoose={(value) => { state.seriesRow.value = Number(value); }}
        options={rows.map((each, i) => ({ value: String(i), text: labelOf(run, each) }))} />
      <button type="button" onClick={() => { state.iterations.value = null; }}>All iterations</button>
      {kept.length > 0 && <button type="button" onClick={() => showInTrees(kept)}>
        Show {kept.length === 1 ? 'the iteration' : `the ${kept.length} iterations`} of this range that the file has
      </button>}
      <button type="button" class="quiet" onClick={() =>
        csvOf(lines, labelOf(run, row))}>Save as CSV</button>
      <button type="button" class="quiet" onClick={() => svgOf(lines, labelOf(run, row))}>Save as SVG</button>
    </div>
    <IterationGraph lines={graph} unit={row.unit} iterations={loop.iterations} range={state.iterations.value}
      onRange={(next) => { state.iterations.value = next; }}
      classes={classesOf(run, loop, data)} classWidth={loop.series.width} />
    {lines[0] && <CurvesTable of={lines[0]} label={labelOf(run, row)}
      range={state.iterations.value ?? [0, loop.iterations]} />}
    {lines.length > 1 && <DifferenceText lines={lines} loop={loop} />}
    <p class="hint">
      {row.width > 1 && `Each point is ${row.width} iterations: means, and the greatest single one as peak. `}
      {overText(loop, row)}
      {row.node !== undefined && ' Times of call paths in single iterations are reconstructed.'}</p>
    {loop.maps.length > 0 && <IterationMap loop={loop} data={data}
        others={having.filter((of) => of.run !== run)} range={state.iterations.value}
        onRange={(next) => { state.iterations.value = next; }}
        onRanks={(ranks) => state.selectRanks(ranks.map((rank): [number, number] => [rank, rank]))}
            run={run} setting={state.map.value} onSetting={(next) => { state.map.value = next; }} />}
    <SelectedRanks />
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
