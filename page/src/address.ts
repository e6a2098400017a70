/** Keeps the state in the address, so that a link, or "copy state", opens the page as it is. */
import { batch, effect } from '@preact/signals';
import { modeNamed, rangeIn, treeNames, type CallForm, type Mode, type TreeName } from './model';
import * as state from './state';

interface Saved {
  v: string;
  o: string;
  m: string[];
  c: string[];
  s: string[];
  e: [string[], string[], string[]];
  p: number[];
  f: string;
  b: number;
  d: string[];
  l: string;
  r: string;
  i: number[];
  w: number;
  n: [string, number] | [];
  a: number;
  u: number;
  k: number;
  x: number;
  t: number[];
  y: number;
  g: [number, number, ...number[]];
}

function saved(): Saved {
  const { metric, call, system } = state.selected.value, open = state.expanded.value, mode = state.modeOf.value,
      map = state.map.value;
  return {
    v: state.view.value, o: state.order.value.map((name) => name[0]).join(''), m: [...metric], c: [...call],
    s: [...system],
    e: [[...open.metric], [...open.call], [...open.system]], p: [...state.parts.value], f: state.form.value,
    b: state.byClass.value ? 1 : 0,
    d: treeNames.map((name) => mode[name]), l: state.loopName.value, r: state.sort.value,
    i: [...state.iterations.value ?? []], w: state.seriesRow.value,
    n: state.sandwich.value ? [state.sandwich.value.name, state.sandwich.value.kind] : [],
    a: state.flameOfSelected.value ? 1 : 0, u: state.flameRun.value, k: state.isWide.value ? 1 : 0,
    x: state.enlarged.value, t: [...state.openChains.value],
    y: state.graphRun.value ?? -1, g: [map.metric, map.run ?? -1, ...map.rows ?? []],
  };
}

const strings = (value: unknown): string[] => Array.isArray(value)
    ? value.filter((each): each is string => typeof each === 'string') : [];

const numberOr = (other: number, value: unknown): number => Number.isInteger(value) && (value as number) >= 0
    ? value as number : other;

/** Null: none. */
const runOr = (value: unknown): number | null => numberOr(-1, value) < 0 ? null : value as number;

/** Begin and end, which is excluded; null: all. */
function rangeOf(value: unknown): readonly [number, number] | null {
  const [begin, end] = Array.isArray(value) ? value as unknown[] : [];
  if (!Number.isInteger(begin) || !Number.isInteger(end)) return null;
  return 0 <= (begin as number) && (begin as number) < (end as number) ? [begin as number, end as number] : null;
}

/** What does not fit the file is ignored: an address may come from anywhere. */
export function restoreState(text: string): void {
  let from: Partial<Saved>;
  try {
    from = JSON.parse(decodeURIComponent(text)) as Partial<Saved>;
  } catch {
    return;
  }
  if (typeof from !== 'object' || from === null) return;
  const units = state.model.value?.units.length ?? 1;
  batch(() => {
    if (['overview', 'trees', 'iterations', 'flame',
        'file'].includes(from.v ?? '')) state.view.value = from.v as state.ViewName;
    const order = [...typeof from.o === 'string' ? from.o : ''].map((letter) =>
        treeNames.find((name) => name.startsWith(letter))).filter((name): name is TreeName => name !== undefined);
    if (new Set(order).size === 3) state.order.value = order;
    const metric = strings(from.m);
    state.selected.value = { metric: metric.length > 0 ? metric : ['m0'], call: strings(from.c),
        system: strings(from.s) };
    if (Array.isArray(from.e)) state.expanded.value = { metric: new Set(strings(from.e[0])),
        call: new Set(strings(from.e[1])), system: new Set(strings(from.e[2])) };
    const parts = Array.isArray(from.p) ? from.p.filter((unit) => Number.isInteger(unit) && unit >= 0 && unit < units)
        : [];
    if (parts.length > 0) state.parts.value = parts;
    if (['tree', 'flat', 'callers'].includes(from.f ?? '')) state.form.value = from.f as CallForm;
    state.byClass.value = from.b === 1;
    const mode = strings(from.d).map(modeNamed);
    const at = (i: number): Mode => mode[i] ?? 'absolute';
    state.modeOf.value = { metric: at(0), call: at(1), system: at(2) };
    if (typeof from.l === 'string' && from.l) state.loopName.value = from.l;
    state.sort.value = state.sorts.find((sort) => sort === from.r) ?? 'tree';
    state.iterations.value = rangeIn(rangeOf(from.i), state.shownLoop.value?.loop.iterations ?? 0);
    state.seriesRow.value = numberOr(0, from.w);
    const [ofMap, against, ...rows] = Array.isArray(from.g) ? from.g as unknown[] : [];
    state.map.value = { metric: numberOr(0, ofMap), run: runOr(against),
      rows: rangeOf(rows) };
    state.graphRun.value = runOr(from.y);
    state.enlarged.value = numberOr(0, from.x);
    state.openChains.value = new Set(Array.isArray(from.t) ? from.t.filter((node) =>
        Number.isInteger(node) && node >= 0) : []);
    const [name, kind] = Array.isArray(from.n) ? from.n : [];
    state.sandwich.value = typeof name === 'string' && typeof kind === 'number' ? { name, kind } : null;
    state.flameOfSelected.value = from.a === 1;
    state.flameRun.value = numberOr(0, from.u);
    state.isWide.value = from.k !== 0;
  });
}

export function stateText(): string {
  return encodeURIComponent(JSON.stringify(saved()));
}

/** Call once, after begin(): applies the address, then keeps it up to date. */
export function keepAddress(): void {
  let own = location.hash.slice(1);
  if (own) restoreState(own);
  addEventListener('hashchange', () => {
    const now = location.hash.slice(1);
    if (now !== own) restoreState(own = now);
  });
  let timer = 0;
  effect(() => {
    const text = stateText();
    clearTimeout(timer);
    // Waits, so that a key held down does not change the address at each step.
    timer = setTimeout(() => {
      if (text === own) return;
      own = text;
      location.replace(`#${text}`);
    }, 300) as unknown as number;
  });
}
