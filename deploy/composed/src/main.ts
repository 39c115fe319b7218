import { run } from '@gatehouse/shell/run';

// Signals are handled before the rest is loaded.
await run(async () => {
  const { createProcess } = await import('./process.ts');
  return createProcess(process.env);
});
