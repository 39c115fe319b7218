/** What the deployments, the chart and the edge must know of a service. */
interface ServiceFacts {
  /** Has a schema with migrations, and logs in as `<name>_login`. */
  database?: true;
  /** Serves gRPC. */
  grpc?: true;
  /** Publishes or reads events: gets `KAFKA_*`. */
  kafka?: true;
  /** Seals secrets of tenants: gets `SECRETS_KEYRING`. */
  keyRing?: true;
  /** Calls providers: gets the model catalogue and the providers' keys. */
  models?: true;
  /** Clients reach it; it reaches every other service over HTTP. */
  public?: true;
  /** The services that it calls over gRPC. */
  calls: readonly string[];
}

const facts = {
  tenant: { database: true, grpc: true, kafka: true, keyRing: true, calls: [] },
  agent: { database: true, grpc: true, kafka: true, keyRing: true, calls: ['chat', 'tenant'] },
  analytics: { database: true, grpc: true, kafka: true, calls: ['tenant'] },
  chat: {
    database: true,
    grpc: true,
    kafka: true,
    models: true,
    calls: ['agent', 'analytics', 'tenant'],
  },
  edge: { public: true, calls: ['tenant'] },
} as const satisfies Record<string, ServiceFacts>;

export type ServiceName = keyof typeof facts;

/** The services behind the edge. */
export type InnerServiceName = Exclude<ServiceName, 'edge'>;

export interface ServiceEntry extends ServiceFacts {
  name: ServiceName;
}

/**
 * The one list of services, in the order in which they start; they stop in reverse. `make up`, the edge's upstreams and
 * the chart are made from it. A new service is its folder in `services/` and its entry here.
 */
export const services: readonly ServiceEntry[] = Object.entries<ServiceFacts>(facts).map(([name, fact]) => ({
  name: name as ServiceName,
  ...fact,
}));

/** Those that the edge forwards requests to. */
export const innerServices = services
  .filter((service) => service.public === undefined)
  .map(({ name }) => name as InnerServiceName);
