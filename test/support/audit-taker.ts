import { readAuditEvent } from '@gatehouse/events/audit-event';
import { readDeletionReceipt, type DeletionReceipt } from '@gatehouse/events/deletion-event';
import { sendersTo, topics } from '@gatehouse/contract/services';
import { EventsServiceService, type TakeRequest } from '@gatehouse/proto/events/v1/events';
import type { AuditEntry } from '@gatehouse/contract/audit';
import type { GrpcServer } from '@gatehouse/grpc/server';
import { AppError } from '@gatehouse/kit/errors';
import {
  TenantServiceService,
  type GetTenantSettingsRequest,
  type GetTenantSettingsResponse,
} from '@gatehouse/proto/tenant/v1/tenant';
import type { TestIdentity } from './identity.ts';
import { peerServer } from './peer-server.ts';
import { resolveUserOf, tenantRpcs, tenantSettings, type KnownUsers } from './tenant-rpcs.ts';

/** Stands in for tenant: takes in the audit entries and the receipts of a service, or refuses them, and has settings of tenants. */
export class AuditTaker {
  readonly entries: AuditEntry[] = [];
  /** Receipts of deletions of users' data. */
  readonly receipts: DeletionReceipt[] = [];
  takes = true;
  /** Settings of tenants that differ from the defaults. */
  readonly settings = new Map<string, Partial<GetTenantSettingsResponse>>();
  readonly users: KnownUsers = new Map();
  readonly #server: GrpcServer;

  private constructor(server: GrpcServer) {
    this.#server = server;
    const take = {
      callers: sendersTo('tenant'),
      handle: async ({ topic, events }: TakeRequest) => {
        if (!this.takes) throw new AppError('database_unavailable', 'Not now.');
        for (const event of events) {
          const isReceipt = topic === topics.receipts;
          const entry = isReceipt ? null : readAuditEvent(event);
          if (entry !== null) this.entries.push(entry);
          const receipt = isReceipt ? readDeletionReceipt(event) : null;
          if (receipt !== null) this.receipts.push(receipt);
        }
        return {};
      },
    };
    const getTenantSettings = {
      callers: ['memory', 'webhook'],
      handle: async ({ tenantId }: GetTenantSettingsRequest) => {
        if (!this.takes) throw new AppError('database_unavailable', 'Not now.');
        return tenantSettings(this.settings.get(tenantId));
      },
    };
    server.add(
      TenantServiceService,
      tenantRpcs({ getTenantSettings, resolveUser: resolveUserOf(this.users) }),
    );
    server.add(EventsServiceService, { take });
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
