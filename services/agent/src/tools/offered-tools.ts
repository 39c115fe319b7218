import { judgedSchema } from '@gatehouse/dialects/translation/schema/tool-schema';
import { cacheKey } from '@gatehouse/kit/cache-key';
import { runCooperatively } from '@gatehouse/kit/cooperative';
import { SharedCalls } from '@gatehouse/kit/shared-calls';
import { TenantCache } from '@gatehouse/kit/tenant-cache';
import { isEnabled, isPerUser, type KnownHead, type McpSettings } from '../mcp/mcp-server.ts';
import type { McpTool } from '../mcp/mcp-tool.ts';
import type { ListHead, ListTexts } from '../mcp/tool-lists.ts';
import { acceptance, type AcceptedTool } from '../mcp/tool-review.ts';
import { mendedAtOnce } from '../bounds.ts';

/** A usable tool. */
export interface OfferedTool extends Omit<McpTool, 'inputSchema' | 'digest' | 'unusable'> {
  /** Its schema as JSON text. */
  schemaJson: string;
}

export interface ListSources {
  /** Heads of a user's lists by the ids of their servers; a server without a login of the user has no entry. */
  headsOf: (
    servers: readonly KnownHead[],
    owner: { tenantId: string; user: string },
  ) => Promise<ReadonlyMap<string, ListHead>>;
  /** Null for a server no longer there. */
  textsOf: (server: KnownHead) => Promise<(ListTexts & { toolFilter: string }) | null>;
  /** Null without a login. */
  textsFor: (server: KnownHead, user: string) => Promise<ListTexts | null>;
}

/** A server as a user sees it. */
export interface SeenServer {
  server: KnownHead;
  /** The user of the list; null for the list of all. */
  user: string | null;
  /** Whether the user needs a login first. */
  isUnconnected: boolean;
  /** The revision of the usable tools. */
  revision: string;
  isStale: boolean;
}

const MiB = 1024 * 1024;
const cacheBounds = { maxBytes: 32 * MiB, maxBytesPerTenant: 8 * MiB };

/** Offered in place of a server's tools to users without a login there, so a model learns what is missing. */
export const connectTool: OfferedTool = {
  name: 'connect',
  description: 'Returns what the user must do before the tools of this server can be used.',
  schemaJson: '{"type":"object","properties":{}}',
  readOnly: true,
  idempotent: true,
};

/**
 * The usable tools of servers. They are kept by the revision of their lists, which is read each time: to read, parse
 * and write 2 MB of them took 50 ms a turn.
 */
export class OfferedTools {
  readonly #sources: ListSources;
  readonly #cache = new TenantCache<readonly OfferedTool[]>({ ...cacheBounds, bytesOf });
  readonly #reads = new SharedCalls<readonly OfferedTool[]>();

  constructor(sources: ListSources) {
    this.#sources = sources;
  }

  /** How a user sees servers of a tenant, in the same order. A user without a login sees what says so. */
  async seenBy(servers: readonly KnownHead[], user: string | null): Promise<SeenServer[]> {
    const perUser = servers.filter(isPerUser);
    const [first] = perUser;
    const heads =
      user === null || first === undefined
        ? new Map<string, ListHead>()
        : await this.#sources.headsOf(perUser, { tenantId: first.tenantId, user });
    return servers.map((server) => {
      const { id, toolsRevision, trust, isStale } = server;
      if (!isPerUser(server))
        return {
          server,
          user: null,
          isUnconnected: false,
          revision: cacheKey(id, trust, toolsRevision),
          isStale,
        };
      const head = heads.get(id);
      return {
        ...{ server, user },
        isUnconnected: head === undefined,
        revision: cacheKey(id, trust, toolsRevision, head?.revision ?? null),
        isStale: head?.isStale ?? false,
      };
    });
  }

  /** The usable tools of a server, in the order of its list. */
  async read(seen: SeenServer): Promise<readonly OfferedTool[]> {
    if (seen.isUnconnected) return [connectTool];
    const { tenantId } = seen.server;
    const known = this.#cache.get(tenantId, seen.revision);
    // The server of another tenant has another id.
    return known ?? this.#reads.get(seen.revision, () => this.#read(seen));
  }

  async find(seen: SeenServer, name: string): Promise<OfferedTool | undefined> {
    return (await this.read(seen)).find((tool) => tool.name === name);
  }

  async #read({ server, user }: SeenServer): Promise<readonly OfferedTool[]> {
    const { tenantId, id, trust } = server;
    const serverTexts = await this.#sources.textsOf(server);
    const userTexts = user === null ? null : await this.#sources.textsFor(server, user);
    if (serverTexts === null || (isPerUser(server) && userTexts === null)) return [];
    // Each piece takes up to 40 ms.
    const parse = async <Value>(text: string): Promise<Value> =>
      runCooperatively(tenantId, () => JSON.parse(text) as Value);
    const listed = (await parse<McpTool[] | null>((userTexts ?? serverTexts).tools ?? 'null')) ?? [];
    const accepted = [
      ...(userTexts === null ? [] : await parse<AcceptedTool[]>(userTexts.accepted)),
      ...(await parse<AcceptedTool[]>(serverTexts.accepted)),
    ];
    const toolFilter = await parse<McpSettings['toolFilter']>(serverTexts.toolFilter);
    const usable = await runCooperatively(tenantId, () => {
      const isAccepted = acceptance({ trust, accepted });
      return listed.filter((tool) => isEnabled({ toolFilter }, tool.name) && isAccepted(tool));
    });
    const tools: OfferedTool[] = [];
    for (let from = 0; from < usable.length; from += mendedAtOnce) {
      const piece = usable.slice(from, from + mendedAtOnce);
      tools.push(
        ...(await runCooperatively(tenantId, () => piece.map(offered).filter((tool) => tool !== null))),
      );
    }
    // The texts may be newer than what was seen.
    const revisions =
      userTexts === null ? [serverTexts.revision] : [serverTexts.revision, userTexts.revision];
    this.#cache.set(tenantId, cacheKey(id, trust, ...revisions), tools);
    return tools;
  }
}

/** Null for a tool with a schema accepted by no provider. */
function offered(tool: McpTool): OfferedTool | null {
  if (typeof tool.unusable === 'string') return null;
  const { name, description, inputSchema, readOnly, idempotent } = tool;
  const { schema } = judgedSchema(inputSchema);
  return schema && { name, description, schemaJson: JSON.stringify(schema), readOnly, idempotent };
}

/** Memory of one tool beside its texts. */
const toolBytes = 200;

function bytesOf(tools: readonly OfferedTool[]): number {
  let bytes = 0;
  for (const { name, description, schemaJson } of tools)
    bytes +=
      toolBytes + [name, description, schemaJson].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  return bytes;
}
