import { Pieces } from '@gatehouse/dialects/wire/pieces';
import { KeyRing, newKeyRing } from '@gatehouse/secrets/key-ring';
import { expect, it } from '@jest/globals';
import { Catalogue, type Model } from '../catalogue/catalogue.ts';
import { translationFor } from './call-translation.ts';

const at = (host: string): Model => {
  const provider = { name: 'p', kind: 'openai', base_url: `https://${host}/v1`, api_key_env: 'KEY' };
  const model = { id: 'kimi', provider: 'p', upstream_model: 'moonshotai/kimi-k2.6' };
  return Catalogue.parse({ providers: [provider], models: [model] }).models.get('kimi') as Model;
};

it.each([
  ['api.moonshot.ai', { type: 'disabled' }, []],
  ['api.moonshot.cn', { type: 'disabled' }, []],
  ['api.deepseek.com', { type: 'disabled' }, []],
  ['api.groq.com', undefined, ['thinking']],
  ['a.services.ai.azure.com', undefined, ['thinking']],
  ['api.deepseek.com.example', undefined, ['thinking']],
])(
  'thinking is switched off by `thinking` at the hosts of its makers alone: %s',
  async (host, sent, left) => {
    const macs = KeyRing.parse(newKeyRing('k')).hasher('tenant');
    const translation = translationFor('messages', at(host), { macs });
    const thinking = { type: 'disabled' };
    const request = { max_tokens: 9, thinking, messages: [{ role: 'user', content: 'Go' }] };
    const body = Pieces.from(Buffer.from(JSON.stringify(request)));
    const written = await translation?.request(body, { tenantId: null });
    const fields = JSON.parse(written?.body.toString() ?? '{}') as Record<string, unknown>;
    expect([fields['thinking'], written?.ignored]).toEqual([sent, left]);
    expect(fields).not.toHaveProperty('reasoning_effort');
  },
);
