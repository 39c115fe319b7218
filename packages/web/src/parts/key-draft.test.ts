import { expect, it } from '@jest/globals';
import { apiKeyExample, patchApiKey } from '@gatehouse/contract/keys';
import { keyChanges, keyDraft, type KeyDraft } from './key-draft.ts';

it.each<[string, Partial<KeyDraft>, object]>([
  ['nothing', {}, {}],
  ['its scopes', { scopes: ['tools.call'] }, { scopes: ['tools.call'] }],
  ['its toolsets', { reach: 'named', toolsets: [' docs', ''] }, { toolsets: ['docs'] }],
  ['no toolset', { reach: 'named' }, { toolsets: [] }],
  ['its settings', { client_settings: 'laptops' }, { client_settings: 'laptops' }],
])('the fields of a key change %s', (_name, change, body) => {
  const before = keyDraft(apiKeyExample);
  const changes = keyChanges(before, { ...before, ...change });
  expect(changes).toEqual(body);
  expect(patchApiKey.safeParse(changes).error).toBeUndefined();
});
