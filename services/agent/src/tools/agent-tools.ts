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

/** Whether an agent names a tool, as `server` or as `server/tool`. */
function isNamed(refs: readonly string[], server: string, tool: string): boolean {
  return refs.includes(server) || refs.includes(`${server}/${tool}`);
}

/** Whether an agent with these references may use a tool. `connectTool` needs only a reference to its server. */
export function isOffered(
  refs: readonly string[],
  server: Pick<McpServer, 'name'>,
  tool: OfferedTool,
): boolean {
  if (tool === connectTool) return serverNames(refs).includes(server.name);
  return isNamed(refs, server.name, tool.name);
}

/** Bounds of the tools of an agent or a toolset; further ones are left out. */
interface ToolBounds {
  /** References to left out tools: `server/tool`. */
  deny: readonly string[];
  maxTools: number;
  maxBytes: number;
}

const agentBounds: ToolBounds = { deny: [], maxTools: maxOfferedTools, maxBytes: maxOfferedBytes };

/**
 * The tools named by references, in a stable order, for hits in the prompt caches of providers: servers as they are
 * added, tools by name. Keeps only the named parts of the lists.
 */
export class AgentTools {
  readonly #refs: readonly string[];
  readonly #bounds: ToolBounds;
  readonly #tools: Omit<AgentTool, 'name'>[] = [];
  #bytes = 0;
  #isFull = false;

  constructor(refs: readonly string[], bounds: ToolBounds = agentBounds) {
    this.#refs = refs;
    this.#bounds = bounds;
  }

  /** Whether no further tool would be taken. */
  get isFull(): boolean {
    return this.#isFull;
  }

  add(server: AgentTool['server'], tools: readonly OfferedTool[]): void {
    const { id, name, timeoutMs } = server;
    const { deny, maxTools, maxBytes } = this.#bounds;
    const named = tools
      .filter((tool) => isOffered(this.#refs, server, tool) && !deny.includes(`${name}/${tool.name}`))
      .toSorted((a, b) => (a.name < b.name ? -1 : 1));
    for (const tool of named) {
      this.#bytes += bytesOf(tool);
      this.#isFull ||= this.#bytes > maxBytes || this.#tools.length === maxTools;
      if (this.#isFull) return;
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
