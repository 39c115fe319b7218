import { describe, expect, it } from '@jest/globals';
import { groupEntry } from '@gatehouse/kit/selection-index';
import { newId } from '@gatehouse/kit/ids';
import type { Guardrail as GuardrailMessage } from '@gatehouse/proto/tenant/v1/tenant';
import { GuardrailIndex } from './guardrail.ts';

const definition = {
  ...{ on: ['user'], check: { type: 'pii', types: ['email'], regions: [] }, action: 'mask', except: [] },
  ...{ message: null, unreadable: 'allow', on_error: 'closed', timeout_ms: 2_000, hold: null },
};

function message(name: string, fields: Partial<GuardrailMessage> = {}): GuardrailMessage {
  return {
    ...{ id: newId(), version: 1, name, fromOwner: name.startsWith('owner:'), secrets: Buffer.alloc(0) },
    ...{ users: [], groups: [], agents: [], apiKeys: [], models: [] },
    ...{ definition: JSON.stringify(definition), ...fields },
  };
}

const run = { userId: 'ada', groups: [{ id: 'g1', name: 'Staff' }], agent: null, apiKeyId: 'k1' };
const names = (messages: GuardrailMessage[], models = ['gpt-4.1', 'claude']) =>
  new GuardrailIndex(messages).matching(run, models).map(({ name }) => name);

describe('the guardrails of a run', () => {
  it('are those with one of its values in each named field, in the order of names', () => {
    expect(
      names([
        message('users', { users: ['a*'], groups: [groupEntry('g1')] }),
        message('owner:all'),
        message('other-user', { users: ['grace'] }),
        message('other-group', { users: ['ada'], groups: [groupEntry('g2')] }),
        message('agents', { agents: ['*'] }),
        message('keys', { apiKeys: ['k1'] }),
      ]),
    ).toEqual(['keys', 'owner:all', 'users']);
  });

  it('are those of every model that it may call', () => {
    const messages = [message('gpt', { models: ['gpt-*'] }), message('claude', { models: ['claude'] })];
    expect(names(messages)).toEqual(['claude', 'gpt']);
    expect(names(messages, ['claude'])).toEqual(['claude']);
    expect(names(messages, ['gemini'])).toEqual([]);
  });

  it('have their definition and their credentials', () => {
    const secrets = Buffer.from('sealed');
    const [guardrail] = new GuardrailIndex([message('owner:a', { version: 7, secrets })]).matching(run, []);
    const { on_error: onError, timeout_ms: timeoutMs, ...others } = definition;
    expect(guardrail).toEqual({
      ...{ id: guardrail?.id, version: 7, name: 'owner:a', isOwner: true, secrets, onError, timeoutMs },
      ...others,
    });
  });

  it('of a later release let no run pass that they select', () => {
    const later = { ...definition, check: { type: 'watermark' } };
    const messages = [message('later', { definition: JSON.stringify(later), users: ['ada'] })];
    expect(() => names(messages)).toThrow(expect.objectContaining({ code: 'guardrail_unavailable' }));
    expect(new GuardrailIndex(messages).matching({ ...run, userId: 'grace' }, [])).toEqual([]);
  });

  it('count with the bytes of their definitions', () => {
    const words = { ...definition, check: { type: 'patterns', patterns: [], words: ['x'.repeat(256)] } };
    const large = new GuardrailIndex([message('a', { definition: JSON.stringify(words) })]).bytes;
    expect(large - new GuardrailIndex([message('a')]).bytes).toBeGreaterThan(256);
  });
});
