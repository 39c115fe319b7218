/** Properties of a service that deployments, the chart and the edge need. */
interface ServiceFacts {
  /** Has a schema with migrations, and the login role `<name>_login`. */
  database?: true;
  /** Has background jobs: the schema `<name>_jobs` beside its own. */
  jobs?: true;
  /** Serves gRPC. */
  grpc?: true;
  /** Publishes or reads events: gets `KAFKA_*`. */
  kafka?: true;
  /** Encrypts secrets of tenants: gets `SECRETS_KEYRING`. */
  keyRing?: true;
  /** Calls addresses that tenants give: gets `EGRESS_ALLOW`. */
  egress?: true;
  /** Calls providers: gets the model catalogue and API keys of providers. */
  models?: true;
  /** The public service: clients reach it, and it calls all other services over HTTP. */
  public?: true;
  /** Services that it calls over gRPC. */
  calls: readonly string[];
}

const facts = {
  tenant: {
    database: true,
    jobs: true,
    grpc: true,
    kafka: true,
    keyRing: true,
    calls: ['agent', 'analytics', 'chat', 'memory', 'webhook'],
  },
  agent: {
    database: true,
    jobs: true,
    grpc: true,
    kafka: true,
    keyRing: true,
    egress: true,
    calls: ['chat', 'memory', 'tenant', 'webhook'],
  },
  analytics: { database: true, grpc: true, kafka: true, calls: ['tenant'] },
  memory: {
    database: true,
    jobs: true,
    grpc: true,
    kafka: true,
    keyRing: true,
    calls: ['agent', 'chat', 'tenant'],
  },
  chat: {
    database: true,
    grpc: true,
    kafka: true,
    keyRing: true,
    models: true,
    calls: ['agent', 'analytics', 'memory', 'tenant', 'webhook'],
  },
  webhook: {
    database: true,
    jobs: true,
    grpc: true,
    kafka: true,
    keyRing: true,
    egress: true,
    calls: ['agent', 'chat', 'tenant'],
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
 * All services, in the order of their start; they stop in reverse. `make up`, the upstreams of the edge and the chart
 * use this list. To add a service, create its folder in `services/` and add it here.
 */
export const services: readonly ServiceEntry[] = Object.entries<ServiceFacts>(facts).map(([name, fact]) => ({
  name: name as ServiceName,
  ...fact,
}));

/** Services to which the edge forwards requests. */
export const innerServices = services
  .filter((service) => service.public === undefined)
  .map(({ name }) => name as InnerServiceName);
