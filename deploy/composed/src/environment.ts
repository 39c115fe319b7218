import type { ServiceName } from '@gatehouse/contract/services';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Stands for the addresses of a neighbour, which is reached without one. */
const inThisProcess = 'in-this-process:0';

/** Connections of each pool of a service, and three where requests of tenants use it. */
const poolSize = '2';

/**
 * Connections of all pools for requests of tenants together, by the largest `DATABASE_POOL` of the services of the
 * process. With the others they are 47, and 48 with Kafka: PostgreSQL has room for two of these processes.
 */
export function sharedConnections(environment: Environment, names: readonly ServiceName[]): number {
  const sizes = names.map((name) => Number(environmentOf(name, [], environment)['DATABASE_POOL']));
  return 8 * Math.max(...sizes) - 5;
}

/**
 * Settings of one service: those of the process, with the value of `NAME_<SERVICE>` in place of `NAME` where it is set
 * (`DATABASE_URL_CHAT`). Settings naming neighbours are not needed.
 */
export function environmentOf(
  service: ServiceName,
  neighbours: readonly ServiceName[],
  environment: Environment,
): Environment {
  const suffix = `_${service.toUpperCase()}`;
  // A blank variable counts as unset, as in `parseConfig`.
  const entries = Object.entries(environment).filter(([, value]) => value?.trim() !== '');
  const serviceEntries = entries
    .filter(([name]) => name.endsWith(suffix))
    .map(([name, value]) => [name.slice(0, -suffix.length), value] as const);
  const peers = neighbours.flatMap((name) =>
    ['HTTP', 'GRPC'].map((kind) => [`${name.toUpperCase()}_${kind}`, inThisProcess] as const),
  );
  return {
    DATABASE_POOL: poolSize,
    ...Object.fromEntries(entries),
    ...Object.fromEntries(serviceEntries),
    ...Object.fromEntries(peers),
  };
}
