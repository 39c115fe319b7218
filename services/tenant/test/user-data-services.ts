import { sendersTo, topics } from '@gatehouse/contract/services';
import { readAlertEvent, type Alert } from '@gatehouse/events/alert-event';
import {
  readDeletionEvent,
  writeDeletionReceipt,
  type UserDeletionEvent,
} from '@gatehouse/events/deletion-event';
import { rpcService, type RpcService, type RpcsOf } from '@gatehouse/grpc/rpc';
import type { GrpcServer } from '@gatehouse/grpc/server';
import { sleep } from '@gatehouse/kit/clock';
import { AppError } from '@gatehouse/kit/errors';
import { AgentServiceService, type AgentName } from '@gatehouse/proto/agent/v1/agent';
import {
  AnalyticsServiceService,
  type GroupRunsRequest,
  type GroupRunsResponse,
} from '@gatehouse/proto/analytics/v1/analytics';
import {
  ChatServiceService,
  KeyVerdict,
  type CheckModelsRequest,
  type CheckModelsResponse,
  type CheckProviderKeyRequest,
  type CheckProviderKeyResponse,
} from '@gatehouse/proto/chat/v1/chat';
import { EventsServiceService, type TakeRequest } from '@gatehouse/proto/events/v1/events';
import { ParticipantServiceService } from '@gatehouse/proto/participant/v1/participant';
import { SystemServiceService } from '@gatehouse/proto/system/v1/system';
import { MemoryServiceService, type GetUsageResponse } from '@gatehouse/proto/memory/v1/memory';
import type { TestIdentity } from '@gatehouse/test/identity';
import { StandIn } from '@gatehouse/test/stand-in';
import { TransferSides } from './transfer-sides.ts';
import type { Forgotten } from '@gatehouse/shell/deletion-inbox';
import type { Participant } from '../src/deletions/deletion-tasks.ts';

type ServiceDefinition = Parameters<GrpcServer['add']>[0];

/** A step of a deletion in a service. */
export interface ForgetCall {
  service: Participant;
  tenantId: string;
  userId: string;
  deletionId: string;
  requestedAtMs: number;
}

const callers = ['tenant'];

/** Stand in for the services that hold data of users: a test decides what they answer, and stops and restarts them. */
export class UserDataServices {
  /** Steps of deletions, in their order. */
  readonly calls: ForgetCall[] = [];
  /** The result of a step: there are steps until one has completed the deletion. */
  answer: (call: ForgetCall) => Promise<Forgotten> | Forgotten = () => ({ counts: {}, completed: true });
  /** The use that tenants make of their memory. */
  readonly usage = new Map<string, GetUsageResponse>();
  usageState: 'answers' | 'fails' | 'hangs' = 'answers';
  readonly agents: AgentName[] = [];
  /** Requests for runs in groups, and the answer of analytics; without one it is away. */
  readonly groupRequests: GroupRunsRequest[] = [];
  groupedRuns: GroupRunsResponse | null = { groups: [], truncated: false };
  /** Runs of agents that are under way. */
  openRuns: () => number = () => 0;
  /** Checks of provider keys that chat was asked for. */
  readonly keyChecks: CheckProviderKeyRequest[] = [];
  keyVerdict: CheckProviderKeyResponse = { verdict: KeyVerdict.ACCEPTED };
  /** Checks are answered once it is open. */
  keyGate: Promise<undefined> | undefined;
  /** The models that each tenant can't use. */
  readonly unusableModels = new Map<string, readonly string[]>();
  /** The services' answers about transfers. */
  readonly transfers = new TransferSides();
  readonly #servers = new Map<Participant, StandIn>();
  readonly #alerts: Alert[] = [];
  /** Sends a receipt to tenant. */
  sendReceipt: (service: Participant, event: string) => Promise<void> = () => Promise.resolve();
  #stopped = false;

  static async start(identity: TestIdentity): Promise<UserDataServices> {
    const services = new UserDataServices();
    const { transfers } = services;
    const participant = (service: Participant): RpcService[] => [
      rpcService(ParticipantServiceService, {
        forgetUser: { callers, handle: () => Promise.reject(new Error('release 0.3.0 calls it')) },
        ...transfers.rpcs(service === 'agent'),
      }),
      rpcService(EventsServiceService, {
        take: { callers: sendersTo(service), handle: (request) => services.#take(service, request) },
      }),
    ];
    const getUsage = {
      callers,
      handle: ({ tenantId }: { tenantId: string }) => services.#usageOf(tenantId),
    };
    const countOpenRuns = { callers, handle: () => Promise.resolve({ runs: services.openRuns() }) };
    const describeAgents = {
      callers,
      handle: ({ ids, keys }: { ids: string[]; keys: string[] }) => {
        const agents = services.agents.filter(({ id, key }) => ids.includes(id) || keys.includes(key));
        return Promise.resolve({ agents });
      },
    };
    const memory = { definition: MemoryServiceService, rpcs: { getUsage } };
    const checkProviderKey = {
      callers,
      handle: async (request: CheckProviderKeyRequest) => {
        services.keyChecks.push(request);
        await services.keyGate;
        return services.keyVerdict;
      },
    };
    const checkModels = { callers, handle: services.#checkModels.bind(services) };
    const rpcs = { countOpenRuns, checkProviderKey, checkModels };
    const chat = { definition: ChatServiceService, rpcs };
    const start = async <Definition extends ServiceDefinition>(
      service: Participant,
      own: { definition: Definition; rpcs: Partial<RpcsOf<Definition>> },
    ): Promise<void> => {
      services.#servers.set(service, await StandIn.start(service, identity, own, participant(service)));
    };
    await start('agent', { definition: AgentServiceService, rpcs: { describeAgents } });
    await start('memory', memory);
    const groupRuns = { callers, handle: services.#groupRuns.bind(services) };
    await start('analytics', { definition: AnalyticsServiceService, rpcs: { groupRuns } });
    await start('chat', chat);
    await start('webhook', { definition: SystemServiceService, rpcs: {} });
    return services;
  }

  /** Alerts of a type and a tenant, or of the platform. */
  alertsOf(tenantId: string | null, type: string): Alert[] {
    return this.#alerts.filter((alert) => alert.tenant_id === tenantId && alert.type === type);
  }

  of(service: Participant): StandIn {
    const server = this.#servers.get(service);
    if (server === undefined) throw new Error(`${service} was not started`);
    return server;
  }

  /** Steps of deletions of a user. */
  callsFor(userId: string, service?: Participant): ForgetCall[] {
    return this.calls.filter((call) => call.userId === userId && [undefined, call.service].includes(service));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const server of this.#servers.values()) await server.stop();
  }

  #take(service: Participant, { topic, events }: TakeRequest): Promise<Record<string, never>> {
    for (const event of events)
      if (topic === topics.alerts) {
        const alert = readAlertEvent(event);
        if (alert !== null) this.#alerts.push(alert);
      } else {
        const taken = readDeletionEvent(event);
        if (taken?.type === 'user') void this.#forget(service, taken.deletion);
      }
    return Promise.resolve({});
  }

  async #forget(service: Participant, { user_id: userId, ...deletion }: UserDeletionEvent): Promise<void> {
    const { deletion_id: deletionId, tenant_id: tenantId, requested_at_ms: requestedAtMs } = deletion;
    const call = { service, tenantId, userId, deletionId, requestedAtMs };
    const counts = { ...deletion.counts };
    for (let completed = false; !completed && !this.#stopped;) {
      this.calls.push(call);
      const step = await this.answer(call);
      for (const [kind, count] of Object.entries(step.counts)) counts[kind] = (counts[kind] ?? 0) + count;
      ({ completed } = step);
      const receipt = writeDeletionReceipt(service, { ...deletion, service, counts, completed });
      const send = () =>
        this.sendReceipt(service, receipt).then(
          () => true,
          () => this.#stopped,
        );
      while (!(await send())) await sleep(100);
      await sleep(100);
    }
  }

  #checkModels({ ids, tenantId = '' }: CheckModelsRequest): Promise<CheckModelsResponse> {
    const unusable = this.unusableModels.get(tenantId) ?? [];
    return Promise.resolve({ unknownIds: ids.filter((id) => unusable.includes(id)), nearest: [] });
  }

  async #groupRuns(request: GroupRunsRequest): Promise<GroupRunsResponse> {
    this.groupRequests.push(request);
    if (this.groupedRuns === null) throw new AppError('database_unavailable', 'Not now.');
    return Promise.resolve(this.groupedRuns);
  }

  async #usageOf(tenantId: string): Promise<GetUsageResponse> {
    if (this.usageState === 'fails') throw new AppError('database_unavailable', 'Not now.');
    if (this.usageState === 'hangs') return new Promise(() => undefined);
    return this.usage.get(tenantId) ?? { documents: 0n, bytes: 0n, entities: 0n };
  }
}
