import { cutText } from '@gatehouse/events/cut-text';
import { SampleBuilder, type TextSample } from '@gatehouse/dialects/usage/token-estimate';
import { maxMemoryChars } from '@gatehouse/dialects/usage/memory-text';
import type { Target } from '../catalogue/target.ts';
import type { AcceptedRequest } from '@gatehouse/dialects/accepted-request';
import type { Thinking } from '@gatehouse/dialects/request-fields';
import type {
  RequestedAmounts,
  CompletionRequest,
  Operation,
  RequestHead,
} from '@gatehouse/dialects/dialect';

/** Longer names of tools and ids of calls are in no use. */
const maxNameChars = 1_024;

/** Settings that say what of a request is needed later. */
interface Needs {
  target: Pick<Target, 'defaults' | 'memory'>;
  previewChars: number;
}

/**
 * Everything that a turn needs of a request beside its bytes, so that nothing keeps its values: these take up to twice its
 * bytes while memory, tools and limits are asked. Reads it all at once: in a turn of the event loop for a large one.
 */
export class RequestFacts implements AcceptedRequest {
  readonly operation: Operation;
  readonly model: string;
  readonly stream: boolean;
  readonly wantsUsage: boolean;
  readonly choices: number;
  readonly isBatch: boolean | undefined;
  readonly compaction: RequestHead['compaction'];
  readonly bytes: number;
  readonly session: string | null;
  readonly toolNames: readonly unknown[];
  readonly callIds: readonly string[];
  readonly viewWith: NonNullable<CompletionRequest['viewWith']>;
  readonly keptView?: NonNullable<CompletionRequest['keptView']>;
  readonly #preview: string;
  readonly #lastUserText: { index: number; text: string } | null;
  readonly #sample: TextSample;
  readonly #choices: number;
  readonly #thinking: Thinking;
  readonly #amounts: RequestedAmounts;

  constructor(request: CompletionRequest, { target, previewChars }: Needs) {
    const { defaults, memory } = target;
    this.operation = request.operation;
    this.model = request.model;
    this.stream = request.stream;
    this.wantsUsage = request.wantsUsage;
    this.choices = request.choices;
    this.isBatch = request.isBatch;
    this.compaction = request.compaction;
    this.bytes = request.bytes;
    this.session = request.session;
    this.toolNames = request.toolNames.filter(isName);
    this.callIds = request.callIds.filter(isName);
    this.viewWith = request.viewWith ?? ((): null => null);
    if (request.keptView !== undefined) this.keptView = request.keptView;
    this.#preview = previewChars === 0 ? '' : request.inputPreview(previewChars);
    const last = memory === null ? null : request.lastUserText();
    this.#lastUserText = last && { index: last.index, text: cutText(last.text, maxMemoryChars) };
    this.#sample = request.promptSample();
    this.#choices = request.choicesWith(defaults);
    this.#thinking = request.thinking(defaults);
    this.#amounts = request.requestedAmounts(defaults);
  }

  inputPreview(maxChars: number): string {
    return cutText(this.#preview, maxChars);
  }

  lastUserText(): { index: number; text: string } | null {
    return this.#lastUserText;
  }

  promptSample(added: readonly (string | TextSample)[] = []): TextSample {
    const sample = new SampleBuilder();
    for (const text of added) {
      if (typeof text === 'string') sample.add(text);
      else sample.addSample(text);
    }
    sample.addSample(this.#sample);
    return sample.built;
  }

  choicesWith(): number {
    return this.#choices;
  }

  thinking(): Thinking {
    return this.#thinking;
  }

  requestedAmounts(): RequestedAmounts {
    return this.#amounts;
  }
}

function isName(name: unknown): name is string {
  return typeof name === 'string' && name.length <= maxNameChars;
}
