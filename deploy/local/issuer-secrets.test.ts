import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { issuerSecretsIn } from './issuer-secrets.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'issuers-'));
});
afterAll(() => rm(folder, { recursive: true }));

it('finds the variables with secrets of issuers, whichever way YAML writes them', async () => {
  const file = path.join(folder, 'issuers.yaml');
  await writeFile(
    file,
    `issuers:
  - name: one
    client_secret_env: ONE_SECRET # the variable
  - { name: two, "client_secret_env": 'TWO_SECRET', client_id: gatehouse }
    # client_secret_env: OPENAI_API_KEY
  - name: public`,
  );
  expect(await issuerSecretsIn(file)).toEqual(['ONE_SECRET', 'TWO_SECRET']);
});

it('leaves a missing file to the service that needs it', async () => {
  expect(await issuerSecretsIn(undefined)).toEqual([]);
  expect(await issuerSecretsIn(path.join(folder, 'none.yaml'))).toEqual([]);
});
