import { readAlertEvent, type Alert } from '@gatehouse/events/alert-event';
import { publishersOf, topics } from '@gatehouse/contract/services';
import { EventsServiceService, type TakeRequest } from '@gatehouse/proto/events/v1/events';
import type { RpcService } from '@gatehouse/grpc/rpc';
import type { TestIdentity } from './identity.ts';
import { StandIn } from './stand-in.ts';

/** Stands in for webhook: takes alerts of the other services. */
export class AlertTaker {
  readonly alerts: Alert[] = [];
  #server: StandIn | undefined;

  static async start(identity: TestIdentity, also: readonly RpcService[] = []): Promise<AlertTaker> {
    const taker = new AlertTaker();
    const take = {
      callers: publishersOf(topics.alerts, 'webhook'),
      handle: ({ events }: TakeRequest) => {
        for (const event of events) {
          const alert = readAlertEvent(event);
          if (alert !== null) taker.alerts.push(alert);
        }
        return Promise.resolve({});
      },
    };
    const webhook = { definition: EventsServiceService, rpcs: { take } };
    taker.#server = await StandIn.start('webhook', identity, webhook, also);
    return taker;
  }

  get server(): StandIn {
    if (this.#server === undefined) throw new Error('webhook was not started');
    return this.#server;
  }

  /** Alerts of a type and a tenant, or of the platform. */
  of(tenantId: string | null, type: string): Alert[] {
    return this.alerts.filter((alert) => alert.tenant_id === tenantId && alert.type === type);
  }
}
