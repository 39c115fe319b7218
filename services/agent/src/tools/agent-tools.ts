import type { McpServer } from '../mcp/mcp-server.ts';
import { modelNames } from '../mcp/model-names.ts';
import { connectTool, type OfferedTool } from './offered-tools.ts';
import { maxOfferedBytes, maxOfferedTools } from '../bounds.ts';

/** A tool usable by an agent. */
export interface AgentTool {
  /** As models get it. */
  name: string;
  server: Pick<McpServer, 'id' | 'name' | 'timeoutMs'>;
  tool: OfferedTool;
}

/** The names of the servers of which an agent may use all tools, or single ones. */
export function serverNames(refs: readonly string[]): string[] {
  return [...new Set(refs.map((ref) => ref.split('/', 1)[0] ?? ''))];
}

/** Tools chosen by references: `server` or `server/tool`. */
export interface ToolChoice {
  refs: ReadonlySet<string>;
  /** Names of the servers in `refs`. */
  servers: ReadonlySet<string>;
  /** References to left out tools: `server/tool`. */
  deny: ReadonlySet<string>;
}

export function toolChoice(refs: readonly string[], deny: readonly string[] = []): ToolChoice {
  return { refs: new Set(refs), servers: new Set(serverNames(refs)), deny: new Set(deny) };
}

/** Whether one of some choices has a tool. `connectTool` needs only a reference to its server. */
export function isOffered(
  choices: readonly ToolChoice[],
  server: Pick<McpServer, 'name'>,
  tool: OfferedTool,
): boolean {
  const ref = `${server.name}/${tool.name}`;
  return choices.some(
    ({ refs, servers, deny }) =>
      (tool === connectTool ? servers.has(server.name) : refs.has(server.name) || refs.has(ref)) &&
      !deny.has(ref),
  );
}

/** Bounds of the tools of an agent or of toolsets; further ones are left out. */
interface ToolBounds {
  maxTools: number;
  maxBytes: number;
}

const agentBounds: ToolBounds = { maxTools: maxOfferedTools, maxBytes: maxOfferedBytes };

/**
 * The tools in some choices, in a stable order, for hits in the prompt caches of providers: servers as they are
 * added, tools by name. Keeps only the chosen parts of the lists.
 */
export class AgentTools {
  readonly #choices: readonly ToolChoice[];
  readonly #bounds: ToolBounds;
  readonly #tools: Omit<AgentTool, 'name'>[] = [];
  #bytes = 0;
  #leftOut = 0;

  constructor(choices: readonly ToolChoice[], bounds: ToolBounds = agentBounds) {
    this.#choices = choices;
    this.#bounds = bounds;
  }

  /** Chosen tools beyond the bounds: the first one ends the list. */
  get leftOut(): number {
    return this.#leftOut;
  }

  add(server: AgentTool['server'], tools: readonly OfferedTool[]): void {
    const { id, name, timeoutMs } = server;
    const { maxTools, maxBytes } = this.#bounds;
    const chosen = tools
      .filter((tool) => isOffered(this.#choices, server, tool))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
    for (const [index, tool] of chosen.entries()) {
      this.#bytes += bytesOf(tool);
      if (this.#leftOut > 0 || this.#bytes > maxBytes || this.#tools.length === maxTools) {
        this.#leftOut += chosen.length - index;
        return;
      }
      this.#tools.push({ server: { id, name, timeoutMs }, tool });
    }
  }

  /** Without names: those of a toolset have names beside those of agents. */
  get unnamed(): readonly Omit<AgentTool, 'name'>[] {
    return this.#tools;
  }

  /** With the names for models. */
  get all(): AgentTool[] {
    const names = modelNames(
      this.#tools.map(({ server, tool }) => ({ server: server.name, tool: tool.name })),
    );
    return this.#tools.map((tool, index) => ({ ...tool, name: names[index] ?? '' }));
  }
}

/** Around the texts of a tool in a request. */
const aroundBytes = 100;

function bytesOf({ name, description, schemaJson }: OfferedTool): number {
  return (
    aroundBytes + Buffer.byteLength(name) + Buffer.byteLength(description) + Buffer.byteLength(schemaJson)
  );
}
