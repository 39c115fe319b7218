import { readAuditEvent } from '@gatehouse/events/audit-event';
import type { AuditEntry } from '@gatehouse/contract/audit';
import type { GrpcServer } from '@gatehouse/grpc/server';
import { AppError } from '@gatehouse/kit/errors';
import { TenantServiceService, type RecordAuditRequest } from '@gatehouse/proto/tenant/v1/tenant';
import type { TestIdentity } from '@gatehouse/test/identity';
import { peerServer } from '@gatehouse/test/peer-server';
import { tenantRpcs } from '@gatehouse/test/tenant-rpcs';

/** Tenant as the agent service sees it: takes in what was changed, when it is in the mood. */
export class AuditTaker {
  readonly entries: AuditEntry[] = [];
  takes = true;
  readonly #server: GrpcServer;

  private constructor(server: GrpcServer) {
    this.#server = server;
    const recordAudit = {
      callers: ['agent'],
      handle: async ({ events }: RecordAuditRequest) => {
        if (!this.takes) throw new AppError('database_unavailable', 'Not now.');
        for (const event of events) {
          const entry = readAuditEvent(event);
          if (entry !== null) this.entries.push(entry);
        }
        return {};
      },
    };
    server.add(TenantServiceService, tenantRpcs({ recordAudit }));
  }

  static async start(identity: TestIdentity): Promise<AuditTaker> {
    const server = await peerServer('tenant', identity);
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
