import { run } from '@gatehouse/shell/run';

// Signals are handled before the rest is loaded.
await run(async () => {
  const { loadConfig } = await import('./config.ts');
  const { createService } = await import('./service.ts');
  return createService(loadConfig(process.env));
});
