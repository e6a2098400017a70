/** The tree of metrics. */
import { itemOf, type Item } from './items';
import type { Model } from './model';
import { span } from './span';

export function metricTree(model: Model): Item[] {
  const below = (parent: Item | null, metric: number): Item[] =>
      model.metrics.flatMap((of, number) => of.parent !== metric ? [] : [itemOf(parent, {
    key: `m${number}`, name: of.title, word: of.name, kind: of.overlaps ? 'part' : '', note: of.unit === 's' ? ''
        : of.unit === 'B' ? 'bytes' : 'count',
    whole: model.metricSpans(number),
    // Parts that overlap leave no meaningful remainder.
    own: of.overlaps ? model.metricSpans(number) : [span(number, number + 1)],
    below: (item) => below(item, number),
  })]);
  return below(null, -1);
}

/** Number of the metric that an item of this tree stands for. */
export function metricOf(item: Item): number {
  return Number(item.key.slice(1));
}
