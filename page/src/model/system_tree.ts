/** The system tree: the machine, its nodes, their ranks, their threads. */
import { itemOf, type Item } from './items';
import type { RankPlace, Run } from './run';
import { span } from './span';

export function rankName(rank: RankPlace): string {
  return rank.first === rank.last ? `rank ${rank.first}` : `ranks ${rank.first} to ${rank.last}`;
}

function rankItem(run: Run, parent: Item, rank: RankPlace): Item {
  const { begin, end } = rank.span, { thread, locations } = run.head.places;
  const count = locations[begin] ?? 1;
  return itemOf(parent, {
    key: `s${begin}`, name: rankName(rank), kind: 'rank', note: count > 1 ? `${count} threads together` : '', own: [],
    whole: [rank.span],
    below: (item) => end - begin < 2 ? [] : Array.from({ length: end - begin }, (_, i) => {
      const place = [span(begin + i, begin + i + 1)];
      return itemOf(item, { key: `t${begin + i}`, name: `thread ${thread[begin + i]}`, kind: 'thread', own: place,
          whole: place });
    }),
  });
}

export function systemTree(run: Run): Item[] {
  const all = [span(0, run.places)];
  return [itemOf(null, {
    key: 's', name: 'machine', kind: 'machine', own: [], whole: all,
    below: (machine) => {
      const hosts: { name: string; ranks: RankPlace[] }[] = [];
      for (const rank of run.ranks) {
        if (hosts.at(-1)?.name === rank.host) hosts.at(-1)!.ranks.push(rank);
        else hosts.push({ name: rank.host, ranks: [rank] });
      }
      return hosts.map(({ name, ranks }, i) => itemOf(machine, {
        key: `h${i}`, name: name || 'node', kind: 'node', own: [],
        whole: [span(ranks[0]!.span.begin, ranks.at(-1)!.span.end)],
        below: (host) => ranks.map((rank) => rankItem(run, host, rank)),
      }));
    },
  })];
}

/** Keys that are open at first, so that ranks are visible unless there are too many. */
export function openAtFirst(run: Run): string[] {
  const hosts = new Set(run.ranks.map((rank) => rank.host)).size;
  if (run.ranks.length <= 256) return ['s', ...Array.from({ length: hosts }, (_, i) => `h${i}`)];
  return hosts > 1 && hosts <= 256 ? ['s'] : ['s', 'h0'];
}
