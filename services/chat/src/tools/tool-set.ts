import type { Tool } from '@gatehouse/proto/agent/v1/agent';
import type { Dialect } from '@gatehouse/dialects/dialect';
import { sampleOf, type TextSample } from '@gatehouse/dialects/usage/token-estimate';

/** A tool that another service calls. */
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

interface Part extends ServerTool {
  /** The place of its definition in the text. */
  from: number;
  until: number;
}

/** Memory of one tool beside its definition. */
const toolBytes = 500;
const comma = Buffer.from(',');

/** The tools of an agent, with the finished text of their definitions: no turn writes it again. */
export class ToolSet {
  readonly byName: ReadonlyMap<string, ServerTool>;
  readonly definitions: ToolDefinitions;
  readonly #parts: readonly Part[];

  private constructor(parts: readonly Part[], definitions: ToolDefinitions) {
    this.#parts = parts;
    this.definitions = definitions;
    this.byName = new Map(parts.map((part) => [part.name, part]));
  }

  static forDialect(tools: readonly Tool[], { toolText }: ToolDialect): ToolSet {
    const parts: Part[] = [];
    const texts: string[] = [];
    let at = 0;
    for (const { schemaJson, description, ...tool } of tools) {
      const text = toolText({ name: tool.name, description, schemaJson });
      const until = at + Buffer.byteLength(text);
      parts.push({ ...tool, from: at, until });
      texts.push(text);
      at = until + comma.length;
    }
    const text = texts.join(',');
    return new ToolSet(parts, definitionsOf(Buffer.from(text)));
  }

  /** Bytes in memory. */
  get bytes(): number {
    return this.definitions.text.length + this.#parts.length * toolBytes;
  }

  /** The tools with other names. */
  without(names: readonly unknown[]): ToolSet {
    const others = new Set(names);
    const left = this.#parts.filter(({ name }) => !others.has(name));
    if (left.length === this.#parts.length) return this;
    const texts: Buffer[] = [];
    const parts: Part[] = [];
    let at = 0;
    for (const part of left) {
      if (at > 0) texts.push(comma);
      const from = at === 0 ? 0 : at + comma.length;
      texts.push(this.definitions.text.subarray(part.from, part.until));
      at = from + part.until - part.from;
      parts.push({ ...part, from, until: at });
    }
    return new ToolSet(parts, definitionsOf(Buffer.concat(texts)));
  }
}

function definitionsOf(text: Buffer): ToolDefinitions {
  const { beginning, chars } = sampleOf(text.toString());
  // A copy: a part of a string keeps all of it in memory.
  return { text, sample: { beginning: Buffer.from(beginning).toString(), chars } };
}
