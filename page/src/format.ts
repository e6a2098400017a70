/** Numbers and names as people read them. */
import type { Unit } from './model';

const digits = (value: number): string => value === 0 ? '0' : value >= 999.5 ? Math.round(value).toLocaleString('en-US')
    : value.toPrecision(3);

/** In the largest unit in which the rounded value is at least 1. */
function scaled(value: number, steps: readonly [number, string][]): string {
  const size = Math.abs(value), [divisor, unit] = steps.find(([least]) => size >= 0.9995 * least) ?? steps.at(-1)!;
  return `${value < 0 ? '\u2212' : ''}${digits(size / divisor)} ${unit}`;
}

/** "12.6 s", "3.10 MiB", "1,234"; "not known" for NaN. */
export function valueText(value: number, unit: Unit): string {
  if (Number.isNaN(value)) return 'not known';
  if (value === 0) return unit === '1' ? '0' : `0 ${unit}`;
  if (unit === 's') return scaled(value, [[1, 's'], [1e-3, 'ms'], [1e-6, 'us'], [1e-9, 'ns']]);
  if (unit === 'B') return scaled(value, [[2 ** 40, 'TiB'], [2 ** 30, 'GiB'], [2 ** 20, 'MiB'], [2 ** 10, 'KiB'],
      [1, 'B']]);
  const size = Math.abs(value), sign = value < 0 ? '\u2212' : '';
  return sign + (Number.isInteger(value) ? size.toLocaleString('en-US') : digits(size));
}

/** "57.7 %", "<0.1 %". */
export function shareText(share: number): string {
  if (Number.isNaN(share)) return 'not known';
  const percent = 100 * share;
  if (percent !== 0 && Math.abs(percent) < 0.05) return percent < 0 ? '>\u22120.1 %' : '<0.1 %';
  return `${percent < 0 ? '\u2212' : ''}${Math.abs(percent).toFixed(1)} %`;
}

/** The error of a value; empty if there is none. */
export function errorText(error: number, unit: Unit, isShare: boolean): string {
  if (!(error > 0)) return '';
  return `\u00b1 ${isShare ? shareText(error) : valueText(error, unit)}`;
}

const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const LONGEST = 400;

/** A name from a program: control characters and those that change the direction of text are made visible; very long
 * names are cut in the middle. */
export function nameText(name: string): string {
  const clean = name.replace(CONTROL, '\ufffd');
  return clean.length <= LONGEST ? clean : `${clean.slice(0, LONGEST / 2)} \u2026 ${clean.slice(-LONGEST / 2)}`;
}

/** "main > step > MPI_Waitall". */
export function pathText(path: readonly string[]): string {
  return path.map(nameText).join(' > ');
}
