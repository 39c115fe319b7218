import { hash } from 'node:crypto';
import { lookupDeadlineMs } from '@gatehouse/kit/bounds';
import { cacheKey } from '@gatehouse/kit/cache-key';
import type { ChangeWatch } from '@gatehouse/kit/change-watch';
import { AppError } from '@gatehouse/kit/errors';
import { FairQueue } from '@gatehouse/kit/fair-queue';
import { OutageCache } from '@gatehouse/kit/outage-cache';
import type { TenantServiceClient } from '@gatehouse/proto/tenant/v1/tenant';
import type { CallContext, RpcClient } from '@gatehouse/grpc/client';
import { hangIsOutage, isOutage } from '@gatehouse/grpc/errors';

/** A group of a user. */
export interface UserGroup {
  id: string;
  name: string;
}

/** A user of a tenant's directory. */
export interface DirectoryUser {
  /** Stays when the data of a blocked user is deleted. */
  id: string;
  /** The id by which all services know the user. */
  userId: string;
  groups: readonly UserGroup[];
}

type Answer = (DirectoryUser & { isBlocked: boolean }) | null;

/** The asking request, for its trace. */
type LookupCaller = Pick<CallContext, 'requestId' | 'trace'>;

const outageMs = 5 * 60_000;

/**
 * The meaning of names of users, for tenants with a directory. Answers are 3.5 s old at most while the watch knows the
 * changes, and count for five minutes during an outage of the tenant service. Clients can make up any number of names: so
 * tenants take turns at look-ups, names outside the directory have memory of their own, and a tenant with many names
 * evicts its own.
 */
export class UserDirectory {
  readonly #peer: RpcClient<TenantServiceClient>;
  readonly #cache: OutageCache<Answer>;
  readonly #turns = new FairQueue(turnsOfTenants);

  constructor(peer: RpcClient<TenantServiceClient>, changes: ChangeWatch) {
    this.#peer = peer;
    this.#cache = new OutageCache<Answer>({
      ...{ max: 100_000, freshMs: 3_000, outageMs, isOutage },
      ...{ size: { maxBytes: 32 * 1024 * 1024, bytesOf }, tenantOf, isApart: (answer) => answer === null },
      watch: { changes, longestMs: outageMs, subjectsOf },
    });
  }

  /**
   * The user with a name, in any case; null for a name outside the directory. A promise only for a look-up. Throws
   * `user_blocked`, and `service_unavailable` while the tenant service is down and the name unknown.
   */
  find(
    tenantId: string,
    name: string,
    caller: LookupCaller = {},
  ): DirectoryUser | null | Promise<DirectoryUser | null> {
    const answer = this.#lookUp(tenantId, name, caller);
    return answer instanceof Promise ? answer.then(active) : active(answer);
  }

  /** The id of a user by a name, also of a blocked one; the name itself outside the directory. */
  async idOf(tenantId: string, name: string, caller: LookupCaller = {}): Promise<string> {
    return (await this.#lookUp(tenantId, name, caller))?.userId ?? name;
  }

  #lookUp(tenantId: string, name: string, caller: LookupCaller): Answer | Promise<Answer> {
    const key = cacheKey(tenantId, name.toLowerCase());
    const load = () => this.#turns.run(tenantId, () => this.#ask(tenantId, name, caller));
    const known = this.#cache.peek(key);
    return known === undefined ? this.#cache.get(key, load) : known;
  }

  async #ask(tenantId: string, name: string, { requestId, trace }: LookupCaller): Promise<Answer> {
    const context = { deadlineMs: lookupDeadlineMs, requestId, trace };
    const { user } = await this.#peer.call('resolveUser', { tenantId, name }, context).catch(hangIsOutage);
    if (user === undefined) return null;
    const { id, userId, blocked: isBlocked, groups } = user;
    return { id, userId, isBlocked, groups };
  }
}

function active(answer: Answer): DirectoryUser | null {
  if (answer?.isBlocked !== true) return answer;
  throw new AppError('user_blocked', 'The user of this request is blocked in this tenant.');
}

/**
 * The name itself, since it may come to mean another user; and the user with the groups. The tenant stands for its
 * users, groups and names where more than 1,000 of them have changed.
 */
function subjectsOf(answer: Answer, key: string): readonly string[] {
  const [tenantId = '', folded = ''] = JSON.parse(key) as string[];
  const subjects = [tenantId, hash('sha256', `${tenantId} ${folded}`)];
  return answer === null ? subjects : [...subjects, answer.id, ...answer.groups.map(({ id }) => id)];
}

/** The first part of a key, as JSON. */
function tenantOf(key: string): string {
  return key.slice(0, key.indexOf(','));
}

function bytesOf(answer: Answer): number {
  const groups = answer?.groups ?? [];
  return groups.reduce((sum, { name }) => sum + 2 * name.length + 200, 400);
}

/** At 5 ms each, a tenant has 3,200 look-ups a second. */
const turnsOfTenants = {
  ...{ slots: 64, perKey: 16, maxWaiting: 1_000, maxWaitingOfAll: 4_000 },
  longestWait: { ms: 2_000, error: tooManyLookups },
  tooMany: tooManyLookups,
};

function tooManyLookups(): AppError {
  return new AppError(
    'service_unavailable',
    'Too many names of users are being looked up. Try again in 1 s.',
    {
      retryAfterMs: 1_000,
    },
  );
}
