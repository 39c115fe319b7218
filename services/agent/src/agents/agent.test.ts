import { createAgent, patchAgent } from '@gatehouse/contract/agents';
import { newId } from '@gatehouse/kit/ids';
import { describe, expect, it } from '@jest/globals';
import { isAgentRef, modelsOf, newSettings, patchedSettings } from './agent.ts';
import { maxFieldBytes } from '../bounds.ts';

const made = (fields: Record<string, unknown> = {}, userId: string | null = null) =>
  newSettings(createAgent.parse({ key: 'support', model: 'small', ...fields }), userId);
const patched = (current: ReturnType<typeof made>, patch: unknown, userId: string | null = null) =>
  patchedSettings(current, patchAgent.parse(patch), userId);

describe('a reference to an agent', () => {
  it('has the form of an id or of a key', () => {
    for (const text of [newId(), newId().toUpperCase(), 'a', 'a-1', 'x'.repeat(64)])
      expect(isAgentRef(text)).toBe(true);
    for (const text of ['', 'A', '-a', 'a-', 'a b', 'a\n', '\u0000', 'x'.repeat(65), `{${newId()}}`])
      expect(isAgentRef(text)).toBe(false);
  });
});

describe('the settings of a new agent', () => {
  it('are named after the key unless they have a name', () => {
    expect(made().name).toBe('support');
    expect(made({ name: 'Support' }).name).toBe('Support');
  });

  it('may be as large as the bound and no larger', () => {
    const fits = 'x'.repeat(maxFieldBytes - '{"a":""}'.length);
    expect(made({ metadata: { a: fits } }).metadata).toEqual({ a: fits });
    expect(() => made({ metadata: { a: `${fits}x` } })).toThrow('metadata');
    // Bytes count, not characters.
    expect(() => made({ parameters: { a: 'ä'.repeat(fits.length / 2 + 1) } })).toThrow('parameters');
  });
});

describe('patching settings', () => {
  it('leaves what it was given as it was', () => {
    const current = made({ metadata: { a: { b: 1 } } });
    const before = structuredClone(current);
    patched(current, { metadata: { a: { b: null, c: 2 } }, tools: { max_iterations: 1 } });
    expect(current).toEqual(before);
  });

  it('keeps, gives and takes the owner', () => {
    const owned = made({ owner_user_id: 'ann' });
    expect(patched(owned, {}).owner_user_id).toBe('ann');
    expect(patched(owned, { owner_user_id: 'bob' }).owner_user_id).toBe('bob');
    expect(patched(owned, { owner_user_id: null }).owner_user_id).toBeNull();
    expect(patched(owned, { visibility: 'private' }).owner_user_id).toBe('ann');
    expect(patched(made(), { visibility: 'private' }, 'bob').owner_user_id).toBe('bob');
  });

  it('never makes a private agent without an owner, or of another than the acting user', () => {
    const personal = made({ visibility: 'private' }, 'ann');
    expect(() => patched(personal, { owner_user_id: null })).toThrow('needs an owner');
    expect(() => patched(personal, { owner_user_id: 'bob' }, 'ann')).toThrow('another user');
    expect(() => patched(made({ owner_user_id: 'ann' }), { visibility: 'private' }, 'bob')).toThrow(
      'another user',
    );
  });
});

describe('the models of settings', () => {
  it('come with the fields that name them', () => {
    expect(modelsOf({ model: 'a', model_fallbacks: ['b', 'a'] })).toEqual([
      { field: 'model', model: 'a' },
      { field: 'model_fallbacks[0]', model: 'b' },
      { field: 'model_fallbacks[1]', model: 'a' },
    ]);
    expect(modelsOf({})).toEqual([]);
  });
});
