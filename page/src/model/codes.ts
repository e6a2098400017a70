/** Numbers of two bytes with a relative error of 0.02 % (docs/explorer-format.md). */

const NOT_KNOWN = 1, SMALLEST = 2;
const STEP = Math.log(1e12) / 65534;
const table = new Float64Array(65536);
table[NOT_KNOWN] = NaN;
for (let code = SMALLEST; code < 65536; code++) table[code] = Math.exp((code - 65535) * STEP);

/** The values of a row, which are stored as parts of its scale. */
export function decode(high: Uint8Array, low: Uint8Array, scale: number, into: Float64Array): void {
  for (let i = 0; i < into.length; i++) into[i] = scale * table[high[i]! * 256 + low[i]!]!;
}

/** Adds the values to `into` instead. */
export function addDecoded(high: Uint8Array, low: Uint8Array, scale: number, into: Float64Array): void {
  for (let i = 0; i < into.length; i++) into[i]! += scale * table[high[i]! * 256 + low[i]!]!;
}
