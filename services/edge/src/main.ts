import { run } from '@gatehouse/service/run';

// The rest is loaded once signals are listened to.
await run(async () => {
  const { loadConfig } = await import('./config.ts');
  const { createEdgeService } = await import('./service.ts');
  return createEdgeService(loadConfig(process.env));
});
