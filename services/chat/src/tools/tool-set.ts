import type { ListToolsResponse, Tool } from '@gatehouse/proto/agent/v1/agent';
import type { Dialect } from '@gatehouse/dialects/dialect';
import { sampleOf, type TextSample } from '@gatehouse/dialects/usage/token-estimate';

/** A tool called by another service. */
export type ServerTool = Omit<Tool, 'schemaJson' | 'description'>;

/** A call of a tool of an agent. */
export interface AgentToolCall {
  agentId: string;
  /** The analyser of the agent's memory. */
  analyser: string;
  tool: ServerTool;
  argumentsJson: string;
}

/** A dialect as far as it defines tools. */
export type ToolDialect = Pick<Dialect, 'name' | 'toolText'>;

/** Tools as models get them. */
export interface ToolDefinitions {
  /** The definition of each tool, joined with commas. */
  text: Buffer;
  sample: TextSample;
}

interface Part {
  tool: ServerTool;
  /** Its definition. */
  text: Buffer;
}

const comma = Buffer.from(',');

/** The tools of an agent, with the finished text of their definitions: no turn writes it again. */
export class ToolSet {
  readonly byName: ReadonlyMap<string, ServerTool>;
  readonly definitions: ToolDefinitions;
  /** The servers and tools that the agent names and that don't exist. */
  readonly missing: readonly string[];
  readonly #parts: readonly Part[];

  private constructor(parts: readonly Part[], missing: readonly string[]) {
    this.#parts = parts;
    this.missing = missing;
    this.byName = new Map(parts.map(({ tool }) => [tool.name, tool]));
    const text = Buffer.concat(
      parts.flatMap((part, index) => (index === 0 ? part.text : [comma, part.text])),
    );
    const { beginning, chars } = sampleOf(text.toString());
    // A copy: a part of a string keeps all of it in memory.
    this.definitions = { text, sample: { beginning: Buffer.from(beginning).toString(), chars } };
  }

  static forDialect(
    { tools, missing }: Pick<ListToolsResponse, 'tools' | 'missing'>,
    { toolText }: ToolDialect,
  ): ToolSet {
    return new ToolSet(
      tools.map(({ schemaJson, description, ...tool }) => ({
        tool,
        text: Buffer.from(toolText({ name: tool.name, description, schemaJson })),
      })),
      missing,
    );
  }

  /** Bytes in memory, with 500 of each tool beside its definition, and of each missing one. */
  get bytes(): number {
    return 2 * this.definitions.text.length + (this.#parts.length + this.missing.length) * 500;
  }

  /** The tools with other names. */
  without(names: readonly unknown[]): ToolSet {
    const others = new Set(names);
    const left = this.#parts.filter(({ tool }) => !others.has(tool.name));
    return left.length === this.#parts.length ? this : new ToolSet(left, this.missing);
  }
}
