/** Errors of time that samples divide (docs/explorer-format.md). Shares of a thread are multinomial. */
import type { Samples } from './head';

/** The variance of `part` of the time of one thread; both are in seconds. */
export function varianceOfShare(part: number, { seconds, variance }: Samples): number {
  const share = part / seconds;
  if (!(variance > 0) || !(share > 0)) return 0;
  return share < 1 - 1e-9 ? share * (1 - share) * variance : Math.min(seconds, variance / seconds) ** 2;
}

/**
 * The variance for several threads, from the sum over them of share times `variance`. It is an upper bound for such
 * shares, and exact if all threads have the same share.
 */
export function varianceOfParts(divided: number, { variance }: Samples): number {
  return variance > 0 ? Math.max(0, divided - divided ** 2 / variance) : 0;
}
