import { describe, expect, it } from '@jest/globals';
import { bareNames, overspent, sharedTypeNames, wordRates } from './glossary.ts';
import { problemOf } from './subjects.ts';

describe('the rule about names', () => {
  it.each([
    ['const given = 1;', 'given'],
    ['function f(own: string) {}', 'own'],
    ['const { a: shown } = b;', 'shown'],
    ['class A { #kept = 1; }', '#kept'],
    ['interface Asked { a: 1 }', 'Asked'],
    ['const ofTenant = 1;', 'ofTenant'],
  ])('reports %s', (text, name) => {
    expect(bareNames({ file: 'x.ts', text })).toEqual([`x.ts:1  ${name}`]);
  });

  it.each([
    'const owner = 1;',
    'a.own = 1;',
    'const offset = 1;',
    "import { of } from 'x';",
    'const givenName = 1;',
  ])('accepts %s', (text) => {
    expect(bareNames({ file: 'x.ts', text })).toEqual([]);
  });
});

describe('the rule about names of types', () => {
  it('reports those of three files', () => {
    const text = 'interface Place {}';
    const sources = ['a.ts', 'b.ts', 'c.ts'].map((file) => ({ file, text }));
    expect(sharedTypeNames(sources)).toEqual(new Map([['Place', ['a.ts', 'b.ts', 'c.ts']]]));
    expect(sharedTypeNames(sources.slice(1))).toEqual(new Map());
  });
});

describe('budgets', () => {
  it('count words of comments per 1,000 lines', () => {
    const text = '/** A thing that waits. */\nconst that = 1;\n// that\n';
    expect(wordRates([{ file: 'x.ts', text }], ['that'])).toEqual(new Map([['that', 1_000]]));
  });

  it('are exceeded, or much too large', () => {
    expect(overspent(new Map([['a', 2]]), { a: 1 })).toEqual(['a: 2, and the budget is 1']);
    expect(overspent(new Map([['a', 2]]), {})).toEqual(['a: 2, and the budget is 0']);
    expect(overspent(new Map([['a', 95]]), { a: 100 })).toEqual([]);
    expect(overspent(new Map([['a', 50]]), { a: 100 })).toEqual(['a: lower the budget of 100 to 50']);
  });
});

describe('the rule about subjects', () => {
  it.each([
    ['chat: retry on 404 of a deployment', false],
    ['edge, chat: bound of bodies', false],
    ['Revert "chat: retry"', false],
    ['Let clients retry', true],
    ['chat: let clients retry', true],
    ['chat: Keeps what it has', true],
    [`chat: ${'x'.repeat(70)}`, true],
  ])('reads %s', (subject, isProblem) => {
    expect(problemOf(subject) !== null).toBe(isProblem);
  });
});
