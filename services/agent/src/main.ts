import { run } from '@gatehouse/service/run';

// The rest is loaded once signals are listened to.
await run(async () => {
  const { loadConfig } = await import('./config.ts');
  const { createAgentService } = await import('./service.ts');
  return createAgentService(loadConfig(process.env));
});
