import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { KeyRing, newKeyRing, type Hasher } from '@gatehouse/secrets/key-ring';
import { atOnce } from '@gatehouse/kit/cooperative-steps';
import type { ReasoningSignature } from './conversation.ts';
import { isMarked } from '../marked-signatures.ts';
import {
  checkedTurns,
  markedSignature,
  markedThoughts,
  readMarked,
  readMarkedThoughts,
  withMac,
} from './signatures.ts';

const [first, second] = [newKeyRing('k.1'), newKeyRing('k.2')];
const of = (ring: string, tenant: string): Hasher => KeyRing.parse(ring).hasher(tenant);
const macs = of(first, 'a');

/** The signature that is left of one which a client sends. */
function read(text: string, by: Hasher = macs): ReasoningSignature | null {
  const parts = [{ kind: 'thinking' as const, text: '', signature: readMarked(text) }];
  const [turn] = atOnce(checkedTurns([{ role: 'assistant', parts }], by, '`signature`'));
  const [part] = turn?.parts ?? [];
  return part?.kind === 'thinking' ? part.signature : null;
}

const signature: ReasoningSignature = { origin: 'openai=1f', text: 'enc.1=', isRedacted: false };
const sent = markedSignature(withMac(signature, macs));
const refused = 'Invalid `signature`: it was changed, or belongs to another tenant.';

describe('a marked signature', () => {
  it('is read as it was marked, in every text', () => {
    const origin = fc.constantFrom('anthropic', 'openai=0a', 'chat=a%2Eb');
    fc.assert(
      fc.property(origin, fc.string(), fc.boolean(), (by, text, isRedacted) => {
        const made = { origin: by, text, isRedacted };
        expect(read(markedSignature(withMac(made, macs)))).toEqual(made);
      }),
    );
  });

  it('is read from base64 in either alphabet, as clients of Google’s API send bytes', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (text) => {
        const made = { ...signature, text };
        const bytes = Buffer.from(markedSignature(withMac(made, macs))).toString('base64');
        expect(isMarked(bytes)).toBe(true);
        expect(read(bytes)).toEqual(made);
        expect(read(bytes.replaceAll('+', '-').replaceAll('/', '_'))).toEqual(made);
      }),
    );
    expect(() => read(Buffer.from(sent).toString('base64'), of(first, 'b'))).toThrow(refused);
  });

  it('of another tenant is refused', () => {
    expect(() => read(sent, of(first, 'b'))).toThrow(refused);
  });

  it.each([
    ['another text', `${sent}x`],
    ['another origin', sent.replace('openai=1f', 'openai=2f')],
    ['another kind', sent.replace('.t.', '.r.')],
    ['another hash', sent.replace(/[\w-](?=\.t\.)/, (last) => (last === 'A' ? 'B' : 'A'))],
    ['a short hash', sent.replace(/[\w-](?=\.t\.)/, '')],
    ['a mark that is cut', 'gatehouse.openai'],
    ['the beginning of a mark', 'gatehouse.'],
  ])('with %s is refused', (_name, changed) => {
    expect(changed).not.toBe(sent);
    expect(() => read(changed)).toThrow(refused);
  });

  it('without a hash, as version 0.3.0 wrote it, is left out', () => {
    expect(read('gatehouse.openai=1f.t.enc.1=')).toBeNull();
  });

  it('is read after a rotation of the key, and left out once its key has left the ring', () => {
    expect(read(sent, of(`${second},${first}`, 'a'))).toEqual(signature);
    expect(read(sent, of(second, 'a'))).toBeNull();
  });

  it('is no signature of a provider', () => {
    expect(readMarked('EqQBCgIYAhIM1gbcDa9GJwZA2b3h')).toBeNull();
  });
});

describe('thoughts in one signature', () => {
  const thoughts = [
    { text: 'I see “it”\n', signature: withMac(signature, macs) },
    { text: '', signature: withMac({ origin: 'anthropic', text: 'ZGF0YQ', isRedacted: true }, macs) },
  ];
  const bytes = markedThoughts(thoughts);
  const changedTo = (marked: string): string =>
    Buffer.from(`gatehouse.thoughts.${marked}`).toString('base64');
  const isRefused = (encoded: string): boolean =>
    (readMarkedThoughts(encoded) ?? []).some(({ signature: { mac } }) => mac === '');

  it('are read with their texts, in either alphabet of base64', () => {
    expect(isMarked(bytes)).toBe(true);
    expect(Buffer.from(bytes, 'base64').toString('base64')).toBe(bytes);
    expect(readMarkedThoughts(bytes)).toEqual(thoughts);
    expect(readMarkedThoughts(bytes.replaceAll('+', '-').replaceAll('/', '_'))).toEqual(thoughts);
  });

  it('are as many as any answer has', () => {
    const many = (count: number) =>
      markedThoughts(Array.from({ length: count }, () => thoughts.slice(0, 1)).flat());
    expect(readMarkedThoughts(many(1_000))).toHaveLength(1_000);
    expect(isRefused(many(1_001))).toBe(true);
  });

  it('are no other signature', () => {
    expect(readMarkedThoughts(sent)).toBeNull();
    expect(readMarkedThoughts('EqQBCgIYAhIM1gbcDa9GJwZA2b3h')).toBeNull();
  });

  it.each([
    ['no JSON', changedTo('[["a"')],
    ['no thoughts', changedTo('[]')],
    ['no texts', changedTo('[[1,2]]')],
    ['a signature of a provider', changedTo('[["a","b"]]')],
    ['more than any answer has', changedTo(`[["${'a'.repeat(2 * 1024 * 1024)}","b"]]`)],
  ])('are refused with %s', (_name, encoded) => {
    expect(isRefused(encoded)).toBe(true);
  });
});
