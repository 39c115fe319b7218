import { Socket } from 'node:net';
import { expect, it } from '@jest/globals';
import { newKeyText } from '@gatehouse/identity/key-text';
import { KeyReader } from './key-reader.ts';

const reader = new KeyReader();
const [key, other] = [newKeyText(), newKeyText()];
const bearer = ({ text }: { text: string }): string => `Bearer ${text}`;

it('finds the key of each request, whatever the connection carried before', () => {
  const connection = new Socket();
  for (const carried of [key, key, other, key]) {
    const { keyId, secretSha256 } = carried;
    expect(reader.read(bearer(carried), connection)).toMatchObject({ keyId, secretSha256 });
  }
});

it('finds no key where none is, though the connection carried one before', () => {
  const connection = new Socket();
  reader.read(bearer(key), connection);
  for (const authorization of [
    undefined,
    '',
    'Bearer',
    `Basic ${key.text}`,
    'Bearer gwk_short',
    `${bearer(key)}x`,
  ])
    expect(reader.read(authorization, connection)).toBeNull();
  expect(reader.read(bearer(key), connection)?.keyId).toBe(key.keyId);
});

it('gives one fingerprint to a key on any connection, and another to the same id with another secret', () => {
  const fingerprint = (text: string): string | undefined =>
    reader.read(`Bearer ${text}`, new Socket())?.fingerprint;
  expect(fingerprint(key.text)).toBe(fingerprint(key.text));
  expect(fingerprint(newKeyText(key.keyId).text)).not.toBe(fingerprint(key.text));
});
