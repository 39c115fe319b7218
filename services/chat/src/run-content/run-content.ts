import type { Dialect, AnswerBuilder } from '@gatehouse/dialects/dialect';
import type { ApiName } from '@gatehouse/dialects/dialects';
import type { TenantShare } from '@gatehouse/kit/body-budget';
import { runCooperatively } from '@gatehouse/kit/cooperative';
import { largeBytes } from '@gatehouse/kit/json-bytes';
import type { Passage } from '@gatehouse/proto/memory/v1/memory';
import { contentPartBytes, maxContentTools } from '../bounds.ts';
import {
  documentContent,
  objectOf,
  requestContent,
  valueContent,
  type ContentPart,
  type RequestContent,
} from './json-content.ts';
import { toolsContent, type ToolContent } from './tool-content.ts';

/** A run with a content. */
export interface ContentRun {
  id: string;
  tenantId: string;
  userId: string | null;
}

/** The additions of an agent to a request. */
export interface AgentAdditions {
  systemPrompt: string | null;
  parameters: Record<string, unknown>;
  passages: readonly Passage[];
}

export interface RunContentOptions {
  run: ContentRun;
  dialect: Dialect & { name: ApiName };
  /** The part of this content in the memory for all; `grow` throws where there is none left. */
  share: TenantShare;
  /** Null without an agent. */
  agent: AgentAdditions | null;
  /** By the monotonic clock. */
  arrivedAt: number;
}

/** Stores contents after their runs have ended. */
export interface RunContents {
  /** The memory of a content. */
  openShare: (tenantId: string) => TenantShare;
  /** Stores the content of an ended run, and then releases its memory. */
  add: (content: RunContent) => void;
}

/** Bytes of a frame beside its text, about; a short frame counts as a quarter of it. */
const frameOverhead = 100;

/**
 * The content of a run while it is under way: its request, calls of tools and response, as far as there is memory for
 * them. Never throws, and never holds up the run except to read a large document once.
 */
export class RunContent {
  readonly run: ContentRun;
  readonly arrivedAt: number;
  readonly #options: RunContentOptions;
  #request: Promise<RequestContent | null> = Promise.resolve(null);
  #document: Promise<ContentPart | null> = Promise.resolve(null);
  #builder: AnswerBuilder | null = null;
  #lastFrames: readonly Buffer[] = [];
  /** Bytes of the stream that may still be added. */
  #streamLeft = 2 * contentPartBytes;
  readonly #tools: ToolContent[] = [];
  #isCut = false;

  constructor(options: RunContentOptions) {
    this.#options = options;
    this.run = options.run;
    this.arrivedAt = options.arrivedAt;
  }

  /** Reads the client's request. Resolves at once unless it is large. */
  async addRequest(body: Buffer): Promise<void> {
    const { dialect, run } = this.#options;
    this.#request = this.#reading(body, () => requestContent(body, dialect.conversation, run.tenantId));
    if (body.length > largeBytes) await this.#request;
  }

  /** The same for a whole response. */
  async addDocument(bytes: Buffer): Promise<void> {
    const { tenantId } = this.run;
    this.#document = this.#reading(bytes, () => documentContent(bytes, tenantId));
    if (bytes.length > largeBytes) await this.#document;
  }

  /** Charges the bytes of a document while it is read, and of all it leaves at most from then on. */
  async #reading<Part extends object>(
    document: Buffer,
    read: () => Promise<Part | null>,
  ): Promise<Part | null> {
    if (!this.#grow(Math.min(document.length, largeBytes))) return null;
    return read().catch(() => {
      this.#isCut = true;
      return null;
    });
  }

  addFrames(frames: readonly Buffer[]): void {
    if (this.#streamLeft <= 0) return;
    this.#builder ??= this.#options.dialect.answerBuilder();
    for (const frame of frames) this.#addFrame(this.#builder, frame);
  }

  /** The last frames of the stream, in place of those before. */
  endFrames(frames: readonly Buffer[]): void {
    this.#lastFrames = frames;
  }

  /** Ends what is added of the stream where there is no memory left, and at a frame that can't be read. */
  #addFrame(builder: AnswerBuilder, frame: Buffer): void {
    if (this.#streamLeft <= 0) return;
    const bytes = Math.max(frame.length - frameOverhead, Math.ceil(frame.length / 4));
    this.#streamLeft -= bytes;
    try {
      if (this.#streamLeft > 0 && this.#grow(bytes)) {
        builder.add(frame);
        return;
      }
    } catch {
      // Not a frame of an answer.
    }
    this.#streamLeft = 0;
    this.#isCut = true;
  }

  addTool(call: ToolContent): void {
    const bytes = 2 * (call.argumentsJson.length + call.result.length);
    if (this.#tools.length === maxContentTools || !this.#grow(bytes)) this.#isCut = true;
    else this.#tools.push(call);
  }

  /** False, from then on too, where there is no memory left. */
  #grow(bytes: number): boolean {
    try {
      this.#options.share.grow(bytes);
      return true;
    } catch {
      this.#isCut = true;
      return false;
    }
  }

  /** The run goes on without a content. */
  release(): void {
    this.#options.share.release();
  }

  /** The JSON document of `GET /v1/traces/{id}/content`. */
  async document(): Promise<Buffer> {
    const { dialect, agent, run } = this.#options;
    const request = await this.#request;
    const response = await this.#response();
    const additions = agent === null ? null : await valueContent(shownAgent(agent), run.tenantId);
    const tools = await toolsContent(this.#tools, run.tenantId);
    const isCut = [request, response, additions, tools].some((part) => part?.isCut === true);
    const isTruncated = this.#isCut || isCut || request === null;
    const members = {
      id: JSON.stringify(run.id),
      api: JSON.stringify(dialect.name),
      parameters: request?.parameters ?? '{}',
      instructions: request?.instructions ?? 'null',
      messages: request?.messages ?? '[]',
      agent: additions?.text ?? 'null',
      response: response?.text ?? 'null',
      tool_calls: tools.text,
      truncated: String(isTruncated),
    };
    return Buffer.from(objectOf(members));
  }

  async #response(): Promise<ContentPart | null> {
    const document = await this.#document;
    if (document !== null || this.#builder === null) return document;
    const builder = this.#builder;
    const built = await runCooperatively(this.run.tenantId, () => {
      for (const frame of this.#lastFrames) this.#addFrame(builder, frame);
      return builder.built;
    });
    return built === null ? null : documentContent(built, this.run.tenantId);
  }
}

function shownAgent({ systemPrompt, parameters, passages }: AgentAdditions): object {
  return {
    system_prompt: systemPrompt,
    parameters,
    passages: passages.map(({ path, title, startLine, endLine, score, text }) => ({
      ...{ path, title: title ?? null, start_line: startLine, end_line: endLine, score, text },
    })),
  };
}
