/**
 * A run that can be computed by hand: two machines with two ranks each, and
 *
 *     main                      user
 *     ├ solve                   user, 8 s: 1, 2, 2, 3 by rank
 *     │ └ MPI_Allreduce         MPI, 4 s: 2, 1, 1, 0
 *     └ io                      user, 4 s: 1 on each rank
 *
 * `main` has no time of its own. Metrics: wall > (mpi > waiting (overlaps), user), visits.
 */
import type { Head, UnitOfRun } from '../../src/model/head';
import { modelOf, type Model } from '../../src/model/model';
import { Cells } from '../../src/model/cells';

export const WALL = 0, MPI = 1, USER = 2, WAITING = 3, VISITS = 4;
export const MAIN = 1, SOLVE = 2, ALLREDUCE = 3, IO = 4;

export const values: [metric: number, node: number, byRank: number[]][] = [
  [MPI, ALLREDUCE, [2, 1, 1, 0]],
  [USER, SOLVE, [1, 2, 2, 3]],
  [USER, IO, [1, 1, 1, 1]],
  [WAITING, ALLREDUCE, [1.5, 0.5, 0.5, 0]],
  [VISITS, ALLREDUCE, [10, 10, 10, 10]],
];

const STEP = Math.log(1e12) / 65534;

/** `metrics`: writes only these. */
export function sumsBuffer(factor = 1, metrics = [MPI, USER, WAITING, VISITS]): ArrayBuffer {
  const rows = new Map<number, [number, number][]>();
  for (const [metric, node, byRank] of values.filter(([metric]) => metrics.includes(metric))) {
    const sum = factor * byRank.reduce((a, b) => a + b, 0);
    rows.set(metric, [...(rows.get(metric) ?? []), [node, sum]]);
  }
  const words: number[] = [], bytes = new Uint8Array(4096), view = new DataView(bytes.buffer);
  let at = 0;
  const put = (kind: number, metric: number, cells: [number, number][]): void => {
    words.length = 0;
    words.push(kind, 0, metric, cells.length, ...cells.map(([node]) => node));
    words.forEach((word, i) => view.setUint32(at + 4 * i, word, true));
    at = Math.ceil((at + 4 * words.length) / 8) * 8;
    cells.forEach(([, value], i) => view.setFloat64(at + 8 * i, value, true));
    at += 8 * cells.length;
  };
  for (const [metric, cells] of rows) put(0, metric, cells);
  if (metrics.includes(WAITING)) put(1, WAITING, [[ALLREDUCE, 0.25]]);
  // Shares of the ranks: 1/2, 2/3, 2/3, 3/4 in `solve`, the rest in `io`.
  put(2, USER, [[SOLVE, 0.02 * 0.5 + 0.03 * 2 / 3 * 2 + 0.04 * 0.75], [IO, 0.02 * 0.5 + 0.03 / 3 * 2 + 0.04 * 0.25]]);
  const variance = 0.02 / 4 + 0.03 * 2 / 9 * 2 + 0.04 * 3 / 16;
  put(8, USER, [[SOLVE, variance], [IO, variance]]);
  put(9, USER, [[MAIN, 0.0004], [SOLVE, variance], [IO, variance]]);
  return bytes.buffer.slice(0, at);
}

export function cellsBuffer(factor = 1): ArrayBuffer {
  const rows = values.length, places = 4, bytes = new Uint8Array(8 + 24 * rows + 2 * rows * places),
      view = new DataView(bytes.buffer);
  view.setUint32(0, rows, true);
  view.setUint32(4, places, true);
  values.forEach(([metric, node, byRank], row) => {
    view.setUint32(8 + 4 * row, 0, true);
    view.setUint32(8 + 4 * (rows + row), metric, true);
    view.setUint32(8 + 4 * (2 * rows + row), node, true);
    const scale = Math.max(...byRank);
    view.setFloat64(8 + 16 * rows + 8 * row, factor * scale, true);
    byRank.forEach((value, place) => {
      const code = value === 0 ? 0 : Math.max(2, Math.round(65535 + Math.log(value / scale) / STEP)), start = 8
          + 24 * rows + 2 * places * row;
      bytes[start + place] = code >> 8;
      bytes[start + places + place] = code & 255;
    });
  });
  return bytes.buffer;
}

export function headOf(): Head {
  const strings = ['', 'main', 'solve', 'MPI_Allreduce', 'io', 'one', 'two'];
  const metric = (name: string, parent: number, more: Partial<Head['metrics'][number]> = {}): Head['metrics'][number] =>
    ({ name, title: name, unit: 's', parent, help: '', advice: '', overlaps: false, by_place: true, of_run_only: false,
        error: 'exact', ...more });
  return {
    format: 1, name: 'small', source: 'refrain', ranks: 4, facts: [], lacks: [], strings,
    metrics: [metric('wall', -1), metric('mpi', 0), metric('user', 0, { error: 'samples' }),
        metric('waiting', 1, { overlaps: true, of_run_only: true, error: 'given' }),
        metric('visits', -1, { unit: '1' })],
    nodes: { name: [0, 1, 2, 3, 4], parent: [-1, 0, 1, 2, 1], kind: [0, 0, 0, 1, 0], marked: [] },
    places: { host: [5, 5, 6, 6], rank: [0, 1, 2, 3], last_rank: [0, 1, 2, 3], thread: [0, 0, 0, 0],
        locations: [1, 1, 1, 1], seconds: [2, 3, 3, 4], variance: [0.02, 0.03, 0.03, 0.04] },
    samples: { seconds: 12, variance: 0.12 },
    units: [{ kind: 'run', name: 'run', loop: -1, count: 0, first: 0, last: 0, wall: 0, mpi: 0, user: 0,
        reconstructed: false, has_values: true, by_place: true, ranges: [] }],
    loops: [], findings: [], properties: [],
  };
}

/** headOf() without waiting, as written for a run that has none. */
export function headWithoutWaiting(): Head {
  const head = headOf();
  head.metrics = head.metrics.filter((metric) => metric.name !== 'waiting');
  return head;
}

/** The head with a class and a single iteration of `solve`, which have no values of their own in `sums`. */
export function headWithLoop(more: Partial<UnitOfRun> = {}): Head {
  const head = headOf();
  const unit: Omit<UnitOfRun, 'kind' | 'name'> = { loop: 0, count: 3, first: 0, last: 2, wall: 1, mpi: 0, user: 1,
    reconstructed: false, has_values: true, by_place: true, ranges: [], ...more };
  head.units.push({ ...unit, kind: 'class', name: 'class 1' }, { ...unit, kind: 'iteration', name: 'iteration 2' });
  head.nodes.marked = [2];
  head.loops = [{ name: 'solve', node: 2, iterations: 3, ranks: [0, 1, 2, 3], threads: [0, 0, 0, 0],
    series: { bins: 0, width: 1, classes: 0, rows: [] }, maps: [] }];
  return head;
}

/** A run for each of `factors`, with all values multiplied by it. */
export function modelWith(...factors: number[]): Model {
  const all = factors.length > 0 ? factors : [1];
  const model = modelOf(all.map(headOf), all.map((factor) => sumsBuffer(factor)));
  model.runs.forEach((run, i) => { run.cells = new Cells(cellsBuffer(all[i]), run.numbering); });
  return model;
}
