import { readAlertEvent, type Alert } from '@gatehouse/events/alert-event';
import {
  WebhookServiceService,
  type ForgetUserRequest,
  type ForgetUserResponse,
  type NotifyRequest,
} from '@gatehouse/proto/webhook/v1/webhook';
import type { RpcService } from '@gatehouse/grpc/rpc';
import type { TestIdentity } from './identity.ts';
import { StandIn } from './stand-in.ts';

/** Stands in for webhook: takes alerts of the other services. */
export class AlertTaker {
  readonly alerts: Alert[] = [];
  /** How users are forgotten; by default there is nothing of them. */
  forgetUser: (request: ForgetUserRequest) => Promise<ForgetUserResponse> = () =>
    Promise.resolve({ counts: {}, completed: true });
  #server: StandIn | undefined;

  static async start(identity: TestIdentity, also: readonly RpcService[] = []): Promise<AlertTaker> {
    const taker = new AlertTaker();
    const notify = {
      callers: ['agent', 'chat', 'tenant'],
      handle: ({ events }: NotifyRequest) => {
        for (const event of events) {
          const alert = readAlertEvent(event);
          if (alert !== null) taker.alerts.push(alert);
        }
        return Promise.resolve({});
      },
    };
    const forgetUser = {
      callers: ['tenant'],
      handle: (request: ForgetUserRequest) => taker.forgetUser(request),
    };
    const webhook = { definition: WebhookServiceService, rpcs: { notify, forgetUser } };
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
