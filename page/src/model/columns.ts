/** Ranks in a picture that has fewer columns than there are ranks. */

export interface Column {
  /** Ranks that share it: first, behind the last. */
  begin: number;
  end: number;
  /** The one that is shown, and why. */
  rank: number;
  extreme: '' | 'most' | 'least';
  values: readonly number[];
}

/** Two columns that stand beside each other share their ranks: one shows the rank with most of the value `of`, the
 * other the one with least, so that extremes stay. `ofRank`: values of each rank. */
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
