/** The model catalogue of tests across services. `simulator` and `refusing` are base URLs of providers. */
export function testCatalogue({ simulator, refusing }: { simulator: string; refusing: string }): {
  providers: object[];
  models: object[];
} {
  const provider = { kind: 'openai', base_url: simulator, api_key_env: 'SIMULATOR_KEY' };
  const origin = simulator.replace(/\/v1$/, '');
  return {
    providers: [
      { name: 'simulator', ...provider },
      { name: 'impatient', ...provider, timeout_ms: 500, idle_timeout_ms: 500, max_retries: 0 },
      { name: 'refusing', ...provider, base_url: refusing, max_retries: 0 },
      { name: 'pooled', kind: 'openai', base_url: simulator, keys: [{ env: 'SIMULATOR_KEY' }] },
      { ...provider, name: 'anthropic', kind: 'anthropic', base_url: origin },
      { ...provider, name: 'openai-once', max_retries: 0 },
      { ...provider, name: 'anthropic-once', kind: 'anthropic', base_url: origin, max_retries: 0 },
      { ...provider, name: 'google-once', kind: 'google', base_url: origin, max_retries: 0 },
    ],
    models: [
      { id: 'small', provider: 'simulator', aliases: ['quick'] },
      { id: 'lab-*', provider: 'simulator' },
      { id: 'priced', provider: 'simulator', price: { input_per_mtok: '1', output_per_mtok: '2' } },
      { id: 'vendor/large', provider: 'simulator', fallbacks: ['small'] },
      { id: 'impatient', provider: 'impatient' },
      { id: 'refusing', provider: 'refusing' },
      { id: 'pooled', provider: 'pooled' },
      { id: 'refusing-with-fallback', provider: 'refusing', fallbacks: ['small'] },
      { id: 'claude', provider: 'anthropic' },
      { id: 'once-chat', provider: 'openai-once' },
      { id: 'once-responses', provider: 'openai-once', api: 'responses', reasoning: true },
      { id: 'once-messages', provider: 'anthropic-once' },
      { id: 'once-gemini', provider: 'google-once', upstream_model: 'gemini-3.8-flash' },
    ],
  };
}
