import type { Logger } from '@gatehouse/kit/log';
import type { Registry } from '@gatehouse/kit/metrics';
import { composeService, type ComposeOptions } from './compose.ts';
import type { ReadyCheck } from './readiness.ts';
import type { Runnable } from './run.ts';
import type { Service } from './service.ts';

export interface ComposedOptions {
  log: Logger;
  /** The metrics of the process. */
  registry: Registry;
  config: ComposeOptions['config'];
}

/** Time for last writes and closing beyond `DRAIN_TIMEOUT_MS`: services stop one after the other. */
const closingMs = 20_000;

/**
 * Combines services into one process. They start in this order and stop in reverse, so list the edge last. A process
 * open to clients is ready while its front door and chat are: without chat's database it answers no completion, and
 * another process may. The failure of another service concerns some requests only, and those get a clear error from it.
 * The names of checks in `/readyz` begin with the name of their service.
 */
export function composeServices(
  services: readonly Service[],
  { log, registry, config }: ComposedOptions,
): Runnable & { readonly adminPort: number } {
  const hasFrontDoor = services.some(({ isFrontDoor }) => isFrontDoor);
  const deciding = hasFrontDoor
    ? services.filter(({ name, isFrontDoor }) => isFrontDoor || name === 'chat')
    : services;
  const checks = deciding.flatMap(({ name, ready }) =>
    Object.entries(ready).map(([what, check]): [string, ReadyCheck] => [`${name} ${what}`, check]),
  );
  return composeService({
    ...{ log, config, ready: Object.fromEntries(checks) },
    closingMs,
    metrics: [registry, ...services.map((service) => service.registry)],
    parts: services.flatMap((service) => service.parts),
  });
}
