import type { Alert } from '@gatehouse/events/alert-event';
import { AppError } from '@gatehouse/kit/errors';
import { AgentServiceService } from '@gatehouse/proto/agent/v1/agent';
import { AnalyticsServiceService } from '@gatehouse/proto/analytics/v1/analytics';
import { ChatServiceService } from '@gatehouse/proto/chat/v1/chat';
import { MemoryServiceService, type GetUsageResponse } from '@gatehouse/proto/memory/v1/memory';
import { AlertTaker } from '@gatehouse/test/alert-taker';
import type { TestIdentity } from '@gatehouse/test/identity';
import { StandIn } from '@gatehouse/test/stand-in';
import { TransferSides } from './transfer-sides.ts';
import type { Forgotten, ForgetRequest, Participant } from '../src/deletions/participants.ts';

export type ForgetCall = ForgetRequest & { service: Participant };

const callers = ['tenant'];

/** Stand in for the services that hold data of users: a test decides what they answer, and stops and restarts them. */
export class UserDataServices {
  /** Calls of `ForgetUser`, in their order. */
  readonly calls: ForgetCall[] = [];
  answer: (call: ForgetCall) => Promise<Forgotten> | Forgotten = () => ({ counts: {}, completed: true });
  /** The use that tenants make of their memory. */
  readonly usage = new Map<string, GetUsageResponse>();
  usageState: 'answers' | 'fails' | 'hangs' = 'answers';
  /** Runs of agents that are under way. */
  openRuns: () => number = () => 0;
  /** The services' answers about transfers. */
  readonly transfers = new TransferSides();
  readonly #servers = new Map<Participant, StandIn>();
  #webhook: AlertTaker | undefined;

  static async start(identity: TestIdentity): Promise<UserDataServices> {
    const services = new UserDataServices();
    const { transfers } = services;
    const forgetUser = (service: Participant) => ({
      callers,
      handle: (request: ForgetRequest) => services.#forget({ ...request, service }),
    });
    const getUsage = {
      callers,
      handle: ({ tenantId }: { tenantId: string }) => services.#usageOf(tenantId),
    };
    const memory = { definition: MemoryServiceService, rpcs: { forgetUser: forgetUser('memory'), getUsage } };
    const analytics = { definition: AnalyticsServiceService, rpcs: { forgetUser: forgetUser('analytics') } };
    const countOpenRuns = { callers, handle: () => Promise.resolve({ runs: services.openRuns() }) };
    const chat = { definition: ChatServiceService, rpcs: { forgetUser: forgetUser('chat'), countOpenRuns } };
    const agent = { definition: AgentServiceService, rpcs: { forgetUser: forgetUser('agent') } };
    services.#servers.set('agent', await StandIn.start('agent', identity, agent, [transfers.rpc(true)]));
    services.#servers.set('memory', await StandIn.start('memory', identity, memory, [transfers.rpc(false)]));
    services.#servers.set('analytics', await StandIn.start('analytics', identity, analytics));
    services.#servers.set('chat', await StandIn.start('chat', identity, chat));
    services.#webhook = await AlertTaker.start(identity, [transfers.rpc(false)]);
    services.#webhook.forgetUser = (request) => services.#forget({ ...request, service: 'webhook' });
    services.#servers.set('webhook', services.#webhook.server);
    return services;
  }

  /** Alerts of a type and a tenant, or of the platform. */
  alertsOf(tenantId: string | null, type: string): Alert[] {
    return this.#webhook?.of(tenantId, type) ?? [];
  }

  of(service: Participant): StandIn {
    const server = this.#servers.get(service);
    if (server === undefined) throw new Error(`${service} was not started`);
    return server;
  }

  /** Calls of `ForgetUser` for a user. */
  callsFor(userId: string, service?: Participant): ForgetCall[] {
    return this.calls.filter((call) => call.userId === userId && [undefined, call.service].includes(service));
  }

  async stop(): Promise<void> {
    for (const server of this.#servers.values()) await server.stop();
  }

  async #forget(call: ForgetCall): Promise<Forgotten> {
    this.calls.push(call);
    return this.answer(call);
  }

  async #usageOf(tenantId: string): Promise<GetUsageResponse> {
    if (this.usageState === 'fails') throw new AppError('database_unavailable', 'Not now.');
    if (this.usageState === 'hangs') return new Promise(() => undefined);
    return this.usage.get(tenantId) ?? { documents: 0n, bytes: 0n, entities: 0n };
  }
}
