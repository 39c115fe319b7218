import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CatalogueFile } from './catalogue-file.ts';
import { CatalogueError } from './catalogue.ts';
import { interpolate } from './interpolate.ts';

let folder: string;
let file: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-catalogue-'));
  file = path.join(folder, 'models.yaml');
});
afterAll(() => rm(folder, { recursive: true }));

/** The problems of a file with this text, without its name. */
async function problemsOf(text: string, environment: Record<string, string> = {}): Promise<string[]> {
  await writeFile(file, text);
  try {
    await new CatalogueFile(file, environment).load();
    return [];
  } catch (error) {
    if (!(error instanceof CatalogueError)) throw error;
    return error.problems.map((problem) => problem.replace(file, ''));
  }
}

describe('the environment in a catalogue', () => {
  it.each([
    ['url: ${URL}', 'url: https://x'],
    ['${URL:-other}', 'https://x'],
    ['${NONE:-fallback}', 'fallback'],
    ['${EMPTY:-fallback}', 'fallback'],
    ['${NONE:-}', ''],
    ['${NONE:-http://a:1/b?c=$d}', 'http://a:1/b?c=$d'],
    ['$URL ${lower} $$ ${}', '$URL ${lower} $$ ${}'],
    ['${DOLLAR}', '$& $1 ${URL}'],
  ])('fills in %j', (text, expected) => {
    const environment = { URL: 'https://x', EMPTY: '', DOLLAR: '$& $1 ${URL}' };
    expect(interpolate(text, environment)).toEqual({ filled: expected, problems: [] });
  });

  it('names every variable that is missing, once', () => {
    const { problems } = interpolate('${A} ${B:-b} ${C} ${A} ${E}', { E: '' });
    expect(problems.map(({ text }) => text)).toEqual(
      ['A', 'C', 'E'].map((name) => `the environment variable ${name} is not set`),
    );
  });
});

describe('a wrong file', () => {
  it('has every mistake in one list, each with its line', async () => {
    const text = [
      'providers:',
      '  - { name: acme, kind: openai, base_url: "https://acme.example/v1/" }',
      '  - name: other',
      '    kind: opnai',
      '    base_url: ${OTHER_URL}',
      'models:',
      '  - id: small',
      '    provider: acme',
      '    fallbacks: [big, gone]',
      '  - id: big',
      '    provider: other',
      '    weigth: 3',
      '  - id: lost',
      '    provider:',
      '      nobody',
      '  - id: lost',
      '    provider: acme',
    ];
    expect(await problemsOf(text.join('\n'))).toEqual([
      ':5: the environment variable OTHER_URL is not set',
      expect.stringMatching(/^:4: providers\.1\.kind: /),
      expect.stringMatching(/^:12: models\.1: .*weigth/),
      ':16: lost is there twice',
      ':9: model small: there is no fallback model gone',
      ':14: model lost: there is no provider nobody',
    ]);
  });

  it('has the lines of JSON, of missing parts and of aliases', async () => {
    expect(await problemsOf('{\n "models": []\n}')).toEqual([
      expect.stringMatching(/^:1: providers: /),
      expect.stringMatching(/^:2: models: /),
    ]);
    const text = [
      'providers: [{ name: acme, kind: openai, base_url: "https://acme.example/v1/" }]',
      'models:',
      '  - &one { id: one, provider: acme, fallbacks: [gone] }',
      '  - *one',
    ];
    expect(await problemsOf(text.join('\n'))).toEqual([
      ':4: one is there twice',
      ':3: model one: there is no fallback model gone',
      ':3: model one: there is no fallback model gone',
    ]);
  });

  it('has no line breaks from variables, so each mistake has its line', async () => {
    const text = [
      'providers:',
      '  - name: acme',
      '    kind: openai',
      '    base_url: ${URL}',
      '  - { name: other, kind: "${KIND:-open\n      ai}", base_url: "https://other.example/v1/" }',
      'models:',
      '  - { id: small, weigth: 3,',
      '      provider: "${PROVIDER:-acme}" }',
    ];
    const environment = { URL: 'https://acme.example/v1/\n\n', PROVIDER: 'ac\rme' };
    expect(await problemsOf(text.join('\n'), environment)).toEqual([
      ':4: the environment variable URL has a line break',
      ':5: the environment variable KIND has a line break in its default',
      ':9: the environment variable PROVIDER has a line break',
      expect.stringMatching(/^:8: models\.0: .*weigth/),
    ]);
    expect(await problemsOf(text.join('\n'), { URL: 'https://acme.example/v1/', KIND: 'openai' })).toEqual([
      ':5: the environment variable KIND has a line break in its default',
      expect.stringMatching(/^:8: models\.0: .*weigth/),
    ]);
  });

  it('has every mistake of its syntax', async () => {
    const problems = await problemsOf('models:\n  - {id: "a"\nproviders: [\n');
    expect(problems.length).toBeGreaterThan(1);
    for (const problem of problems)
      expect(problem).toMatch(/ is not valid YAML: .* at line \d+, column \d+$/);
  });
});
