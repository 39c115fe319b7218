import { describe, expect, it } from '@jest/globals';
import * as prom from 'prom-client';
import fc from 'fast-check';
import { Counter, expositionOf, Histogram, Registry } from './metrics.ts';

type Classes = Pick<typeof prom, 'Counter' | 'Histogram'>;
type Labels = Partial<Record<'b' | 'a', string | number>>;
type Step = [labels: Labels, value: number];

const own: Classes = { Counter, Histogram };
const options = { help: 'Rows \\ of "two"\nlines', labelNames: ['b', 'a'] as const };
const value = fc.oneof(
  fc.constantFrom('', '200', 200, 'a\nb', 'x"y\\z', 'a:b,', '__proto__', 'undefined'),
  fc.string(),
);
const labels = fc.record({ b: value, a: value }, { requiredKeys: [] });
const steps = fc.array(fc.tuple(labels, fc.constantFrom(0, 0.1, 0.3, 1, 2.5, 7, 1e9)), { maxLength: 40 });

/** The metrics of two services of a process with these classes, and the text of a scrape after each part. */
async function scrapes({ Counter: Count, Histogram: Spread }: Classes, parts: Step[][]): Promise<string[]> {
  const services = ['edge', 'chat'].map((service) => {
    const registry = new Registry();
    registry.setDefaultLabels({ service });
    const registers = [registry];
    const count = new Count({ ...options, name: 'count_total', registers });
    const spread = new Spread({ ...options, name: 'spread', buckets: [0.1, 1, 2.5], registers });
    const plain = new Count({ name: 'plain_total', help: 'Plain', registers });
    return { registry, count, spread, plain };
  });
  const texts: string[] = [];
  for (const [index, part] of parts.entries()) {
    for (const { count, spread, plain } of services)
      for (const [each, amount] of part) {
        count.inc(each);
        count.inc(each, amount);
        spread.observe(each, amount);
        plain.inc(amount);
      }
    const registries = services.map(({ registry }) => registry);
    texts.push(
      (await expositionOf(registries)).text,
      ...(await Promise.all(registries.map((r) => r.metrics()))),
    );
    texts.push(JSON.stringify(await services[0]?.registry.getMetricsAsJSON()));
    for (const { count, spread, plain } of services)
      if (index % 2 === 0) for (const metric of [count, spread, plain]) metric.reset();
      else
        for (const [each] of part.slice(0, 2)) {
          count.remove(each);
          spread.remove(each);
          spread.zero(each);
        }
  }
  return texts;
}

describe('counters and histograms', () => {
  it('have the text of a scrape that prom-client’s have, after the same observations', async () => {
    const any = fc.array(steps, { minLength: 1, maxLength: 3 });
    await fc.assert(
      fc.asyncProperty(any, async (parts) => {
        expect(await scrapes(own, [...parts, ...parts])).toEqual(await scrapes(prom, [...parts, ...parts]));
      }),
      { numRuns: 150 },
    );
  });

  it.each([
    ['a label that the metric lacks', { other: 'x' }, 1],
    ['no number', { a: 'x' }, Number.NaN],
    ['an endless one', { a: 'x' }, Infinity],
  ])('refuse %s, as prom-client does', (_what, each: object, amount) => {
    const registers = [new Registry()];
    const count = new Counter<string>({ ...options, name: 'count_total', registers });
    const spread = new Histogram<string>({ ...options, name: 'spread', registers });
    count.inc({ a: 'x' });
    spread.observe({ a: 'x' }, 1);
    count.inc({ a: 'x' });
    expect(() => spread.observe({ ...each }, amount)).toThrow();
    expect(() => count.inc({ ...each }, amount === 1 ? 1 : Infinity)).toThrow();
    expect(() => count.inc({ a: 'x' }, -1)).toThrow('not possible to decrease');
  });
});
