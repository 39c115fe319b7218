/** The model catalogue of tests across services. `simulator` and `refusing` are base URLs of providers. */
export function testCatalogue({ simulator, refusing }: { simulator: string; refusing: string }): {
  providers: object[];
  models: object[];
} {
  const provider = { kind: 'openai', base_url: simulator, api_key_env: 'SIMULATOR_KEY' };
  return {
    providers: [
      { name: 'simulator', ...provider },
      { name: 'impatient', ...provider, timeout_ms: 500, idle_timeout_ms: 500, max_retries: 0 },
      { name: 'refusing', ...provider, base_url: refusing, max_retries: 0 },
      { ...provider, name: 'anthropic', kind: 'anthropic', base_url: simulator.replace(/\/v1$/, '') },
    ],
    models: [
      { id: 'small', provider: 'simulator' },
      { id: 'priced', provider: 'simulator', price: { input_per_mtok: '1', output_per_mtok: '2' } },
      { id: 'vendor/large', provider: 'simulator', fallbacks: ['small'] },
      { id: 'impatient', provider: 'impatient' },
      { id: 'refusing', provider: 'refusing' },
      { id: 'refusing-with-fallback', provider: 'refusing', fallbacks: ['small'] },
      { id: 'claude', provider: 'anthropic' },
    ],
  };
}
