import { startProviderSimulator } from './simulator.ts';
import type { ProviderSimulatorOptions } from './simulator.ts';

function readOptions(env: NodeJS.ProcessEnv): ProviderSimulatorOptions {
  const options: ProviderSimulatorOptions = {
    host: env['HOST'] ?? '127.0.0.1',
    port: Number(env['SIM_PORT'] ?? env['PORT'] ?? 0),
    latencyMs: Number(env['SIM_LATENCY_MS'] ?? 0),
    record: env['SIM_RECORD'] !== '0',
  };
  const apiKey = env['SIM_API_KEY'];
  return apiKey === undefined || apiKey === '' ? options : { ...options, apiKey };
}

const simulator = await startProviderSimulator(readOptions(process.env));
process.stdout.write(`simulator listening on ${simulator.url}\n`);

let stopping = false;
function stop(): void {
  if (stopping) return;
  stopping = true;
  void simulator.close().then(() => process.exit(0));
}

process.on('SIGTERM', stop);
process.on('SIGINT', stop);
// Stops when the parent process that forked this one dies.
if (process.channel !== undefined) process.on('disconnect', stop);
