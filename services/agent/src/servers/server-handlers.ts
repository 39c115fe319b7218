import type { Changes } from '@gatehouse/audited-changes/changes';
import {
  maxMcpServers,
  type AcceptMcpTool,
  type CreateMcpServer,
  type listMcpServers,
  type PatchMcpServer,
  type WireMcpServer,
} from '@gatehouse/contract/mcp-servers';
import type { Guard } from '@gatehouse/egress/guard';
import { tenantOf, type Call, type Handler } from '@gatehouse/http/app';
import { decodeCursor, pageOf } from '@gatehouse/http/pagination';
import type { Reply } from '@gatehouse/http/reply';
import { orNotFound, resourceId } from '@gatehouse/http/resource';
import { AppError } from '@gatehouse/kit/errors';
import { newId } from '@gatehouse/kit/ids';
import type { MinuteCounts } from '@gatehouse/pg/minute-counts';
import { afterCommit } from '@gatehouse/pg/pool';
import { sameText } from '@gatehouse/public-access/same-text';
import type { z } from 'zod';
import { deleteLoginsBut, hasLogin } from '../logins/login-store.ts';
import type { Logins } from '../logins/logins-client.ts';
import type { ServerSecrets } from '../logins/server-secrets.ts';
import { McpFailure } from '../mcp/failure.ts';
import type { OAuthClient } from '../mcp/mcp-oauth.ts';
import type { Listed, McpRegistry, UserLists } from '../mcp/mcp-registry.ts';
import {
  authProblemOf,
  isPerUser,
  type AuthSecrets,
  type McpServer,
  type McpSettings,
} from '../mcp/mcp-server.ts';
import { digestOf } from '../mcp/tool-review.ts';
import { connectsDifferently, newSettings, patchedSettings, splitAuth } from './server-settings.ts';
import {
  acceptTool,
  countMcpServers,
  deleteMcpServer,
  insertMcpServer,
  lockMcpServer,
  noteTools,
  takenName,
  updateMcpServer,
  type ServerStore,
} from './server-store.ts';
import { showServer } from './server-view.ts';
import { verifyServer } from './verification.ts';

type List = Call<unknown, z.output<typeof listMcpServers>>;
type Create = Call<CreateMcpServer>;
type Patch = Call<PatchMcpServer>;
type Accept = Call<AcceptMcpTool>;

const what = 'MCP server';
const needsConsent = 'A user must open a consent link.';

export interface ServerDependencies {
  servers: ServerStore;
  registry: McpRegistry;
  lists: UserLists;
  oauth: OAuthClient;
  guard: Guard;
  secrets: ServerSecrets;
  logins: Logins;
  changes: Changes;
  counts: MinuteCounts;
}

/** The kind under which requests making the gateway connect are counted. */
const connections = 'mcp_connections';

/** `/v1/mcp/servers*` */
export function serverHandlers(dependencies: ServerDependencies): Record<string, Handler> {
  const { servers, registry, lists, guard, logins, changes, counts } = dependencies;
  return {
    'mcp.servers.list': async (call: List) => {
      const { limit, cursor } = call.query;
      const rows = await servers.list(tenantOf(call).tenantId, { limit, before: decodeCursor(cursor) });
      return { body: pageOf(rows, limit, showServer) };
    },

    'mcp.servers.create': (call: Create) => create(call, dependencies),

    'mcp.servers.get': async (call: Call) => {
      const { tenantId, userId } = tenantOf(call);
      const server = orNotFound(await servers.find(tenantId, resourceId(call.params, what)), what);
      // Users see only their own list.
      const isOwn = isPerUser(server) && userId !== null;
      const userList = isOwn ? await lists.findList(server, userId) : null;
      return { body: showServer(server, userList && { ...userList, tools: userList.tools ?? [] }) };
    },

    'mcp.servers.patch': async (call: Patch) => {
      const [{ tenantId }, id] = [tenantOf(call), resourceId(call.params, what)];
      const known = orNotFound(await servers.find(tenantId, id), what);
      if (call.body.url !== undefined) await guard.check(call.body.url, 'url');
      const { body } = call;
      const isOther = connectsDifferently(known, body) || (body.enabled === true && !known.enabled);
      if ((isOther || known.status === 'pending') && !call.dryRun) await counts.count(tenantId, connections);
      const reply = await changes.change(call, async (db) => {
        const before = orNotFound(await lockMcpServer(db, id), what);
        const isConsented = await hasLogin(db, before);
        const after = await updateMcpServer(db, id, patched({ before, isConsented }, body, dependencies));
        const ended = await deleteLoginsBut(db, id, after.connectionId);
        afterCommit(db, () => {
          logins.ended(ended);
          if (connectsDifferently(known, body)) registry.forget(known);
        });
        const [old, next] = [showServer(before), showServer(after)];
        return {
          body: next,
          changes: [{ action: 'mcp_server.updated', id, before: old, after: next }],
        };
      });
      if (call.dryRun || (reply.body as WireMcpServer).status !== 'pending') return reply;
      const stored = orNotFound(await servers.find(tenantId, id), what);
      await registry.refresh(stored, null).catch((error: unknown) => {
        if (!(error instanceof McpFailure)) throw error;
      });
      return { ...reply, body: showServer(orNotFound(await servers.find(tenantId, id), what)) };
    },

    'mcp.servers.delete': async (call: Call) => {
      const [{ tenantId }, id] = [tenantOf(call), resourceId(call.params, what)];
      const server = orNotFound(await servers.find(tenantId, id), what);
      return changes.change(call, async (db) => {
        const before = showServer(orNotFound(await lockMcpServer(db, id), what));
        const ended = await deleteLoginsBut(db, id, null);
        await deleteMcpServer(db, id);
        afterCommit(db, () => {
          logins.ended(ended);
          registry.forget(server);
        });
        return { changes: [{ action: 'mcp_server.deleted', id, before, after: null }] };
      });
    },

    'mcp.servers.tools.accept': (call: Accept) => accept(call, dependencies),

    'mcp.servers.refresh': async (call: Call) => {
      const [{ tenantId }, id] = [tenantOf(call), resourceId(call.params, what)];
      const server = orNotFound(await servers.find(tenantId, id), what);
      // The list of a user with a login is fetched with the user's next call.
      const isAskable = server.enabled && authProblemOf(server) === null && !isPerUser(server);
      if (!isAskable) return { body: showServer(server) };
      await counts.count(tenantId, connections);
      await registry.refresh(server, null).catch(unreachable);
      return { body: showServer(orNotFound(await servers.find(tenantId, id), what)) };
    },
  };
}

async function create(call: Create, dependencies: ServerDependencies): Promise<Reply> {
  const { servers, guard, secrets, changes, counts } = dependencies;
  const [{ tenantId }, id] = [tenantOf(call), newId()];
  const settings = newSettings(call.body);
  const { secrets: authSecrets } = splitAuth(call.body.auth);
  await guard.check(settings.url, 'url');
  if (await servers.isNameTaken(tenantId, settings.name)) throw takenName();
  if (call.body.verify) await counts.count(tenantId, connections);
  // Before the transaction, which waits for no other server.
  const verified = call.body.verify
    ? await verifyServer(dependencies, { tenantId, dryRun: call.dryRun }, settings, authSecrets).catch(
        unreachable,
      )
    : { listed: null, secrets: authSecrets, clientIssuer: null };
  const sealed = seal(secrets, { tenantId, id }, verified.secrets);
  const connectionId = newId();
  return changes.change(call, async (db) => {
    if ((await countMcpServers(db, tenantId)) >= maxMcpServers)
      throw new AppError('limit_reached', `There may be ${maxMcpServers} MCP servers.`);
    const untried = settings.auth.type === 'oauth' ? 'needs_auth' : 'pending';
    const status: McpServer['status'] = settings.enabled ? untried : 'disabled';
    const statusReason = status === 'needs_auth' ? needsConsent : null;
    const { clientIssuer } = verified;
    const row = { id, tenantId, connectionId, settings, secrets: sealed, status, statusReason, clientIssuer };
    const made = await insertMcpServer(db, row);
    const after = showServer(await known(db, made, verified.listed));
    return {
      body: after,
      headers: { location: `/v1/mcp/servers/${id}` },
      changes: [{ action: 'mcp_server.created', id, before: null, after }],
    };
  });
}

async function accept(call: Accept, { changes }: ServerDependencies): Promise<Reply> {
  const id = resourceId(call.params, what);
  const { name = '' } = call.params;
  const { digest } = call.body;
  return changes.change(call, async (db) => {
    const before = orNotFound(await lockMcpServer(db, id), what);
    if (!isPerUser(before)) {
      const tool = orNotFound(before.tools.find((each) => each.name === name) ?? null, 'tool');
      if (!sameText(digestOf(tool), digest))
        throw new AppError('invalid_value', 'The tool has another definition now.', { param: 'digest' });
    }
    const [old, after] = [showServer(before), showServer(await acceptTool(db, before, { name, digest }))];
    return { body: after, changes: [{ action: 'mcp_server.updated', id, before: old, after }] };
  });
}

type Db = Parameters<typeof noteTools>[0];

async function known(db: Db, server: McpServer, listed: Listed | null): Promise<McpServer> {
  return listed === null ? server : ((await noteTools(db, server, listed))?.server ?? server);
}

/** Another client is for the issuer found next. */
const noIssuers = { clientIssuer: null, otherIssuer: null };

/** The values written by an update. Another origin gets no secret of the one before. */
function patched(
  { before, isConsented }: { before: McpServer; isConsented: boolean },
  body: PatchMcpServer,
  { secrets }: Pick<ServerDependencies, 'secrets'>,
): Parameters<typeof updateMcpServer>[2] {
  const settings: McpSettings = patchedSettings(before, body);
  const moved = new URL(settings.url).origin !== new URL(before.url).origin;
  const sealed =
    body.auth !== undefined
      ? seal(secrets, before, splitAuth(body.auth).secrets)
      : moved
        ? null
        : before.secrets;
  const isOther = connectsDifferently(before, body);
  const connectionId = isOther ? newId() : before.connectionId;
  const { clientIssuer, otherIssuer } = body.auth === undefined ? before : noIssuers;
  const after = { settings, connectionId, secrets: sealed, clientIssuer, otherIssuer };
  if (!settings.enabled) return { ...after, status: 'disabled', statusReason: null };
  const problem = authProblemOf({ ...settings, secrets: sealed, otherIssuer });
  if (problem !== null) return { ...after, status: 'needs_auth', statusReason: problem };
  if (settings.auth.type === 'oauth' && (isOther || !isConsented))
    return { ...after, status: 'needs_auth', statusReason: needsConsent };
  if (!before.enabled && isPerUser(settings)) return { ...after, status: 'connected', statusReason: null };
  if (isOther || !before.enabled) return { ...after, status: 'pending', statusReason: null };
  return { ...after, status: before.status, statusReason: before.statusReason };
}

function seal(
  column: ServerSecrets,
  row: { tenantId: string; id: string },
  secrets: AuthSecrets | null,
): Buffer | null {
  return secrets === null ? null : column.seal(row, secrets);
}

function unreachable(error: unknown): never {
  if (!(error instanceof McpFailure)) throw error;
  // Not a word of what answered: the caller chose the address.
  const message =
    error.kind === 'needs_consent' ? needsConsent : 'The gateway could not list the tools of the MCP server.';
  throw new AppError('mcp_unreachable', message, { param: 'url', cause: error });
}
