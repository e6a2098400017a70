import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { classColors, css, isLight, kindColors, luminance, rgbOf, stepOf, valueColor } from '../../src/colors';

type Rgb = ReturnType<typeof rgbOf>;
const BLACK: Rgb = [0, 0, 0], WHITE: Rgb = [255, 255, 255];

function contrast(a: Rgb, b: Rgb): number {
  const [dark, light] = [luminance(a), luminance(b)].sort((x, y) => x - y) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

test('letters on every colour have a contrast of 4.5 to 1', () => {
  const values = Array.from({ length: 101 }, (_, i) => valueColor(i / 100));
  for (const color of [...classColors.map(rgbOf), ...Object.values(kindColors).map(rgbOf), ...values])
    assert.ok(contrast(color, isLight(color) ? BLACK : WHITE) >= 4.5, css(color));
});

test('the ends of a scale have colours, also where numbers are rounded', () => {
  const most = 0.1, least = Math.fround(-most);
  assert.deepEqual([stepOf((least / most + 1) / 2), stepOf(0), stepOf(1), stepOf(1 + 1e-9), stepOf(NaN)],
      [0, 0, 255, 255, null]);
});

test('lightness of values ascends, so that they are told apart in grey', () => {
  for (let i = 0; i < 20; i++) assert.ok(luminance(valueColor(i / 20)) < luminance(valueColor((i + 1) / 20)));
});

/** The page's own colours, by name; those that dark mode does not change are those of light mode. */
function variables(): Record<string, Rgb>[] {
  const blocks = [...readFileSync('src/style.css', 'utf8').matchAll(/:root \{([^}]*)\}/g)].map(([, text]) =>
      Object.fromEntries([...text!.matchAll(/--(\w+): (#[0-9a-f]+);/g)].map(([, name, value]) =>
          [name!, rgbOf(value!.length === 4 ? value!.replace(/[0-9a-f]/g, '$&$&') : value!)])));
  return [blocks[0]!, { ...blocks[0], ...blocks[1] }];
}

test('texts of the page have a contrast of 4.5 to 1 in light and dark', () => {
  const all = variables();
  assert.equal(all.length, 2);
  for (const of of all) {
    for (const text of ['text', 'dim', 'link'])
      for (const back of ['back', 'panel']) assert.ok(contrast(of[text]!, of[back]!) >= 4.5, `${text} on ${back}`);
    for (const text of ['more', 'less']) assert.ok(contrast(of[text]!, of.back!) >= 4.5, text);
    assert.ok(contrast(of.text!, of.chosen!) >= 4.5, 'selected');
    assert.ok(contrast(of.focus!, of.back!) >= 3, 'focus');
  }
});
