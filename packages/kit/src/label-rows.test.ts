import { describe, expect, it } from '@jest/globals';
import { Counter } from 'prom-client';
import { LabelRows } from './label-rows.ts';

interface Row {
  labels: Partial<Record<string, string | number>>;
}

describe('rows of a metric', () => {
  it('are found at their first use without a search of all rows', () => {
    const labelNames = ['b', 'a', 'c'];
    const counter = new Counter({ name: 'some_total', help: 'Some', labelNames, registers: [] });
    const labels = [{ a: 'x', b: 'y', c: 'z' }, { a: 'y', b: 'x', c: 'z' }, { b: 7, c: '' }, {}];
    for (const each of labels) counter.inc(each);
    const { hashMap } = counter as unknown as { hashMap: Record<string, Row> };
    let searches = 0;
    const ownKeys = (target: object): (string | symbol)[] => {
      searches += 1;
      return Reflect.ownKeys(target);
    };
    const rows = new LabelRows<Row>(labelNames);
    const watched = new Proxy<Record<string, Row>>(hashMap, { ownKeys });
    expect(labels.map((each) => rows.find(each, watched)?.labels)).toEqual(labels);
    expect(rows.find({ a: 'x' }, watched)).toBeUndefined();
    expect(searches).toBe(0);
  });
});
