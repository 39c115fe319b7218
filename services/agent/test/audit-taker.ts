import { readAuditEvent } from '@gatehouse/events/audit-event';
import type { AuditEntry } from '@gatehouse/contract/audit';
import { GrpcServer } from '@gatehouse/grpc/server';
import { Verifier } from '@gatehouse/identity/verifier';
import { AppError } from '@gatehouse/kit/errors';
import { createLogger } from '@gatehouse/kit/log';
import { TenantServiceService } from '@gatehouse/proto/tenant/v1/tenant';
import type { TestIdentity } from '@gatehouse/test/identity';

/** Tenant as the agent service sees it: takes in what was changed, when it is in the mood. */
export class AuditTaker {
  readonly entries: AuditEntry[] = [];
  takes = true;
  readonly #server: GrpcServer;

  private constructor(server: GrpcServer) {
    this.#server = server;
    server.add(TenantServiceService, {
      authenticate: { callers: [], handle: () => Promise.resolve({ result: undefined }) },
      getTenantSettings: {
        callers: [],
        handle: () => Promise.reject(new AppError('not_found', 'There is no such tenant.')),
      },
      recordAudit: {
        callers: ['agent'],
        handle: async ({ events }) => {
          if (!this.takes) throw new AppError('database_unavailable', 'Not now.');
          for (const event of events) {
            const entry = readAuditEvent(event);
            if (entry !== null) this.entries.push(entry);
          }
          return {};
        },
      },
    });
  }

  static async start(identity: TestIdentity): Promise<AuditTaker> {
    const server = new GrpcServer({
      service: 'tenant',
      host: '127.0.0.1',
      port: 0,
      verifier: await Verifier.create(identity.publicKeys),
      log: createLogger('tenant', 'silent'),
      drainTimeoutMs: 100,
    });
    const taker = new AuditTaker(server);
    await server.start();
    return taker;
  }

  get address(): string {
    return `127.0.0.1:${this.#server.port}`;
  }

  async stop(): Promise<void> {
    await this.#server.stop();
  }
}
