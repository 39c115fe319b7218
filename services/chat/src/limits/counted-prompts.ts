import { hash } from 'node:crypto';
import type { DialectName } from '@gatehouse/contract/dialects';
import { cacheKey } from '@gatehouse/kit/cache-key';
import { TenantCache } from '@gatehouse/kit/tenant-cache';
import { textDigest, type PromptPart, type PromptParts } from '@gatehouse/dialects/prompt-parts';
import { deploymentName, type Model } from '../catalogue/catalogue.ts';
import type { KeySettings } from '../shared/tenant-settings.ts';
import { isSpent } from './admission.ts';
import { attachmentTokens, countedPromptBytes } from '../bounds.ts';

/** Tokens of a prompt, counted by a provider. */
interface Counted {
  tokens: number;
  /** The deployment behind the count. */
  deployment: string;
  /** Digests of the parts before its messages, with a comma behind each: one text takes a tenth of a set's memory. */
  head: string;
}

interface PromptOptions {
  tenantId: string;
  /** The client's API: others read other members of the same text. */
  dialect: DialectName;
  /** The client's headers, as far as its API passes them on. */
  headers: Readonly<Record<string, string>>;
  parts: PromptParts;
  /** Texts added by the gateway before the messages. */
  added: readonly (string | Buffer)[];
}

/** Notes the tokens of a request's prompt, once a model has read it. */
export type NotePrompt = (model: Model, tokens: number) => void;

/** Bytes of an entry without its texts. */
const entryBytes = 100;

/**
 * Tokens of prompts as providers counted them, by digests of these prompts. A longer prompt beginning with one of them
 * has these tokens at most, and one for each further byte: providers begin anew at each message, so no token spans two.
 * A replica knows only prompts of its own calls, and bounds others by their bytes alone.
 */
export class CountedPrompts {
  readonly #known = new TenantCache<Counted>({
    ...countedPromptBytes,
    bytesOf: ({ deployment, head }) => entryBytes + deployment.length + head.length,
  });

  prompt(options: PromptOptions): CountedPrompt {
    return new CountedPrompt(this.#known, options);
  }
}

/** The prompt of one request. */
export class CountedPrompt {
  readonly #known: TenantCache<Counted>;
  readonly #options: PromptOptions;
  readonly #head: readonly PromptPart[];

  constructor(known: TenantCache<Counted>, options: PromptOptions) {
    this.#known = known;
    this.#options = options;
    this.#head = [...options.parts.head, ...options.added.map(addedPart)];
  }

  /**
   * Tokens of the prompt at most, for a model. `byBytes`: with a token for each byte of its text and of the added ones, and
   * a fixed number for each attachment.
   */
  most(model: Model, byBytes: number): number {
    const { tenantId, parts } = this.#options;
    const { messages, settings } = parts;
    const scope = scopes(this.#options)(model);
    for (let length = messages.length; length >= 0; length -= 1) {
      const digest = messages[length - 1]?.digest ?? this.#beginning(settings);
      const counted = this.#known.get(tenantId, scope + digest);
      if (counted !== undefined) {
        const isOwn = counted.deployment === deploymentName(model);
        return this.#mostWith(counted, { messages: messages.slice(0, length), isOwn, byBytes });
      }
    }
    return byBytes;
  }

  /** Notes the tokens of the whole prompt, without keeping its parts. */
  get note(): NotePrompt {
    const { tenantId, parts } = this.#options;
    const { messages, settings } = parts;
    const beginning = this.#beginning(settings);
    return notePrompt(this.#known, {
      tenantId,
      scopeOf: scopes(this.#options),
      whole: messages.at(-1)?.digest ?? beginning,
      beginning,
      head: this.#head.map(({ digest }) => entryOf(digest)).join(''),
    });
  }

  #mostWith(
    { tokens, head }: Counted,
    { messages, isOwn, byBytes }: { messages: readonly PromptPart[]; isOwn: boolean; byBytes: number },
  ): number {
    const counted = [
      ...this.#head.filter(({ digest }) => head.includes(entryOf(digest))),
      ...messages.filter(({ isPlain }) => isOwn || isPlain),
    ];
    const covered = counted.reduce((sum, part) => sum + byBytesOf(part), 0);
    const most = tokens + Math.max(0, byBytes - covered);
    // No bytes bound a picture. Without one, neither bound is exceeded.
    return messages.some(({ attachments }) => attachments > 0) ? most : Math.min(byBytes, most);
  }

  /** The digest of a prompt before its messages, by the largest part, which differs between programs. */
  #beginning(settings: string): string {
    const largest = this.#head.reduce<PromptPart | null>(
      (most, part) => (most === null || part.bytes > most.bytes ? part : most),
      null,
    );
    return settings + (largest?.digest ?? '');
  }
}

interface NotedPrompt {
  tenantId: string;
  scopeOf: (model: Model) => string;
  whole: string;
  beginning: string;
  head: string;
}

/** A function of its own, so nothing keeps the parts of the prompt while its run is under way. */
function notePrompt(
  known: TenantCache<Counted>,
  { tenantId, scopeOf, whole, beginning, head }: NotedPrompt,
): NotePrompt {
  return (model, tokens) => {
    const scope = scopeOf(model);
    const counted: Counted = { tokens, deployment: deploymentName(model), head };
    known.set(tenantId, scope + whole, counted);
    const first = known.get(tenantId, scope + beginning);
    // A prompt has more tokens than its part before the messages.
    if (first?.head !== head || tokens < first.tokens) known.set(tenantId, scope + beginning, counted);
  };
}

/** A digest in the list of all. */
function entryOf(digest: string): string {
  return `${digest},`;
}

/** Prompts in one API for a model with the same headers. */
function scopes({ dialect, headers }: Pick<PromptOptions, 'dialect' | 'headers'>): (model: Model) => string {
  return (model) =>
    hash(
      'sha256',
      cacheKey(dialect, JSON.stringify(headers), model.id, model.upstreamModel, model.api),
      'base64url',
    ).slice(0, 22);
}

function addedPart(text: string | Buffer): PromptPart {
  return {
    digest: textDigest(text),
    bytes: Buffer.byteLength(text),
    attachments: 0,
    linked: 0,
    isPlain: true,
  };
}

function byBytesOf({ bytes, attachments, linked }: PromptPart): number {
  return bytes + (attachments - linked) * attachmentTokens;
}

/** Whether a limit, a budget or a policy depends on the tokens of a request. */
export function limitsTokens({ limited, keyLimited, policies }: KeySettings): boolean {
  return policies !== null || limited.some(isSpent) || keyLimited.some(isSpent);
}
