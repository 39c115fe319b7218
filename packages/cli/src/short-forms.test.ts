import { expect, it } from '@jest/globals';
import type { Operation } from './operations.ts';
import { shortForms } from './short-forms.ts';

/** Operations by their ids, each with as many parameters in its path as stars behind it. */
function formsOf(...ids: string[]): string[] {
  const operations = ids.map((text): Operation => {
    const parameter = { name: 'id', description: '', required: true, type: 'string' } as const;
    const pathParameters = Array.from({ length: text.split('*').length - 1 }, () => parameter);
    return {
      ...{ id: text.replaceAll('*', ''), method: 'GET', path: '', summary: '', pathParameters },
      ...{
        queryParameters: [],
        idempotencyKey: false,
        actingUser: false,
        answer: 'json',
        asCsv: false,
        sets: [],
      },
    };
  });
  return shortForms(operations).map(({ group, operation }) => `${group} ${operation.id}`);
}

it('a group takes the operations of its only collection', () => {
  expect(formsOf('a.b.list', 'a.b.get*', 'a.b.rotate-key*', 'a.c.get*', 'd.list', 'd.get*')).toEqual([
    'a a.b.list',
    'a a.b.rotate-key',
  ]);
});

it('a collection within its resources is no second one', () => {
  expect(formsOf('a.b.list', 'a.b.get*', 'a.c.list*', 'a.d.list**')).toEqual(['a a.b.list', 'a a.b.get']);
});

it('a group of two collections, or that lists something itself, takes none', () => {
  expect(formsOf('a.b.list', 'a.c.list', 'a.b.get*')).toEqual([]);
  expect(formsOf('a.list', 'a.b.list')).toEqual([]);
  expect(formsOf('a.b.get*', 'a.b.delete*')).toEqual([]);
});

it('an operation that another part of the group has too keeps its whole name', () => {
  expect(formsOf('a.b.list', 'a.b.upsert', 'a.c.upsert')).toEqual(['a a.b.list']);
});

it('groups within groups have their own', () => {
  expect(formsOf('a.b.c.list', 'a.b.c.get*', 'a.b.c.d.get**')).toEqual(['a.b a.b.c.list', 'a.b a.b.c.get']);
});
