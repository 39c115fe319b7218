import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';

const program = path.join(import.meta.dirname, '../src/prices-diff.ts');

it('prices:diff prints how a list differs from the public ones', async () => {
  const folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-prices-'));
  const [file, models] = [path.join(folder, 'prices.json'), path.join(folder, 'models.yaml')];
  const catalogue = {
    providers: [{ name: 'openai', kind: 'openai', base_url: 'https://api.openai.com/v1' }],
    models: [{ id: 'gpt-4o', provider: 'openai' }],
  };
  const same = { input_per_mtok: '2.5', cached_input_per_mtok: '1.25', output_per_mtok: '10' };
  const above = [{ input_tokens: 1_000, ...same, output_per_mtok: '0.000001' }];
  const prices = {
    openai: {
      'gpt-4o': { ...same, input_per_mtok: '3', above },
      'gpt-4o-2024-11-20': same,
      'no-such-model': same,
    },
    other: { a: same },
  };
  await writeFile(models, JSON.stringify(catalogue));
  await writeFile(file, JSON.stringify({ version: 'v1', prices }));
  const { stdout } = await promisify(execFile)(process.execPath, [program, file, models]);
  await rm(folder, { recursive: true });
  expect(stdout.split('\n')).toEqual([
    'openai gpt-4o: input_per_mtok 2.5 -> 3',
    'openai gpt-4o: output_per_mtok above 1000 input tokens 10 -> 0.000001',
    'openai no-such-model: the public lists have no price',
    'other a: the catalogue has no provider other',
    '',
  ]);
});
