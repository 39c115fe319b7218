import { freePort } from '@gatehouse/local/ports';

/** The catalogue of tests, with a simulator of providers. `overrides`: members of the first provider in place of others. */
export async function testCatalogue(baseUrl: string, overrides: Record<string, unknown>) {
  const provider = { kind: 'openai', base_url: baseUrl, api_key_env: 'UNUSED' };
  const refusing = `http://127.0.0.1:${await freePort()}/v1`;
  return {
    providers: [
      { name: 'simulator', ...provider, max_retries: 2, ...overrides },
      { name: 'quick', ...provider, max_retries: 0, timeout_ms: 300, idle_timeout_ms: 300 },
      { name: 'nousage', ...provider, api_key_env: undefined, stream_usage: false },
      { name: 'wrongkey', ...provider, api_key_env: 'WRONG' },
      { name: 'refusing', ...provider, base_url: refusing, max_retries: 0 },
    ],
    models: [
      { id: 'small', provider: 'simulator' },
      { id: 'vendor/large', provider: 'simulator', upstream_model: 'large-upstream', fallbacks: ['small'] },
      { id: 'quick', provider: 'quick' },
      { id: 'wrongkey', provider: 'wrongkey' },
      { id: 'refusing', provider: 'refusing' },
      { id: 'refusing-with-fallback', provider: 'refusing', fallbacks: ['small'] },
      { id: 'priced', provider: 'simulator', price: { input_per_mtok: '1', output_per_mtok: '2' } },
      {
        id: 'priced-in-full',
        provider: 'simulator',
        price: {
          ...{ input_per_mtok: '2', cached_input_per_mtok: '0.5', output_per_mtok: '8' },
          ...{ input_audio_per_mtok: '40', output_audio_per_mtok: '80' },
          above: [{ input_tokens: 200_000, input_per_mtok: '4', output_per_mtok: '12' }],
          service_tiers: { priority: { input_per_mtok: '4', output_per_mtok: '16' } },
        },
      },
      { id: 'quick-with-priced-fallback', provider: 'quick', fallbacks: ['priced'] },
      { id: 'embedder', provider: 'simulator', price: { input_per_mtok: '1', output_per_mtok: '0' } },
    ],
    embeddings: { model: 'embedder' },
  };
}
