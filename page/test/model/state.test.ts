import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { restoreState, stateText } from '../../src/address';
import { Cells } from '../../src/model/cells';
import { modelOf, type Model } from '../../src/model/model';
import * as state from '../../src/state';
import { cellsBuffer, headOf, modelWith, sumsBuffer } from './small';

/** `solve` is a loop with a class and a single iteration; the second run has its call paths in another order. */
function twoRuns(): Model {
  const [first, second] = [headOf(), headOf()];
  const unit = { loop: 0, count: 3, first: 0, last: 2, wall: 1, mpi: 0, user: 1, reconstructed: true, has_values: true,
    by_place: true, ranges: [] };
  first.units.push({ ...unit, kind: 'class', name: 'class 1' }, { ...unit, kind: 'iteration', name: 'iteration 2' });
  first.nodes.marked = second.nodes.marked = [2];
  first.loops = [{ name: 'solve', node: 2, iterations: 3, places: 4,
    series: { bins: 0, width: 1, classes: 0, rows: [] }, maps: [] }];
  second.nodes = { name: [0, 1, 4, 2, 3], parent: [-1, 0, 1, 1, 3], kind: [0, 0, 0, 0, 1], marked: [3] };
  const model = modelOf([first, second], [sumsBuffer(), sumsBuffer()]);
  model.runs.forEach((run) => { run.cells = new Cells(cellsBuffer(), run.numbering); });
  return model;
}

beforeEach(() => {
  state.begin(modelWith());
  restoreState(encodeURIComponent('{}'));
});

test('the address keeps all that was chosen', () => {
  state.sort.value = 'value';
  state.iterations.value = [3, 9];
  state.seriesRow.value = 2;
  state.sandwich.value = { name: '"solve"<&>', kind: 0 };
  state.flameOfSelected.value = true;
  state.isWide.value = false;
  state.select('call', 'c0:1', false);
  state.modeOf.value = { ...state.modeOf.value, call: 'own_root' };
  const text = stateText();
  restoreState(encodeURIComponent('{}'));
  assert.notEqual(stateText(), text);
  restoreState(text);
  assert.equal(stateText(), text);
  assert.deepEqual([state.sort.value, state.iterations.value, state.sandwich.value!.name],
      ['value', [3, 9], '"solve"<&>']);
});

test('an address from anywhere does no harm', () => {
  const wrong = { r: 'constructor', i: [9, 3], w: -1, n: [1, 2], a: 'x', p: [99], o: 'xyz', e: 3, d: [1], m: 7 };
  for (const text of ['%', 'null', '7', encodeURIComponent(JSON.stringify(wrong))]) restoreState(text);
  assert.deepEqual([state.sort.value, state.iterations.value, state.seriesRow.value, state.sandwich.value],
      ['tree', null, 0, null]);
  assert.ok(state.coupled.value!.call.rows.length > 0);
});

test('metrics of different units do not add up', () => {
  state.expand('metric', ['m0'], true);
  state.select('metric', 'm1', false);
  state.select('metric', 'm2', true);
  assert.deepEqual(state.selected.value.metric, ['m1', 'm2']);
  state.select('metric', 'm4', true);
  assert.deepEqual(state.selected.value.metric, ['m4']);
});

test('a finding selects the call path of its own run', () => {
  const model = twoRuns();
  state.begin(model);
  state.follow(model.runs[1]!, { rule: '', share: 1, error: 0, text: '', select: { node: 3 } });
  assert.deepEqual(state.coupled.value!.call.selected.map((row) => row.item.name), ['solve']);
});

test('classes have all of their loop, and iterations are parts of them', () => {
  state.begin(twoRuns());
  state.byClass.value = true;
  state.expand('call', ['c0:1', 'c0:2'], true);
  const rows = state.coupled.value!.call.rows, solve = rows.find((row) => row.item.name === 'solve')!;
  assert.deepEqual(rows.filter((row) => row.item.parent === solve.item).map((row) => [row.item.name, row.item.kind]),
      [['class 1', 'class'], ['iteration 2', 'part']]);
  assert.deepEqual(solve.item.own, []);
  state.byClass.value = false;
});
