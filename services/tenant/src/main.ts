import { run } from '@gatehouse/shell/run';

// Everything else loads after the signal handlers are installed.
await run(async () => {
  const { loadConfig } = await import('./config.ts');
  const { createService } = await import('./service.ts');
  return createService(loadConfig(process.env));
});
