import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { restoreState, stateText } from '../../src/address';
import { Cells } from '../../src/model/cells';
import { modelOf, type Model } from '../../src/model/model';
import type { Finding } from '../../src/model/head';
import * as state from '../../src/state';
import { isCommand } from '../../src/widgets/keys';
import { cellsBuffer, headOf, headWithLoop, modelWith, sumsBuffer } from './small';

/** `solve` is a loop with a class and a single iteration; the second run has its call paths in another order. */
function twoRuns(): Model {
  const first = headWithLoop(), second = headOf();
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
  state.begin(twoRuns());
  state.sort.value = 'value';
  state.iterations.value = [1, 3];
  state.map.value = { metric: 1, run: 1, rows: [2, 4] };
  state.enlarged.value = 2;
  state.openChains.value = new Set([2, 3]);
  state.graphRun.value = 1;
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
  assert.deepEqual([state.sort.value, state.iterations.value, state.sandwich.value!.name, state.graphRun.value,
    [...state.openChains.value]], ['value', [1, 3], '"solve"<&>', 1, [2, 3]]);
});

test('an address from anywhere does no harm', () => {
  const wrong = { r: 'constructor', i: [9, 3], w: -1, n: [1, 2], a: 'x', p: [99], o: 'xyz', e: 3, x: -3,
    g: ['a', -7, 5, 1], d: [1], m: 7, t: ['a', -1, 0.5], y: 'b' };
  for (const text of ['%', 'null', '7', '{"o":5}', encodeURIComponent(JSON.stringify(wrong))]) restoreState(text);
  assert.deepEqual([state.sort.value, state.iterations.value, state.seriesRow.value, state.sandwich.value,
    state.graphRun.value, state.openChains.value.size], ['tree', null, 0, null, null, 0]);
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

test('iterations of an address are those of its loop', () => {
  state.begin(twoRuns());
  const restored = (i: number[]): unknown => {
    restoreState(encodeURIComponent(JSON.stringify({ i })));
    return state.iterations.value;
  };
  assert.deepEqual([[1, 99], [1, 2], [0, 3], [7, 9]].map(restored), [[1, 3], [1, 2], null, null]);
});

test('a finding shows its own loop and iterations, and nothing of what was shown before', () => {
  const first = headWithLoop(), [loop] = first.loops;
  first.loops.push({ ...loop!, name: 'other', iterations: 1000 });
  const model = modelOf([first], [sumsBuffer()]), about = (select: Finding['select']): Finding =>
      ({ rule: '', share: 1, error: 0, text: '', select });
  state.begin(model);
  state.seriesRow.value = 1;
  state.map.value = { metric: 1, run: null, rows: [1, 2] };
  state.follow(model.first, about({ loop: 'other', iterations: [500, 509] }));
  assert.deepEqual([state.loopName.value, state.iterations.value, state.seriesRow.value, state.map.value.rows],
      ['other', [490, 520], 0, null]);
  state.seriesRow.value = 1;
  state.follow(model.first, about({ loop: 'other' }));
  assert.deepEqual([state.iterations.value, state.seriesRow.value], [null, 1]);
  state.iterations.value = [490, 520];
  state.follow(model.first, about({ ranks: [[1, 1]] }));
  assert.equal(state.iterations.value, null);
  assert.deepEqual([{}, { ranks: [] }, { ranks: [[0, 0] as [number, number]] }, { loop: 'x' }].map((select) =>
      state.canFollow(about(select))), [false, false, true, true]);
});

test('a loop that the first run lacks is the one of another run', () => {
  const model = modelOf([headOf(), headWithLoop()], [sumsBuffer(), sumsBuffer()]);
  state.begin(model);
  assert.equal(state.shownLoop.value!.run, model.runs[1]);
});

test('commands of the browser are no keys of the page', () => {
  const keys = { ctrlKey: false, metaKey: false, altKey: false };
  assert.ok(!isCommand(keys));
  for (const key of ['ctrlKey', 'metaKey', 'altKey']) assert.ok(isCommand({ ...keys, [key]: true }), key);
});

test('a finding selects all of its ranks', () => {
  const model = modelWith();
  state.begin(model);
  state.follow(model.first, { rule: '', share: 1, error: 0, text: '', select: { ranks: [[0, 1], [3, 3]] } });
  assert.deepEqual(state.coupled.value!.system.selected.map((row) => row.item.name), ['rank 0', 'rank 1', 'rank 3']);
});
