import { existsSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { checkedPaths } from './paths.ts';
import { findings } from './words.ts';

function found(file: string, text: string): string[] {
  return findings(file, text).map((finding) => finding.found);
}

describe('the rule about words', () => {
  it.each([
    ['The client is told.', 'told'],
    ['It tells them.', 'tells'],
    ['Nobody waits.', 'Nobody'],
    ['for whoever reads it', 'whoever'],
    ['Who is limited is let in.', 'Who'],
    ['What all that came to.', 'What all that'],
    ['The quota of a tenant.', 'quota'],
    ['An error (contract §1).', 'contract §'],
    ['See architecture decision 7.', 'architecture decision'],
    ['As interface-spec says.', 'interface-spec'],
    ['As api.md says.', 'api.md'],
    ['It can not wait.', 'can not'],
  ])('reports %s', (text, word) => {
    expect(found('page.md', text)).toEqual([word]);
  });

  it.each([
    'The response says why.',
    'Who are you?',
    'The caller who has the secret.',
    'The code is `insufficient_quota`, as `api.md` has it.',
    'See the contract in `packages/contract` and [ADR 7](adr/0007.md).',
    'A foretelling name.',
  ])('accepts %s', (text) => {
    expect(found('page.md', text)).toEqual([]);
  });

  it.each([
    ['a comment', 'x.ts', '// Nobody\nconst none = 1;'],
    ['a comment after code', 'x.ts', 'const x = 1; // Nobody'],
    ['a doc comment', 'x.ts', '/**\n * Nobody\n */\nexport const x = 1;'],
    ['a comment at the end of a file', 'x.ts', 'const x = 1;\n// Nobody\n'],
    ['a log message', 'x.ts', "log.info({ at: 1 }, 'Nobody was there');"],
    ['an error message with values', 'x.ts', 'throw new Error(`Nobody ${at} the door`);'],
    ['a message between two values', 'x.ts', 'throw new Error(`${a} says Nobody is ${b}`);'],
    ['help of a metric', 'x.ts', "new Gauge({ name: 'told', help: 'Nobody but clients' });"],
    ['the name of a test', 'x.test.ts', "it('refuses Nobody', () => ask('Nobody was there before'));"],
    [
      'the name of a table of tests',
      'x.test.ts',
      "it.each([['told by all of them']])('refuses Nobody', ask);",
    ],
    ['a comment in JavaScript', 'x.js', '// Nobody\n'],
    ['a comment in SQL', 'x.sql', "-- Nobody\nselect 'told';"],
    ['a comment in a protocol', 'x.proto', '// Nobody\nstring told = 1;'],
    ['a comment in a script', 'x.sh', 'told=1 # Nobody\n'],
    ['a comment of a setting', 'values.yaml', '# Nobody\nport: 1\n'],
    ['the summary of an alert', 'alerts.yaml', 'annotations:\n  summary: Nobody answers\n'],
    ['a page', 'page.md', '# Nobody\n\n```sh\ntold\n```\n'],
  ])('reads %s, and nothing else there', (_what, file, text) => {
    expect(found(file, text)).toEqual(['Nobody']);
  });

  it.each([
    ['const toldPercent = 1;', 'toldPercent'],
    ['interface Row { told_percent: number }', 'told_percent'],
    ['class Topic { #buryLate(): void {} }', '#buryLate'],
    ['const { used: dearest } = limits;', 'dearest'],
    ['const isQuotaLeft = (QUOTA: number) => QUOTA > 1;', 'isQuotaLeft,QUOTA'],
  ])('reports a name of a program: %s', (code, names) => {
    expect(found('x.ts', code)).toEqual(names.split(','));
  });

  it.each([
    'const code = { insufficient_quota: 429 };',
    'limits.quota = limits.told();',
    'const untold = 1;',
  ])('accepts the name in %s', (code) => {
    expect(found('x.ts', code)).toEqual([]);
  });

  it.each([
    ['/** What the client gets. */', 'What'],
    ['// Whose turn it is.', 'Whose'],
    ['const most = 5; // Of one tenant.', 'Of'],
    ['/**\n * Of one tenant.\n */', 'Of'],
    ['/** The key. Where it is missing, none is used. */', 'Where'],
    ['/** The key (RFC 6265). Which one is of no matter. */', 'Which'],
    ['// The key is long, and\n// is cut. What is left is shown.', 'What'],
    ['/** By which the caller is known. */', 'By which'],
    ['/**\n * Two kinds:\n *\n * - To whom it goes\n */', 'To whom'],
    ['/** Whatever arrives is kept. */', 'Whatever'],
  ])('reports a comment that does not begin with its subject: %s', (comment, opening) => {
    expect(found('x.ts', `${comment}\nexport const x = 1;\n`)).toEqual([opening]);
    expect(found('x.js', `${comment}\nexport const x = 1;\n`)).toEqual([opening]);
  });

  it('reports the same in protocols and SQL', () => {
    expect(found('x.proto', '// What the model gets.\nstring content = 1;')).toEqual(['What']);
    expect(found('x.sql', 'create table t (\n  -- Of one tenant.\n  id int -- Ours. Whose?\n);')).toEqual([
      'Of',
    ]);
  });

  it.each([
    '/** The user whose turn it is. */',
    '/** Whether the key is known. When it was read. */',
    '/** For this caller, and in what order. */',
    '// What if the key is missing?',
    '// A comment of a tenant, which\n// of all is the largest.',
    '/** The path `/v1. What` as it came. */',
  ])('accepts a comment: %s', (comment) => {
    expect(found('x.ts', `${comment}\nexport const x = 1;\n`)).toEqual([]);
  });

  it.each([
    ['a page', 'page.md', '# What it is\n\nOf one tenant.\n'],
    ['a message', 'x.ts', "throw new Error('What is sent is too long.');"],
    ['a setting', 'values.yaml', '# Where clients reach it\nurl: x\n'],
  ])('accepts sentences of %s that begin so', (_what, file, text) => {
    expect(found(file, text)).toEqual([]);
  });

  it('says where a word is', () => {
    expect(findings('x.ts', 'const x = 1;\n  // but Nobody\n')).toMatchObject([{ line: 2, column: 10 }]);
  });

  it('leaves out what a page shows as a bad example', () => {
    const page = 'told\n<!-- words: off -->\ntold\n<!-- words: on -->\ntells\n';
    expect(found('page.md', page)).toEqual(['told', 'tells']);
  });

  it('ignores files without prose', () => {
    expect(found('picture.svg', 'told')).toEqual([]);
  });

  it.each(checkedPaths)('reads a path that exists: %s', (checked) => {
    expect(existsSync(checked)).toBe(true);
  });
});
