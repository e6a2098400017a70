/** Ranks in a picture with fewer columns than ranks. */

export interface Column {
  /** Ranks that share the column: the first, and the one after the last. */
  begin: number;
  end: number;
  /** The rank that is shown, and why. */
  rank: number;
  extreme: '' | 'most' | 'least';
  values: readonly number[];
}

/** Pairs of adjacent columns share their ranks: one shows the rank with most of the value `of`, the other the one with
 * least, so that extremes stay visible. `ofRank`: values of each rank. */
export function columnsOf(ofRank: readonly (readonly number[])[], of: number, width: number): Column[] {
  const ranks = ofRank.length, columns = Math.max(1, Math.min(ranks, Math.floor(width)));
  const edge = (column: number): number => Math.floor(Math.min(column, columns) * ranks / columns);
  return Array.from({ length: columns }, (_, i): Column => {
    if (columns === ranks) return { begin: i, end: i + 1, rank: i, extreme: '', values: ofRank[i]! };
    const pair = i - i % 2, begin = edge(pair), end = edge(pair + 2), isMost = i % 2 === 0;
    let rank = begin;
    for (let other = begin + 1; other < end; other++) {
      const more = (ofRank[other]![of] ?? 0) - (ofRank[rank]![of] ?? 0);
      if (isMost ? more > 0 : more < 0) rank = other;
    }
    return { begin, end, rank, extreme: isMost ? 'most' : 'least', values: ofRank[rank]! };
  });
}
