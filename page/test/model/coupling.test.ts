import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Trees, type Coupled, type Setting, type TreeName } from '../../src/model/coupling';
import { spansOf, type Row } from '../../src/model/items';
import { modeNamed, modesOf, shownOf, type Mode } from '../../src/model/modes';
import { modelOf } from '../../src/model/model';
import { span } from '../../src/model/span';
import { valuesOfMetrics, valuesOfNodes, valuesOfPlaces } from '../../src/model/values';
import { Cells } from '../../src/model/cells';
import {
  cellsBuffer, headOf, headWithLoop, headWithoutWaiting, modelWith, MPI, sumsBuffer, USER, VISITS, WAITING, WALL,
} from './small';

const all = { metric: ['m0', 'm1', 'm2'], call: ['c0:1', 'c0:2', 'c0:3', 'c0:4'], system: ['s', 'h0', 'h1'] };

function setting(change: { order?: TreeName[]; metric?: string[]; call?: string[]; system?: string[];
    open?: Partial<Record<TreeName, string[]>>; form?: Setting['form'] } = {}): Setting {
  const open = { metric: [], call: [], system: [], ...change.open };
  return {
    order: change.order ?? ['metric', 'call', 'system'],
    selected: { metric: change.metric ?? ['m0'], call: change.call ?? [], system: change.system ?? [] },
    expanded: { metric: new Set(open.metric), call: new Set(open.call), system: new Set(open.system) }, parts: [0],
    form: change.form ?? 'tree', byClass: false,
  };
}

function rowOf(coupled: Coupled, tree: TreeName, name: string): Row {
  const row = coupled[tree].rows.find((each) => each.item.name === name);
  assert.ok(row, `${name} is to be seen`);
  return row;
}

function valueOf(coupled: Coupled, tree: TreeName, name: string): number {
  const row = rowOf(coupled, tree, name);
  return coupled[tree].values[0]!.of(spansOf(row.item, row.isExpanded));
}

const near = (got: number, want: number): void =>
    assert.ok(Math.abs(got - want) <= 1e-3 * Math.abs(want) + 1e-9, `${got}, not ${want}`);
const exact = (got: number, want: number): void => assert.ok(Math.abs(got - want) < 1e-12, `${got}, not ${want}`);

test('a closed row is inclusive, an open one exclusive', () => {
  const trees = new Trees(modelWith());
  exact(valueOf(trees.couple(setting()), 'call', 'main'), 16);
  const open = trees.couple(setting({ open: { call: ['c0:1'] } }));
  exact(valueOf(open, 'call', 'main'), 0);
  exact(valueOf(open, 'call', 'solve'), 12);
  exact(valueOf(trees.couple(setting({ open: { call: ['c0:1', 'c0:2'] } })), 'call', 'solve'), 8);
  exact(valueOf(trees.couple(setting()), 'metric', 'wall'), 16);
  exact(valueOf(trees.couple(setting({ open: { metric: ['m0'] } })), 'metric', 'wall'), 0);
});

test('paths are those of the report', () => {
  const coupled = new Trees(modelWith()).couple(setting({ open: all }));
  assert.deepEqual(rowOf(coupled, 'call', 'MPI_Allreduce').item.path, ['main', 'solve', 'MPI_Allreduce']);
  assert.deepEqual(rowOf(coupled, 'system', 'rank 2').item.path, ['machine', 'two', 'rank 2']);
});

test('a selection drives the trees to its right', () => {
  const trees = new Trees(modelWith());
  const coupled = trees.couple(setting({ metric: ['m1'], call: ['c0:2'],
      open: { metric: ['m0'], call: ['c0:1'], system: ['s', 'h0', 'h1'] } }));
  exact(valueOf(coupled, 'metric', 'mpi'), 4);
  exact(valueOf(coupled, 'call', 'solve'), 4);
  [2, 1, 1, 0].forEach((want, rank) => near(valueOf(coupled, 'system', `rank ${rank}`), want));
});

test('an open selected row stands for what it shows', () => {
  const coupled = new Trees(modelWith()).couple(setting({ call: ['c0:2'],
      open: { call: ['c0:1', 'c0:2'], system: ['s', 'h0', 'h1'] } }));
  [1, 2, 2, 3].forEach((want, rank) => near(valueOf(coupled, 'system', `rank ${rank}`), want));
});

test('several selections add up', () => {
  const coupled = new Trees(modelWith()).couple(setting({ call: ['c0:3', 'c0:4'],
      open: { call: ['c0:1', 'c0:2'], system: ['s', 'h0', 'h1'] } }));
  [3, 2, 2, 1].forEach((want, rank) => near(valueOf(coupled, 'system', `rank ${rank}`), want));
});

test('the order can be changed', () => {
  const trees = new Trees(modelWith()), open = { call: ['c0:1'], system: ['s', 'h0', 'h1'] };
  const coupled = trees.couple(setting({ order: ['metric', 'system', 'call'], system: ['s3'], call: ['c0:4'], open }));
  near(valueOf(coupled, 'call', 'solve'), 3);
  near(valueOf(coupled, 'call', 'io'), 1);
  near(valueOf(coupled, 'system', 'rank 0'), 4); // not driven by the call tree to its right
});

test('trees left of the metrics show the root of the selected metric', () => {
  const coupled = new Trees(modelWith()).couple(setting({ order: ['call', 'metric', 'system'], metric: ['m1'],
      call: ['c0:4'], open: { metric: ['m0'], call: ['c0:1'] } }));
  exact(valueOf(coupled, 'call', 'io'), 4);
  exact(valueOf(coupled, 'metric', 'mpi'), 0);
  exact(valueOf(coupled, 'metric', 'user'), 4);
});

test('by function a function counts once', () => {
  const coupled = new Trees(modelWith()).couple(setting({ form: 'flat' }));
  exact(valueOf(coupled, 'call', 'solve'), 12);
  const row = rowOf(coupled, 'call', 'solve'),
      open = new Trees(modelWith()).couple(setting({ form: 'flat', open: { call: [row.item.key] } }));
  exact(valueOf(open, 'call', 'solve'), 8);
  exact(valueOf(open, 'call', 'what it calls'), 4);
});

test('callers have the time of the function', () => {
  const trees = new Trees(modelWith()), roots = trees.couple(setting({ form: 'callers' })),
      key = rowOf(roots, 'call', 'MPI_Allreduce').item.key;
  const coupled = trees.couple(setting({ form: 'callers', open: { call: [key] } }));
  exact(valueOf(coupled, 'call', 'MPI_Allreduce'), 0);
  const solve = coupled.call.rows.find((row) => row.item.path.join() === 'MPI_Allreduce,solve')!;
  exact(coupled.call.values[0]!.of(solve.item.whole), 4);
});

test('every value mode', () => {
  const trees = new Trees(modelWith(1, 2));
  const coupled = trees.couple(setting({ metric: ['m1'], call: ['c0:2'], system: ['s0'],
      open: { metric: ['m0'], call: ['c0:1'], system: ['s', 'h0', 'h1'] } }));
  const shown = (tree: TreeName, name: string, mode: Mode): number =>
      shownOf(coupled, tree, mode, rowOf(coupled, tree, name)).value;
  near(shown('system', 'rank 1', 'absolute'), 1);
  exact(shown('metric', 'mpi', 'own_root'), 4 / 16);
  exact(shown('call', 'solve', 'own_root'), 1);
  exact(shown('call', 'solve', 'metric_root'), 4 / 16);
  exact(shown('call', 'solve', 'metric_selection'), 1);
  near(shown('system', 'rank 0', 'metric_root'), 2 / 16);
  near(shown('system', 'rank 0', 'call_root'), 2 / 4);
  near(shown('system', 'rank 0', 'call_selection'), 2 / 4);
  near(shown('system', 'rank 1', 'peer'), 1 / 2);
  near(shown('system', 'rank 1', 'peer_distribution'), 1 / 2);
  near(shown('system', 'rank 0', 'run_1'), 1 / 2);
  assert.deepEqual(modesOf('metric', ['metric', 'call', 'system'], 1).map((row) => row.mode), ['absolute', 'own_root']);
  assert.deepEqual(modesOf('call', ['metric', 'call', 'system'], 1).map((row) => row.mode),
      ['absolute', 'own_root', 'metric_root', 'metric_selection']);
  assert.ok(!modesOf('call', ['call', 'metric', 'system'], 1).some((row) => row.mode.startsWith('metric')));
});

test('each further run is one that values are percent of', () => {
  const coupled = new Trees(modelWith(1, 2, 4)).couple(setting({ open: { call: ['c0:1'] } }));
  const row = rowOf(coupled, 'call', 'io');
  near(shownOf(coupled, 'call', 'run_1', row).value, 1 / 2);
  near(shownOf(coupled, 'call', 'run_2', row).value, 1 / 4);
  const offered = modesOf('call', ['metric', 'call', 'system'], 3);
  assert.deepEqual(offered.slice(-2).map(({ mode, title }) => [mode, title]),
      [['run_1', 'Percent of run B'], ['run_2', 'Percent of run C']]);
  assert.deepEqual(['run_2', 'peer', 'run_0', 'other'].map(modeNamed), ['run_2', 'peer', null, null]);
});

test('errors are those of the rules', () => {
  const trees = new Trees(modelWith()), coupled = trees.couple(setting({ metric: ['m2'],
      open: { call: ['c0:1'], metric: ['m0', 'm1'], system: ['s', 'h0', 'h1'] } }));
  const of = (tree: TreeName, name: string): number => {
    const row = rowOf(coupled, tree, name);
    return coupled[tree].values[0]!.errorOf(spansOf(row.item, row.isExpanded));
  };
  // 100 samples a second. Shares are 1/2, 1/3, 1/3, 1/4 of 2, 3, 3, 4 s, and variances add over ranks.
  exact(of('call', 'io'), Math.sqrt(0.02 / 4 + 2 * 0.03 * 2 / 9 + 0.04 * 3 / 16));
  exact(of('metric', 'waiting'), 0.25);
  exact(of('metric', 'user'), 0); // the whole is not divided
  exact(of('system', 'machine'), 0);
  const byRank = trees.couple(setting({ call: ['c0:4'], open: { call: ['c0:1'], system: ['s', 'h0', 'h1'] } })),
      row = rowOf(byRank, 'system', 'rank 0');
  near(byRank.system.values[0]!.errorOf(row.item.whole), 2 * Math.sqrt(0.25 / 200)); // half of 2 s, 200 samples
  const ofIo = (...system: string[]): number => {
    const some = trees.couple(setting({ order: ['metric', 'system', 'call'], metric: ['m2'], system,
        open: { call: ['c0:1'], system: ['s', 'h0', 'h1'] } })), io = rowOf(some, 'call', 'io');
    return some.call.values[0]!.errorOf(spansOf(io.item, io.isExpanded));
  };
  near(ofIo('s0'), Math.sqrt(0.02 / 4));
  near(ofIo('s0', 's3'), Math.sqrt(0.02 - 0.02 ** 2 / 0.06)); // an upper bound: the true value is the root of 0.0125
});

test('what a metric does not tell by place is not known, and no zero', () => {
  const model = modelWith();
  model.metrics[3]!.by_place = false;
  const coupled = new Trees(model).couple(setting({ metric: ['m3'],
      open: { metric: ['m0', 'm1'], system: ['s', 'h0'] } }));
  assert.ok(Number.isNaN(valueOf(coupled, 'system', 'rank 0')));
  exact(valueOf(coupled, 'call', 'main'), 2.5);
});

test('a metric that one of the runs does not have leaves the others as they are', () => {
  const lesser = sumsBuffer(2, [MPI, USER]), model = modelOf([headOf(), headWithoutWaiting()], [sumsBuffer(), lesser]);
  const [with_, without] = model.runs.map((run) => valuesOfMetrics(model,
      { run, metrics: [], nodes: model.everything([0]), places: null }));
  exact(without!.of(model.metricSpans(WALL)), 32);
  exact(without!.of([span(MPI, USER + 1), span(WAITING, WAITING + 1)]), 32);
  assert.ok(Number.isNaN(without!.of([span(WAITING, WAITING + 1)])));
  exact(with_!.of([span(WAITING, WAITING + 1)]), 2.5);
  const byNode = valuesOfNodes(model, { run: model.runs[1]!, metrics: [span(WAITING, WAITING + 1)], nodes: [],
      places: null });
  assert.ok(Number.isNaN(byNode.of(model.everything([0]))));
});

test('what is known of whole runs only is not known in classes and iterations', () => {
  const model = modelOf([headWithLoop()], [sumsBuffer()]), run = model.first;
  run.cells = new Cells(cellsBuffer(), run.numbering);
  const of = (metric: number, unit: number): number[] => {
    const metrics = [span(metric, metric + 1)], context = { run, metrics, nodes: model.everything([unit]),
        places: null };
    return [valuesOfMetrics(model, context).of(metrics), valuesOfNodes(model, context).of(context.nodes),
      valuesOfPlaces(model, context).of([span(0, 4)])];
  };
  assert.ok(of(WAITING, 1).every(Number.isNaN), `${of(WAITING, 1)}`);
  assert.deepEqual(of(VISITS, 1), [0, 0, 0]);
  of(WAITING, 0).forEach((value) => near(value, 2.5));
  model.units[1]!.has_values = false;
  assert.ok(of(VISITS, 1).every(Number.isNaN), 'a unit without values');
});

test('what is reconstructed is not exact', () => {
  for (const reconstructed of [false, true]) {
    const model = modelOf([headWithLoop({ reconstructed })], [sumsBuffer()]), metrics = [span(MPI, MPI + 1)];
    const values = valuesOfNodes(model, { run: model.first, metrics, nodes: [], places: null });
    assert.deepEqual([values.errorOf(model.everything([1])), values.errorOf(model.everything([0]))],
        [reconstructed ? NaN : 0, 0]);
  }
});
