import assert from 'node:assert/strict';
import { test } from 'node:test';
import { errorText, nameText, shareText, valueText } from '../../src/format';

test('values have three digits and the unit that fits', () => {
  assert.deepEqual([12.6, 0.99986, 0.0042, 3e-7, 0, -2, NaN].map((value) => valueText(value, 's')),
      ['12.6 s', '1.00 s', '4.20 ms', '300 ns', '0 s', '\u22122.00 s', 'not known']);
  assert.deepEqual([1024, 3.25 * 2 ** 20, 12].map((value) => valueText(value, 'B')),
      ['1.00 KiB', '3.25 MiB', '12.0 B']);
  assert.equal(valueText(1234, '1'), '1,234');
});

test('shares and errors', () => {
  assert.deepEqual([0.577, 0.0001, -0.0001, 0, NaN].map(shareText),
      ['57.7 %', '<0.1 %', '>\u22120.1 %', '0.0 %', 'not known']);
  assert.deepEqual([errorText(0, 's', false), errorText(0.25, 's', false), errorText(NaN, 's', false)],
      ['', '\u00b1 250 ms', '']);
});

test('names show what would change the text around them, and long ones are cut', () => {
  assert.equal(nameText('a\u0000b\u202ec\u2028'), 'a\ufffdb\ufffdc\ufffd');
  assert.ok(nameText('x'.repeat(10_000)).length < 410);
});
