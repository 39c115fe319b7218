import { run } from '@gatehouse/shell/run';

// The rest is loaded once signals are listened to.
await run(async () => {
  const { loadConfig } = await import('./config.ts');
  const { createService } = await import('./service.ts');
  return createService(await loadConfig(process.env));
});
