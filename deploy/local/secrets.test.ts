import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { importPrivateKey, importPublicKeys } from '@gatehouse/identity/keys';
import { KeyRing } from '@gatehouse/secrets/key-ring';
import { loadSecrets } from './secrets.ts';

describe('the secrets of a state folder', () => {
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'gatehouse-secrets-'));
  });

  afterEach(async () => {
    await rm(folder, { recursive: true });
  });

  it('are made once, in a file that only its owner may read', async () => {
    const made = await loadSecrets(folder, ['edge', 'chat']);
    expect((await stat(path.join(folder, 'secrets.json'))).mode & 0o777).toBe(0o600);
    expect(await loadSecrets(folder, ['edge', 'chat'])).toEqual(made);
    expect(() => KeyRing.parse(made.keyRing)).not.toThrow();
  });

  it('gain those of a service that is new, and keep the others', async () => {
    const before = await loadSecrets(folder, ['edge', 'chat']);
    const after = await loadSecrets(folder, ['edge', 'chat', 'memory']);
    expect(after.keyRing).toBe(before.keyRing);
    expect(after.privateKeys).toMatchObject(before.privateKeys);
    expect(after.databasePasswords).toMatchObject(before.databasePasswords);
    expect((await importPrivateKey(after.privateKeys['memory'] ?? '')).service).toBe('memory');
    expect([...(await importPublicKeys(after.publicKeys)).keys()]).toEqual(['edge.1', 'chat.1', 'memory.1']);
  });
});
